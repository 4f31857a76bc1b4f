package gateway_test

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/tidwall/gjson"

	"github.com/kenlayer/ken/config"
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

// Aider puts an example and its files in front of each conversation, in the user's name.
// Two conversations are two all the same, a block stays where it stood when the files
// change, and only what the user said is journaled.
func TestAidersConversations(t *testing.T) {
	l := layer(t, map[string]string{"default": about}, func(c *config.Config) { c.Retrieval.Deadline = 30 * time.Second })
	up := upstreamtest.New(t)
	g := start(t, l, up.URL)
	const head = `{"model":"m","messages":[{"role":"system","content":"Act as an expert software developer."},` +
		`{"role":"user","content":"Change the greeting."},{"role":"assistant","content":"Ok, I will."},` +
		`{"role":"user","content":"I switched to a new code base. Please don't consider the above files or try to edit them any longer."},{"role":"assistant","content":"Ok."},`
	const none = `{"role":"user","content":"I am not sharing any files that you can edit yet."},{"role":"assistant","content":"Ok."},`
	const file = `{"role":"user","content":"I have *added these files to the chat* so you can go ahead and edit them.\n\npay.py"},{"role":"assistant","content":"Ok, any changes I propose will be to those files."},`
	asked := `{"role":"user","content":"` + question + `"}`
	send := func(said string) (body string) {
		up.Forget()
		post(t, g.URL+chatPath, head+said+`]}`)
		if err := l.Recorded(t.Context()); err != nil {
			t.Fatal(err)
		}
		return string(up.Requests()[0].Body)
	}
	first := send(none + asked)
	at := strings.Index(first, `{"role":"user","content":"`+marker)
	if at < 0 || !strings.Contains(first, none+first[at:strings.Index(first, asked)]+asked) {
		t.Fatalf("no block before the question: %s", first)
	}
	block := first[at:strings.Index(first, asked)]
	answer, err := json.Marshal(gjson.GetBytes(upstreamtest.Recording("chat").Body(), "choices.0.message.content").Str)
	if err != nil {
		t.Fatal(err)
	}
	later := send(asked + `,{"role":"assistant","content":` + string(answer) + `},` + file + `{"role":"user","content":"thanks!"}`)
	if !strings.Contains(later, block+asked+`,{"role":"assistant"`) || strings.Count(later, marker) != 1 {
		t.Errorf("the block does not stay: %s", later)
	}
	send(none + `{"role":"user","content":"Which database does the ledger use?"}`)
	sessions, err := l.Journal("").List(t.Context())
	if err != nil || len(sessions) != 2 {
		t.Fatalf("%d sessions, %v", len(sessions), err)
	}
	for _, s := range sessions {
		tr, err := l.Journal("").Read(t.Context(), s.ID)
		if err != nil {
			t.Fatal(err)
		}
		for _, e := range tr.Entries {
			if m := e.Message; m.Role == "user" && m.Text != question && m.Text != "thanks!" && m.Text != "Which database does the ledger use?" {
				t.Errorf("%s: the user did not say %q", s.ID, m.Text)
			}
		}
	}
}
