package jobs_test

import (
	"context"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/kenlayer/ken/internal/run/jobs"
	"github.com/kenlayer/ken/internal/store/bolt"
	"github.com/kenlayer/ken/store"
	"github.com/kenlayer/ken/store/storetest"
)

// Several processes drain one queue, on a normal shelf and on one that runs
// every transaction twice. Each job runs once, and none is left.
func TestSeveralProcessesDrainOneQueue(t *testing.T) {
	for name, over := range map[string]func(store.Shelf) store.Shelf{"once": func(s store.Shelf) store.Shelf { return s }, "twice": storetest.Twice} {
		t.Run(name, func(t *testing.T) {
			shelf := over(openBolt(t, t.TempDir(), bolt.Options{NoSync: true}).Shelf())
			const processes, count = 4, 80
			names := []string{"p0", "p1", "p2", "p3"}
			g := newGuard(t)
			var ids []string
			q := queue(shelf)
			for i := range count {
				ids = append(ids, add(t, q, "k", fmt.Sprint(i)).ID)
			}
			var mu sync.Mutex
			done := 0
			var wg sync.WaitGroup
			for p := range processes {
				q := queue(shelf, inProcess(names[p]), alive(names...))
				wg.Go(func() {
					rep, err := q.Drain(context.Background(), one(func(_ context.Context, j jobs.Job) (string, error) {
						defer g.enter(j.ID)()
						return "done", nil
					}))
					if err != nil || rep.Retried+rep.Dead+rep.Lost+rep.Returned > 0 {
						t.Errorf("%+v, %v", rep, err)
					}
					mu.Lock()
					defer mu.Unlock()
					done += rep.Done
				})
			}
			wg.Wait()
			if done != count {
				t.Errorf("%d of %d are done", done, count)
			}
			for _, id := range ids {
				if n := g.count(id); n != 1 {
					t.Errorf("job %s ran %d times", id, n)
				}
			}
		})
	}
}

// If a process ends during a job, another one takes the job at once. If the
// process was only disconnected, its later result is not recorded.
func TestTheJobOfADeadProcessIsTakenBackByOne(t *testing.T) {
	shelf := openBolt(t, t.TempDir(), bolt.Options{NoSync: true}).Shelf()
	cut := &plug{Shelf: shelf}
	lost := queue(cut, inProcess("dead"), alive("dead"))
	id := add(t, lost, "k", "1").ID
	entered, leave, ended := make(chan struct{}), make(chan struct{}), make(chan struct{})
	go func() {
		defer close(ended)
		rep, err := lost.Drain(context.Background(), one(func(context.Context, jobs.Job) (string, error) {
			close(entered)
			<-leave
			return "too late", nil
		}))
		if err != nil || rep.Lost != 1 {
			t.Errorf("%+v, %v", rep, err)
		}
	}()
	<-entered
	// While it runs, no other process takes its job.
	if rep := drain(t, queue(shelf, inProcess("a"), alive("dead", "a", "b")), one(succeed)); len(rep.Jobs) != 0 {
		t.Errorf("%+v", rep)
	}
	var wg sync.WaitGroup
	var mu sync.Mutex
	done := 0
	for _, name := range []string{"a", "b"} {
		q := queue(shelf, inProcess(name), alive("a", "b"))
		wg.Go(func() {
			rep := drain(t, q, one(succeed))
			mu.Lock()
			defer mu.Unlock()
			done += rep.Done
		})
	}
	wg.Wait()
	if done != 1 {
		t.Errorf("it was done %d times", done)
	}
	close(leave)
	<-ended
	if j := wantState(t, queue(shelf), id, jobs.Done, 2); j.Note != "done" || j.Finished.After(time.Now().Add(time.Minute)) {
		t.Errorf("%+v", j)
	}
}
