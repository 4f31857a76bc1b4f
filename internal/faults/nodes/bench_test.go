//go:build unix

package nodes

import (
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/kenlayer/ken"
	"github.com/kenlayer/ken/internal/store/commitlog/logtest"
	"github.com/kenlayer/ken/internal/store/shared"
	"github.com/kenlayer/ken/store"
)

// BenchmarkDurableWrite measures a write of a claim that is durable on a majority of three
// servers, or on one server of PostgreSQL. There is one writer of one owner, or there are
// sixteen with 64 owners. The node's file is synced as well.
func BenchmarkDurableWrite(b *testing.B) {
	for _, engine := range []string{"nats", "postgres", "folder"} {
		b.Run(engine, func(b *testing.B) { durable(b, engine, 0) })
	}
}

// BenchmarkSlowServers is BenchmarkDurableWrite with servers of NATS that hear each other late.
func BenchmarkSlowServers(b *testing.B) {
	for _, delay := range []time.Duration{50 * time.Millisecond, 200 * time.Millisecond} {
		b.Run(delay.String(), func(b *testing.B) { durable(b, "nats", delay) })
	}
}

func durable(b *testing.B, engine string, delay time.Duration) {
	o := shared.Options{}
	var routes []*proxy
	if engine != "folder" {
		url := ""
		switch {
		case engine == "postgres":
			url = logtest.StartPostgres(b).URL()
		case delay == 0:
			url = logtest.StartNATS(b, 3).URL()
		default:
			var c *logtest.NATS
			c, routes = natsBehindProxies(b)
			url = c.URL()
		}
		log, err := openLog(b.Context(), url)
		if err != nil {
			b.Fatal(err)
		}
		if o.Node, err = shared.StartNode(b.Context(), shared.NodeOptions{Log: log, ID: "bench"}); err != nil {
			b.Fatal(err)
		}
		b.Cleanup(func() { _ = o.Node.Close() })
	}
	all := shared.NewOwners(b.TempDir(), 64, o)
	b.Cleanup(func() { _ = all.Close() })
	var stores []store.Engine
	for i := range 64 {
		s, release, err := all.Get(b.Context(), fmt.Sprint("o", i))
		if err != nil {
			b.Fatal(err)
		}
		b.Cleanup(release)
		stores = append(stores, s)
	}
	for _, r := range routes {
		r.slow(pace{delay: delay})
	}
	b.Run("one", func(b *testing.B) { writes(b, stores[:1], 1) })
	b.Run("sixteen", func(b *testing.B) { writes(b, stores, 16) })
}

var written atomic.Int64

// writes lets several writers write b.N claims in total, and reports the median time.
func writes(b *testing.B, stores []store.Engine, writers int) {
	took := make([]time.Duration, b.N)
	var next atomic.Int64
	var wg sync.WaitGroup
	for range writers {
		wg.Go(func() {
			for {
				i := next.Add(1) - 1
				if i >= int64(b.N) {
					return
				}
				c, err := ken.NewClaim(fmt.Sprintf("the value of setting%d is %d", written.Add(1), i), ken.FromUserStatement("s", "m"))
				if err != nil {
					b.Error(err)
					return
				}
				begun := time.Now()
				if _, err := stores[i%int64(len(stores))].WriteClaim(b.Context(), c); err != nil {
					b.Error(err)
					return
				}
				took[i] = time.Since(begun)
			}
		})
	}
	wg.Wait()
	slices.Sort(took)
	b.ReportMetric(float64(took[len(took)/2].Microseconds())/1000, "p50-ms")
	b.ReportMetric(float64(took[len(took)*99/100].Microseconds())/1000, "p99-ms")
	b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "writes/s")
}
