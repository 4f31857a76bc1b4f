package jobs_test

import (
	"context"
	"slices"
	"strings"
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

// A process that dies in the middle of a job leaves it to the next, which counts
// as an attempt: a job that kills its process must not do so for ever.
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
			if want := "attempt 1 ended without a word: its worker worker of gone is gone"; j.Error != want {
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

// alive is for Options.Alive: these processes live.
func alive(processes ...string) func(*jobs.Options) {
	return func(o *jobs.Options) { o.Alive = func(p string) bool { return slices.Contains(processes, p) } }
}

// Nobody needs to wait for the lease of a process that is known to be gone.
func TestALeaseOfADeadProcessIsOver(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		shelf := newShelf()
		abandon(t, shelf, "gone", "k", "1")
		q := queue(shelf, alive())
		if rep := drain(t, q, one(succeed)); rep.Done != 1 {
			t.Errorf("%+v", rep)
		}
		wantState(t, q, jobs.ID("k", "1"), jobs.Done, 2)

		// Its own process is alive, whatever is said of others.
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

// A process that lives has its whole lease, and more if the clock was set forward:
// it may be at work.
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
		if ran || rep.Dead != 1 || !strings.Contains(j.Error, "attempt 2 ended without a word: its worker worker of second is gone") ||
			!strings.Contains(j.Try, "ken jobs retry "+j.ID[:8]) || j.Finished.IsZero() {
			t.Errorf("ran %v, %+v, %+v", ran, rep, j)
		}
	})
}

// A worker that was cut off from the shelf stops its handler before anybody else
// may begin, and what it brings in the end is not recorded.
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
				<-release // deaf to its context, while a machine sleeps
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

// A handler that does not hear that its lease is lost is still running when the
// shelf is back. Its own queue knows that.
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

// The result of a handler can't be recorded while the disk is full. The job is not
// lost: it is run again, as after a crash.
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
