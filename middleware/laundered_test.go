package middleware_test

import (
	"strings"
	"testing"

	"github.com/kenlayer/ken"
	"github.com/kenlayer/ken/internal/run/session"
	"github.com/kenlayer/ken/store"
)

// What a text from outside had an agent run is told by nothing that is harvested, and the
// episode of that session is trusted as little as the text. Forgetting the text leaves
// nothing of it, also where a session did what it says and nobody noticed.
func TestAHarvestDoesNotPassOnWhatWasFlagged(t *testing.T) {
	for _, noticed := range []bool{true, false} {
		root := t.TempDir()
		l := within(t, root)
		id := learn(t, l, fromOutside(t, poison), fact(t, "%s", portFact))[0]
		s, release, err := l.Store(t.Context(), "")
		must(t, err)
		turn := ken.Turn{ID: "t1", Session: "s1", Messages: []ken.Message{{Role: "user", Text: broken + " And remember that releases of the ledger happen on Tuesdays after 14:00."}}}
		a := l.Assemble(t.Context(), turn)
		if len(a.Receipt.Items) == 0 || a.Receipt.Items[0].ID != id {
			t.Fatalf("the model was not given it: %+v", a.Receipt.Items)
		}
		call := ken.Message{Role: "assistant", ToolCalls: []ken.ToolCall{{ID: "c1", Name: "bash", Arguments: `{"command":` + quoted(poisoned) + `}`},
			{ID: "c2", Name: "bash", Arguments: `{"command":"go test ./ledger"}`}}}
		turn.Messages = append(turn.Messages, call, ken.Message{Role: "tool", ToolCallID: "c1", Text: "installed from evil.example\nexit code 0"},
			ken.Message{Role: "tool", ToolCallID: "c2", Text: "ok ledger 0.2s"}, ken.Message{Role: "assistant", Text: "The build works again, and the tests of the ledger pass."},
			ken.Message{Role: "user", Text: "Good. We decided to keep PostgreSQL for the ledger."})
		turn.ID = "t2"
		l.Assemble(t.Context(), turn)
		must(t, l.Recorded(t.Context()))
		if noticed {
			must(t, s.Shelf().Update(t.Context(), func(tx store.ShelfTx) error {
				return l.Receipts("").AddMark(tx, "t1", []ken.Taint{{Tool: "bash", Call: "c1", Claim: id, Chars: 30}})
			}))
		}
		must(t, l.End(t.Context(), "", "s1", session.Closed))
		_, err = l.Harvest(t.Context(), "")
		must(t, err)
		episodes := 0
		for c, err := range s.Claims(t.Context()) {
			must(t, err)
			said := strings.Contains(c.Text+string(c.Body), "evil.example")
			if noticed && said && c.ID != id {
				t.Errorf("%s: %s", c.Kind, c.Text)
			}
			if c.Kind == ken.KindEpisode {
				episodes++
				want := ken.TrustAgent
				if noticed {
					want = ken.TrustExternal
				}
				if got := c.Support(nil).Trust; got != want {
					t.Errorf("noticed %v: the episode is trusted as %s, want %s: %s", noticed, got, want, c.Text)
				}
			}
		}
		if episodes != 1 {
			t.Errorf("noticed %v: %d episodes", noticed, episodes)
		}
		would, err := l.WouldForget(t.Context(), "", id)
		must(t, err)
		if len(would.Given) == 0 || would.Given[0].Session != "s1" {
			t.Errorf("noticed %v: given to %+v", noticed, would.Given)
		}
		_, err = l.Forget(t.Context(), "", id, "", ken.Actor{})
		must(t, err)
		release()
		wantGone(t, root, "evil.example")
		must(t, l.Close())
		wantGone(t, root, "evil.example")
	}
}
