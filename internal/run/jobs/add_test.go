package jobs_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/kenlayer/ken"
	"github.com/kenlayer/ken/internal/run/jobs"
	"github.com/kenlayer/ken/store"
)

func TestIDFollowsFromKindAndKey(t *testing.T) {
	const want = "106a7fd3712e0a2fc49b7209d2db4c74" // it is on disk: it may never change
	if got := jobs.ID("harvest", "s1/1/20"); got != want {
		t.Errorf("ID = %s, want %s", got, want)
	}
	seen := map[string]string{}
	for _, p := range [][2]string{{"a", "bc"}, {"ab", "c"}, {"a", "b"}, {"1:a", "b"}, {"1", ":ab"}, {"b", "a"}} {
		id := jobs.ID(p[0], p[1])
		if other, ok := seen[id]; ok {
			t.Errorf("%q and %q are one", p, other)
		}
		seen[id] = p[0] + "|" + p[1]
	}
}

func TestAddedJobIsQueuedAndDueAtOnce(t *testing.T) {
	now := time.Date(2026, 3, 14, 9, 0, 0, 123456789, time.FixedZone("", 3600))
	q := queue(newShelf(), func(o *jobs.Options) { o.Now = func() time.Time { return now } })
	j, added, err := q.Add(t.Context(), jobs.New{Kind: "k", Key: "1", Payload: json.RawMessage(`{"session":"s1"}`)})
	if err != nil || !added {
		t.Fatal(added, err)
	}
	want := now.UTC().Truncate(time.Microsecond)
	if j.ID != jobs.ID("k", "1") || j.State != jobs.Queued || !j.Due.Equal(want) || !j.Created.Equal(want) || j.Due.Location() != time.UTC {
		t.Errorf("%+v", j)
	}
	if string(get(t, q, j.ID).Payload) != `{"session":"s1"}` {
		t.Errorf("payload %s", j.Payload)
	}
}

// The same kind and key is the same job, whatever its state: a done job does
// not run again, and adding a dead job again does not revive it.
func TestAddingAgainAddsNothing(t *testing.T) {
	ctx := t.Context()
	for _, tt := range []struct {
		state jobs.State
		reach func(q *jobs.Queue)
	}{
		{jobs.Queued, func(*jobs.Queue) {}},
		{jobs.Done, func(q *jobs.Queue) { drain(t, q, one(succeed)) }},
		{jobs.Dead, func(q *jobs.Queue) {
			drain(t, q, one(func(context.Context, jobs.Job) (string, error) { return "", jobs.Permanent(errDown) }))
		}},
		{jobs.Running, func(q *jobs.Queue) {
			drain(t, q, one(func(ctx context.Context, j jobs.Job) (string, error) {
				again, added, err := q.Add(ctx, jobs.New{Kind: "k", Key: "1"})
				if err != nil || added || again.State != jobs.Running {
					t.Errorf("while it runs: %v, %v, %v", again.State, added, err)
				}
				return "", nil
			}))
		}},
	} {
		q := queue(newShelf())
		add(t, q, "k", "1")
		tt.reach(q)
		if tt.state == jobs.Running {
			continue
		}
		before := get(t, q, jobs.ID("k", "1"))
		j, added, err := q.Add(ctx, jobs.New{Kind: "k", Key: "1", Payload: json.RawMessage(`"another"`)})
		if err != nil || added || j.State != tt.state || j.ID != before.ID || j.Payload != nil {
			t.Errorf("%s: %+v, %v, %v", tt.state, j, added, err)
		}
		if all, err := q.List(ctx); err != nil || len(all) != 1 {
			t.Errorf("%s: %d jobs, %v", tt.state, len(all), err)
		}
	}
}

// A job is there exactly when the transaction is that it is about.
func TestAddIsPartOfTheCallersTransaction(t *testing.T) {
	shelf := newShelf()
	q := queue(shelf)
	mine := errors.New("no")
	for _, fails := range []bool{true, false} {
		err := shelf.Update(t.Context(), func(tx store.ShelfTx) error {
			id, added, err := jobs.Add(tx, time.Now(), jobs.New{Kind: "k", Key: "1"})
			if err != nil || !added || id != jobs.ID("k", "1") {
				t.Errorf("%s, %v, %v", id, added, err)
			}
			if _, added, err = jobs.Add(tx, time.Now(), jobs.New{Kind: "k", Key: "1"}); added || err != nil {
				t.Errorf("again in the same transaction: %v, %v", added, err)
			}
			if fails {
				return mine
			}
			return nil
		})
		if fails != errors.Is(err, mine) {
			t.Fatal(err)
		}
		want := 1
		if fails {
			want = 0
		}
		if rep := drain(t, q, one(succeed)); rep.Done != want {
			t.Errorf("fails %v: %+v", fails, rep)
		}
	}
}

