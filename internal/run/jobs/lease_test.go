package jobs_test

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/kenlayer/ken/internal/run/jobs"
)

// A handler may take longer than a lease: it is renewed.
func TestHeartbeatKeepsTheLease(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		shelf := newShelf()
		a, b := queue(shelf, inProcess("a")), queue(shelf, inProcess("b"))
		id := add(t, a, "k", "1").ID
		g := newGuard(t)
		slow := one(func(context.Context, jobs.Job) (string, error) {
			defer g.enter(id)()
			<-time.After(time.Hour)
			return "", nil
		})
		stopA, stopB := work(t, a, slow), work(t, b, slow)
		for range 59 {
			pass(time.Minute)
			j := wantState(t, a, id, jobs.Running, 1)
			if left := time.Until(j.Lease); left <= 0 || left > 5*time.Minute {
				t.Fatalf("the lease ends in %v", left)
			}
		}
		pass(2 * time.Minute)
		wantState(t, a, id, jobs.Done, 1)
		stopA()
		stopB()
		if g.count(id) != 1 {
			t.Errorf("it ran %d times", g.count(id))
		}
	})
}

// If a process ends during a job, the next one takes the job over. This counts
// as an attempt, so that a job can't end processes for ever.
func TestJobOfADeadWorkerIsTakenOver(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		shelf := newShelf()
		abandon(t, shelf, "gone", "k", "1")
		id := jobs.ID("k", "1")
		q := queue(shelf)
		if rep := drain(t, q, one(succeed)); len(rep.Jobs) != 0 {
			t.Fatalf("taken while it was leased: %+v", rep)
		}
		if j := wantState(t, q, id, jobs.Running, 1); j.Process != "gone" {
			t.Errorf("%+v", j)
		}
		pass(5 * time.Minute)
		rep := drain(t, q, one(func(_ context.Context, j jobs.Job) (string, error) {
			if want := "attempt 1 did not finish: its worker worker of gone has ended"; j.Error != want {
				t.Errorf("it says %q, want %q", j.Error, want)
			}
			return "", nil
		}))
		if rep.Done != 1 {
			t.Errorf("%+v", rep)
		}
		if j := wantState(t, q, id, jobs.Done, 2); j.Error != "" {
			t.Errorf("%+v", j)
		}
	})
}

// alive is Options.Alive for processes that run.
func alive(processes ...string) func(*jobs.Options) {
	return func(o *jobs.Options) { o.Alive = func(p string) bool { return slices.Contains(processes, p) } }
}

// No worker waits for the lease of a process that is known to have ended.
func TestALeaseOfADeadProcessIsOver(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		shelf := newShelf()
		abandon(t, shelf, "gone", "k", "1")
		q := queue(shelf, alive())
		if rep := drain(t, q, one(succeed)); rep.Done != 1 {
			t.Errorf("%+v", rep)
		}
		wantState(t, q, jobs.ID("k", "1"), jobs.Done, 2)

		// Its own process counts as alive, whatever Alive says.
		id := add(t, q, "k", "2").ID
		g := newGuard(t)
		slow := one(func(context.Context, jobs.Job) (string, error) {
			defer g.enter(id)()
			<-time.After(time.Hour)
			return "", nil
		})
		other := queue(shelf, alive())
		stop, stopOther := work(t, q, slow), work(t, other, slow)
		pass(2 * time.Hour)
		wantState(t, q, id, jobs.Done, 1)
		stop()
		stopOther()
	})
}

// A process that runs keeps its lease for the whole time, and longer if the clock
// was set forward, because it may be working.
func TestALeaseOfALivingProcessHolds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		shelf := newShelf()
		abandon(t, shelf, "hangs", "k", "1")
		var ahead time.Duration
		q := queue(shelf, alive("hangs"), func(o *jobs.Options) { o.Now = func() time.Time { return time.Now().Add(ahead) } })
		if rep := drain(t, q, one(succeed)); rep.Done != 0 {
			t.Fatalf("at once: %+v", rep)
		}
		pass(4 * time.Minute)
		ahead = time.Hour
		if rep := drain(t, q, one(succeed)); rep.Done != 0 {
			t.Fatalf("with a clock set forward: %+v", rep)
		}
		pass(time.Minute)
		if rep := drain(t, q, one(succeed)); rep.Done != 1 {
			t.Fatalf("after its time: %+v", rep)
		}
		wantState(t, q, jobs.ID("k", "1"), jobs.Done, 2)
	})
}

