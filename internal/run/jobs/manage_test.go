package jobs_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/kenlayer/ken"
	"github.com/kenlayer/ken/internal/run/jobs"
)

func TestRetryRunsADeadJobAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		q := queue(newShelf(), func(o *jobs.Options) { o.Attempts = 2 })
		id := add(t, q, "k", "1").ID
		drain(t, q, one(fail))
		pass(time.Second)
		drain(t, q, one(fail))
		wantState(t, q, id, jobs.Dead, 2)
		j, err := q.Retry(t.Context(), id[:6])
		if err != nil || j.ID != id || j.State != jobs.Queued || j.Attempts != 0 || !j.Finished.IsZero() || j.Due.After(time.Now()) {
			t.Fatalf("%+v, %v", j, err)
		}
		if j.Error != errDown.Msg {
			t.Errorf("it no longer says why it was dead: %q", j.Error)
		}
		drain(t, q, one(fail))
		wantState(t, q, id, jobs.Queued, 1) // with all its attempts before it
		pass(time.Second)
		if rep := drain(t, q, one(succeed)); rep.Done != 1 {
			t.Errorf("%+v", rep)
		}
	})
}

func TestRetryEndsAPause(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		q := queue(newShelf(), func(o *jobs.Options) { o.Backoff = func(int) time.Duration { return 24 * time.Hour } })
		id := add(t, q, "k", "1").ID
		tries := 0
		stop := work(t, q, one(func(context.Context, jobs.Job) (string, error) {
			if tries++; tries == 1 {
				return "", errDown
			}
			return "", nil
		}))
		synctest.Wait()
		wantState(t, q, id, jobs.Queued, 1)
		if _, err := q.Retry(t.Context(), id); err != nil {
			t.Fatal(err)
		}
		synctest.Wait() // the worker is woken
		wantState(t, q, id, jobs.Done, 1)
		stop()
	})
}

func TestDoneAndRunningJobsAreNotRetriedAndRunningOnesNotRemoved(t *testing.T) {
	q := queue(newShelf())
	refuse := func(what string, err error) {
		t.Helper()
		if !errors.Is(err, ken.ErrRefused) || ken.Hint(err) == "" {
			t.Errorf("%s: %v, hint %q", what, err, ken.Hint(err))
		}
	}
	id := add(t, q, "k", "1").ID
	drain(t, q, one(func(ctx context.Context, j jobs.Job) (string, error) {
		_, err := q.Retry(ctx, j.ID)
		refuse("retry while it runs", err)
		refuse("remove while it runs", q.Remove(ctx, j.ID))
		return "", nil
	}))
	_, err := q.Retry(t.Context(), id)
	refuse("retry when done", err)
	if !strings.Contains(ken.Hint(err), id[:8]) {
		t.Errorf("the hint is %q", ken.Hint(err))
	}
	wantState(t, q, id, jobs.Done, 1)
	for name, call := range map[string]func(id string) error{
		"retry":  func(id string) error { _, err := q.Retry(t.Context(), id); return err },
		"remove": func(id string) error { return q.Remove(t.Context(), id) },
	} {
		for _, unknown := range []string{"", "abc", "ffffffffffff"} {
			if err := call(unknown); !errors.Is(err, ken.ErrNotFound) {
				t.Errorf("%s %q: %v", name, unknown, err)
			}
		}
	}
}

func TestRemovedJobIsGoneAndCanBeAddedAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		shelf := newShelf()
		q := queue(shelf)
		for _, reach := range []func(){func() {}, func() { drain(t, q, one(succeed)) }, func() { drain(t, q, one(fail)) }} {
			id := add(t, q, "k", "1").ID
			reach()
			if err := q.Remove(t.Context(), id[:8]); err != nil {
				t.Fatal(err)
			}
			if left := keys(t, shelf); len(left) > 0 {
				t.Errorf("left on the shelf: %q", left)
			}
		}
		abandon(t, shelf, "gone", "k", "1") // its worker is never to come back
		id := jobs.ID("k", "1")
		if err := q.Remove(t.Context(), id); !errors.Is(err, ken.ErrRefused) {
			t.Errorf("remove while it is leased: %v", err)
		}
		pass(5 * time.Minute)
		if err := q.Remove(t.Context(), id); err != nil {
			t.Error(err)
		}
	})
}

// A job that was removed while a sleeping worker still had it must not come back
// with its result.
func TestRemovedJobDoesNotComeBack(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		shelf := newShelf()
		q := queue(shelf, inProcess("a"))
		id := add(t, q, "k", "1").ID
		other := queue(shelf, inProcess("b"), func(o *jobs.Options) { o.Now = func() time.Time { return time.Now().Add(time.Hour) } })
		rep := drain(t, q, one(func(ctx context.Context, _ jobs.Job) (string, error) {
			return "", other.Remove(ctx, id)
		}))
		if rep.Lost != 1 || len(keys(t, shelf)) != 0 {
			t.Errorf("%+v, %q", rep, keys(t, shelf))
		}
	})
}

func TestPruneRemovesOldDoneJobsAlone(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		q := queue(newShelf())
		for i := range 1200 { // more than one transaction
			add(t, q, "k", fmt.Sprint(i))
		}
		dead := add(t, q, "dead", "1").ID
		queued := add(t, q, "strange", "1").ID
		handlers := one(succeed)
		handlers["dead"] = func(context.Context, jobs.Job, func(string, int, int)) (string, error) {
			return "", jobs.Permanent(errDown)
		}
		if rep := drain(t, q, handlers); rep.Done != 1200 || rep.Dead != 1 {
			t.Fatalf("%d done, %d dead", rep.Done, rep.Dead)
		}
		pass(20 * 24 * time.Hour)
		young := add(t, q, "k", "young").ID
		drain(t, q, handlers)
		pass(10*24*time.Hour - time.Second)
		if n, err := q.Prune(t.Context()); n != 0 || err != nil {
			t.Errorf("too early: %d, %v", n, err)
		}
		pass(time.Second)
		forever := queue(newShelf(), func(o *jobs.Options) { o.Keep = -1 })
		if n, err := forever.Prune(t.Context()); n != 0 || err != nil {
			t.Errorf("forever: %d, %v", n, err)
		}
		if n, err := q.Prune(t.Context()); n != 1200 || err != nil {
			t.Errorf("pruned %d, %v", n, err)
		}
		for _, id := range []string{dead, queued, young} {
			get(t, q, id)
		}
		if all, err := q.List(t.Context()); err != nil || len(all) != 3 {
			t.Errorf("%d jobs, %v", len(all), err)
		}
	})
}

func TestDrainPrunes(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		q := queue(newShelf(), func(o *jobs.Options) { o.Keep = time.Hour })
		add(t, q, "k", "1")
		drain(t, q, one(succeed))
		pass(time.Hour)
		drain(t, q, one(succeed))
		if all, err := q.List(t.Context()); err != nil || len(all) != 0 {
			t.Errorf("%d jobs, %v", len(all), err)
		}
	})
}
