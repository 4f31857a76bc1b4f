package store_test

import (
	"context"
	"testing"

	"github.com/kenlayer/ken"
	"github.com/kenlayer/ken/internal/store/bolt"
	"github.com/kenlayer/ken/store/memory"
)

// superseder is a store that keeps the reason.
type superseder interface {
	ken.Store
	SupersedeFor(ctx context.Context, oldID, newID, reason string, actor ken.Actor) error
}

func TestTheHistoryKeepsWhyAClaimWasReplacedAndByWhom(t *testing.T) {
	disk, err := bolt.Open(t.Context(), t.TempDir(), bolt.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer disk.Close()
	for name, s := range map[string]superseder{"bolt": disk, "memory": memory.New(memory.Options{})} {
		t.Run(name, func(t *testing.T) {
			var ids [2]string
			for i, text := range []string{"Ana works at Google.", "Ana joined Microsoft."} {
				c, err := ken.NewClaim(text, ken.FromMessage("s", "m1", text))
				if err == nil {
					ids[i], err = s.WriteClaim(t.Context(), c)
				}
				if err != nil {
					t.Fatal(err)
				}
			}
			by := ken.Actor{Type: "system", ID: "harvest"}
			if err := s.SupersedeFor(t.Context(), ids[0], ids[1], "updates: joined", by); err != nil {
				t.Fatal(err)
			}
			events, err := s.History(t.Context(), ids[0])
			if err != nil {
				t.Fatal(err)
			}
			last := events[len(events)-1]
			if last.Type != ken.EventSuperseded || last.Reason != "updates: joined" || last.Actor != by || last.Other != ids[1] {
				t.Errorf("%+v", last)
			}
		})
	}
}
