package model_test

import (
	"errors"
	"testing"
	"time"

	"github.com/kenlayer/ken/internal/harvest/model"
	"github.com/kenlayer/ken/internal/harvest/model/modeltest"
	"github.com/kenlayer/ken/store"
	"github.com/kenlayer/ken/store/memory"
)

// A day's budget holds over clients, which stand for processes; the next day has its own.
func TestBudgetOfADay(t *testing.T) {
	shelf := memory.NewShelf()
	server := modeltest.Serve(t)
	now := time.Date(2026, 5, 18, 22, 0, 0, 0, time.UTC)
	budget := func(most int) *model.Budget {
		return &model.Budget{Shelf: shelf, Most: most, Now: func() time.Time { return now }}
	}
	draft := func(most int) error {
		t.Helper()
		_, err := client(t, server, model.Options{Budget: budget(most)}).Draft(t.Context(), modeltest.Session(), nil)
		return err
	}
	spent := func() int {
		t.Helper()
		n, err := budget(0).Spent(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		return n
	}
	if err := draft(0); !errors.Is(err, model.ErrBudget) || len(server.Requests()) != 0 {
		t.Errorf("%v after %d requests", err, len(server.Requests()))
	}
	if err := draft(100_000); err != nil || spent() == 0 {
		t.Fatalf("%v, %d tokens", err, spent())
	}
	first := spent()
	if err := draft(first + 10); !errors.Is(err, model.ErrBudget) || spent() != first || len(server.Requests()) != 1 {
		t.Errorf("%v, %d tokens, then %d", err, first, spent())
	}
	if err := draft(100_000); err != nil || spent() <= first {
		t.Errorf("%v, %d tokens, then %d", err, first, spent())
	}
	now = now.Add(3 * time.Hour)
	if spent() != 0 {
		t.Errorf("%d tokens on the next day", spent())
	}
	if err := draft(100_000); err != nil {
		t.Errorf("the next day: %v", err)
	}
	// What can't be read counts as nothing, and is written over.
	if err := shelf.Update(t.Context(), func(tx store.ShelfTx) error { return tx.Put("harvest/budget", []byte("{")) }); err != nil {
		t.Fatal(err)
	}
	if err := draft(100_000); err != nil || spent() == 0 {
		t.Errorf("%v, %d tokens", err, spent())
	}
}
