package main

import (
	"context"
	"math"
	"os"
	"runtime/debug"
	"runtime/metrics"
	"time"
)

// minGarbage is how much garbage is always allowed before a collection, in bytes.
const minGarbage = 64 << 20

// tuneGC adjusts the garbage collector to the memory that it has to scan. By
// default, garbage may take as much memory as all live data. But most live data are
// vectors, which contain no pointers and cost the collector nothing: with 200,000
// claims, the default uses another 300 MB to save scanning 100 MB. tuneGC returns
// at once and adjusts until ctx ends. It does nothing if GOGC is set.
func tuneGC(ctx context.Context) {
	if os.Getenv("GOGC") != "" {
		return
	}
	go func() {
		tick := time.NewTicker(time.Second)
		defer tick.Stop()
		heap := []metrics.Sample{{Name: "/gc/heap/live:bytes"}, {Name: "/gc/scan/heap:bytes"}}
		for now := 100; ; {
			metrics.Read(heap)
			want := garbagePercent(heap[0].Value.Uint64(), heap[1].Value.Uint64())
			if want-now >= 5 || now-want >= 5 {
				debug.SetGCPercent(want)
				now = want
			}
			select {
			case <-tick.C:
			case <-ctx.Done():
				return
			}
		}
	}()
}

// garbagePercent returns the GC percentage for a heap with this many live bytes, of
// which scanned bytes contain pointers.
func garbagePercent(live, scanned uint64) int {
	return int(math.Ceil(100 * min(1, float64(max(scanned, minGarbage))/float64(max(live, 1)))))
}
