package jobs_test

import (
	"context"
	"fmt"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/kenlayer/ken/internal/run/jobs"
)

// wallClock is a wall clock that can be set.
type wallClock struct{ off atomic.Int64 }

func (c *wallClock) Now() time.Time         { return time.Now().Round(0).Add(time.Duration(c.off.Load())) }
func (c *wallClock) jump(d time.Duration)   { c.off.Add(int64(d)) }
func (c *wallClock) set(o *jobs.Options)    { o.Now = c.Now }
func (c *wallClock) date(day int) time.Time { return time.Date(2030, 1, day, 0, 0, 0, 0, time.UTC) }

// When the clock is set forward while a job runs, its lease looks expired until
// it is renewed. Nobody in this process takes it for that.
func TestClockSetForwardRunsNoJobTwiceAtOnce(t *testing.T) {
	for _, queues := range []int{1, 2} {
		synctest.Test(t, func(t *testing.T) {
			shelf := newShelf()
			var clock wallClock
			g := newGuard(t)
			slow := one(func(_ context.Context, j jobs.Job) (string, error) {
				defer g.enter(j.ID)()
				<-time.After(20 * time.Minute)
				return "", nil
			})
			first := queue(shelf, clock.set)
			id := add(t, first, "k", "1").ID
			stops := []func(){work(t, first, slow)}
			synctest.Wait()
			for i := range 3 { // another worker of each queue
				q := first
				if i%queues == 1 {
					q = queue(shelf, clock.set)
				}
				stops = append(stops, work(t, q, slow))
			}
			pass(time.Second)
			clock.jump(365 * 24 * time.Hour)
			add(t, first, "k", "2") // makes everybody look
			pass(30 * time.Minute)
			clock.jump(-10 * 365 * 24 * time.Hour)
			pass(30 * time.Minute)
			for _, stop := range stops {
				stop()
			}
			for _, id := range []string{id, jobs.ID("k", "2")} {
				wantState(t, first, id, jobs.Done, 1)
				if g.count(id) != 1 {
					t.Errorf("%d queues: job %s ran %d times", queues, id, g.count(id))
				}
			}
		})
	}
}

// When the clock is set back, what was to be in a minute must not be in a year.
func TestClockSetBackDelaysNoJob(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		shelf := newShelf()
		var clock wallClock
		clock.jump(365 * 24 * time.Hour)
		q := queue(shelf, clock.set, func(o *jobs.Options) { o.Backoff = func(int) time.Duration { return time.Minute } })
		failed := add(t, q, "k", "1").ID
		drain(t, q, one(fail))
		abandon(t, shelf, "gone", "k", "2") // under the right clock
		fresh := add(t, q, "k", "3").ID
		pass(time.Second)
		clock.jump(-365 * 24 * time.Hour)

		if rep := drain(t, q, one(succeed)); rep.Done != 1 || rep.Jobs[0].ID != fresh {
			t.Errorf("at once: %+v", rep)
		}
		j := wantState(t, q, failed, jobs.Queued, 1)
		if left := j.Due.Sub(clock.Now()); left <= 0 || left > time.Minute {
			t.Errorf("a pause of a minute ends in %v", left)
		}
		pass(time.Minute)
		if rep := drain(t, q, one(succeed)); rep.Done != 1 || rep.Jobs[0].ID != failed {
			t.Errorf("a minute later: %+v", rep)
		}
	})
}

// The next process may start with a clock that is behind the last one's.
func TestProcessThatStartsWithAnEarlierClockFindsItsJobs(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		shelf := newShelf()
		var clock wallClock
		clock.jump(365 * 24 * time.Hour)
		before := queue(shelf, clock.set, inProcess("before"))
		waiting := add(t, before, "k", "1").ID
		p := &plug{Shelf: shelf}
		dying := queue(p, clock.set, inProcess("dying"))
		running := add(t, dying, "dies", "1").ID
		_, _ = dying.Drain(t.Context(), map[string]jobs.Handler{"dies": func(context.Context, jobs.Job, func(string, int, int)) (string, error) {
			p.out.Store(true)
			return "", nil
		}})

		handlers := one(succeed)
		handlers["dies"] = handlers["k"]
		after := queue(shelf, inProcess("after"))
		if rep := drain(t, after, handlers); rep.Done != 1 || rep.Jobs[0].ID != waiting {
			t.Errorf("at once: %+v", rep)
		}
		pass(5 * time.Minute)
		if rep := drain(t, after, handlers); rep.Done != 1 || rep.Jobs[0].ID != running {
			t.Errorf("after the length of a lease: %+v", rep)
		}
	})
}

