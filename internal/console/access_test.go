package console_test

import (
	"context"
	"net/http"
	"net/http/httptest"
	"net/url"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/kenlayer/ken"
	"github.com/kenlayer/ken/config"
	"github.com/kenlayer/ken/internal/access"
	"github.com/kenlayer/ken/internal/console"
	keys "github.com/kenlayer/ken/internal/knowledge/operator"
	"github.com/kenlayer/ken/internal/run/telemetry/usage"
)

// browser keeps cookies, and has no principal.
type browser struct {
	*rig
	cookies map[string]*http.Cookie
}

// such as the browser of a visitor that the gateway knows already.
func (b *browser) as(who access.Principal) *known { return &known{b, who} }

type known struct {
	*browser
	who access.Principal
}

func (k *known) do(method, path string, form url.Values) (int, *page) {
	k.Helper()
	return k.send(access.With(context.Background(), k.who), method, path, form)
}

func (b *browser) do(method, path string, form url.Values) (int, *page) {
	b.Helper()
	return b.send(context.Background(), method, path, form)
}

func (b *browser) send(ctx context.Context, method, path string, form url.Values) (int, *page) {
	b.Helper()
	r := httptest.NewRequestWithContext(ctx, method, path, strings.NewReader(form.Encode()))
	if method == http.MethodPost {
		r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	}
	for _, c := range b.cookies {
		r.AddCookie(c)
	}
	w := httptest.NewRecorder()
	b.con.ServeHTTP(w, r)
	for _, c := range w.Result().Cookies() {
		if b.cookies[c.Name] = c; c.MaxAge < 0 {
			delete(b.cookies, c.Name)
		}
		if !c.HttpOnly || c.SameSite != http.SameSiteLaxMode || c.Path != console.Prefix {
			b.Errorf("cookie %v", c)
		}
	}
	p := read(b, r, w)
	p.check()
	return w.Code, p
}

// keyed opens a console that asks for keys, and returns one of each kind.
func keyed(t *testing.T, now func() time.Time) (b *browser, ana, rita, bobs string) {
	t.Helper()
	keys := []string{access.NewKey(), access.NewKey(), access.NewKey()}
	ring := access.NewRing(access.Entry{Hash: access.HashKey(keys[0]), Principal: operator}, access.Entry{Hash: access.HashKey(keys[1]), Principal: reader},
		access.Entry{Hash: access.HashKey(keys[2]), Principal: bob})
	c := open(t, func(s *setup) {
		s.console.Ring = ring
		if now != nil {
			s.console.Now = now
		}
	})
	return &browser{c, map[string]*http.Cookie{}}, keys[0], keys[1], keys[2]
}

