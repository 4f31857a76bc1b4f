package jobs_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/kenlayer/ken"
	"github.com/kenlayer/ken/internal/run/jobs"
	"github.com/kenlayer/ken/store"
)

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

// Whatever lies on the shelf, the jobs beside it run.
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
