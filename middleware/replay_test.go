package middleware_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/kenlayer/ken"
	"github.com/kenlayer/ken/config"
	"github.com/kenlayer/ken/internal/middleware/inspect"
	"github.com/kenlayer/ken/internal/race"
	"github.com/kenlayer/ken/internal/run/receipt"
	"github.com/kenlayer/ken/internal/run/session"
	"github.com/kenlayer/ken/internal/seed"
	"github.com/kenlayer/ken/middleware"
)

// replayed is the replay of a turn, which must be what the receipt's block was.
func replayed(t *testing.T, l *middleware.Layer, was *ken.Receipt) inspect.Replay {
	t.Helper()
	r, err := l.Operator().Replay(t.Context(), was.Owner, was.Turn)
	if err != nil {
		t.Fatal(err)
	}
	if !r.Exact || r.Block != was.Block || len(r.Missing) > 0 || r.Why != "" {
		t.Errorf("turn %s: exact %v, missing %v, %q\n%s\nwant\n%s", was.Turn, r.Exact, r.Missing, r.Why, r.Block, was.Block)
	}
	return r
}

// The block of every turn can be restored byte for byte, with and without the journal.
func TestReplayOfRandomTurns(t *testing.T) {
	r := rand.New(rand.NewPCG(seed.Of(t), 1))
	for range race.Pick(6, 2) {
		l := open(t, settings(func(c *config.Config) {
			c.Retrieval.Floor, c.Middleware.Journal = 0, r.IntN(3) > 0
			c.Budget.Chars, c.Budget.MemoryChars = 500+r.IntN(2500), r.IntN(3000)
			c.Budget.ItemChars = 100 + r.IntN(600)
		}))
		var claims []ken.Claim
		for i := range 40 {
			text := fmt.Sprintf("Service %d of the ledger listens on port %d. ", i, 8000+r.IntN(1000)) + strings.Repeat("It must never be restarted by hand.  ", r.IntN(8))
			c := fact(t, "%s", text)
			c.Heading, c.Source = []string{"", "Ports of the ledger"}[r.IntN(2)], []string{"", "ops.md | page 2"}[r.IntN(2)]
			switch r.IntN(7) {
			case 0:
				c.Constraint, c.Entities = true, []string{"ledger"}
			case 1:
				c.Kind = ken.KindHot
			case 2:
				c = episode(t, fmt.Sprint("s", i), "Goal: "+text+"\nThe ports were listed.")
			case 3:
				c = playbook(t, fmt.Sprint("ledger-", i), "When the ledger listens on the wrong port:\n"+text)
			}
			claims = append(claims, c)
		}
		learn(t, l, claims...)
		for turn := range 6 {
			ask := asked(fmt.Sprintf("On which port does service %d of the ledger listen?", r.IntN(40)))
			if turn%2 == 0 {
				ask.Session = fmt.Sprint("s", turn)
			}
			was := l.Assemble(t.Context(), ask).Receipt
			if was.Block == "" {
				t.Fatalf("no block: %+v", was)
			}
			replayed(t, l, &was)
		}
	}
}

// A claim that says something else by now is replayed as it was then, from the journal
// or, where there is none, from the log.
func TestReplayOfAClaimThatChanged(t *testing.T) {
	for _, sess := range []string{"s1", ""} {
		t.Run("session="+sess, func(t *testing.T) {
			l := open(t, settings(func(c *config.Config) { c.Injection.Sticky = false }))
			s, release, err := l.Store(t.Context(), "")
			if err != nil {
				t.Fatal(err)
			}
			defer release()
			var turns []ken.Receipt
			for _, port := range []int{8071, 9071, 7071} { // texts of one length, so that only the hash tells them apart
				c := fact(t, "The ledger service listens on port %d.", port)
				c.Key = "ledger.port"
				if _, err := s.WriteClaim(t.Context(), c); err != nil {
					t.Fatal(err)
				}
				for range 2 {
					ask := asked("On which port does the ledger service listen?")
					ask.Session = sess
					turns = append(turns, l.Assemble(t.Context(), ask).Receipt)
				}
			}
			for i := range turns {
				if r := replayed(t, l, &turns[i]); !strings.Contains(r.Block, []string{"8071", "9071", "7071"}[i/2]) {
					t.Errorf("turn %d: %s", i, r.Block)
				}
			}
			if r := replayed(t, l, &turns[0]); r.Turn.Items[0].State != inspect.Changed {
				t.Errorf("%+v", r.Turn.Items)
			}
		})
	}
}