func TestLogin(t *testing.T) {
	b, ana, rita, bobs := keyed(t, nil)
	status, p := b.do(http.MethodGet, "/console/claims?q=ledger", nil)
	if status != http.StatusSeeOther || p.location != "/console/login?next=%2Fconsole%2Fclaims%3Fq%3Dledger" {
		t.Fatalf("without a visit: %d %s", status, p.location)
	}
	if status, p = b.do(http.MethodPost, "/console/claims", url.Values{"text": {"x"}}); status != http.StatusSeeOther || !strings.HasPrefix(p.location, "/console/login?ended=yes") {
		t.Fatalf("a form without a visit: %d %s", status, p.location)
	}
	if _, p = b.do(http.MethodGet, p.location, nil); !strings.Contains(p.text(), "Your visit has ended") {
		t.Errorf("the login does not say why: %s", p.text())
	}
	if status, p = b.do(http.MethodPost, console.LoginPath, url.Values{"key": {"ken_wrong"}}); status != http.StatusUnauthorized || len(b.cookies) > 0 {
		t.Fatalf("with a wrong key: %d, %v", status, b.cookies)
	}
	p.hides("ken_wrong")
	in := func(key string) {
		t.Helper()
		status, p = b.do(http.MethodPost, console.LoginPath, url.Values{"key": {" " + key + "\n"}, "next": {"/console/claims?q=ledger"}})
		if status != http.StatusSeeOther || p.location != "/console/claims?q=ledger" {
			t.Fatalf("with a key: %d %s", status, p.location)
		}
		if status, p = b.do(http.MethodGet, p.location, nil); status != http.StatusOK {
			t.Fatalf("logged in: %d", status)
		}
		if strings.Contains(p.body, key) {
			t.Error("the page has the key")
		}
	}
	in(ana)
	first := b.cookies["ken_visit"].Value
	p.hides(b.project.Markers.Other)
	_, p = b.do(http.MethodGet, "/console/claims", nil)
	p.says(b.project.Markers.Own)
	_, p = b.do(http.MethodGet, "/console/claims/new", nil)
	token := attr(p.all(`input[name="token"]`)[0], "value")
	in(rita)
	if status, _ = b.do(http.MethodPost, "/console/claims", url.Values{"token": {token}, "text": {"x"}}); status != http.StatusForbidden {
		t.Errorf("the token of an earlier visit: %d", status)
	}
	if p.has(`main form[method="post"]`) {
		t.Error("a reader is shown a form that changes something")
	}
	in(bobs)
	p.hides(b.project.Markers.Own)
	for _, path := range []string{"/console/claims", "/console/"} {
		_, p = b.do(http.MethodGet, path, nil)
		p.says(b.project.Markers.Other)
		p.hides(b.project.Markers.Own)
	}
	b.cookies["ken_visit"].Value = first
	if status, _ = b.do(http.MethodGet, "/console/claims", nil); status != http.StatusSeeOther {
		t.Errorf("a visit goes on after another began in its place: %d", status)
	}
	in(ana)
	kept := b.cookies["ken_visit"]
	if status, _ = b.do(http.MethodPost, "/console/logout", nil); status != http.StatusSeeOther || b.cookies["ken_visit"] != nil {
		t.Errorf("log out: %d", status)
	}
	b.cookies["ken_visit"] = kept
	if status, _ = b.do(http.MethodGet, "/console/claims", nil); status != http.StatusSeeOther {
		t.Errorf("a visit goes on after its end: %d", status)
	}
}

// A key that is taken out ends the visits that began with it, and one with fewer rights
// has fewer in them.
func TestVisitEndsWithItsKey(t *testing.T) {
	b, ana, rita, _ := keyed(t, nil)
	entry := func(key string, who access.Principal) access.Entry {
		return access.Entry{Hash: access.HashKey(key), Principal: who}
	}
	if status, p := b.do(http.MethodPost, console.LoginPath, url.Values{"key": {ana}}); status != http.StatusSeeOther {
		t.Fatalf("%d %s", status, p.body)
	}
	less := operator
	less.Rights = []access.Right{access.Read}
	b.con.Admit(access.NewRing(entry(ana, less), entry(rita, reader)))
	if _, p := b.do(http.MethodGet, "/console/claims", nil); p.has(`main form[method="post"]`) {
		t.Error("a right is left that the key has lost")
	}
	b.con.Admit(access.NewRing(entry(rita, reader)))
	if status, p := b.do(http.MethodGet, "/console/claims", nil); status != http.StatusSeeOther {
		t.Errorf("%d %s", status, p.body)
	}
	b.con.Admit(access.NewRing(entry(ana, operator)))
	if status, _ := b.do(http.MethodGet, "/console/claims", nil); status != http.StatusSeeOther {
		t.Errorf("the visit goes on when the key comes back: %d", status)
	}
}

