package session_test

import (
	"context"
	"encoding/json"
	"errors"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/kenlayer/ken"
	"github.com/kenlayer/ken/internal/race"
	"github.com/kenlayer/ken/internal/run/session"
	"github.com/kenlayer/ken/store"
)

// jobsOf reads the harvest jobs that wait on the shelf.
func jobsOf(t testing.TB, b *bench) (out []session.HarvestJob) {
	t.Helper()
	err := b.shelf.View(t.Context(), func(r store.ShelfReader) error {
		out = nil
		for _, value := range r.Scan("job") {
			var j struct {
				Kind    string             `json:"kind"`
				Payload session.HarvestJob `json:"payload"`
			}
			if json.Unmarshal(value, &j) == nil && j.Kind == session.JobHarvest {
				out = append(out, j.Payload)
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	slices.SortFunc(out, func(a, b session.HarvestJob) int { return int(a.Upto) - int(b.Upto) })
	return out
}

func TestALife(t *testing.T) {
	ctx := t.Context()
	b := newBench(t, session.Options{Process: "one"})
	b.append(t, "s", user("a"), assistant("b"))
	b.clock.pass(time.Hour)
	if !b.end(t, "s", session.Closed) {
		t.Fatal("it was not open")
	}
	if b.end(t, "s", session.Idle) {
		t.Error("it was ended twice")
	}
	info := b.info(t, "s")
	if info.State != session.Ended || info.Reason != session.Closed || !info.Ended.Equal(monday.Add(time.Hour)) {
		t.Errorf("ended: %+v", info)
	}
	if diff := cmp.Diff([]session.HarvestJob{{Session: "s", Part: 1, Upto: 2}}, jobsOf(t, b)); diff != "" {
		t.Errorf("jobs (-want +got):\n%s", diff)
	}
	outcome := session.Outcome{Episode: "e1", Learned: []string{"c1"}, Dropped: map[string]int{"echo": 2}}
	b.clock.pass(time.Minute)
	if err := b.Harvested(ctx, "s", 2, outcome); err != nil {
		t.Fatal(err)
	}
	outcome.Learned[0], outcome.Dropped["echo"] = "changed", 9 // the journal keeps its own
	info = b.info(t, "s")
	if info.State != session.Harvested || info.Outcome.Learned[0] != "c1" || info.Outcome.Dropped["echo"] != 2 || !info.Harvested.Equal(monday.Add(61*time.Minute)) {
		t.Errorf("harvested: %+v %+v", info, info.Outcome)
	}

	// It goes on within the grace period: the same part, with a job of its own.
	b.append(t, "s", user("a"), assistant("b"), user("c"))
	if info := b.info(t, "s"); info.State != session.Open || info.Part != 1 || info.Reason != "" || !info.Ended.IsZero() || info.Outcome == nil {
		t.Errorf("gone on: %+v", info)
	}
	b.end(t, "s", session.Idle)
	if err := b.Harvested(ctx, "s", 3, session.Outcome{Episode: "e1"}); err != nil {
		t.Fatal(err)
	}
	if err := b.Injected(ctx, "s", []ken.Item{{ID: "k", Text: "x"}}); err != nil {
		t.Fatal(err)
	}
	b.step(t, "s", "a")

	// It goes on after its messages are gone: another part, and only what is new.
	b.clock.pass(24 * time.Hour)
	if n, err := b.Sweep(ctx, 48*time.Hour); n != 0 || err != nil {
		t.Fatalf("swept %d within the grace period, %v", n, err)
	}
	if n, err := b.Sweep(ctx, 24*time.Hour); n != 1 || err != nil {
		t.Fatalf("swept %d, %v; want 1", n, err)
	}
	if n, err := b.Sweep(ctx, 0); n != 0 || err != nil {
		t.Fatalf("swept %d twice, %v", n, err)
	}
	tr := b.read(t, "s")
	if len(tr.Entries)+len(tr.Injected) != 0 || tr.Checkpoint != nil || tr.Info.Messages != 0 || tr.Info.Outcome.Episode != "e1" {
		t.Errorf("after the sweep: %+v", tr)
	}
	b.restart(session.Options{Process: "two"})
	got := b.append(t, "s", user("a"), assistant("b"), user("c"), assistant("d"))
	if len(got) != 1 || got[0].Message.Text != "d" || got[0].Seq != 4 {
		t.Errorf("kept %+v, want the new message as number 4", got)
	}
	if info := b.info(t, "s"); info.Part != 2 || info.Messages != 1 || info.State != session.Open || info.Process != "two" {
		t.Errorf("part 2: %+v", info)
	}
	b.end(t, "s", session.Closed)
	want := []session.HarvestJob{{Session: "s", Part: 1, Upto: 2}, {Session: "s", Part: 1, Upto: 3}, {Session: "s", Part: 2, Upto: 4}}
	if diff := cmp.Diff(want, jobsOf(t, b)); diff != "" {
		t.Errorf("jobs (-want +got):\n%s", diff)
	}
}

// A harvest may take long. What is said meanwhile is not lost by its end.
func TestHarvestedWhileItGoesOn(t *testing.T) {
	ctx := t.Context()
	b := newBench(t, session.Options{})
	b.append(t, "s", user("a"))
	b.end(t, "s", session.Idle)
	b.append(t, "s", user("a"), user("b"))
	if err := b.Harvested(ctx, "s", 1, session.Outcome{Episode: "e1"}); err != nil {
		t.Fatal(err)
	}
	if info := b.info(t, "s"); info.State != session.Open || info.Outcome.Episode != "e1" {
		t.Errorf("open while harvested: %+v", info)
	}
	b.end(t, "s", session.Idle)
	if err := b.Harvested(ctx, "s", 1, session.Outcome{Episode: "again"}); err != nil {
		t.Fatal(err)
	}
	if info := b.info(t, "s"); info.State != session.Ended {
		t.Errorf("ended again, harvested up to 1 of 2: %+v", info)
	}
	if err := b.Harvested(ctx, "s", 2, session.Outcome{Episode: "e2"}); err != nil {
		t.Fatal(err)
	}
	if err := b.Harvested(ctx, "s", 1, session.Outcome{Episode: "late"}); err != nil {
		t.Fatal(err)
	}
	if info := b.info(t, "s"); info.State != session.Harvested || info.Outcome.Episode != "e2" {
		t.Errorf("a job that came late took over: %+v", info)
	}
}

// Two processes, or a timer and a close, retire one session: one of them does.
func TestSessionIsRetiredOnce(t *testing.T) {
	b := newBench(t, session.Options{Process: "one"})
	other := session.NewJournal(b.shelf, session.Options{Process: "two", Now: b.clock.now})
	b.append(t, "s", user("a"))
	b.clock.pass(time.Hour)
	var mu sync.Mutex
	var ended int
	var wg sync.WaitGroup
	count := func(n int, err error) {
		mu.Lock()
		defer mu.Unlock()
		ended += n
		if err != nil {
			t.Error(err)
		}
	}
	one := func(ok bool, err error) {
		if ok {
			count(1, err)
		} else {
			count(0, err)
		}
	}
	for range 4 {
		wg.Go(func() { one(b.End(context.Background(), "s", session.Closed)) })
		wg.Go(func() { one(other.End(context.Background(), "s", session.Shutdown)) })
		wg.Go(func() { ids, err := b.EndIdle(context.Background(), time.Minute); count(len(ids), err) })
		wg.Go(func() { ids, err := other.EndIdle(context.Background(), time.Minute); count(len(ids), err) })
	}
	wg.Wait()
	if ended != 1 || len(jobsOf(t, b)) != 1 {
		t.Errorf("ended %d times with %d jobs, want once with one", ended, len(jobsOf(t, b)))
	}
}

func TestEndIdle(t *testing.T) {
	b := newBench(t, session.Options{Process: "dead"})
	b.append(t, "left", user("a"))
	b.append(t, "resumed", user("a"))
	b.restart(session.Options{Process: "alive"})
	b.append(t, "idle", user("a"))
	b.append(t, "resumed", user("a"), user("b"))
	b.clock.pass(29 * time.Minute)
	b.append(t, "busy", user("a"))
	b.clock.pass(time.Minute)
	ids, err := b.EndIdle(t.Context(), 30*time.Minute)
	if diff := cmp.Diff([]string{"idle", "left", "resumed"}, ids); diff != "" || err != nil {
		t.Fatalf("ended (-want +got), %v:\n%s", err, diff)
	}
	for id, want := range map[string]session.Reason{"left": session.Died, "idle": session.Idle, "resumed": session.Idle, "busy": ""} {
		if got := b.info(t, id); got.Reason != want {
			t.Errorf("%s: ended as %q, want %q", id, got.Reason, want)
		}
	}
	if ids, err := b.EndIdle(t.Context(), 30*time.Minute); len(ids) != 0 || err != nil {
		t.Errorf("ended %v again, %v", ids, err)
	}
}

// A process that is not named can't tell its own sessions from others'.
func TestEndIdleWithoutAName(t *testing.T) {
	b := newBench(t, session.Options{Process: "named"})
	b.append(t, "s", user("a"))
	b.restart(session.Options{})
	if ids, err := b.EndIdle(t.Context(), time.Hour); len(ids) != 0 || err != nil {
		t.Errorf("ended %v, %v", ids, err)
	}
}

func TestEndAllEndsItsOwn(t *testing.T) {
	b := newBench(t, session.Options{Process: "one"})
	b.append(t, "theirs", user("a"))
	b.restart(session.Options{Process: "two"})
	b.append(t, "mine", user("a"))
	b.append(t, "empty", ken.Message{Role: "system", Text: "x"})
	ids, err := b.EndAll(t.Context(), session.Shutdown)
	if diff := cmp.Diff([]string{"empty", "mine"}, ids); diff != "" || err != nil {
		t.Errorf("ended (-want +got), %v:\n%s", err, diff)
	}
	if got := b.info(t, "theirs").State; got != session.Open {
		t.Errorf("another process's session is %s", got)
	}
	if got := len(jobsOf(t, b)); got != 1 {
		t.Errorf("%d jobs, want one: nothing was said in the other", got)
	}
}

// Tool results alone are nobody's words.
func TestASessionInWhichNobodySpoke(t *testing.T) {
	b := newBench(t, session.Options{})
	b.append(t, "s", tool("1", "x"))
	b.end(t, "s", session.Idle)
	if info := b.info(t, "s"); info.State != session.Harvested || len(jobsOf(t, b)) != 0 {
		t.Errorf("%+v", info)
	}
}

func TestFailed(t *testing.T) {
	ctx := t.Context()
	b := newBench(t, session.Options{})
	b.append(t, "s", user("a"))
	if err := b.Failed(ctx, "s", "too early"); err != nil {
		t.Fatal(err)
	}
	if got := b.info(t, "s"); got.State != session.Open || got.Outcome != nil {
		t.Errorf("an open session failed: %+v", got)
	}
	b.end(t, "s", session.Idle)
	if err := b.Failed(ctx, "s", "the store is full"); err != nil {
		t.Fatal(err)
	}
	if got := b.info(t, "s"); got.State != session.Failed || got.Outcome.Note != "the store is full" {
		t.Errorf("failed: %+v", got)
	}
	if n, err := b.Sweep(ctx, 0); n != 0 || err != nil || len(b.read(t, "s").Entries) != 1 {
		t.Errorf("swept %d of a failed harvest, %v", n, err)
	}
	if err := b.Harvested(ctx, "s", 1, session.Outcome{Episode: "e"}); err != nil { // its job was run again
		t.Fatal(err)
	}
	if got := b.info(t, "s"); got.State != session.Harvested || got.Outcome.Note != "" {
		t.Errorf("mended: %+v", got)
	}
}

func TestDeletedGoesRightAfterTheHarvest(t *testing.T) {
	ctx := t.Context()
	b := newBench(t, session.Options{})
	for _, id := range []string{"now", "later", "failed"} {
		b.append(t, id, user("the words of "+id))
	}
	b.end(t, "later", session.Idle)
	b.end(t, "now", session.Deleted)
	b.end(t, "failed", session.Deleted)
	if n, err := b.Sweep(ctx, time.Hour); n != 0 || err != nil {
		t.Fatalf("swept %d before the harvest, %v", n, err)
	}
	for _, id := range []string{"now", "later"} {
		if err := b.Harvested(ctx, id, 1, session.Outcome{}); err != nil {
			t.Fatal(err)
		}
	}
	if err := b.Failed(ctx, "failed", "dead"); err != nil {
		t.Fatal(err)
	}
	if b.end(t, "later", session.Deleted) { // deleted after it was harvested
		t.Error("it was open")
	}
	if n, err := b.Sweep(ctx, time.Hour); n != 2 || err != nil {
		t.Fatalf("swept %d, %v; want both at once", n, err)
	}
	if got := b.keys(t, "session/seen/"); len(got) != 0 {
		t.Errorf("hashes of deleted messages stay: %v", got)
	}
	b.clock.pass(time.Hour)
	if n, err := b.Sweep(ctx, time.Hour); n != 1 || err != nil {
		t.Fatalf("swept %d, %v; want the failed one, which nobody mended", n, err)
	}
	if all := b.bytes(t); strings.Contains(all, "the words of") {
		t.Errorf("the shelf has %s", all)
	}
}

func TestForgetLeavesNothing(t *testing.T) {
	ctx := t.Context()
	b := newBench(t, session.Options{})
	b.append(t, "s", user("forget me"))
	b.end(t, "s", session.Idle)
	if err := b.Harvested(ctx, "s", 1, session.Outcome{}); err != nil {
		t.Fatal(err)
	}
	if _, err := b.Sweep(ctx, 0); err != nil {
		t.Fatal(err)
	}
	b.append(t, "s", user("forget me"), user("and me"))
	if err := b.Injected(ctx, "s", []ken.Item{{ID: "k", Text: "me too"}}); err != nil {
		t.Fatal(err)
	}
	b.step(t, "s", "me as well")
	if err := b.Forget(ctx, "s"); err != nil {
		t.Fatal(err)
	}
	if got := b.keys(t, "session/"); len(got) != 0 {
		t.Errorf("the shelf has %v", got)
	}
	if err := b.Forget(ctx, "s"); !errors.Is(err, ken.ErrNotFound) {
		t.Errorf("forgotten twice: %v", err)
	}
	// The id begins anew, and its job is another one.
	if got := b.append(t, "s", user("forget me")); len(got) != 1 || got[0].Seq != 1 {
		t.Errorf("kept %+v", got)
	}
	b.clock.pass(time.Second)
	before := len(jobsOf(t, b))
	if b.end(t, "s", session.Idle); len(jobsOf(t, b)) != before+1 {
		t.Errorf("%d jobs, want %d: it would never be harvested", len(jobsOf(t, b)), before+1)
	}
}

func TestPruneKeepsWhatIsNotDone(t *testing.T) {
	ctx := t.Context()
	b := newBench(t, session.Options{})
	for _, id := range []string{"open", "ended", "failed", "kept", "swept", "recent"} {
		b.append(t, id, user("a"))
		if id != "open" {
			b.end(t, id, session.Closed)
		}
	}
	harvested := func(id string) {
		if err := b.Harvested(ctx, id, 1, session.Outcome{}); err != nil {
			t.Fatal(err)
		}
	}
	harvested("swept")
	if _, err := b.Sweep(ctx, 0); err != nil {
		t.Fatal(err)
	}
	harvested("kept")
	if err := b.Failed(ctx, "failed", "x"); err != nil {
		t.Fatal(err)
	}
	b.clock.pass(90 * 24 * time.Hour)
	harvested("recent")
	if n, err := b.Prune(ctx, b.clock.now()); n != 1 || err != nil {
		t.Errorf("pruned %d, %v", n, err)
	}
	if _, err := b.Info(ctx, "swept"); !errors.Is(err, ken.ErrNotFound) || len(b.keys(t, "session/seen/")) != 0 {
		t.Errorf("swept: %v", err)
	}
	list, err := b.List(ctx)
	if len(list) != 5 || err != nil {
		t.Errorf("%d are left, %v", len(list), err)
	}
}

func TestErrorsSayWhat(t *testing.T) {
	ctx := t.Context()
	b := newBench(t, session.Options{})
	_, end := b.End(ctx, "nobody", session.Idle)
	_, read := b.Read(ctx, "nobody")
	_, info := b.Info(ctx, "nobody")
	for what, err := range map[string]error{"end": end, "read": read, "info": info,
		"harvested": b.Harvested(ctx, "nobody", 1, session.Outcome{}),
		"failed":    b.Failed(ctx, "nobody", "")} {
		if !errors.Is(err, ken.ErrNotFound) || ken.Hint(err) == "" {
			t.Errorf("%s: %v", what, err)
		}
	}
	b.append(t, "s", user("a"))
	if _, err := b.End(ctx, "s", "bored"); !isInvalid(err) || b.info(t, "s").State != session.Open {
		t.Errorf("an unknown reason: %v", err)
	}
}

// What can't be read is not written over, and does not hide the rest.
func TestBrokenRecordsAreNotWrittenOver(t *testing.T) {
	ctx := t.Context()
	b := newBench(t, session.Options{})
	b.append(t, "bad", user("a"))
	b.append(t, "good", user("a"))
	b.append(t, "message", user("a"))
	corrupt := func(key string) {
		err := b.shelf.Update(ctx, func(tx store.ShelfTx) error { return tx.Put(key, []byte(`{"id":`)) })
		if err != nil {
			t.Fatal(err)
		}
	}
	corrupt("session/info/bad")
	corrupt(b.keys(t, "session/message/message/")[0])
	b.restart(session.Options{})
	if _, err := b.Append(ctx, session.About{ID: "bad"}, []ken.Message{user("b")}); !errors.Is(err, ken.ErrCorrupt) {
		t.Errorf("append to a broken session: %v", err)
	}
	if _, err := b.Append(ctx, session.About{ID: "message"}, []ken.Message{user("b")}); !errors.Is(err, ken.ErrCorrupt) {
		t.Errorf("append behind a broken message: %v", err)
	}
	if _, err := b.Read(ctx, "message"); !errors.Is(err, ken.ErrCorrupt) || ken.Hint(err) == "" {
		t.Errorf("read a broken message: %v", err)
	}
	if list, err := b.List(ctx); !errors.Is(err, ken.ErrCorrupt) || len(list) != 2 {
		t.Errorf("list: %d, %v; want the other two", len(list), err)
	}
	b.clock.pass(time.Hour)
	ids, err := b.EndIdle(ctx, time.Minute)
	if diff := cmp.Diff([]string{"good", "message"}, ids); diff != "" || !errors.Is(err, ken.ErrCorrupt) {
		t.Errorf("ended (-want +got), %v:\n%s", err, diff)
	}
	if err := b.Forget(ctx, "bad"); err != nil {
		t.Errorf("forget: %v", err)
	}
}

// A session of 5,000 messages lives like any other.
func TestFiveThousandMessages(t *testing.T) {
	race.SkipLong(t)
	ctx := t.Context()
	b := newBench(t, session.Options{})
	msgs := conversation(5000)
	b.append(t, "s", msgs...)
	b.restart(session.Options{})
	if got := b.append(t, "s", append(msgs, user("one more"))...); len(got) != 1 || got[0].Seq != 5001 {
		t.Fatalf("kept %d", len(got))
	}
	if got := b.append(t, "s", append(msgs[4000:], user("one more"), user("and another"))...); len(got) != 1 || got[0].Seq != 5002 {
		t.Fatalf("of the end alone, kept %d", len(got))
	}
	b.end(t, "s", session.Closed)
	if tr := b.read(t, "s"); len(tr.Entries) != 5002 {
		t.Fatalf("read %d", len(tr.Entries))
	}
	if err := b.Harvested(ctx, "s", 5002, session.Outcome{}); err != nil {
		t.Fatal(err)
	}
	if n, err := b.Sweep(ctx, 0); n != 1 || err != nil {
		t.Fatalf("swept %d, %v", n, err)
	}
	if got := len(b.keys(t, "session/")); got != 2 {
		t.Errorf("%d keys are left, want what is known of it and what was seen", got)
	}
	if got := b.append(t, "s", append(msgs, user("one more"), user("and another"), user("after all"))...); len(got) != 1 || got[0].Seq != 5003 {
		t.Errorf("after the sweep, kept %d", len(got))
	}
}