func TestBadJobsAreRefused(t *testing.T) {
	q := queue(newShelf())
	for name, tt := range map[string]struct {
		n     jobs.New
		field string
	}{
		"no kind":          {jobs.New{Key: "1"}, "kind"},
		"long kind":        {jobs.New{Kind: strings.Repeat("k", jobs.MaxKind+1), Key: "1"}, "kind"},
		"no key":           {jobs.New{Kind: "k"}, "key"},
		"long key":         {jobs.New{Kind: "k", Key: strings.Repeat("k", jobs.MaxKey+1)}, "key"},
		"payload not JSON": {jobs.New{Kind: "k", Key: "1", Payload: json.RawMessage(`{`)}, "payload"},
		"payload too long": {jobs.New{Kind: "k", Key: "1", Payload: json.RawMessage(`"` + strings.Repeat("x", jobs.MaxPayload) + `"`)}, "payload"},
		"never":            {jobs.New{Kind: "k", Key: "1", After: time.Date(10000, 1, 1, 0, 0, 0, 0, time.UTC)}, "after"},
	} {
		_, added, err := q.Add(t.Context(), tt.n)
		var e *ken.Error
		if added || !errors.As(err, &e) || e.Code != ken.CodeInvalid || e.Field != tt.field || e.Try == "" {
			t.Errorf("%s: %v, %v", name, added, err)
		}
	}
	if all, err := q.List(t.Context()); err != nil || len(all) != 0 {
		t.Errorf("%d jobs, %v", len(all), err)
	}
	longest := jobs.New{Kind: strings.Repeat("k", jobs.MaxKind), Key: strings.Repeat("\xff\x00", jobs.MaxKey/2)}
	if _, added, err := q.Add(t.Context(), longest); err != nil || !added {
		t.Errorf("the longest: %v", err)
	}
}

func TestGet(t *testing.T) {
	q := queue(newShelf())
	j := add(t, q, "k", "1")
	for _, id := range []string{j.ID, j.ID[:6], j.ID[:31]} {
		if got := get(t, q, id); got.ID != j.ID {
			t.Errorf("%s finds %s", id, got.ID)
		}
	}
	for _, id := range []string{"", j.ID[:5], j.ID + "0", "ffffff", j.ID[1:]} {
		if _, err := q.Get(t.Context(), id); !errors.Is(err, ken.ErrNotFound) || ken.Hint(err) == "" {
			t.Errorf("%q: %v", id, err)
		}
	}
}