// What was forgotten does not come back by a replay, nor can the hash confirm a guess.
func TestReplayAfterForgetting(t *testing.T) {
	l := open(t, settings())
	ids := learn(t, l, fact(t, "%s", portFact), fact(t, "The ledger service is written in Go, and listens on a port."))
	ask := asked("What do we know about the ledger service in Go?")
	ask.Session = "s1"
	was := l.Assemble(t.Context(), ask).Receipt
	if len(was.Items) != 2 {
		t.Fatalf("%s", was.Block)
	}
	replayed(t, l, &was)
	if _, err := l.Forget(t.Context(), "", ids[0], "", ken.Actor{}); err != nil {
		t.Fatal(err)
	}
	r, err := l.Operator().Replay(t.Context(), "", was.Turn)
	if err != nil || r.Exact || fmt.Sprint(r.Missing) != fmt.Sprint(ids[:1]) || !strings.Contains(r.Why, "forgotten") || strings.Contains(r.Block, "8071") ||
		!strings.Contains(r.Block, "written in Go") || r.Turn.BlockHash != "" {
		t.Errorf("%v, %+v", err, r)
	}
}

// A receipt that was kept before there was a hash proves nothing, although the block is
// the same.
func TestReplayOfAnOldReceipt(t *testing.T) {
	l := open(t, settings())
	learn(t, l, fact(t, "%s", portFact))
	was := l.Assemble(t.Context(), asked("On which port does the ledger service listen?")).Receipt
	aged(t, l, was.Turn)
	r, err := l.Operator().Replay(t.Context(), "", was.Turn)
	if err != nil || r.Exact || r.Block != was.Block || !strings.Contains(r.Why, "no hash") {
		t.Errorf("%v, %+v", err, r)
	}
	none := l.Assemble(t.Context(), asked("Thanks!")).Receipt
	if r, err := l.Operator().Replay(t.Context(), "", none.Turn); err != nil || !r.Exact || r.Block != "" {
		t.Errorf("of nothing: %v, %+v", err, r)
	}
	if _, err := l.Operator().Replay(t.Context(), "", "no such turn"); !errors.Is(err, ken.ErrNotFound) {
		t.Errorf("%v", err)
	}
}

// aged makes a turn's receipt one of a version that knew neither hash nor number.
func aged(t *testing.T, l *middleware.Layer, turn string) {
	t.Helper()
	if err := l.Operator().Recorded(t.Context()); err != nil {
		t.Fatal(err)
	}
	s, release, err := l.Store(t.Context(), "")
	if err != nil {
		t.Fatal(err)
	}
	defer release()
	rec, err := l.Operator().Receipts("").Get(t.Context(), turn)
	if err != nil {
		t.Fatal(err)
	}
	sess := rec.Session
	rec.Session, rec.BlockHash, rec.Through = "elsewhere", "", 0 // in another session it takes no marks over
	b := receipt.NewBook(s.Shelf(), receipt.Options{})
	for _, id := range []string{"elsewhere", sess} {
		rec.Session = id
		if err := b.Put(t.Context(), rec); err != nil {
			t.Fatal(err)
		}
	}
}

