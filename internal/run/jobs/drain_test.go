package jobs_test

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/kenlayer/ken"
	"github.com/kenlayer/ken/internal/run/jobs"
)

func TestDrainRunsWhatIsDueInItsOrder(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		q := queue(newShelf())
		for _, key := range []string{"c", "a", "b"} {
			add(t, q, "k", key)
			pass(time.Millisecond)
		}
		late, _, err := q.Add(t.Context(), jobs.New{Kind: "k", Key: "late", After: time.Now().Add(time.Hour)})
		if err != nil {
			t.Fatal(err)
		}
		var ran []string
		handlers := one(func(_ context.Context, j jobs.Job) (string, error) {
			if j.State != jobs.Running || j.Worker != "tester" || j.Attempts != 1 {
				t.Errorf("the handler is given %+v", j)
			}
			ran = append(ran, j.Key)
			return "did " + j.Key, nil
		})
		rep := drain(t, q, handlers)
		if !slices.Equal(ran, []string{"c", "a", "b"}) || rep.Done != 3 || len(rep.Jobs) != 3 || rep.Jobs[1].Note != "did a" {
			t.Errorf("ran %v, %+v", ran, rep)
		}
		j := wantState(t, q, jobs.ID("k", "c"), jobs.Done, 1)
		if j.Note != "did c" || j.Finished.IsZero() || !j.Lease.IsZero() || j.Process != "" || j.Progress != nil {
			t.Errorf("%+v", j)
		}
		pass(time.Hour)
		if rep := drain(t, q, handlers); rep.Done != 1 || rep.Jobs[0].ID != late.ID {
			t.Errorf("an hour later %+v", rep)
		}
	})
}

func TestUnknownKindsAreUntouched(t *testing.T) {
	q := queue(newShelf())
	strange := add(t, q, "strange", "1")
	nilled := add(t, q, "nil", "1")
	handlers := one(succeed)
	handlers["nil"] = nil
	add(t, q, "k", "1")
	if rep := drain(t, q, handlers); rep.Done != 1 || len(rep.Jobs) != 1 {
		t.Errorf("%+v", rep)
	}
	for _, before := range []jobs.Job{strange, nilled} {
		if j := get(t, q, before.ID); j.State != jobs.Queued || j.Run != 0 || !j.Due.Equal(before.Due) {
			t.Errorf("%+v", j)
		}
	}
	if rep := drain(t, q, nil); len(rep.Jobs) != 0 {
		t.Errorf("without handlers: %+v", rep)
	}
}

// The default pauses: 1 s, four times as long each time, at most an hour. Then
// the job is dead, and says why and what to do.
func TestFailingJobIsTriedAgainAndAgainAndThenDead(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		q := queue(newShelf())
		id := add(t, q, "k", "1").ID
		for i, pause := range []time.Duration{time.Second, 4 * time.Second, 16 * time.Second, 64 * time.Second,
			256 * time.Second, 1024 * time.Second, time.Hour} {
			if rep := drain(t, q, one(fail)); rep.Retried != 1 {
				t.Fatalf("attempt %d: %+v", i+1, rep)
			}
			j := wantState(t, q, id, jobs.Queued, i+1)
			if got := time.Until(j.Due).Round(time.Millisecond); got != pause || j.Error != "the model is down" || j.Try != "Start it." {
				t.Errorf("attempt %d: due in %v, want %v: %+v", i+1, got, pause, j)
			}
			pass(pause - time.Millisecond)
			if rep := drain(t, q, one(fail)); len(rep.Jobs) != 0 {
				t.Errorf("attempt %d: run before its time", i+2)
			}
			pass(time.Millisecond)
		}
		if rep := drain(t, q, one(fail)); rep.Dead != 1 {
			t.Fatalf("the last attempt: %+v", rep)
		}
		j := wantState(t, q, id, jobs.Dead, 8)
		if j.Error != "the model is down" || j.Try != "Start it." || j.Finished.IsZero() {
			t.Errorf("%+v", j)
		}
		pass(100 * 24 * time.Hour)
		if rep := drain(t, q, one(succeed)); len(rep.Jobs) != 0 {
			t.Error("a dead job ran by itself")
		}
		wantState(t, q, id, jobs.Dead, 8) // and was not pruned
	})
}

