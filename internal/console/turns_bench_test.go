package console_test

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"slices"
	"testing"
	"time"

	"github.com/kenlayer/ken"
	"github.com/kenlayer/ken/internal/access"
	"github.com/kenlayer/ken/internal/console"
	"github.com/kenlayer/ken/internal/run/receipt"
	"github.com/kenlayer/ken/internal/run/session"
	"github.com/kenlayer/ken/store"
)

// manyTurns is what the pages about turns have to be quick with, in sessions of turnsOfOne.
const (
	manyTurns  = 100_000
	turnsOfOne = 50
)

// BenchmarkTurnPages measures the pages about turns with 100,000 stored turns, each with its
// question and its answer. It reports the median and the 95th percentile in milliseconds. Making
// them takes a minute.
func BenchmarkTurnPages(b *testing.B) {
	c := open(b, bare, raced)
	ctx := context.Background()
	at := now.Add(-manyTurns * time.Second)
	c.store(ken.DefaultOwner, func(s store.Engine) error {
		book := receipt.NewBook(s.Shelf(), receipt.Options{Count: manyTurns, Now: clock})
		journal := c.layer.Operator().Journal("")
		for n := 0; n < manyTurns; n += turnsOfOne {
			id := fmt.Sprint("s-", n/turnsOfOne)
			var msgs []ken.Message
			for i := range turnsOfOne {
				msgs = append(msgs, ken.Message{Role: "user", Text: fmt.Sprintf("How does part %d of the ledger answer when the bank is away for a night, and who is told?", n+i)},
					ken.Message{Role: "assistant", Text: fmt.Sprintf("Part %d waits, repeats the call three times and then tells whoever is on call.", n+i)})
			}
			if _, err := journal.Append(ctx, session.About{ID: id, Agent: "coder", Model: "small"}, msgs); err != nil {
				return err
			}
			err := s.Shelf().Update(ctx, func(tx store.ShelfTx) error {
				for i := range turnsOfOne {
					at = at.Add(time.Second)
					r := receipt.Record{Agent: "coder", Model: "small", Through: uint64(2*i + 1), Receipt: ken.Receipt{Turn: fmt.Sprint("t-", n+i), Session: id, At: at, Mode: ken.ModeHybrid,
						MS: map[string]float64{"total": 3, "retrieve": 2}}}
					if i%5 > 0 {
						r.Chars, r.Items = 900, make([]ken.Item, 8)
						for k := range r.Items {
							r.Items[k] = ken.Item{ID: fmt.Sprintf("0198a000-0000-7000-8000-%012d", k), Kind: ken.KindFact}
						}
					}
					if err := book.Add(tx, r); err != nil {
						return err
					}
				}
				return nil
			})
			if err != nil {
				return err
			}
		}
		return nil
	})
	last := fmt.Sprint(manyTurns - 1)
	for _, path := range []string{"turns", "turns?block=none", "turns?q=99", "turns?q=part+99990", "turns?q=nobody+said+this", "turns?span=hour&agent=coder", "turns/t-" + last, "sessions/s-" + fmt.Sprint(manyTurns/turnsOfOne-1), ""} {
		b.Run("/"+path, func(b *testing.B) {
			var all []time.Duration
			size := 0
			ask := func() {
				r := httptest.NewRequestWithContext(access.With(ctx, operator), http.MethodGet, console.Prefix+path, nil)
				w := httptest.NewRecorder()
				start := time.Now()
				c.con.ServeHTTP(w, r)
				all = append(all, time.Since(start))
				if size = w.Body.Len(); w.Code != http.StatusOK {
					b.Fatalf("%s: %d", path, w.Code)
				}
			}
			ask() // the first one reads what there is
			for b.Loop() {
				ask()
			}
			first := all[0]
			slices.Sort(all)
			ms := func(d time.Duration) float64 { return float64(d.Microseconds()) / 1000 }
			b.ReportMetric(ms(first), "first-ms")
			b.ReportMetric(ms(all[len(all)/2]), "p50-ms")
			b.ReportMetric(ms(all[len(all)*95/100]), "p95-ms")
			b.ReportMetric(float64(size)/1000, "kB")
			b.ReportMetric(0, "ns/op")
		})
	}
}
