package store_test

import (
	"context"
	"slices"
	"testing"

	"github.com/google/uuid"

	"github.com/kenlayer/ken/store"
	"github.com/kenlayer/ken/store/memory"
)

// far is a store that lies elsewhere, as far as one can tell.
type far struct {
	memory.Store
	asked   [][]string
	fetched []store.Ref
}

func (f *far) HasAll(ids []string) bool {
	f.asked = append(f.asked, ids)
	return len(ids) == 1
}

func (f *far) Fetch(_ context.Context, refs []store.Ref) { f.fetched = append(f.fetched, refs...) }

// A store elsewhere is asked once for many; one at hand is asked for each.
func TestManyAreAskedForAtOnceWhereItPays(t *testing.T) {
	near := memory.New(memory.Options{})
	id := uuid.NewString()
	if !store.HasAll(near, nil) || store.HasAll(near, []string{id}) {
		t.Error("a store at hand is not asked")
	}
	store.Fetch(t.Context(), near, []store.Ref{1, 2})

	f := &far{Store: near}
	if !store.HasAll(f, []string{id}) || store.HasAll(f, []string{id, id}) || len(f.asked) != 2 {
		t.Errorf("it was asked for %q", f.asked)
	}
	store.Fetch(t.Context(), f, nil)
	store.Fetch(t.Context(), f, []store.Ref{1, 2})
	if !slices.Equal(f.fetched, []store.Ref{1, 2}) {
		t.Errorf("it was told of %v", f.fetched)
	}
}

func TestAWriteHasTheNameThatItWasGiven(t *testing.T) {
	id := uuid.Must(uuid.NewV7())
	if got := store.CommitOf(store.WithCommit(t.Context(), id)); got != id {
		t.Errorf("%s, want %s", got, id)
	}
	if got := store.CommitOf(t.Context()); got != uuid.Nil {
		t.Errorf("without a name it has %s", got)
	}
}