func TestJitterTakesOffAtMostAQuarter(t *testing.T) {
	for jitter, want := range map[float64]time.Duration{0: 4 * time.Second, 0.5: 3500 * time.Millisecond, 1: 3 * time.Second, 7: 3 * time.Second, -7: 4 * time.Second} {
		synctest.Test(t, func(t *testing.T) {
			q := queue(newShelf(), func(o *jobs.Options) { o.Jitter = func() float64 { return jitter } })
			id := add(t, q, "k", "1").ID
			drain(t, q, one(fail))
			pass(time.Second)
			drain(t, q, one(fail))
			if got := time.Until(get(t, q, id).Due).Round(time.Millisecond); got != want {
				t.Errorf("jitter %v: %v, want %v", jitter, got, want)
			}
		})
	}
}

func TestPermanentErrorIsNotTriedAgain(t *testing.T) {
	q := queue(newShelf())
	id := add(t, q, "k", "1").ID
	rep := drain(t, q, one(func(context.Context, jobs.Job) (string, error) {
		return "", fmt.Errorf("read payload: %w", jobs.Permanent(errDown))
	}))
	j := wantState(t, q, id, jobs.Dead, 1)
	if rep.Dead != 1 || j.Error != "read payload: the model is down" || j.Try != "Start it." {
		t.Errorf("%+v, %+v", rep, j)
	}
	if jobs.Permanent(nil) != nil {
		t.Error("nil is an error")
	}
	if err := jobs.Permanent(errDown); !errors.Is(err, ken.ErrUnavailable) {
		t.Errorf("%v hides its cause", err)
	}
}

func TestWhatIsForLaterIsNoAttempt(t *testing.T) {
	q := queue(newShelf())
	id := add(t, q, "k", "1").ID
	rep := drain(t, q, one(func(context.Context, jobs.Job) (string, error) {
		return "", fmt.Errorf("begin: %w", jobs.Later(errDown))
	}))
	j := wantState(t, q, id, jobs.Queued, 0)
	if rep.Returned != 1 || !j.Due.After(j.Created) || j.Error != "" {
		t.Errorf("%+v, %+v", rep, j)
	}
	if jobs.Later(nil) != nil {
		t.Error("nil is an error")
	}
	if err := jobs.Later(errDown); !errors.Is(err, ken.ErrUnavailable) || err.Error() != errDown.Error() {
		t.Errorf("%v hides its cause", err)
	}
}

func TestFaultyHandlersAreErrors(t *testing.T) {
	for name, tt := range map[string]struct {
		h    func(context.Context, jobs.Job) (string, error)
		want string
	}{
		"panic":       {func(context.Context, jobs.Job) (string, error) { panic("index out of range") }, "the handler panicked: index out of range"},
		"nil panic":   {func(context.Context, jobs.Job) (string, error) { panic(nil) }, "the handler panicked: panic called with nil argument"}, //nolint:govet // on purpose
		"lost thread": {func(context.Context, jobs.Job) (string, error) { runtime.Goexit(); return "", nil }, "the handler ended its goroutine"},
	} {
		q := queue(newShelf())
		bad := add(t, q, "k", "1").ID
		good := add(t, q, "good", "1").ID
		handlers := one(tt.h)
		handlers["good"] = one(succeed)["k"]
		if rep := drain(t, q, handlers); rep.Retried != 1 || rep.Done != 1 {
			t.Errorf("%s: %+v", name, rep)
		}
		if j := wantState(t, q, bad, jobs.Queued, 1); j.Error != tt.want {
			t.Errorf("%s: %q", name, j.Error)
		}
		wantState(t, q, good, jobs.Done, 1)
	}
}

