package receipt_test

import (
	"context"
	"fmt"
	"time"

	"github.com/kenlayer/ken"
	"github.com/kenlayer/ken/internal/run/receipt"
	"github.com/kenlayer/ken/store/memory"
)

// A book returns what a turn received and why.
func Example() {
	ctx := context.Background()
	b := receipt.NewBook(memory.NewShelf(), receipt.Options{Count: 500, Age: 7 * 24 * time.Hour,
		Now: func() time.Time { return time.Date(2026, 5, 18, 9, 0, 0, 0, time.UTC) }})
	for _, turn := range []string{"turn-1", "turn-2"} {
		err := b.Put(ctx, receipt.Record{Model: "a-model", Receipt: ken.Receipt{Turn: turn, Session: "s1", Mode: ken.ModeHybrid,
			At:    time.Date(2026, 5, 18, 8, 59, 0, 0, time.UTC),
			Items: []ken.Item{{ID: "0198a000", Kind: ken.KindFact, Tier: ken.Verified, Text: "The port is 8080."}}}})
		if err != nil {
			fmt.Println(err)
		}
	}
	records, next, err := b.List(ctx, receipt.Query{Session: "s1", Limit: 1})
	if err != nil {
		fmt.Println(err)
	}
	for _, r := range records {
		fmt.Println(r.Turn, r.Mode, r.Items[0].ID, r.Items[0].Tier, "says", fmt.Sprintf("%q", r.Items[0].Text), "more:", next != "")
	}
	// Output: turn-2 hybrid 0198a000 Verified says "" more: true
}