func TestVisitEnds(t *testing.T) {
	at := now
	b, ana, _, _ := keyed(t, func() time.Time { return at })
	b.do(http.MethodPost, console.LoginPath, url.Values{"key": {ana}})
	for range 3 {
		at = at.Add(11 * time.Hour)
		if status, _ := b.do(http.MethodGet, "/console/claims", nil); status != http.StatusOK {
			t.Fatalf("a visit that goes on is over: %d", status)
		}
	}
	at = at.Add(13 * time.Hour)
	if status, _ := b.do(http.MethodGet, "/console/claims", nil); status != http.StatusSeeOther {
		t.Errorf("a visit of yesterday goes on: %d", status)
	}
}

// Where a login leads is a page of the console, whatever the address says.
func TestOwnPath(t *testing.T) {
	for given, want := range map[string]string{
		"/console/claims?q=a%20b": "/console/claims?q=a%20b", "/console/": "/console/", "": "/console/", "/": "/console/",
		"https://evil.example/console/": "/console/", "//evil.example/console/": "/console/", "/console//evil.example": "/console/",
		"/console/../api/claims": "/console/", "/\\evil.example": "/console/", "/console/\\evil": "/console/", "javascript:alert(1)": "/console/",
		"/console/login?next=x": "/console/", "/console/claims#x": "/console/claims", "/console/%2e%2e/api": "/console/",
	} {
		if got := console.OwnPath(given); got != want {
			t.Errorf("%q leads to %q, want %q", given, got, want)
		}
	}
}

func FuzzOwnPath(f *testing.F) {
	for _, s := range []string{"/console/claims?q=1", "//x", "/console/..//x", "/console/%5c%5cx", "/console/\t/x", "/console/%2f%2fx"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		got := console.OwnPath(s)
		u, err := url.Parse(got)
		if err != nil || u.Host != "" || u.Scheme != "" || !strings.HasPrefix(got, console.Prefix) || strings.Contains(u.Path, "/../") || strings.ContainsAny(got, "\r\n\t\\") {
			t.Fatalf("%q leads to %q", s, got)
		}
		if again := console.OwnPath(got); again != got {
			t.Fatalf("%q leads to %q, and that to %q", s, got, again)
		}
	})
}

func TestTheme(t *testing.T) {
	b := &browser{open(t, bare), map[string]*http.Cookie{}}
	for _, tt := range []struct{ choice, want string }{{"dark", "dark"}, {"light", "light"}, {"purple", ""}, {"", ""}} {
		status, p := b.as(operator).do(http.MethodPost, "/console/theme", url.Values{"theme": {tt.choice}, "back": {"/console/claims"}})
		if status != http.StatusSeeOther || p.location != "/console/claims" {
			t.Errorf("%q: %d %s", tt.choice, status, p.location)
		}
		if _, p = b.as(operator).do(http.MethodGet, "/console/claims", nil); attr(p.one("html"), "data-theme") != tt.want {
			t.Errorf("%q is shown as %q", tt.choice, attr(p.one("html"), "data-theme"))
		}
	}
}

// Without keys, a visitor may see every owner with knowledge, and no other.
func TestChooseAnOwner(t *testing.T) {
	b := &browser{open(t), map[string]*http.Cookie{}}
	_, p := b.as(operator).do(http.MethodGet, "/console/claims", nil)
	p.says(b.project.Markers.Own)
	if got := p.texts("#owner option"); !slices.Equal(got, []string{ken.DefaultOwner, bob.Owner}) {
		t.Errorf("owners: %v", got)
	}
	token := url.Values{"token": {console.TokenOf(b.con)}, "owner": {bob.Owner}}
	if status, _ := b.as(operator).do(http.MethodPost, "/console/owner", token); status != http.StatusSeeOther {
		t.Fatalf("choose: %d", status)
	}
	_, p = b.as(operator).do(http.MethodGet, "/console/claims", nil)
	p.says(b.project.Markers.Other)
	p.hides(b.project.Markers.Own)
	for _, nobody := range []string{"eve", "../default", ""} {
		token.Set("owner", nobody)
		if status, _ := b.as(operator).do(http.MethodPost, "/console/owner", token); status != http.StatusForbidden {
			t.Errorf("%q: %d", nobody, status)
		}
	}
	b.cookies["ken_owner"].Value = "eve" // as a user may write it by hand
	if _, p = b.as(operator).do(http.MethodGet, "/console/claims", nil); len(p.claimLinks()) == 0 {
		t.Error("an owner that there is not shows nothing")
	}
}

