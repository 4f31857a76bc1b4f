package middleware

import (
	"context"
	"fmt"
	"math/rand/v2"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/kenlayer/ken"
	"github.com/kenlayer/ken/config"
	"github.com/kenlayer/ken/internal/retriever/scorer"
	"github.com/kenlayer/ken/internal/retriever/scorer/use"
	testseed "github.com/kenlayer/ken/internal/seed"
	"github.com/kenlayer/ken/retriever"
	"github.com/kenlayer/ken/store"
)

// A turn is judged once, when its answer is complete, not at each step of its tool loop.
func TestHearSaysWhatIsWorthJudging(t *testing.T) {
	call := ken.Message{Role: "assistant", Text: "Let me see.", ToolCalls: []ken.ToolCall{{ID: "a", Arguments: "{}"}}}
	said, other := ken.Message{Role: "assistant", Text: "Port 8071."}, ken.Message{Role: "assistant", Text: "Port 8072."}
	h := &judgedTurn{}
	for i, step := range []struct {
		m    ken.Message
		want bool
	}{{call, false}, {said, true}, {said, false}, {other, true}, {call, false}, {other, true}} {
		if got := h.addAnswer(step.m); got != step.want || len(h.answer) != 1 || !sameMessage(h.answer[0], truncatedMessage(step.m)) {
			t.Errorf("step %d: %v, %+v", i, got, h.answer)
		}
	}
}

// Whatever the order in which the records of a turn arrive, the result is the same as
// if the turn were judged once with all of them.
func TestAVerdictIsOnAllThatIsKnown(t *testing.T) {
	r := rand.New(rand.NewPCG(testseed.Of(t), 0))
	said := []ken.Message{
		{Role: "assistant", Text: "It listens on port 8071."},
		{Role: "assistant", Text: "It listens on port 8071."},
		{Role: "assistant", Text: "I don't know."},
		{Role: "assistant", ToolCalls: []ken.ToolCall{{ID: "a", Arguments: `{"p":"var/log/ledger.log"}`}}},
		{Role: "tool", ToolCallID: "a", Text: "fine"},
		{Role: "tool", ToolCallID: "a", Text: "error: not there"},
	}
	asked := ken.Message{Role: "user", Text: "Where does it listen?"}
	verdicts := map[string]bool{}
	for range 2000 {
		h := &judgedTurn{before: []ken.Message{asked}, receipt: ken.Receipt{Items: []ken.Item{
			{ID: "a", Text: "The ledger service listens on port 8071."}, {ID: "b", Text: "Logs of it are in var/log/ledger.log."}}}}
		some := func() (out []ken.Message) {
			for range r.IntN(3) {
				out = append(out, said[r.IntN(len(said))])
			}
			return out
		}
		for step := range 4 {
			switch r.IntN(4) {
			case 0:
				h.setAnswer(some())
			case 1, 2:
				h.addAnswer(said[r.IntN(len(said))])
			default:
				h.end(append([]ken.Message{asked}, some()...), []string{"Thanks.", "No, that's wrong.", ""}[r.IntN(3)])
			}
			want := use.Judge(use.Exchange{Items: h.receipt.Items, Before: h.before, Answer: h.answer, Next: h.followUp})
			if diff := cmp.Diff(want, h.uses()); diff != "" {
				t.Fatalf("step %d: %s", step, diff)
			}
			verdicts[fmt.Sprint(want)] = true
		}
	}
	if len(verdicts) < 5 {
		t.Errorf("only %d different verdicts: %v", len(verdicts), verdicts)
	}
}

// Turns that come faster than they can be judged are not judged. A moment later, turns are
// judged again.
func TestTurnsAreJudgedAtALimitedRate(t *testing.T) {
	var h judgedTurns
	at := time.Date(2026, 11, 2, 9, 0, 0, 0, time.UTC)
	judged := func(turns int) (n int) {
		for range turns {
			if h.allow(at) {
				n++
			}
		}
		return n
	}
	if n := judged(2 * judgedBurst); n != judgedBurst {
		t.Errorf("%d turns are judged at once, want %d", n, judgedBurst)
	}
	at = at.Add(time.Second)
	if n := judged(2 * judgedBurst); n != judgedRate {
		t.Errorf("%d turns are judged a second later, want %d", n, judgedRate)
	}
}

// slowShelf takes its time to read, as one in another process does on a busy machine.
type slowShelf struct {
	store.Shelf
	takes time.Duration
}

func (s slowShelf) View(ctx context.Context, _ func(store.ShelfReader) error) error {
	select {
	case <-time.After(s.takes):
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// Who sets a long deadline waits for what was learned as long as for all else.
func TestWhatWasLearnedIsAwaitedByTheDeadline(t *testing.T) {
	for _, tt := range []struct {
		deadline, takes time.Duration
		late            bool
	}{
		{150 * time.Millisecond, 40 * time.Millisecond, false},
		{150 * time.Millisecond, 60 * time.Millisecond, true},
		{30 * time.Second, 5 * time.Second, false},
		{30 * time.Second, 11 * time.Second, true},
	} {
		synctest.Test(t, func(t *testing.T) {
			l := &Layer{cfg: config.Default()}
			l.learners.m = map[string]*scorer.Learner{l.ownerOrDefault(""): scorer.NewLearner(slowShelf{takes: tt.takes}, scorer.Options{Mode: scorer.ModeOff})}
			st := State{Receipt: &ken.Receipt{}}
			l.applyLearned(t.Context(), &st, &retriever.Options{Deadline: tt.deadline})
			if late := len(st.Receipt.Degraded) > 0; late != tt.late {
				t.Errorf("of %s, what takes %s is late: %v, %q", tt.deadline, tt.takes, late, st.Receipt.Degraded)
			}
		})
	}
}
