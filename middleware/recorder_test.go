package middleware

import (
	"context"
	"errors"
	"sync"
	"testing"

	"github.com/kenlayer/ken/session"
)

// recording is a recorder whose writes wait for open to be closed.
func recording(lost func()) (r *recorder, open chan struct{}, wrote func() []string, running *sync.WaitGroup) {
	open, running = make(chan struct{}), new(sync.WaitGroup)
	var mu sync.Mutex
	var ids []string
	r = newRecorder(func(rec record) {
		<-open
		mu.Lock()
		defer mu.Unlock()
		ids = append(ids, rec.about.ID)
	}, lost, func(f func()) { running.Go(f) })
	return r, open, func() []string { mu.Lock(); defer mu.Unlock(); return ids }, running
}

func of(id string) record { return record{about: session.About{ID: id}} }

// A record waits for no write, keeps its order, and is written although the
// recorder was closed after it.
func TestRecorderKeepsOrderAndWaitsForNothing(t *testing.T) {
	r, open, wrote, running := recording(func() { t.Error("something was left out") })
	for _, id := range []string{"a", "b", "c"} {
		r.add(of(id)) // returns although nothing can be written
	}
	r.close()
	r.add(of("late"))
	close(open)
	running.Wait()
	if got := wrote(); len(got) != 3 || got[0] != "a" || got[2] != "c" {
		t.Errorf("wrote %q", got)
	}
}

// flush waits for what was there when it was called, not for what comes after; nor
// does the program's own hook wait for itself.
func TestFlush(t *testing.T) {
	r, open, wrote, running := recording(nil)
	r.add(of("a"))
	if err := r.flush(context.WithValue(t.Context(), inRecorder{}, true)); err != nil {
		t.Error(err)
	}
	over, cancel := context.WithCancel(t.Context())
	cancel()
	if err := r.flush(over); !errors.Is(err, context.Canceled) {
		t.Errorf("%v", err)
	}
	close(open)
	if err := r.flush(t.Context()); err != nil || len(wrote()) != 1 {
		t.Errorf("%q, %v", wrote(), err)
	}
	if err := r.flush(t.Context()); err != nil { // with nothing to wait for
		t.Error(err)
	}
	running.Wait()
}

// What can't be written in time is bounded, and told once a row.
func TestRecorderIsBounded(t *testing.T) {
	told := 0
	r, open, wrote, running := recording(func() { told++ })
	for range maxWaiting + 50 {
		r.add(of("a"))
	}
	close(open)
	if err := r.flush(t.Context()); err != nil {
		t.Fatal(err)
	}
	r.add(of("b"))
	running.Wait()
	if got := wrote(); len(got) != maxWaiting+1 || got[maxWaiting] != "b" || told != 1 {
		t.Errorf("wrote %d, told %d times", len(got), told)
	}
}
