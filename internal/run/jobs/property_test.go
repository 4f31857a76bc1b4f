package jobs_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"strconv"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/kenlayer/ken/internal/run/jobs"
	"github.com/kenlayer/ken/internal/seed"
)

// locked is a random source for several goroutines.
type locked struct {
	mu sync.Mutex // guards r
	r  *rand.Rand
}

func (l *locked) IntN(n int) int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.r.IntN(n)
}

func (l *locked) Int64N(n int64) int64 {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.r.Int64N(n)
}

// random returns a source of random numbers. Its seed is logged, and set by KEN_SEED.
func random(t testing.TB) (*locked, uint64) {
	t.Helper()
	number := seed.Of(t)
	return &locked{r: rand.New(rand.NewPCG(number, 3))}, number
}

// Several processes have queues over one shelf. Their workers start, stop, are
// killed and lose the shelf at random. No two workers ever run a job at once, and
// in the end every job is done.
func TestNoJobIsRunByTwoAtOnce(t *testing.T) {
	const processes, count = 4, 30
	for round := range 25 {
		synctest.Test(t, func(t *testing.T) {
			rng, seed := random(t)
			shelf := newShelf()
			g := newGuard(t)
			minutes := func(n int) time.Duration { return time.Duration(rng.Int64N(int64(n) * int64(time.Minute))) }
			over, end := context.WithCancel(context.Background())
			var wg sync.WaitGroup
			for p := range processes {
				wg.Go(func() {
					for life := 0; over.Err() == nil; life++ {
						cord := &plug{Shelf: shelf}
						q := queue(cord, inProcess(fmt.Sprintf("%d/%d", p, life)), func(o *jobs.Options) {
							o.Attempts = 1000
							o.Backoff = func(int) time.Duration { return minutes(3) }
						})
						ctx, cancel := context.WithTimeout(over, minutes(60))
						if rng.IntN(2) == 0 { // the shelf is out of reach for a while
							time.AfterFunc(minutes(20), func() { cord.out.Store(true) })
							time.AfterFunc(20*time.Minute+minutes(30), func() { cord.out.Store(false) })
						}
						err := q.Work(ctx, one(func(ctx context.Context, j jobs.Job) (string, error) {
							defer g.enter(j.ID)()
							select {
							case <-time.After(minutes(12)):
							case <-ctx.Done(): // a handler must stop then
								return "", ctx.Err()
							}
							switch rng.IntN(8) {
							case 0:
								return "", errDown
							case 1:
								panic("at random")
							}
							return "", nil
						}))
						if err != nil {
							t.Errorf("work: %v", err)
						}
						cancel()
						sleep(over, minutes(5))
					}
				})
			}
			adder := queue(shelf)
			for i := range count {
				add(t, adder, "k", strconv.Itoa(i))
				pass(minutes(4))
			}
			var left []jobs.Job
			for range 200 {
				pass(5 * time.Minute)
				var err error
				if left, err = adder.List(t.Context(), jobs.Queued, jobs.Running, jobs.Dead); err != nil {
					t.Fatal(err)
				}
				if len(left) == 0 {
					break
				}
			}
			if len(left) > 0 {
				t.Errorf("round %d, seed %d: %d jobs are not done: %+v", round, seed, len(left), left[0])
			}
			end()
			wg.Wait()
			pass(2 * time.Hour) // timers of the cords
			done, err := adder.List(t.Context(), jobs.Done)
			if err != nil || len(done) != count {
				t.Errorf("round %d, seed %d: %d of %d are done, %v", round, seed, len(done), count, err)
			}
			for _, j := range done {
				if g.count(j.ID) < 1 || uint64(g.count(j.ID)) > j.Run {
					t.Errorf("round %d, seed %d: job %s was leased %d times and ran %d times", round, seed, j.Key, j.Run, g.count(j.ID))
				}
			}
		})
	}
}

func sleep(ctx context.Context, d time.Duration) {
	select {
	case <-time.After(d):
	case <-ctx.Done():
	}
}

// A handler must write under keys that follow from the job. Then running it
// twice changes nothing, wherever the first run was interrupted.
func TestJobDoneTwiceChangesNothing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		shelf := newShelf()
		const steps = 5
		written := map[string]int{}
		for cut := range steps + 1 {
			kind := fmt.Sprint("cut after ", cut)
			p := &plug{Shelf: shelf}
			dying := queue(p, inProcess(kind))
			j := add(t, dying, kind, "1")
			step := func(stop int) jobs.Handler {
				return func(_ context.Context, j jobs.Job, _ func(string, int, int)) (string, error) {
					for i := range steps {
						if i == stop {
							p.out.Store(true)
							return "", errors.New("killed here")
						}
						written[fmt.Sprint(j.ID, "/", i)] = i
					}
					p.out.Store(stop == steps) // killed after the last step, before it is recorded
					return "", nil
				}
			}
			if _, err := dying.Drain(t.Context(), map[string]jobs.Handler{kind: step(cut)}); !errors.Is(err, errPlug) {
				t.Fatalf("cut after %d: %v", cut, err)
			}
			pass(5 * time.Minute)
			again := queue(shelf, inProcess("again"))
			if rep := drain(t, again, map[string]jobs.Handler{kind: step(-1)}); rep.Done != 1 {
				t.Fatalf("cut after %d: %+v", cut, rep)
			}
			wantState(t, again, j.ID, jobs.Done, 2)
			if len(written) != (cut+1)*steps {
				t.Errorf("cut after %d: %d things are written", cut, len(written))
			}
			if _, added, err := again.Add(t.Context(), jobs.New{Kind: kind, Key: "1"}); added || err != nil {
				t.Errorf("it can be added again: %v, %v", added, err)
			}
			if rep := drain(t, again, map[string]jobs.Handler{kind: step(-1)}); len(rep.Jobs) != 0 {
				t.Errorf("it ran a third time: %+v", rep)
			}
		}
	})
}
