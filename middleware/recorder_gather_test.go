package middleware

import (
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"
)

// A turn and its answer share a write; who asks for what was recorded, a full row and
// the end of the recorder wait for no more records to come.
func TestRecorderGathers(t *testing.T) {
	for name, tc := range map[string]struct {
		act  func(t *testing.T, r *recorder) // after two records
		want []int                           // written together, before any time has passed
	}{
		"waits":   {func(*testing.T, *recorder) {}, nil},
		"flushed": {func(t *testing.T, r *recorder) { flushNow(t, r) }, []int{2}},
		"closed":  {func(_ *testing.T, r *recorder) { r.close() }, []int{2}},
		"full": {func(_ *testing.T, r *recorder) {
			for range maxTogether - 1 {
				r.add(of("more"))
			}
		}, []int{maxTogether}},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				var mu sync.Mutex
				var wrote []int
				var running sync.WaitGroup
				r := newRecorder(func(_ string, recs []record) {
					mu.Lock()
					defer mu.Unlock()
					wrote = append(wrote, len(recs))
				}, func() { t.Error("something was left out") }, func(f func()) { running.Go(f) })
				r.add(of("turn"))
				synctest.Wait()
				r.add(of("answer"))
				tc.act(t, r)
				synctest.Wait()
				mu.Lock()
				if !slices.Equal(wrote, tc.want) {
					t.Errorf("at once: %v, not %v", wrote, tc.want)
				}
				mu.Unlock()
				time.Sleep(gatherFor)
				running.Wait()
				sum := 0
				for _, n := range wrote {
					sum += n
				}
				if name == "waits" && len(wrote) != 1 || sum != r.takenNow() {
					t.Errorf("written together: %v of %d", wrote, r.takenNow())
				}
			})
		})
	}
}

func flushNow(t *testing.T, r *recorder) {
	t.Helper()
	if err := r.flush(t.Context()); err != nil {
		t.Error(err)
	}
}

func (r *recorder) takenNow() int {
	r.mu.Lock()
	defer r.mu.Unlock()
	return int(r.taken)
}
