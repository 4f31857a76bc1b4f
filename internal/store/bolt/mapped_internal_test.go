package bolt

import (
	"fmt"
	"testing"

	"go.etcd.io/bbolt"

	"github.com/kenlayer/ken"
	"github.com/kenlayer/ken/store"
)

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
