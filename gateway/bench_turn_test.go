//go:build unix

package gateway_test

import (
	"fmt"
	"slices"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/kenlayer/ken/config"
)

// BenchmarkFreshTurn is a turn with a new question each time, in conversations of ten turns,
// over a store of 10,000 claims. cpu-µs/op is what the whole process spent on it, client and
// upstream included. No turn is cut short by a deadline, however busy the machine is.
func BenchmarkFreshTurn(b *testing.B) {
	for _, clients := range []int{1, 50} {
		b.Run(fmt.Sprint("clients=", clients), func(b *testing.B) {
			_, upstream := newCannedServer(b)
			address, _ := benchGateway(b, upstream, 10_000, func(c *config.Config) { c.Retrieval.Deadline = 30 * time.Second })
			src := newConversations(50)
			var mu sync.Mutex
			next := func() []byte {
				mu.Lock()
				defer mu.Unlock()
				return src.next()
			}
			warm := dialWire(b, address)
			for range 500 {
				if _, err := warm.ask(next()); err != nil {
					b.Fatal(err)
				}
			}
			left := make(chan struct{}, b.N)
			for range b.N {
				left <- struct{}{}
			}
			close(left)
			var took []time.Duration
			var wg sync.WaitGroup
			before := cpu(b)
			b.ReportAllocs()
			b.ResetTimer()
			for range clients {
				c := dialWire(b, address)
				wg.Go(func() {
					var own []time.Duration
					for range left {
						r := next()
						start := time.Now()
						first, err := c.ask(r)
						if err != nil {
							b.Error(err)
							return
						}
						own = append(own, first.Sub(start))
					}
					mu.Lock()
					defer mu.Unlock()
					took = append(took, own...)
				})
			}
			wg.Wait()
			b.StopTimer()
			b.ReportMetric(float64((cpu(b)-before).Microseconds())/float64(b.N), "cpu-µs/op")
			b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "turns/s")
			slices.Sort(took)
			b.ReportMetric(percentile(took, .5), "p50-ms")
			b.ReportMetric(percentile(took, .99), "p99-ms")
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
