package harvest_test

import (
	"fmt"
	"runtime"
	"strings"
	"testing"

	"github.com/kenlayer/ken"
	"github.com/kenlayer/ken/internal/race"
	"github.com/kenlayer/ken/internal/run/session"
)

// long returns n messages of a session of work.
func long(n int) []ken.Message {
	out := make([]ken.Message, 0, n)
	for i := 0; len(out) < n; i++ {
		file := fmt.Sprintf("billing/part%d.go", i%97)
		out = append(out, user(fmt.Sprintf("Now part %d of the export. I prefer variant %d of the report for customer %d.", i, i%50, i)),
			calls(fmt.Sprintf("r%d", i), "Read", fmt.Sprintf(`{"file_path": %q}`, file)), tool(fmt.Sprintf("r%d", i), strings.Repeat("func Rows() error { return nil }\n", 40)),
			bash(fmt.Sprintf("b%d", i), fmt.Sprintf("go test ./billing/... -run Part%d", i%31)), tool(fmt.Sprintf("b%d", i), "ok  \tbilling\t0.2s\n[exit code: 0]"),
			assistant(fmt.Sprintf("Part %d passes. The ledger of part %d is streamed now.", i, i)))
	}
	return out[:n]
}

// The harvest of a session of 5,000 messages is bounded in what it stores, allocates in
// proportion to the messages, and reports its progress.
func TestASessionOfThousands(t *testing.T) {
	race.SkipLong(t)
	half, _ := harvestLong(t, 2500)
	whole, kinds := harvestLong(t, 5000)
	if whole > 3*half {
		t.Errorf("%d MiB were allocated, and %d MiB for half as many messages", whole>>20, half>>20)
	}
	t.Logf("%v, %d MiB allocated, %d MiB for half as many messages", kinds, whole>>20, half>>20)
}

// harvestLong harvests a session of n messages, and returns how many bytes that allocated.
func harvestLong(t *testing.T, n int) (bytes uint64, kinds map[ken.Kind]int) {
	t.Helper()
	r := newRig(t)
	if _, err := r.journal.Append(t.Context(), about("s1"), long(n)); err != nil {
		t.Fatal(err)
	}
	if _, err := r.journal.End(t.Context(), "s1", session.Closed); err != nil {
		t.Fatal(err)
	}
	tr, err := r.journal.Read(t.Context(), "s1")
	if err != nil {
		t.Fatal(err)
	}
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	told := 0
	last := -1
	out, err := r.Harvest(t.Context(), &tr, func(_ string, done, total int) {
		if told++; done < last || done > total {
			t.Errorf("progress goes from %d to %d of %d", last, done, total)
		}
		last = done
	})
	runtime.ReadMemStats(&after)
	if err != nil || told < 3 || last < 1 {
		t.Fatalf("%+v, %v; told %d times", out, err, told)
	}
	kinds = map[ken.Kind]int{}
	for _, c := range r.all(t) {
		kinds[c.Kind]++
		if len(c.Text) > 8<<10 || len(c.Evidence) > 20 {
			t.Errorf("%s: %d bytes, %d pieces of evidence", c.Kind, len(c.Text), len(c.Evidence))
		}
	}
	if kinds[ken.KindEpisode] != 1 || kinds[ken.KindFact] > 40 || kinds[ken.KindFinding] > 50 || kinds[ken.KindPattern] > 20 {
		t.Errorf("%v", kinds)
	}
	return after.TotalAlloc - before.TotalAlloc, kinds
}
