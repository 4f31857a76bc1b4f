//go:build unix

package middleware_test

import (
	"context"
	"fmt"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/kenlayer/ken"
	"github.com/kenlayer/ken/config"
	"github.com/kenlayer/ken/internal/run/session"
)

// BenchmarkRecorder is a turn of one of 200 sessions with its answer, each session a
// conversation that grows to 20 messages of 300 bytes and starts anew, with a
// hundred claims in the store. cpu-µs/op is what the whole process spent on it; the
// difference to "none" is what keeping it costs.
func BenchmarkRecorder(b *testing.B) {
	for _, keep := range []struct {
		name     string
		journal  bool
		receipts int
	}{{"none", false, 0}, {"journal", true, 0}, {"all", true, 2000}} {
		b.Run(keep.name, func(b *testing.B) {
			l := open(b, settings(func(c *config.Config) {
				c.Middleware.Journal, c.Session.Receipts, c.Retrieval.Deadline = keep.journal, keep.receipts, 30*time.Second
			}))
			var facts []ken.Claim
			for i := range 100 {
				facts = append(facts, fact(b, "service number %d of the payments cluster listens on port %d behind the ledger", i, 8000+i))
			}
			learn(b, l, facts...)
			filler := strings.Repeat("The retry loop waits for the timer before it asks. ", 5)
			const sessions = 200
			said := make([][]ken.Message, sessions)
			rounds := make([]int, sessions)
			flush := func() {
				if err := l.End(context.Background(), "", "nobody", session.Closed); err != nil {
					b.Fatal(err)
				}
			}
			before := cpu(b)
			for i := 0; b.Loop(); i++ {
				n := i % sessions
				if len(said[n]) >= 20 {
					said[n] = nil
					rounds[n]++
				}
				question := fmt.Sprintf("On which port does service number %d of the payments cluster listen? %s", i%100, filler)
				said[n] = append(said[n], ken.Message{Role: "user", Text: question})
				t := ken.Turn{Session: fmt.Sprintf("session-%d-%d", n, rounds[n]), Messages: said[n]}
				r := l.Assemble(context.Background(), t).Receipt
				if len(r.Degraded) > 0 {
					b.Fatal(r.Degraded)
				}
				answer := ken.Message{Role: "assistant", Text: fmt.Sprintf("Service %d listens on port %d. %s", i, 8000+i%100, filler)}
				l.Answered(t, answer)
				said[n] = append(said[n], answer)
				if i%200 == 199 { // so that nothing is left out
					flush()
				}
			}
			flush()
			b.ReportMetric(float64((cpu(b)-before).Microseconds())/float64(b.N), "cpu-µs/op")
			b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "turns/s")
		})
	}
}

// cpu is the time that this process spent on processors so far.
func cpu(b *testing.B) time.Duration {
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		b.Fatal(err)
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}
