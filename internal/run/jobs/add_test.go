package jobs_test

import (
	"context"
	"encoding/json"
	"errors"
	"strings"
	"testing"
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

// The same kind and key is the same job, whatever became of it: what is done is
// not done again, and what is dead is not revived by who asks for it once more.
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
