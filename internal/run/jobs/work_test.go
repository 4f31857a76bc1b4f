package jobs_test

import (
	"context"
	"fmt"
	"log/slog"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/kenlayer/ken/internal/run/jobs"
	"github.com/kenlayer/ken/store"
)

func TestWorkWakesOnAdd(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		q := queue(newShelf())
		stop := work(t, q, one(succeed))
		pass(10 * time.Second)
		start := time.Now()
		id := add(t, q, "k", "1").ID
		synctest.Wait()
		if j := wantState(t, q, id, jobs.Done, 1); j.Finished.Sub(start) > time.Millisecond {
			t.Errorf("it was done after %v", j.Finished.Sub(start))
		}
		stop()
	})
}

// A transaction without a queue can add a job; code that has the queue can wake
// it.
func TestWorkFindsWhatOthersAdded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		shelf := newShelf()
		q := queue(shelf)
		stop := work(t, q, one(succeed))
		synctest.Wait()
		addThere := func(key string) string {
			err := shelf.Update(t.Context(), func(tx store.ShelfTx) error {
				_, _, err := jobs.Add(tx, time.Now(), jobs.New{Kind: "k", Key: key})
				return err
			})
			if err != nil {
				t.Fatal(err)
			}
			return jobs.ID("k", key)
		}
		woken := addThere("woken")
		q.Wake()
		synctest.Wait()
		wantState(t, q, woken, jobs.Done, 1)
		unheard := addThere("unheard")
		synctest.Wait()
		wantState(t, q, unheard, jobs.Queued, 0)
		pass(time.Minute)
		wantState(t, q, unheard, jobs.Done, 1)
		stop()
	})
}

func TestWorkRunsJobsWhenTheyAreDue(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		q := queue(newShelf())
		start := time.Now()
		for _, d := range []time.Duration{40 * time.Second, 20 * time.Second, 3 * time.Hour} {
			if _, _, err := q.Add(t.Context(), jobs.New{Kind: "k", Key: d.String(), After: start.Add(d)}); err != nil {
				t.Fatal(err)
			}
		}
		add(t, q, "other", "1")
		var ran []string
		stop := work(t, q, one(func(_ context.Context, j jobs.Job) (string, error) {
			ran = append(ran, fmt.Sprint(j.Key, " after ", time.Since(start).Round(time.Millisecond)))
			return "", nil
		}))
		pass(4 * time.Hour)
		stop()
		const want = "20s after 20s, 40s after 40s, 3h0m0s after 3h0m0s"
		if got := strings.Join(ran, ", "); got != want {
			t.Errorf("ran %s, want %s", got, want)
		}
	})
}

func TestWorkTriesAgainUntilItWorks(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		q := queue(newShelf())
		id := add(t, q, "k", "1").ID
		tries := 0
		stop := work(t, q, one(func(context.Context, jobs.Job) (string, error) {
			if tries++; tries < 5 {
				return "", errDown
			}
			return "", nil
		}))
		pass(time.Second + 4*time.Second + 16*time.Second + 64*time.Second + time.Second)
		wantState(t, q, id, jobs.Done, 5)
		stop()
	})
}

// Several calls of Work share a queue without treading on each other.
func TestSeveralWorkersShareTheJobs(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		q := queue(newShelf())
		g := newGuard(t)
		for i := range 20 {
			add(t, q, "k", fmt.Sprint(i))
		}
		start := time.Now()
		var stops []func()
		for range 4 {
			stops = append(stops, work(t, q, one(func(_ context.Context, j jobs.Job) (string, error) {
				defer g.enter(j.ID)()
				<-time.After(time.Minute)
				return "", nil
			})))
		}
		pass(5*time.Minute + time.Second)
		if done, err := q.List(t.Context(), jobs.Done); err != nil || len(done) != 20 {
			t.Errorf("%d are done after %v, %v", len(done), time.Since(start), err)
		}
		for _, stop := range stops {
			stop()
		}
	})
}

// A worker continues after the shelf has failed for a while, and does not flood the shelf
// or the log.
func TestWorkOutlivesAFailingShelf(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := &plug{Shelf: newShelf()}
		var log logLines
		q := queue(p, func(o *jobs.Options) { o.Log = slog.New(slog.NewTextHandler(&log, nil)) })
		id := add(t, q, "k", "1").ID
		p.out.Store(true)
		stop := work(t, q, one(succeed))
		pass(10 * time.Minute)
		p.out.Store(false)
		if n := log.count("the plug is out"); n < 5 || n > 20 {
			t.Errorf("the log has %d lines about it", n)
		}
		pass(time.Minute)
		wantState(t, q, id, jobs.Done, 1)
		stop()
	})
}

func TestWorkReturnsWhenToldTo(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		q := queue(newShelf())
		id := add(t, q, "k", "1").ID
		ended := false
		stop := work(t, q, one(func(ctx context.Context, _ jobs.Job) (string, error) {
			<-ctx.Done()
			<-time.After(time.Minute) // it tidies up
			ended = true
			return "", ctx.Err()
		}))
		pass(time.Hour)
		stop()
		if !ended {
			t.Error("it returned before the handler")
		}
		wantState(t, q, id, jobs.Queued, 0)
	})
}

func TestWorkPrunes(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		q := queue(newShelf(), func(o *jobs.Options) { o.Keep = 24 * time.Hour })
		stop := work(t, q, one(succeed))
		id := add(t, q, "k", "1").ID
		pass(24*time.Hour - time.Second)
		wantState(t, q, id, jobs.Done, 1)
		pass(2 * time.Hour)
		if all, err := q.List(t.Context()); err != nil || len(all) != 0 {
			t.Errorf("%d jobs, %v", len(all), err)
		}
		stop()
	})
}

// The log has the results of jobs, because no function returns their failures.
func TestFailuresAreInTheLog(t *testing.T) {
	var log logLines
	q := queue(newShelf(), func(o *jobs.Options) { o.Log = slog.New(slog.NewTextHandler(&log, nil)) })
	add(t, q, "k", "1")
	drain(t, q, one(fail))
	add(t, q, "k", "2")
	drain(t, q, one(func(context.Context, jobs.Job) (string, error) { return "", jobs.Permanent(errDown) }))
	add(t, q, "k", "3")
	drain(t, q, one(func(context.Context, jobs.Job) (string, error) { panic("oh") }))
	for _, want := range []string{"level=WARN msg=\"a job failed", "level=ERROR msg=\"a job is dead", "try=\"Start it.\"", "work_test.go", "level=ERROR msg=\"a job's handler panicked"} {
		if log.count(want) == 0 {
			t.Errorf("the log lacks %q", want)
		}
	}
}

// logLines is a log that can be read while it is written.
type logLines struct {
	mu   sync.Mutex // guards text
	text strings.Builder
}

func (l *logLines) Write(b []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.Write(b)
}

// count is how many lines have s.
func (l *logLines) count(s string) (n int) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for line := range strings.Lines(l.text.String()) {
		if strings.Contains(line, s) {
			n++
		}
	}
	return n
}
