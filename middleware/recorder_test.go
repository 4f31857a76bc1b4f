package middleware

import (
	"context"
	"errors"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/kenlayer/ken"
	"github.com/kenlayer/ken/internal/run/session"
)

// recording is a recorder whose writes wait for open to be closed.
func recording(lost func()) (r *recorder, open chan struct{}, wrote func() []string, running *sync.WaitGroup) {
	open, running = make(chan struct{}), new(sync.WaitGroup)
	var mu sync.Mutex
	var ids []string
	r = newRecorder(func(_ string, recs []record) {
		<-open
		mu.Lock()
		defer mu.Unlock()
		for _, rec := range recs {
			ids = append(ids, rec.about.ID)
		}
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

// A message of megabytes in every turn must not fill the memory while a disk hangs;
// one that is beyond all bounds by itself is written all the same.
func TestRecorderIsBoundedInBytes(t *testing.T) {
	told := 0
	r, open, wrote, running := recording(func() { told++ })
	large := []ken.Message{{Role: "user", Text: strings.Repeat("x", maxWaitingBytes/2)}}
	huge := []ken.Message{{Role: "user", Text: strings.Repeat("x", maxWaitingBytes+1)}}
	for _, rec := range []record{{messages: large}, {messages: large}, {messages: large}} {
		r.add(rec)
	}
	close(open)
	if err := r.flush(t.Context()); err != nil {
		t.Fatal(err)
	}
	r.add(record{messages: huge})
	running.Wait()
	if got := wrote(); len(got) != 3 || told != 1 {
		t.Errorf("wrote %d, told %d times", len(got), told)
	}
	if r.bytes != 0 || r.waiting != 0 || len(r.lanes) != 0 {
		t.Errorf("it still counts %d bytes, %d records, %d lanes", r.bytes, r.waiting, len(r.lanes))
	}
}

// An answer that nobody has read yet counts for what it holds.
func TestRecorderCountsAnswers(t *testing.T) {
	r := newRecorder(func(string, []record) { t.Error("it was written") }, func() {}, func(func()) {})
	for range 4 {
		r.add(record{held: maxWaitingBytes / 3})
	}
	if r.waiting != 3 || r.dropped != 1 {
		t.Errorf("%d wait, %d were left out", r.waiting, r.dropped)
	}
}

// What waits is written together, up to a bound and each owner's by itself: an owner
// whose disk hangs holds up nobody else.
func TestRecorderWritesTogetherWhatWaits(t *testing.T) {
	type batch struct {
		owner string
		n     int
	}
	hang, wrote := make(chan struct{}), make(chan batch, 10)
	entered := make(chan struct{}, 1)
	var running sync.WaitGroup
	r := newRecorder(func(owner string, recs []record) {
		if owner == "slow" {
			entered <- struct{}{}
			<-hang
		}
		wrote <- batch{owner, len(recs)}
	}, func() { t.Error("something was left out") }, func(f func()) { running.Go(f) })
	r.add(record{owner: "slow"})
	<-entered
	for range maxTogether + 1 {
		r.add(record{owner: "slow"})
	}
	r.add(record{owner: "fast"})
	if got := <-wrote; got.owner != "fast" {
		t.Errorf("%+v was written first", got)
	}
	flushed := make(chan error)
	go func() { flushed <- r.flush(context.Background()) }()
	close(hang)
	<-entered
	<-entered
	if err := <-flushed; err != nil {
		t.Error(err)
	}
	running.Wait()
	close(wrote)
	var sizes []int
	for b := range wrote {
		sizes = append(sizes, b.n)
	}
	if !slices.Equal(sizes, []int{1, maxTogether, 1}) {
		t.Errorf("written together: %v", sizes)
	}
}
