package console_test

import (
	"net/http"
	"net/url"
	"path/filepath"
	"strings"
	"testing"

	"github.com/kenlayer/ken/config"
	"github.com/kenlayer/ken/internal/access"
	keys "github.com/kenlayer/ken/internal/knowledge/operator"
	"github.com/kenlayer/ken/internal/run/telemetry/usage"
)

// handing is a console in whose project keys are handed out, and used.
func handing(t *testing.T) (c *rig, path string) {
	t.Helper()
	path = keys.KeysPath(filepath.Join(t.TempDir(), "state"))
	u, err := usage.Open("", usage.Options{Now: clock})
	if err != nil {
		t.Fatal(err)
	}
	for key, owner := range map[string]string{"ana": operator.Owner, "rita": operator.Owner, "bob": bob.Owner} {
		u.Add(usage.Row{Key: key, Owner: owner, Model: "model-of-" + key, Requests: 1234, Input: 5_000_000, Cached: 1, Output: 7, Cost: 6.25})
	}
	u.Add(usage.Row{Key: "ana", Owner: operator.Owner, Model: "<script>alert(1)</script>", Requests: 1, Input: 1, Unpriced: 1})
	return open(t, bare, func(s *setup) {
		s.console.Keys, s.console.Usage = keys.OpenKeys(path, clock), u
		s.config.Gateway.Keys = []config.GatewayKey{{Name: "configured", Hash: access.HashKey("x").String()}}
	}), path
}

// An operator makes a key, which is shown once, and revokes it.
func TestKeysAreMadeAndRevoked(t *testing.T) {
	c, path := handing(t)
	_, p := get(t, c, "/console/keys")
	status, made := submit(t, c, p, "#new-key", map[string]string{"name": "ci", "owner": "carl", "models": "gpt-5*, claude-*", "requests": "100", "tokens": "5000", "ends": "30"})
	secret := ""
	if status == http.StatusOK {
		secret = strings.Join(made.texts("#made-key"), "")
	}
	list, err := keys.OpenKeys(path, clock).List()
	if err != nil || len(list) != 1 {
		t.Fatalf("%d %s: %v %v", status, made.text(), list, err)
	}
	k := list[0]
	if access.HashKey(secret).String() != k.Hash || k.Name != "ci" || k.Owner != "carl" || len(k.Models) != 2 || k.RequestsPerDay != 100 || k.TokensPerDay != 5000 ||
		!k.Expires.Equal(now.AddDate(0, 0, 30)) || len(k.Rights) != 3 {
		t.Errorf("%+v", k)
	}
	if _, p = get(t, c, "/console/keys"); strings.Contains(p.text(), secret) || !strings.Contains(p.text(), "gpt-5*") || !strings.Contains(p.text(), "configured") {
		t.Errorf("%s", p.text())
	}
	if status, _ = post(t, c, "/console/keys/ci/revoke", nil); status != http.StatusSeeOther {
		t.Errorf("revoked: %d", status)
	}
	if list, err = keys.OpenKeys(path, clock).List(); err != nil || !list[0].Ended(now) {
		t.Errorf("%+v %v", list, err)
	}
	if status, _ = post(t, c, "/console/keys/configured/revoke", nil); status != http.StatusNotFound {
		t.Errorf("a key of the configuration: %d", status)
	}
}

// Nobody hands out more than they have, and only an operator of the configured owner does.
func TestWhoHandsOutKeys(t *testing.T) {
	c, path := handing(t)
	few := operator
	few.Rights = []access.Right{access.Read, access.Operate}
	limited := operator
	limited.TokensPerDay = 1000
	form := func(name string, rights ...string) url.Values { return url.Values{"name": {name}, "rights": rights} }
	for _, tt := range []struct {
		who  access.Principal
		form url.Values
		want int
	}{
		{reader, form("a", "read"), http.StatusForbidden},
		{bob, form("a", "read"), http.StatusForbidden},
		{limited, form("a", "read"), http.StatusForbidden},
		{few, form("a", "upstream"), http.StatusForbidden},
		{few, form("a", "chat"), http.StatusForbidden},
		{few, form("a", "all"), http.StatusBadRequest},
		{few, form("a"), http.StatusBadRequest},
		{operator, form("configured", "read"), http.StatusConflict},
		{operator, url.Values{"name": {"a"}, "rights": {"read"}, "tokens": {"-1"}}, http.StatusBadRequest},
		{few, form("b", "read"), http.StatusOK},
	} {
		if status, p := post(t, c, "/console/keys", tt.form, tt.who); status != tt.want {
			t.Errorf("%s %v: %d, want %d: %s", tt.who.Name, tt.form, status, tt.want, p.text())
		}
	}
	for _, who := range []access.Principal{bob, limited} {
		if status, _ := post(t, c, "/console/keys/b/revoke", nil, who); status != http.StatusForbidden {
			t.Errorf("%s revokes: %d", who.Name, status)
		}
		if _, p := get(t, c, "/console/keys", who); p.has("#new-key") || strings.Contains(p.text(), "configured") {
			t.Errorf("%s is shown keys", who.Name)
		}
	}
	if list, err := keys.OpenKeys(path, clock).List(); err != nil || len(list) != 1 || list[0].Name != "b" {
		t.Errorf("%+v %v", list, err)
	}
}

// Usage is shown to whom it belongs, and a model's name is text.
func TestUsagePage(t *testing.T) {
	c, _ := handing(t)
	for _, tt := range []struct {
		who       access.Principal
		has, lack []string
	}{
		{operator, []string{"model-of-ana", "model-of-rita", "model-of-bob", "<script>alert(1)</script>", "6.2500, and 1 request without a price", "2026-03-14"}, nil},
		{reader, []string{"model-of-rita"}, []string{"model-of-ana", "model-of-bob"}},
		{bob, []string{"model-of-bob"}, []string{"model-of-ana", "model-of-rita"}},
	} {
		status, p := get(t, c, "/console/keys?days=7", tt.who)
		text := p.text()
		for _, s := range tt.has {
			if status != http.StatusOK || !strings.Contains(text, s) {
				t.Errorf("%s: %d, no %q in %s", tt.who.Name, status, s, text)
			}
		}
		for _, s := range tt.lack {
			if strings.Contains(text, s) {
				t.Errorf("%s is shown %q", tt.who.Name, s)
			}
		}
	}
}