// What a handler says is stored, and may quote what it worked on.
func TestWhatHandlersSayIsCleaned(t *testing.T) {
	secret := "ghp_" + "b7Xk2mQ9wLr4TzN8vYp1Sd6Hf3Jc5Ga0Ue2B" // made up
	long := strings.Repeat("ü", 5000)
	for _, tt := range []struct {
		note, err, try string
		check          func(j jobs.Job) bool
	}{
		{note: "<think>hm</think>2 facts, token " + secret, check: func(j jobs.Job) bool { return strings.HasPrefix(j.Note, "2 facts") }},
		{err: "bad answer: " + secret + "\x00<think>the user", try: "Change " + secret + ".", check: func(j jobs.Job) bool {
			return strings.HasPrefix(j.Error, "bad answer: ") && strings.HasPrefix(j.Try, "Change ")
		}},
		{err: "<think>nothing but that", check: func(j jobs.Job) bool { return j.Error != "" }},
		{err: long, check: func(j jobs.Job) bool { return strings.HasSuffix(j.Error, "üü…") && len(j.Error) < 2100 }},
		{note: long[1:], check: func(j jobs.Job) bool { return strings.HasSuffix(j.Note, "ü…") && len(j.Note) < 2100 }},
		{err: strings.Repeat("x", 1990) + " " + secret, check: func(j jobs.Job) bool { return len(j.Error) > 1990 }},
	} {
		q := queue(newShelf())
		id := add(t, q, "k", "1").ID
		drain(t, q, one(func(context.Context, jobs.Job) (string, error) {
			if tt.err != "" {
				return "", &ken.Error{Msg: tt.err, Try: tt.try}
			}
			return tt.note, nil
		}))
		j := get(t, q, id)
		all := j.Note + j.Error + j.Try
		if strings.Contains(all, secret[:12]) || strings.ContainsAny(all, "\x00") || strings.Contains(all, "hm") || strings.Contains(all, "the user") || !tt.check(j) {
			t.Errorf("kept note %q, error %q, try %q", j.Note, j.Error, j.Try)
		}
	}
}

func TestJobsThatHandlersAddAreRunInTheSameDrain(t *testing.T) {
	q := queue(newShelf())
	add(t, q, "k", "3")
	rep := drain(t, q, one(func(ctx context.Context, j jobs.Job) (string, error) {
		if next := j.Key[0] - 1; next > '0' {
			add(t, q, "k", string(next))
		}
		return "", nil
	}))
	if rep.Done != 3 {
		t.Errorf("%+v", rep)
	}
}

// A job waits for the next drain, even if its pause ends during this one.
func TestDrainRunsNoJobTwice(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		q := queue(newShelf())
		add(t, q, "k", "1")
		add(t, q, "slow", "1")
		handlers := one(fail)
		handlers["slow"] = func(context.Context, jobs.Job, func(string, int, int)) (string, error) {
			<-time.After(time.Minute)
			return "", nil
		}
		if rep := drain(t, q, handlers); rep.Retried != 1 || rep.Done != 1 {
			t.Errorf("%+v", rep)
		}
		if rep := drain(t, q, handlers); rep.Retried != 1 {
			t.Errorf("the next one: %+v", rep)
		}
	})
}

// Stopping is no failure of the job: however often a process is ended in the
// middle, its attempts are not used up.
func TestStoppedJobIsPutBackWithoutCounting(t *testing.T) {
	q := queue(newShelf(), func(o *jobs.Options) { o.Attempts = 2 })
	id := add(t, q, "k", "1").ID
	for range 5 {
		ctx, cancel := context.WithCancel(t.Context())
		rep, err := q.Drain(ctx, one(func(ctx context.Context, _ jobs.Job) (string, error) {
			cancel()
			<-ctx.Done()
			return "", fmt.Errorf("call model: %w", ctx.Err())
		}))
		if !errors.Is(err, context.Canceled) || rep.Returned != 1 {
			t.Fatalf("%+v, %v", rep, err)
		}
		if j := wantState(t, q, id, jobs.Queued, 0); j.Error != "" || !j.Lease.IsZero() {
			t.Errorf("%+v", j)
		}
	}
	if rep := drain(t, q, one(succeed)); rep.Done != 1 {
		t.Errorf("%+v", rep)
	}
}

// A handler that was told to stop may still finish: then its job is done. If it
// fails, the job has failed.
func TestStoppedHandlerMayStillHaveAnEnd(t *testing.T) {
	for name, tt := range map[string]struct {
		end   func() (string, error)
		state jobs.State
		count int
	}{
		"finished":  {func() (string, error) { return "in time", nil }, jobs.Done, 1},
		"permanent": {func() (string, error) { return "", jobs.Permanent(errDown) }, jobs.Dead, 1},
		"panicked":  {func() (string, error) { panic("oh") }, jobs.Queued, 1},
		"failed":    {func() (string, error) { return "", errDown }, jobs.Queued, 0},
	} {
		q := queue(newShelf())
		id := add(t, q, "k", "1").ID
		ctx, cancel := context.WithCancel(t.Context())
		_, err := q.Drain(ctx, one(func(context.Context, jobs.Job) (string, error) { cancel(); return tt.end() }))
		if !errors.Is(err, context.Canceled) {
			t.Errorf("%s: %v", name, err)
		}
		wantState(t, q, id, tt.state, tt.count)
	}
}
