package harvest_test

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/kenlayer/ken/internal/run/session"
	"github.com/kenlayer/ken/internal/store/bolt"
	"github.com/kenlayer/ken/internal/synth"
	"github.com/kenlayer/ken/store"
)

// BenchmarkHarvest measures the job of a session without a model, in a store on disk
// that holds 10,000 claims. Each iteration harvests a new session with new facts.
func BenchmarkHarvest(b *testing.B) {
	for _, n := range []int{200, 5000} {
		b.Run(fmt.Sprintf("messages=%d", n), func(b *testing.B) {
			r := onDisk(b, b.TempDir(), &clock{at: monday})
			src := synth.New(1)
			in := make([]store.Incoming, 1000)
			for range 10 {
				for i := range in {
					in[i] = store.Incoming{Claim: src.Claim()}
				}
				for _, o := range r.store.(*bolt.Store).Import(context.Background(), in) {
					if o.Err != nil {
						b.Fatal(o.Err)
					}
				}
			}
			var took []time.Duration
			facts := 0
			round := 0
			for b.Loop() {
				b.StopTimer()
				round++
				id := fmt.Sprintf("s%d", round)
				msgs := long(n)
				for i := range msgs { // another week's work
					if msgs[i].Role == "user" {
						msgs[i].Text = fmt.Sprintf("In sprint %d: %s", round, msgs[i].Text)
					}
				}
				r.clock.pass(time.Hour)
				if _, err := r.journal.Append(context.Background(), about(id), msgs); err != nil {
					b.Fatal(err)
				}
				if _, err := r.journal.End(context.Background(), id, session.Closed); err != nil {
					b.Fatal(err)
				}
				b.StartTimer()
				start := time.Now()
				report := r.drain(b)
				took = append(took, time.Since(start))
				if report.Done != 1 {
					b.Fatalf("%+v", report)
				}
				b.StopTimer()
				info, err := r.journal.Info(context.Background(), id)
				if err != nil {
					b.Fatal(err)
				}
				facts += len(info.Outcome.Learned)
				b.StartTimer()
			}
			synth.Percentiles(b, took)
			b.ReportMetric(float64(facts)/float64(len(took)), "facts/op")
		})
	}
}
