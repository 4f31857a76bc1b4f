package middleware_test

import (
	"context"
	"fmt"
	"os"
	"slices"
	"strconv"
	"testing"
	"time"

	"github.com/kenlayer/ken"
	"github.com/kenlayer/ken/config"
	"github.com/kenlayer/ken/embed/builtin"
	"github.com/kenlayer/ken/internal/run/jobs"
	"github.com/kenlayer/ken/internal/run/session"
	"github.com/kenlayer/ken/internal/synth"
	"github.com/kenlayer/ken/middleware"
)

// BenchmarkBesideHarvests is forty fresh turns a second with 10,000 claims, once with
// nothing else to do and once while a thousand sessions, or KEN_BENCH_HARVESTS, wait to be
// harvested: behind-p99 may be twice alone-p99, and harvests/s says that the queue gets
// shorter meanwhile. KEN_BENCH_TURNS is how many turns each, 800 if nothing is set.
func BenchmarkBesideHarvests(b *testing.B) {
	number := func(name string, n int) int {
		if env := os.Getenv(name); env != "" {
			var err error
			if n, err = strconv.Atoi(env); err != nil {
				b.Fatalf("%s: %v", name, err)
			}
		}
		return n
	}
	queued, turns := number("KEN_BENCH_HARVESTS", 1000), number("KEN_BENCH_TURNS", 800)
	model, err := builtin.Open()
	if err != nil {
		b.Fatal(err)
	}
	dir := b.TempDir()
	begin := func(foreground, harvests bool) *middleware.Layer {
		return open(b, settings(func(c *config.Config) { c.Middleware.Harvest = harvests }), func(o *middleware.Options) {
			o.Root, o.Foreground, o.Embedder = dir, foreground, model
		})
	}
	ctx := context.Background()
	src := synth.New(1)
	fill := begin(true, false)
	for range 10 {
		batch := make([]ken.Claim, 1000)
		for i := range batch {
			batch[i] = fact(b, "The %s service listens on port %d and %s.", src.Text(1), i, src.Text(8))
		}
		learn(b, fill, batch...)
	}
	journal := fill.Journal("")
	for i := range queued {
		a := session.About{ID: fmt.Sprint("ended-", i)}
		_, err := journal.Append(ctx, a, []ken.Message{
			{Role: "user", Text: fmt.Sprintf("We decided to move the %s service to port %d. Which host does it need, and %s?", src.Text(1), 2000+i, src.Text(8))},
			{Role: "assistant", Text: fmt.Sprintf("The %s service needs host-%d. %s. Then restart it, since %s.", src.Text(1), i, src.Text(20), src.Text(20))},
		})
		if err == nil {
			_, err = journal.End(ctx, a.ID, session.Closed)
		}
		if err != nil {
			b.Fatal(err)
		}
	}
	if err := fill.Close(); err != nil {
		b.Fatal(err)
	}
	round := 0
	measure := func(l *middleware.Layer, n int) []time.Duration {
		took := make([]time.Duration, 0, n)
		pace := time.NewTicker(time.Second / 40)
		defer pace.Stop()
		for range n {
			<-pace.C
			round++
			t := asked("Which port does the " + src.Text(1) + " service listen on? " + src.Text(6))
			t.Session = fmt.Sprint("asking-", round)
			start := time.Now()
			r := l.Assemble(ctx, t).Receipt
			took = append(took, time.Since(start))
			if r.Mode != ken.ModeHybrid && len(took) > 1 {
				b.Logf("mode %s: %s %v", r.Mode, r.Cause, r.Degraded)
			}
		}
		return took
	}
	left := func(l *middleware.Layer) int {
		list, err := l.Jobs("").List(ctx, jobs.Queued, jobs.Running)
		if err != nil {
			b.Fatal(err)
		}
		return len(list)
	}
	for b.Loop() {
		l := begin(false, false)
		measure(l, turns/4) // until what is done at the start is done
		alone := measure(l, turns)
		if err := l.Close(); err != nil {
			b.Fatal(err)
		}
		l = begin(false, true)
		before, start := left(l), time.Now()
		behind := measure(l, turns)
		done := before - left(l)
		b.ReportMetric(float64(done)/time.Since(start).Seconds(), "harvests/s")
		b.ReportMetric(float64(before), "queued")
		for name, took := range map[string][]time.Duration{"alone": alone, "behind": behind} {
			p50, p99 := percentile(took, .5), percentile(took, .99)
			b.ReportMetric(float64(p50.Microseconds())/1000, name+"-p50-ms")
			b.ReportMetric(float64(p99.Microseconds())/1000, name+"-p99-ms")
		}
	}
	b.ReportMetric(0, "ns/op")
}

// percentile sorts took.
func percentile(took []time.Duration, p float64) time.Duration {
	slices.Sort(took)
	return took[int(p*float64(len(took)-1))]
}
