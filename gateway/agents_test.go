package gateway_test

import (
	"strings"
	"testing"

	"github.com/kenlayer/ken/internal/gateway/upstreamtest"
	"github.com/kenlayer/ken/internal/middleware/wire"
)

// Agents say in headers of their own which conversation it is. A sub-agent's is one of
// its own, and knows whose it is; Ken's own header comes before all that.
func TestSubAgentsHaveSessionsOfTheirOwn(t *testing.T) {
	l := layer(t, nil)
	g := start(t, l, upstreamtest.New(t).URL)
	ask := func(text string, header ...string) { post(t, g.URL+chatPath, chat(text), header...) }
	const id = "3f6c1a52-8a7e-4a53-9a54-0a4f8d2f8a11"
	ask("How does the ledger work?", "X-Claude-Code-Session-Id", id, "User-Agent", "claude-cli/2.1.197 (external, cli)")
	ask("Read the tests.", "X-Claude-Code-Session-Id", id, "X-Claude-Code-Agent-Id", "a1")
	ask("Fix it.", "X-Session-Id", "ses_1")
	ask("Fix it.", "X-Session-Id", "ses_2", "X-Parent-Session-Id", "ses_1")
	ask("Hello.", "X-Session-Id", "ses_3", "X-Ken-Session", "mine")
	long := strings.Repeat("x", 10<<10)
	ask("Hello again.", "X-Session-Id", long+"2", "X-Parent-Session-Id", long)
	post(t, g.URL+chatPath, strings.Replace(chat("Hello there."), "{", `{"prompt_cache_key":"a\nb0123456789abcdef01","metadata":{"session_id":"`+long+`"},`, 1))
	if err := l.Recorded(t.Context()); err != nil {
		t.Fatal(err)
	}
	for name, want := range map[string]struct{ parent, agent string }{
		wire.NameOf("default", long+"2"): {wire.NameOf("default", long), ""}, wire.NameOf("default", long): {},
		id: {"", "claude-code"}, id + "~a1": {id, ""}, "ses_1": {}, "ses_2": {"ses_1", ""}, "mine": {},
	} {
		s, err := l.Journal("").Info(t.Context(), name)
		if err != nil || s.Parent != want.parent || s.Agent != want.agent || s.Messages != 2 {
			t.Errorf("%s: %+v, %v", name, s, err)
		}
	}
}