// A turn is repeated with its original messages, whatever came after.
func TestTurnAsked(t *testing.T) {
	l := open(t, settings())
	learn(t, l, fact(t, "%s", portFact))
	var msgs []ken.Message
	var turns []string
	say := func(m ken.Message) {
		msgs = append(msgs, m)
		turn := ken.Turn{Session: "s1", Project: "p", Agent: "a", Model: "m", Branch: "b", Messages: msgs, Scopes: []ken.Scope{{Type: "team", ID: "ops"}}}
		if r := l.Assemble(t.Context(), turn).Receipt; len(turns) == 0 || turns[len(turns)-1] != r.Turn {
			turns = append(turns, r.Turn)
		}
	}
	say(ken.Message{Role: "user", Text: "On which port does the ledger listen?"})
	msgs = append(msgs, ken.Message{Role: "assistant", ToolCalls: []ken.ToolCall{{ID: "1", Name: "read", Arguments: "{}"}}})
	say(ken.Message{Role: "tool", ToolCallID: "1", Text: "port: 8071"}) // a later request of the same turn
	msgs = append(msgs, ken.Message{Role: "assistant", Text: "On 8071."})
	say(ken.Message{Role: "user", Text: "And the payments service?"})
	msgs = append(msgs, ken.Message{Role: "assistant", Text: "I don't know."})
	say(ken.Message{Role: "user", Text: "And the payments service?"}) // the same words once more
	if len(turns) != 3 {
		t.Fatalf("%q", turns)
	}
	for i, want := range []int{1, 5, 7} {
		for _, old := range []bool{false, true} {
			if old && i == 1 {
				continue // all in one moment: only the number tells these apart
			}
			if old && i == 0 {
				continue
			}
			if old {
				aged(t, l, turns[i])
			}
			got, err := l.Operator().TurnAsked(t.Context(), "", turns[i])
			if err != nil || len(got.Messages) != want || got.Messages[want-1].Text != msgs[want-1].Text || got.ID != turns[i] ||
				got.Session != "s1" || got.Project != "p" || got.Agent != "a" || got.Model != "m" || got.Branch != "b" || len(got.Scopes) != 1 {
				t.Errorf("turn %d, old %v: %v, %+v", i, old, err, got)
			}
		}
	}
	got, err := l.Operator().TurnAsked(t.Context(), "", turns[0])
	if err != nil {
		t.Fatal(err)
	}
	if a, err := l.Operator().DryRun(t.Context(), got, l.Config()); err != nil || !strings.Contains(a.Receipt.Block, "8071") {
		t.Errorf("%v, %s", err, a.Receipt.Block)
	}
}

func TestTurnAskedThatIsGone(t *testing.T) {
	root := t.TempDir()
	l := openWithin(t, root)
	talk(t, l, "s1")
	turns := keptTurns(t, l, "s1")
	free := l.Assemble(t.Context(), asked("Without a session?")).Receipt.Turn
	gone := func(why, turn string) {
		t.Helper()
		if _, err := l.Operator().TurnAsked(context.Background(), "", turn); !errors.Is(err, ken.ErrNotFound) || ken.Hint(err) == "" {
			t.Errorf("%s: %v", why, err)
		}
	}
	gone("unknown", "no such turn")
	gone("without a session", free)
	if _, err := l.Operator().TurnAsked(t.Context(), "", turns[0]); err != nil {
		t.Fatal(err)
	}
	// The message of a turn went, those before it did not: it must not be taken for the
	// turn before.
	takeOut(t, l, "s1", "drop Oracle")
	gone("forgotten", turns[0])
	if _, err := l.Operator().TurnAsked(t.Context(), "", turns[1]); err != nil {
		t.Fatal(err)
	}
	if err := l.End(t.Context(), "", "s1"); err != nil {
		t.Fatal(err)
	}
	if _, err := l.Harvest(t.Context(), ""); err != nil {
		t.Fatal(err)
	}
	if _, err := l.Operator().Journal("").Sweep(t.Context(), 0); err != nil {
		t.Fatal(err)
	}
	gone("swept", turns[1])
}

// takeOut takes the messages with these words out of a session's journal.
func takeOut(t *testing.T, l *middleware.Layer, id, words string) {
	t.Helper()
	_, err := l.Operator().Journal("").Expunge(t.Context(), session.Traces{Text: func(string) bool { return false },
		Message: func(_ string, e *session.Entry) bool { return strings.Contains(e.Message.Text, words) }})
	if err != nil {
		t.Fatal(err)
	}
}
