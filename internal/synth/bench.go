package synth

import (
	"os"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"
)

// Sizes are the store sizes that a benchmark runs at: 1,000 and 10,000, or what
// KEN_BENCH_SIZES asks for, as in 1000,100000,1000000. The large ones take minutes
// to fill.
func Sizes(b *testing.B) []int {
	b.Helper()
	env := os.Getenv("KEN_BENCH_SIZES")
	if env == "" {
		return []int{1_000, 10_000}
	}
	var out []int
	for part := range strings.SplitSeq(env, ",") {
		n, err := strconv.Atoi(part)
		if err != nil {
			b.Fatalf("KEN_BENCH_SIZES: %v", err)
		}
		out = append(out, n)
	}
	return out
}

// Percentiles reports the median and the 99th percentile in milliseconds.
func Percentiles(b *testing.B, took []time.Duration) {
	b.Helper()
	slices.Sort(took)
	for name, p := range map[string]float64{"p50-ms": .5, "p99-ms": .99} {
		b.ReportMetric(float64(took[int(p*float64(len(took)-1))].Microseconds())/1000, name)
	}
}
