package bolt_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/kenlayer/ken"
	"github.com/kenlayer/ken/internal/store/bolt"
)

// Verified decays without new evidence; the same person's newer word is new.
func TestReinforcingStopsDecay(t *testing.T) {
	ctx := context.Background()
	s := open(t, t.TempDir(), bolt.Options{})
	first := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	c := claim(t, "the ledger listens on 5432")
	c.CreatedAt = first
	id := write(t, s, c)
	must(t, s.Transition(ctx, ken.Transition{ID: id, To: ken.StatusVerified, Evidence: []ken.Evidence{ken.FromHumanAssertion("ada", first, "")}}))
	at := func(day int) ken.Tier {
		t.Helper()
		res, err := s.Keyword(ctx, "ledger", &ken.Filter{}, 1)
		must(t, err)
		row, _ := s.Row(res.Hits[0].Ref)
		return row.Support.At(first.AddDate(0, 0, day), 90)
	}
	if at(80) != ken.Verified || at(100) != ken.Inferred {
		t.Errorf("tiers %s and %s before", at(80), at(100))
	}
	must(t, s.Reinforce(ctx, id, []ken.Evidence{ken.FromHumanAssertion("ada", first.AddDate(0, 0, 80), "again")}, ken.Actor{Type: "user", ID: "ada"}))
	got, err := s.Get(ctx, id)
	must(t, err)
	if at(100) != ken.Verified || got.Reinforcements != 1 || len(got.Evidence) != 2 {
		t.Errorf("tier %s, claim %+v", at(100), got)
	}
	events, err := s.History(ctx, id)
	must(t, err)
	if last := events[len(events)-1]; last.Type != ken.EventReinforced || last.Actor.ID != "ada" {
		t.Errorf("history ends with %+v", last)
	}
	must(t, s.Transition(ctx, ken.Transition{ID: id, To: ken.StatusDisputed}))
	if err := s.Reinforce(ctx, id, nil, ken.Actor{}); !errors.Is(err, ken.ErrRefused) {
		t.Errorf("a disputed claim was reinforced: %v", err)
	}
}
