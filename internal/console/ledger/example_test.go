package ledger_test

import (
	"context"
	"fmt"
	"time"

	"github.com/kenlayer/ken"
	"github.com/kenlayer/ken/internal/console/ledger"
	"github.com/kenlayer/ken/internal/run/receipt"
	"github.com/kenlayer/ken/store/memory"
)

// Which turns were shown a claim, and how did the turns of an hour run?
func Example() {
	ctx := context.Background()
	now := time.Date(2026, 5, 18, 9, 0, 0, 0, time.UTC)
	clock := func() time.Time { return now }
	book := receipt.NewBook(memory.NewShelf(), receipt.Options{Now: clock})
	const claim = "0198a000-0000-7000-8000-000000000001"
	for i, mode := range []ken.Mode{ken.ModeHybrid, ken.ModeLate, ken.ModeHybrid} {
		r := ken.Receipt{Turn: fmt.Sprint("turn-", i), At: now.Add(time.Duration(i-50) * time.Minute), Mode: mode, MS: map[string]float64{"total": float64(10 + i)}}
		if mode == ken.ModeHybrid {
			r.Items = []ken.Item{{ID: claim, Kind: ken.KindFact}}
		}
		if err := book.Put(ctx, receipt.Record{Receipt: r}); err != nil {
			fmt.Println(err)
		}
	}

	l := ledger.New(ledger.Options{Now: clock})
	if err := l.Catch(ctx, "acme", book); err != nil {
		fmt.Println(err)
	}
	shown, total := l.ShownIn("acme", claim, 1)
	fmt.Println(shown[0].ID, "is the newest of", total)
	for _, b := range l.Series("acme", now.Add(-time.Hour), now, 2) {
		fmt.Printf("%s %d turns, %.0f%% late, median %.0f ms\n", b.From.Format(time.TimeOnly), b.Turns, 100*b.Share(ken.ModeLate), b.P50)
	}
	// Output:
	// turn-2 is the newest of 2
	// 08:00:00 3 turns, 33% late, median 11 ms
	// 08:30:00 0 turns, 0% late, median 0 ms
}
