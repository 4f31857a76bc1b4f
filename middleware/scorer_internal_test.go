package middleware

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/kenlayer/ken"
	"github.com/kenlayer/ken/config"
	"github.com/kenlayer/ken/internal/retriever/scorer"
	"github.com/kenlayer/ken/retriever"
	"github.com/kenlayer/ken/store"
)

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
			l.learners.m = map[string]*scorer.Learner{l.owned(""): scorer.NewLearner(slowShelf{takes: tt.takes}, scorer.Options{Mode: scorer.ModeOff})}
			st := State{Receipt: &ken.Receipt{}}
			l.learned(t.Context(), &st, &retriever.Options{Deadline: tt.deadline})
			if late := len(st.Receipt.Degraded) > 0; late != tt.late {
				t.Errorf("of %s, what takes %s is late: %v, %q", tt.deadline, tt.takes, late, st.Receipt.Degraded)
			}
		})
	}
}
