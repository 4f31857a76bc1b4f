package console_test

import (
	"net/http"
	"strings"
	"testing"

	"github.com/kenlayer/ken"
	"github.com/kenlayer/ken/internal/access"
	"github.com/kenlayer/ken/internal/run/telemetry/usage"
)

// An operator sees all keys and the use of their budgets. Other visitors see only their own
// key.
func TestMembersAndBudgets(t *testing.T) {
	limited := dev
	limited.RequestsPerDay, limited.TokensPerDay = 10, 1000
	used, err := usage.Open("", usage.Options{Now: clock})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := used.Close(); err != nil {
			t.Error(err)
		}
	})
	c, _ := handing(t, withRing, func(s *setup) { s.console.Usage = used })
	for range 10 {
		used.Spend("dev", 10, 1000)
	}
	used.Add(usage.Row{Key: "dev", Owner: ken.DefaultOwner, Model: "m", Requests: 10, Input: 700, Output: 150})
	used.Add(usage.Row{Key: "bob", Owner: bob.Owner, Model: "m", Requests: 1, Input: 5, Output: 2})
	_, p := get(t, c, "/console/keys", limited)
	p.says("Your key", "chat, read, write", "all models", "10 of 10 requests today", "850 of 1 000 tokens today")
	p.hides("bob")
	if p.has(`[aria-label="Members"]`) {
		t.Error("a developer is shown the members")
	}
	if len(p.all("meter")) != 2 || !p.has(".status.danger") || !p.has(".status.warning") {
		t.Errorf("the budgets are %v", p.texts("meter"))
	}
	_, p = get(t, c, "/console/keys", reader)
	p.says("Your key", "no limit")
	if status, made := submit(t, c, mustGet(t, c, "/console/keys"), "#new-key", map[string]string{"name": "dev", "requests": "20"}); status != http.StatusOK {
		t.Fatalf("%d %s", status, made.text())
	}
	_, p = get(t, c, "/console/keys")
	p.says("Members", "10 of 20 requests today")
	rows := strings.Join(p.texts(`[aria-label="Members"] tbody tr`), "\n")
	for _, want := range []string{ken.DefaultOwner + " configured, dev 10 700 150", bob.Owner + " none 1 5 2"} {
		if !strings.Contains(rows, want) && !strings.Contains(rows, strings.Replace(want, "configured, dev", "dev, configured", 1)) {
			t.Errorf("no %q in %s", want, rows)
		}
	}
	// If no key is needed, there are no keys.
	_, p = get(t, open(t, bare), "/console/keys", access.Principal{Name: "local", Owner: ken.DefaultOwner, Rights: access.Rights()})
	p.hides("Your key")
}

func mustGet(t *testing.T, c *rig, path string) *page {
	t.Helper()
	_, p := get(t, c, path)
	return p
}