// A short id that fits two jobs must not pick one of them.
func TestAmbiguousIDIsRefused(t *testing.T) {
	shelf := newShelf()
	q := queue(shelf)
	err := shelf.Update(t.Context(), func(tx store.ShelfTx) error {
		for _, id := range []string{"abcdef01", "abcdef02"} {
			if err := tx.Put("jobs/job/"+id, fmt.Appendf(nil, `{"id":%q,"state":"dead"}`, id)); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	_, err = q.Get(t.Context(), "abcdef")
	if !errors.Is(err, ken.ErrInvalid) {
		t.Errorf("get: %v", err)
	}
	if err := q.Remove(t.Context(), "abcdef0"); !errors.Is(err, ken.ErrInvalid) {
		t.Errorf("remove: %v", err)
	}
	if j := get(t, q, "abcdef01"); j.ID != "abcdef01" {
		t.Errorf("%+v", j)
	}
}

func TestListIsSortedByWhenJobsAreDue(t *testing.T) {
	now := time.Date(2026, 3, 14, 9, 0, 0, 0, time.UTC)
	q := queue(newShelf(), func(o *jobs.Options) { o.Now = func() time.Time { return now } })
	var same []string
	for _, key := range []string{"a", "b", "c", "d"} {
		same = append(same, add(t, q, "k", key).ID)
	}
	slices.Sort(same)
	late, _, err := q.Add(t.Context(), jobs.New{Kind: "k", Key: "late", After: now.Add(time.Hour)})
	if err != nil {
		t.Fatal(err)
	}
	list := func(states ...jobs.State) (ids []string) {
		all, err := q.List(t.Context(), states...)
		if err != nil {
			t.Fatal(err)
		}
		for _, j := range all {
			ids = append(ids, j.ID)
		}
		return ids
	}
	if got, want := list(), append(slices.Clone(same), late.ID); !slices.Equal(got, want) {
		t.Errorf("list %v, want %v", got, want)
	}
	if got := list(jobs.Done, jobs.Dead); got != nil {
		t.Errorf("done and dead: %v", got)
	}
	drain(t, q, one(succeed))
	if got := list(jobs.Done); !slices.Equal(got, same) {
		t.Errorf("done: %v", got)
	}
	if got := list(jobs.Queued, jobs.Running); !slices.Equal(got, []string{late.ID}) {
		t.Errorf("queued: %v", got)
	}
}

// broken puts bytes that are no job where a queued one is.
func broken(t testing.TB, shelf store.Shelf, id string, value []byte) {
	t.Helper()
	err := shelf.Update(context.Background(), func(tx store.ShelfTx) error {
		if err := tx.Put("jobs/job/"+id, value); err != nil {
			return err
		}
		return tx.Put("jobs/state/queued/8000000000000000/"+id, []byte("k"))
	})
	if err != nil {
		t.Fatal(err)
	}
}

// One record that can't be read must neither stop the queue nor hide the others,
// nor be written over.
func TestUnreadableJobStopsNothing(t *testing.T) {
	shelf := newShelf()
	q := queue(shelf)
	id := strings.Repeat("0", 32)
	broken(t, shelf, id, []byte(`{"id": half`))
	good := add(t, q, "k", "1")
	if rep := drain(t, q, one(succeed)); rep.Done != 1 {
		t.Errorf("%+v", rep)
	}
	all, err := q.List(t.Context())
	if len(all) != 1 || all[0].ID != good.ID || !errors.Is(err, ken.ErrCorrupt) || !strings.Contains(err.Error(), id) {
		t.Errorf("list %+v, %v", all, err)
	}
	if _, err := q.Get(t.Context(), id); !errors.Is(err, ken.ErrCorrupt) || ken.Hint(err) == "" {
		t.Errorf("get: %v", err)
	}
	if _, err := q.Retry(t.Context(), id); !errors.Is(err, ken.ErrCorrupt) {
		t.Errorf("retry: %v", err)
	}
	if err := q.Remove(t.Context(), id); err != nil {
		t.Errorf("remove: %v", err)
	}
	if all, err := q.List(t.Context()); err != nil || len(all) != 1 {
		t.Errorf("list after it was removed: %v, %v", all, err)
	}
	if left := keys(t, shelf); len(left) != 2 {
		t.Errorf("left on the shelf: %q", left)
	}
}

func keys(t testing.TB, shelf store.Shelf) (out []string) {
	t.Helper()
	err := shelf.View(context.Background(), func(r store.ShelfReader) error {
		out = nil
		for key := range r.Scan("jobs/") {
			if key != "jobs/clock" { // the time of the last write, of no job in particular
				out = append(out, key)
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return out
}

// Whatever other data is on the shelf, the jobs run.
func FuzzUnreadableJob(f *testing.F) {
	id := jobs.ID("k", "broken")
	f.Add([]byte(""), "8000000000000000/"+id)
	f.Add([]byte("null"), "")
	f.Add([]byte(`{"id":"`+id+`","kind":"k","key":"broken","state":"queued","due":"1970-01-01T00:00:00Z"}`), "8000000000000000/"+id)
	f.Add([]byte(`{"id":"`+id+`","state":"running","attempts":-5,"run":18446744073709551615,"lease":"0001-01-01T00:00:00Z"}`), "0000000000000000/x")
	f.Add([]byte(`{"id":"`+id+`","state":"no such state","due":"9999-12-31T23:59:59Z"}`), "zz/"+id)
	f.Fuzz(func(t *testing.T, value []byte, line string) {
		shelf := newShelf()
		q := queue(shelf)
		err := shelf.Update(t.Context(), func(tx store.ShelfTx) error {
			for _, s := range []string{"queued", "running", "done"} {
				if err := tx.Put("jobs/state/"+s+"/"+line[:min(len(line), 900)], []byte("k")); err != nil {
					return err
				}
			}
			return tx.Put("jobs/job/"+id, value)
		})
		if err != nil {
			t.Fatal(err)
		}
		good := add(t, q, "k", "good")
		_, err = q.Drain(t.Context(), one(succeed))
		if err != nil {
			t.Fatalf("drain: %v", err)
		}
		if j := get(t, q, good.ID); j.State != jobs.Done {
			t.Fatalf("the job beside it is %s", j.State)
		}
		if all, err := q.List(t.Context()); len(all) == 0 || len(all) == 1 && err == nil {
			t.Fatalf("it is neither listed nor told of: %v, %v", all, err)
		}
		if err := q.Remove(t.Context(), id); err != nil {
			t.Fatalf("remove: %v", err)
		}
	})
}

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
