package bolt

import (
	"fmt"
	"log/slog"
	"testing"

	"go.etcd.io/bbolt"

	"github.com/kenlayer/ken"
	"github.com/kenlayer/ken/store"
)

// An index that fails does not fail a write, which is durable: it is opened again, and
// finds what was written meanwhile.
func TestAnIndexThatFailsIsMended(t *testing.T) {
	s, err := Open(t.Context(), t.TempDir(), Options{Log: slog.New(slog.DiscardHandler)})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	write := func(text string) {
		t.Helper()
		if _, err := s.WriteClaim(t.Context(), ken.Claim{Text: text, Evidence: []ken.Evidence{ken.FromUserStatement("s", "m")}}); err != nil {
			t.Fatal(err)
		}
	}
	write("the port is 8080")
	if err := s.index.Load().Close(); err != nil { // from now on it can't be written
		t.Fatal(err)
	}
	write("the host is example")
	for _, word := range []string{"port", "host"} {
		if got, err := s.Query(t.Context(), ken.Query{Question: word}); err != nil || len(got) != 1 {
			t.Errorf("%s: %v, %v", word, got, err)
		}
	}
	if faults, _ := s.Faults(t.Context()); len(faults) > 0 {
		t.Errorf("faults %v", faults)
	}
}

// A bad page refuses writes by name and lets reads go on; a rebuild ends that.
func TestABadPageRefusesWrites(t *testing.T) {
	s, err := Open(t.Context(), t.TempDir(), Options{Log: slog.New(slog.DiscardHandler)})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	c := ken.Claim{Text: "the port is 8080", Evidence: []ken.Evidence{ken.FromUserStatement("s", "m")}}
	id, err := s.WriteClaim(t.Context(), c)
	if err != nil {
		t.Fatal(err)
	}
	_ = s.broke("page 7 makes no sense")
	c.Text = "the host is example"
	if _, err := s.WriteClaim(t.Context(), c); ken.Hint(err) == "" {
		t.Errorf("written to a damaged store: %v", err)
	}
	if err := s.Shelf().Update(t.Context(), func(tx store.ShelfTx) error { return tx.Put("k", nil) }); err == nil {
		t.Error("the shelf of a damaged store is written")
	}
	if _, err := s.Get(t.Context(), id); err != nil {
		t.Errorf("reads fail as well: %v", err)
	}
	if faults, _ := s.Faults(t.Context()); len(faults) != 1 || faults[0].Name != store.FaultDamaged {
		t.Errorf("faults %v", faults)
	}
	if err := s.Rebuild(t.Context()); err != nil {
		t.Fatal(err)
	}
	if _, err := s.WriteClaim(t.Context(), c); err != nil {
		t.Errorf("after a rebuild: %v", err)
	}
}

// Giving up the files' pages, at any time, is noticed by nobody who reads or writes.
func TestGivenUpPagesAreReadAgain(t *testing.T) {
	s, err := Open(t.Context(), t.TempDir(), Options{NoSync: true})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	for round := range 3 {
		in := make([]store.Incoming, 1500) // more than the keyword index holds in memory
		for i := range in {
			if in[i].Claim, err = ken.NewClaim(fmt.Sprintf("The ledger of round %d has number %d.", round, i), ken.FromUserStatement("s", "m")); err != nil {
				t.Fatal(err)
			}
		}
		out := s.Import(t.Context(), in)
		if err := s.view(func(tx *bbolt.Tx) error {
			s.index.Load().Release()
			giveUp(tx)
			return nil
		}); err != nil {
			t.Fatal(err)
		}
		for i := range out {
			if c, err := s.Get(t.Context(), out[i].ID); err != nil || c.Text != in[i].Claim.Text {
				t.Fatalf("%q, %v", c.Text, err)
			}
		}
		found, err := s.Query(t.Context(), ken.Query{Question: fmt.Sprintf("ledger round %d number 777", round), Limit: 3})
		if err != nil || len(found) == 0 || found[0].Text != in[777].Claim.Text {
			t.Fatalf("round %d: %v, %v", round, found, err)
		}
	}
}