func TestJobThatKeepsKillingItsWorkerIsDead(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		shelf := newShelf()
		two := func(o *jobs.Options) { o.Attempts = 2 }
		for _, process := range []string{"first", "second"} {
			abandon(t, shelf, process, "k", "1")
			pass(5 * time.Minute)
		}
		q := queue(shelf, two)
		ran := false
		rep := drain(t, q, one(func(context.Context, jobs.Job) (string, error) { ran = true; return "", nil }))
		j := wantState(t, q, jobs.ID("k", "1"), jobs.Dead, 2)
		if ran || rep.Dead != 1 || !strings.Contains(j.Error, "attempt 2 did not finish: its worker worker of second has ended") ||
			!strings.Contains(j.Try, "ken jobs retry "+j.ID[:8]) || j.Finished.IsZero() {
			t.Errorf("ran %v, %+v, %+v", ran, rep, j)
		}
	})
}

// A worker that can't reach the shelf stops its handler before another worker
// may begin, and its result is not recorded.
func TestLostLeaseStopsTheHandler(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		shelf := newShelf()
		cut := &plug{Shelf: shelf}
		a, b := queue(cut, inProcess("a")), queue(shelf, inProcess("b"))
		id := add(t, a, "k", "1").ID
		g := newGuard(t)
		start := time.Now()
		var stoppedAfter, secondAfter time.Duration
		stopA := work(t, a, one(func(ctx context.Context, j jobs.Job) (string, error) {
			defer g.enter(id)()
			<-ctx.Done()
			stoppedAfter = time.Since(start)
			if cause := context.Cause(ctx); cause == context.Canceled || cause == nil {
				t.Errorf("the cause is %v", cause)
			}
			return "too late", nil
		}))
		synctest.Wait()
		stopB := work(t, b, one(func(context.Context, jobs.Job) (string, error) {
			defer g.enter(id)()
			secondAfter = time.Since(start)
			return "in time", nil
		}))
		cut.out.Store(true)
		pass(10 * time.Minute)
		if stoppedAfter == 0 || stoppedAfter >= secondAfter || secondAfter > 6*time.Minute {
			t.Errorf("stopped after %v, taken over after %v", stoppedAfter, secondAfter)
		}
		cut.out.Store(false)
		pass(10 * time.Minute)
		stopA()
		stopB()
		if j := wantState(t, b, id, jobs.Done, 2); j.Note != "in time" {
			t.Errorf("%+v", j)
		}
	})
}

// Two queues in one process may share a worker's name; that must not make one take
// the other's result for its own.
func TestLateResultOfAnEarlierLeaseIsNotRecorded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		shelf := newShelf()
		late := queue(shelf, inProcess("a"))
		id := add(t, late, "k", "1").ID
		release, done := make(chan struct{}), make(chan jobs.Report)
		go func() {
			rep, _ := late.Drain(t.Context(), one(func(context.Context, jobs.Job) (string, error) {
				<-release // ignores its context, like a machine that sleeps
				return "late", nil
			}))
			done <- rep
		}()
		synctest.Wait()
		q := queue(shelf, inProcess("b"), func(o *jobs.Options) {
			o.Now = func() time.Time { return time.Now().Add(time.Hour) } // for it the lease is over
		})
		if rep := drain(t, q, one(fail)); rep.Retried != 1 {
			t.Fatalf("%+v", rep)
		}
		if _, err := q.Retry(t.Context(), id); err != nil { // attempts start again, so does their number
			t.Fatal(err)
		}
		go func() { // leases it once more, and keeps it
			_, _ = q.Drain(t.Context(), one(func(context.Context, jobs.Job) (string, error) {
				<-release
				<-time.After(time.Second)
				return "last", nil
			}))
			done <- jobs.Report{}
		}()
		synctest.Wait()
		wantState(t, q, id, jobs.Running, 1)
		close(release)
		if rep := <-done; rep.Lost != 1 {
			t.Errorf("the late one: %+v", rep)
		}
		<-done
		if j := wantState(t, q, id, jobs.Done, 1); j.Note != "last" {
			t.Errorf("%+v", j)
		}
	})
}

