package jobs_test

import (
	"context"
	"errors"
	"os"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"go.uber.org/goleak"

	"github.com/kenlayer/ken"
	"github.com/kenlayer/ken/internal/run/jobs"
	"github.com/kenlayer/ken/store"
	"github.com/kenlayer/ken/store/memory"
	"github.com/kenlayer/ken/store/storetest"
)

// TestMain is also the child of the test that kills one.
func TestMain(m *testing.M) {
	switch os.Getenv("KEN_TEST_CHILD") {
	case "jobs":
		childJobs()
	case "fatal":
		childFatal()
	}
	goleak.VerifyTestMain(m)
}

// pass lets the fake clock of a synctest bubble run for d, until all is quiet.
func pass(d time.Duration) {
	<-time.After(d)
	synctest.Wait()
}

// noJitter makes pauses exact.
func noJitter() float64 { return 0 }

// queue returns a queue over shelf with exact pauses.
func queue(shelf store.Shelf, change ...func(*jobs.Options)) *jobs.Queue {
	o := jobs.Options{Worker: "tester", Jitter: noJitter}
	for _, f := range change {
		f(&o)
	}
	return jobs.NewQueue(shelf, o)
}

func inProcess(name string) func(*jobs.Options) { return func(o *jobs.Options) { o.Process = name } }

func add(t testing.TB, q *jobs.Queue, kind, key string) jobs.Job {
	t.Helper()
	j, added, err := q.Add(context.Background(), jobs.New{Kind: kind, Key: key})
	if err != nil || !added {
		t.Fatalf("add %s %s: %v, %v", kind, key, added, err)
	}
	return j
}

func get(t testing.TB, q *jobs.Queue, id string) jobs.Job {
	t.Helper()
	j, err := q.Get(context.Background(), id)
	if err != nil {
		t.Fatalf("get %s: %v", id, err)
	}
	return j
}

func drain(t testing.TB, q *jobs.Queue, handlers map[string]jobs.Handler) jobs.Report {
	t.Helper()
	rep, err := q.Drain(context.Background(), handlers)
	if err != nil {
		t.Fatalf("drain: %v", err)
	}
	return rep
}

// one makes handlers of one, for kind "k".
func one(h func(ctx context.Context, j jobs.Job) (string, error)) map[string]jobs.Handler {
	return map[string]jobs.Handler{"k": func(ctx context.Context, j jobs.Job, _ func(string, int, int)) (string, error) { return h(ctx, j) }}
}

func succeed(context.Context, jobs.Job) (string, error) { return "done", nil }

var errDown = &ken.Error{Code: ken.CodeUnavailable, Msg: "the model is down", Try: "Start it."}

func fail(context.Context, jobs.Job) (string, error) { return "", errDown }

// work runs Work until the returned function is called, which waits for its end,
// or the test ends.
func work(t *testing.T, q *jobs.Queue, handlers map[string]jobs.Handler) (stop func()) {
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- q.Work(ctx, handlers) }()
	stop = sync.OnceFunc(func() {
		cancel()
		if err := <-done; err != nil {
			t.Errorf("work: %v", err)
		}
	})
	t.Cleanup(stop)
	return stop
}

// wantState checks the state of a job.
func wantState(t testing.TB, q *jobs.Queue, id string, want jobs.State, attempts int) jobs.Job {
	t.Helper()
	j := get(t, q, id)
	if j.State != want || j.Attempts != attempts {
		t.Errorf("the job is %s after %d attempts, want %s after %d: %+v", j.State, j.Attempts, want, attempts, j)
	}
	return j
}

var errPlug = errors.New("the plug is out")

// plug is a worker's shelf that can be made unreachable.
type plug struct {
	store.Shelf
	out     atomic.Bool
	updates atomic.Int64
}

func (p *plug) View(ctx context.Context, fn func(store.ShelfReader) error) error {
	if p.out.Load() {
		return errPlug
	}
	return p.Shelf.View(ctx, fn)
}

func (p *plug) Update(ctx context.Context, fn func(store.ShelfTx) error) error {
	if p.out.Load() {
		return errPlug
	}
	p.updates.Add(1)
	return p.Shelf.Update(ctx, fn)
}

// abandon leases a job in a process that then ends, and returns the shelf.
func abandon(t *testing.T, shelf store.Shelf, process, kind, key string, change ...func(*jobs.Options)) {
	t.Helper()
	p := &plug{Shelf: shelf}
	q := queue(p, append(change, inProcess(process), func(o *jobs.Options) { o.Worker = "worker of " + process })...)
	if _, _, err := q.Add(t.Context(), jobs.New{Kind: kind, Key: key}); err != nil {
		t.Fatal(err)
	}
	_, err := q.Drain(t.Context(), map[string]jobs.Handler{kind: func(context.Context, jobs.Job, func(string, int, int)) (string, error) {
		p.out.Store(true) // as if the process ended here
		return "", nil
	}})
	if !errors.Is(err, errPlug) {
		t.Fatalf("drain: %v", err)
	}
}

// guard counts who runs what, and fails the test when a job is run by two at once.
type guard struct {
	t       testing.TB
	mu      sync.Mutex // guards the rest
	running map[string]int
	runs    map[string]int
}

func newGuard(t testing.TB) *guard {
	return &guard{t: t, running: map[string]int{}, runs: map[string]int{}}
}

func (g *guard) enter(id string) (leave func()) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.running[id]++
	g.runs[id]++
	if g.running[id] > 1 {
		g.t.Errorf("job %s is run by %d at once", id, g.running[id])
	}
	return func() {
		g.mu.Lock()
		defer g.mu.Unlock()
		g.running[id]--
	}
}

// count is how often a job was run so far.
func (g *guard) count(id string) int {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.runs[id]
}

// newShelf runs everything twice: nothing may be left over from a run that did not
// count.
func newShelf() store.Shelf { return storetest.Twice(memory.NewShelf()) }