// A date that somebody asked for is a date, whatever the clock said before.
func TestDateOfAJobIsNotShifted(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var clock wallClock
		q := queue(newShelf(), clock.set)
		after := clock.date(9)
		j, _, err := q.Add(t.Context(), jobs.New{Kind: "k", Key: "1", After: after})
		if err != nil || !j.Due.Equal(after) {
			t.Fatal(j, err)
		}
		drain(t, q, one(succeed))
		clock.jump(-24 * time.Hour)
		drain(t, q, one(succeed))
		if j := wantState(t, q, j.ID, jobs.Queued, 0); !j.Due.Equal(after) {
			t.Errorf("due %v", j.Due)
		}
		clock.jump(after.Sub(clock.Now()))
		if rep := drain(t, q, one(succeed)); rep.Done != 1 {
			t.Errorf("on that date: %+v", rep)
		}
	})
}

// A machine that sleeps stops its timers and not its clock.
func TestWorkerNoticesThatTheMachineSlept(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var clock wallClock
		q := queue(newShelf(), clock.set)
		j, _, err := q.Add(t.Context(), jobs.New{Kind: "k", Key: "1", After: clock.Now().Add(8 * time.Hour)})
		if err != nil {
			t.Fatal(err)
		}
		stop := work(t, q, one(succeed))
		pass(time.Minute)
		clock.jump(8 * time.Hour)
		pass(time.Minute)
		wantState(t, q, j.ID, jobs.Done, 1)
		stop()
	})
}

// Jumps at random, with several workers of one process: every job is done, none
// by two at once.
func TestClocksThatJumpLoseNoJob(t *testing.T) {
	for round := range 20 {
		synctest.Test(t, func(t *testing.T) {
			rng, seed := random(t)
			shelf := newShelf()
			var clock wallClock
			g := newGuard(t)
			handlers := one(func(_ context.Context, j jobs.Job) (string, error) {
				defer g.enter(j.ID)()
				<-time.After(time.Duration(rng.Int64N(int64(10 * time.Minute))))
				if rng.IntN(3) == 0 {
					return "", errDown
				}
				return "", nil
			})
			quick := func(o *jobs.Options) { o.Backoff = func(int) time.Duration { return time.Minute }; o.Attempts = 1000 }
			qs := []*jobs.Queue{queue(shelf, clock.set, quick), queue(shelf, clock.set, quick)}
			var stops []func()
			for i := range 4 {
				stops = append(stops, work(t, qs[i%2], handlers))
			}
			for i := range 10 {
				add(t, qs[i%2], "k", fmt.Sprint(i))
				pass(time.Duration(rng.Int64N(int64(5 * time.Minute))))
				clock.jump(time.Duration(rng.Int64N(int64(48*time.Hour))) - 24*time.Hour)
			}
			pass(5 * time.Hour)
			for _, stop := range stops {
				stop()
			}
			if done, err := qs[0].List(t.Context(), jobs.Done); err != nil || len(done) != 10 {
				all, _ := qs[0].List(t.Context())
				t.Errorf("round %d, seed %d: %d of 10 jobs are done, %v: %+v", round, seed, len(done), err, all)
			}
		})
	}
}

// A clock that was set forward, stamped a job, and was set back only in part looks
// to a queue that did not read it meanwhile as if it had simply gone on.
func TestClockSetBackBetweenTwoLooksDelaysNoJob(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		shelf := newShelf()
		var clock wallClock
		mine, other := queue(shelf, clock.set), queue(shelf, clock.set)
		drain(t, mine, one(succeed)) // reads the clock
		clock.jump(20 * time.Hour)
		j, _, err := other.Add(t.Context(), jobs.New{Kind: "k", Key: "1"})
		if err != nil {
			t.Fatal(err)
		}
		clock.jump(-19 * time.Hour)
		if rep := drain(t, mine, one(succeed)); rep.Done != 1 {
			t.Errorf("%+v", rep)
		}
		wantState(t, mine, j.ID, jobs.Done, 1)
	})
}