// A handler that does not notice the loss of its lease is still running when
// the shelf is back. Its own queue knows that.
func TestDeafHandlerIsNotJoinedByAnother(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := &plug{Shelf: newShelf()}
		q := queue(p)
		id := add(t, q, "k", "1").ID
		g := newGuard(t)
		deaf := one(func(context.Context, jobs.Job) (string, error) {
			defer g.enter(id)()
			<-time.After(time.Hour)
			return "", nil
		})
		stop, stopOther := work(t, q, deaf), work(t, q, deaf)
		pass(time.Second)
		p.out.Store(true)
		pass(10 * time.Minute)
		p.out.Store(false)
		pass(40 * time.Minute)
		if g.count(id) != 1 {
			t.Errorf("it ran %d times", g.count(id))
		}
		pass(2 * time.Hour)
		wantState(t, q, id, jobs.Done, 2)
		stop()
		stopOther()
	})
}

func TestProgressIsKeptAtMostOnceASecond(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := &plug{Shelf: newShelf()}
		q := queue(p)
		id := add(t, q, "k", "1").ID
		before := p.updates.Load()
		stop := work(t, q, map[string]jobs.Handler{"k": func(_ context.Context, _ jobs.Job, progress func(string, int, int)) (string, error) {
			for i := range 1000 {
				progress("parts <think>x</think>", i+1, 1000)
				<-time.After(10 * time.Millisecond)
			}
			return "", nil
		}})
		pass(4500 * time.Millisecond)
		j := get(t, q, id)
		if j.Progress == nil || j.Progress.Stage != "parts" || j.Progress.Total != 1000 || j.Progress.Done < 350 || j.Progress.Done > 450 {
			t.Errorf("progress %+v", j.Progress)
		}
		pass(time.Minute)
		if j := wantState(t, q, id, jobs.Done, 1); j.Progress != nil {
			t.Errorf("it is done, and its progress %+v", j.Progress)
		}
		// A lease, a result, and ten seconds of progress.
		if n := p.updates.Load() - before; n > 2+11 {
			t.Errorf("%d updates", n)
		}
		stop()
	})
}

// The result of a handler can't be recorded while the disk is full. The job runs
// again, as after a crash.
func TestResultThatCantBeRecordedIsRunAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := &plug{Shelf: newShelf()}
		q := queue(p)
		id := add(t, q, "k", "1").ID
		runs := 0
		stop := work(t, q, one(func(context.Context, jobs.Job) (string, error) {
			runs++
			p.out.Store(runs == 1)
			return "", nil
		}))
		pass(2 * time.Minute)
		p.out.Store(false)
		pass(10 * time.Minute)
		stop()
		wantState(t, q, id, jobs.Done, 2)
		if runs != 2 {
			t.Errorf("%d runs", runs)
		}
	})
}

// wallClock is a wall clock that can be set.
type wallClock struct{ off atomic.Int64 }

func (c *wallClock) Now() time.Time         { return time.Now().Round(0).Add(time.Duration(c.off.Load())) }
func (c *wallClock) jump(d time.Duration)   { c.off.Add(int64(d)) }
func (c *wallClock) set(o *jobs.Options)    { o.Now = c.Now }
func (c *wallClock) date(day int) time.Time { return time.Date(2030, 1, day, 0, 0, 0, 0, time.UTC) }

// When the clock is set forward while a job runs, its lease looks expired until
// it is renewed. No other worker of this process takes it for that reason.
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

// A requested date is kept, whatever the clock said before.
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

// A machine that sleeps stops its timers, but not its clock.
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

// A clock is set forward, a job gets that time, and the clock is set back in part.
// A queue that did not read the clock meanwhile can't notice this.
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
