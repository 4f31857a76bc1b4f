package remote_test

import (
	"context"
	"fmt"
	"testing"

	"github.com/google/uuid"

	"github.com/kenlayer/ken"
	"github.com/kenlayer/ken/internal/store/remote"
	"github.com/kenlayer/ken/store"
	"github.com/kenlayer/ken/store/storetest"
)

// A traversal costs a turn one round trip, and what it asks about the records none.
func TestOutlinesTakeOneRoundTrip(t *testing.T) {
	ctx := context.Background()
	s := serve(t, storetest.Options{}, remote.ServerOptions{})
	for i := range 30 {
		c := claim(t, fmt.Sprint("claim ", i))
		c.Entities, c.Constraint = []string{"payments", "ledger"}, i%3 == 0
		if i%5 == 1 {
			c.Kind = ken.KindDependency
		}
		write(t, s.disk, c)
	}
	trips := s.Trips()
	out, err := s.Outlines(ctx, []string{"payments", "ledger", ""}, &ken.Filter{}, store.OutlineOptions{})
	must(t, err)
	if got := s.Trips() - trips; got != 1 {
		t.Errorf("%d round trips", got)
	}
	refs := out[0].Constraints
	for _, l := range out[0].Links {
		refs = append(refs, l.Ref)
	}
	for _, a := range out[0].Aspects {
		refs = append(refs, a.Top...)
	}
	if len(refs) != 30 {
		t.Fatalf("%d records", len(refs))
	}
	for _, ref := range refs {
		if row, ok := s.Row(ref); !ok || row.ID == "" {
			t.Errorf("record %d has no row", ref)
		}
	}
	if got := s.Trips() - trips; got != 1 {
		t.Errorf("their rows cost %d round trips more", got-1)
	}
	trips = s.Trips()
	if known := s.Known([]string{"payments", "nobody"}); !known[0] || known[1] || s.Trips() != trips+1 {
		t.Errorf("known %v, after %d round trips", known, s.Trips()-trips)
	}
	for range s.Names(ctx, &ken.Filter{}) {
	}
	if s.Trips() != trips+2 {
		t.Errorf("two names take %d round trips", s.Trips()-trips-1)
	}
}

// An assignment whose answer was lost is repeated, and done once.
func TestAnAssignmentIsDoneOnce(t *testing.T) {
	s := serve(t, storetest.Options{}, remote.ServerOptions{})
	id := write(t, s, claim(t, "deploys are slow"))
	ctx := store.WithCommit(context.Background(), uuid.Must(uuid.NewV7()))
	for range 2 {
		changed, err := s.Assign(ctx, ken.Assignment{ID: id, By: ken.AssignedByRules, Entities: []string{"payments"}})
		if must(t, err); !changed {
			t.Error("it changed nothing")
		}
	}
	if h, err := s.History(context.Background(), id); err != nil || len(h) != 2 {
		t.Errorf("%+v, %v", h, err)
	}
}
