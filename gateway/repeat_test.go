package gateway_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/kenlayer/ken"
	"github.com/kenlayer/ken/config"
	"github.com/kenlayer/ken/internal/gateway/upstreamtest"
	"github.com/kenlayer/ken/internal/run/session"
)

// A question that two hundred programs ask, one after the other, leaves nothing behind
// that would stand between it and its answer.
func TestARepeatedQuestionDoesNotHideItsAnswer(t *testing.T) {
	const asked = "Which port does the ledger service listen on?"
	l := layer(t, map[string]string{"default": "The ledger service listens on port 7443."}, func(c *config.Config) {
		c.Retrieval.Deadline = 30 * time.Second // a slow machine must not change what is found
	})
	learn(t, l, "default", "The payments service settles invoices at 02:00 UTC.")
	up := upstreamtest.New(t)
	up.Handle(func(*upstreamtest.Request) upstreamtest.Answer {
		return upstreamtest.Answer{Header: []upstreamtest.Field{{Name: "Content-Type", Value: "application/json"}}, Pieces: [][]byte{[]byte(`{"id":"c","object":"chat.completion","model":"m","choices":[{"index":0,"message":{"role":"assistant","content":"I was told nothing about that."},"finish_reason":"stop"}]}`)}}
	})
	g := start(t, l, up.URL)
	for i := range 200 {
		post(t, g.URL+chatPath, fmt.Sprintf(`{"model":"m","messages":[{"role":"system","content":"You are client %c%c of the fleet."},{"role":"user","content":%q}]}`,
			'a'+i/26, 'a'+i%26, asked))
	}
	if err := l.Recorded(t.Context()); err != nil {
		t.Fatal(err)
	}
	sessions, err := l.Journal("").List(t.Context())
	if err != nil || len(sessions) != 200 {
		t.Fatalf("%d sessions, %v", len(sessions), err)
	}
	for _, s := range sessions {
		if err := l.End(t.Context(), "", s.ID, session.Closed); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := l.Harvest(t.Context(), ""); err != nil {
		t.Fatal(err)
	}
	a := l.Assemble(t.Context(), ken.Turn{Messages: []ken.Message{{Role: "user", Text: asked}}})
	if len(a.Receipt.Items) == 0 || !strings.Contains(a.Receipt.Items[0].Text, "7443") {
		t.Errorf("the answer is not first: %s", a.Receipt.Block)
	}
	for _, it := range a.Receipt.Items {
		if it.Kind == ken.KindEpisode {
			t.Errorf("an episode of nothing but the question: %q", it.Text)
		}
	}
	st, release, err := l.Store(t.Context(), "")
	if err != nil {
		t.Fatal(err)
	}
	defer release()
	for c, err := range st.Claims(t.Context()) {
		if err != nil {
			t.Fatal(err)
		}
		if c.Session != "" && c.Kind == ken.KindEpisode {
			t.Fatalf("a session left %s %q", c.Kind, c.Text)
		}
	}
}