// With keys, the key determines the owner, whatever the cookie says.
func TestOwnerOfAKeyStays(t *testing.T) {
	b, ana, _, _ := keyed(t, nil)
	b.do(http.MethodPost, console.LoginPath, url.Values{"key": {ana}})
	b.cookies["ken_owner"] = &http.Cookie{Name: "ken_owner", Value: bob.Owner}
	_, p := b.do(http.MethodGet, "/console/claims", nil)
	p.says(b.project.Markers.Own)
	p.hides(b.project.Markers.Other)
	if p.has("#owner") {
		t.Error("a key has a choice of owners")
	}
}

// handing opens a console in a project in which keys are issued and used.
func handing(t *testing.T, change ...func(*setup)) (c *rig, path string) {
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
	own := func(s *setup) {
		s.console.Keys, s.console.Usage = keys.OpenKeys(path, clock), u
		s.config.Gateway.Keys = []config.GatewayKey{{Name: "configured", Hash: access.HashKey("x").String()}}
	}
	return open(t, append([]func(*setup){bare, own}, change...)...), path
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
	mine := config.GatewayKey{Name: operator.Name, Rights: []string{"read", "operate"}}
	if _, _, err = keys.OpenKeys(path, clock).Create(t.Context(), mine, nil); err != nil {
		t.Fatal(err)
	}
	if _, p = get(t, c, "/console/keys"); len(p.all("form[action$='/ana/revoke']")) > 0 {
		t.Error("the key of the visit can be revoked")
	}
	if status, p = post(t, c, "/console/keys/ana/revoke", nil); status != http.StatusForbidden {
		t.Errorf("the key of the visit: %d", status)
	}
	p.says("is the key of this visit")
	if status, _ = post(t, c, "/console/keys/configured/revoke", nil); status != http.StatusNotFound {
		t.Errorf("a key of the configuration: %d", status)
	}
}

// With the first key the console needs one. So it must be able to make the others.
func TestFirstKey(t *testing.T) {
	c, path := handing(t, func(s *setup) { s.config.Gateway.Keys = nil })
	_, p := get(t, c, "/console/keys")
	p.says("There are no keys")
	if !hasAttr(p.one(`#new-key [value="operate"]`), "checked") {
		t.Error("the first key is not offered the right operate")
	}
	for _, few := range [][]string{{"chat", "read", "write"}, {"chat", "operate"}} {
		status, p := post(t, c, "/console/keys", url.Values{"name": {"me"}, "rights": few})
		if list, err := keys.OpenKeys(path, clock).List(); status != http.StatusBadRequest || err != nil || len(list) != 0 {
			t.Errorf("%v: %d %s, %v %v", few, status, p.text(), list, err)
		}
	}
	if status, p := submit(t, c, p, "#new-key", map[string]string{"name": "me"}); status != http.StatusOK || !p.links("/console/login") {
		t.Errorf("%d: %s", status, p.text())
	}
	status, p := post(t, c, "/console/keys", url.Values{"name": {"second"}, "rights": {"chat"}})
	if status != http.StatusOK {
		t.Errorf("a second key with fewer rights: %d %s", status, p.text())
	}
	_, p = get(t, c, "/console/keys")
	if hasAttr(p.one(`#new-key [value="operate"]`), "checked") {
		t.Error("a further key is offered the right operate")
	}
}

// Only an operator of the configured owner issues keys, and with no more rights than their own.
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

// Usage is shown only to its owner, and a model's name is shown as text.
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
