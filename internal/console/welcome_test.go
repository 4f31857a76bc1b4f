package console_test

import (
	"context"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/kenlayer/ken/internal/access"
)

// A store without a turn says how to connect a client; with the first turn, the page is the
// ordinary overview.
func TestWelcome(t *testing.T) {
	c := open(t, bare, patient)
	_, p := get(t, c, "/console/")
	p.says("Waiting for the first turn…", "ken connect claude-code", `client = OpenAI(base_url="http://example.com/v1")`, `baseURL: "http://example.com/v1"`,
		"curl http://example.com/v1/chat/completions", `"url": "http://example.com/mcp"`)
	p.hides("Turns today", "X-Ken-Key")
	if attr(p.one("[data-first]"), "data-first") != "new" || !strings.Contains(attr(p.one("body"), "data-topics"), "turns") {
		t.Error("the page does not wait for a turn")
	}
	c.learn("", "The ledger listens on port 8071.")
	_, p = get(t, c, "/console/")
	p.says("Waiting for the first turn…", "Turns today", "The ledger listens on port 8071.")
	c.turn("On which port does the ledger listen?")
	_, p = get(t, c, "/console/")
	p.says("Latest turns", "On which port does the ledger listen?")
	if p.has("[data-first]") {
		t.Error("it still waits")
	}
}

// The overview of a key without a turn of its own offers instructions beside the figures. A visitor
// who can't make a turn does not get them.
func TestWelcomeWithKeys(t *testing.T) {
	c := open(t, bare, patient, withRing)
	c.turn("On which port does the ledger listen?", by(mate, "s-mate"))
	_, p := get(t, c, "/console/", dev)
	p.says("Turns today", "What needs you", "No turn with your key yet", "-H 'X-Ken-Key: ken_…'", `default_headers={"X-Ken-Key": "ken_…"}`)
	p.hides("On which port")
	_, p = get(t, c, "/console/", mate)
	p.says("On which port does the ledger listen?")
	_, p = get(t, c, "/console/", reader)
	p.hides("Waiting for the first turn…", "On which port")
}

// The lines are for a shell, so they contain only a valid host.
func TestWelcomeAddress(t *testing.T) {
	c := open(t, bare)
	for host, want := range map[string]string{"ken.example:8484": "ken.example:8484", "[::1]:8484": "[::1]:8484", "a;rm -rf ~": "127.0.0.1:8484", "a$(id)": "127.0.0.1:8484",
		"a\"b": "127.0.0.1:8484", "": "127.0.0.1:8484"} {
		r := httptest.NewRequestWithContext(access.With(context.Background(), operator), http.MethodGet, "/console/", nil)
		r.Host = host
		w := httptest.NewRecorder()
		c.con.ServeHTTP(w, r)
		if p := read(t, r, w); !strings.Contains(p.text(), "curl http://"+want+"/v1/chat/completions") {
			t.Errorf("%q: %s", host, p.text())
		}
	}
}
