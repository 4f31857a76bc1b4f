package null_test

import (
	"context"
	"testing"

	"github.com/kenlayer/ken"
	"github.com/kenlayer/ken/internal/store/null"
)

// For a user of the library who has not opted in, there is no cost: no error to
// handle, no result to check, no allocation.
func TestNullCostsNothing(t *testing.T) {
	ctx, cancel := context.WithCancel(context.Background())
	cancel() // not even a context that is over matters
	var s ken.Store = null.Store{}
	c := ken.Claim{Text: "a claim without evidence is not refused either"}
	allocs := testing.AllocsPerRun(100, func() {
		if id, err := s.WriteClaim(ctx, c); id != "" || err != nil {
			t.Errorf("WriteClaim: %q, %v", id, err)
		}
		if found, err := s.Query(ctx, ken.Query{Question: "claim"}); found != nil || err != nil {
			t.Errorf("Query: %v, %v", found, err)
		}
		if err := s.Transition(ctx, ken.Transition{ID: "x", To: "nonsense"}); err != nil {
			t.Errorf("Transition: %v", err)
		}
		if err := s.Supersede(ctx, "x", "x"); err != nil {
			t.Errorf("Supersede: %v", err)
		}
		if events, err := s.History(ctx, "x"); events != nil || err != nil {
			t.Errorf("History: %v, %v", events, err)
		}
	})
	if allocs != 0 {
		t.Errorf("%v allocations a round, want none", allocs)
	}
}
