package breaker_test

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"go.uber.org/goleak"

	"github.com/kenlayer/ken"
	"github.com/kenlayer/ken/breaker"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

var errDown = errors.New("connection refused")

func fail(context.Context) error    { return errDown }
func succeed(context.Context) error { return nil }

// pass lets the fake clock of a synctest bubble run for d.
func pass(d time.Duration) { <-time.After(d) }

func TestOpensAfterFiveFailuresInARow(t *testing.T) {
	b := breaker.New(breaker.Options{Name: "embeddings"})
	ctx := t.Context()
	for range 4 {
		b.Do(ctx, fail)
	}
	if err := b.Do(ctx, succeed); err != nil || b.State() != breaker.Closed {
		t.Fatalf("after four failures: %v, %v; want a closed breaker", err, b.State())
	}
	for i := range 5 {
		if b.State() != breaker.Closed {
			t.Fatalf("open after %d failures: the success before them must reset the count", i)
		}
		if err := b.Do(ctx, fail); err != errDown {
			t.Fatalf("Do = %v, want fn's own error", err)
		}
	}
	called := false
	err := b.Do(ctx, func(context.Context) error { called = true; return nil })
	if called || !errors.Is(err, breaker.ErrOpen) || !errors.Is(err, ken.ErrUnavailable) {
		t.Fatalf("called %v, err %v; want a refusal that is ErrOpen and unavailable", called, err)
	}
	if errors.Is(err, errDown) {
		t.Error("a refusal must not look like the failure that opened the breaker")
	}
	const want = "embeddings: stopped after 5 failures in a row, tried again every 30s; the last: connection refused"
	if got := b.Cause(); got != want {
		t.Errorf("Cause = %q, want %q", got, want)
	}
}

func TestProbeClosesOrOpensAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := breaker.New(breaker.Options{Failures: 1})
		b.Do(t.Context(), fail)
		pass(30*time.Second - time.Nanosecond)
		if got := b.State(); got != breaker.Open {
			t.Fatalf("state just before 30 s = %v, want open", got)
		}
		pass(time.Nanosecond)
		if got := b.State(); got != breaker.HalfOpen {
			t.Fatalf("state at 30 s = %v, want half-open", got)
		}
		if err := b.Do(t.Context(), fail); err != errDown {
			t.Fatalf("probe = %v, want it to run", err)
		}
		if got := b.State(); got != breaker.Open {
			t.Fatalf("state after a failed probe = %v, want open", got)
		}
		pass(30 * time.Second)
		if err := b.Do(t.Context(), succeed); err != nil {
			t.Fatal(err)
		}
		if b.State() != breaker.Closed || b.LastError() != nil || b.Cause() != "" {
			t.Errorf("after a good probe: %v, %v, %q; want closed and no cause", b.State(), b.LastError(), b.Cause())
		}
	})
}

func TestHalfOpenLetsOneThrough(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := breaker.New(breaker.Options{Failures: 1})
		b.Do(t.Context(), fail)
		pass(30 * time.Second)

		release := make(chan struct{})
		go b.Do(t.Context(), func(context.Context) error { <-release; return nil })
		synctest.Wait()
		if err := b.Do(t.Context(), succeed); !errors.Is(err, breaker.ErrOpen) {
			t.Errorf("second call during the probe = %v, want ErrOpen", err)
		}
		close(release)
		synctest.Wait()
		if err := b.Do(t.Context(), succeed); err != nil {
			t.Errorf("after the probe: %v", err)
		}
	})
}

func TestProbesOnlyKeepsTurnsFromProbing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := breaker.New(breaker.Options{Failures: 1, ProbesOnly: true})
		b.Do(t.Context(), fail)
		if err := b.Probe(t.Context(), succeed); !errors.Is(err, breaker.ErrOpen) {
			t.Errorf("Probe while open = %v, want ErrOpen", err)
		}
		pass(30 * time.Second)
		if err := b.Do(t.Context(), succeed); !errors.Is(err, breaker.ErrOpen) {
			t.Errorf("Do while half-open = %v, want ErrOpen", err)
		}
		if err := b.Probe(t.Context(), succeed); err != nil {
			t.Errorf("Probe while half-open = %v", err)
		}
		if err := b.Do(t.Context(), succeed); err != nil {
			t.Errorf("Do after a good probe = %v", err)
		}
	})
}

func TestWhatCountsAsFailure(t *testing.T) {
	ended := func(cause string, d time.Duration) func(context.Context) (context.Context, context.CancelFunc) {
		return func(ctx context.Context) (context.Context, context.CancelFunc) {
			if cause == "cancel" {
				ctx, cancel := context.WithCancel(ctx)
				time.AfterFunc(d, cancel)
				return ctx, cancel
			}
			return context.WithTimeout(ctx, d)
		}
	}
	live := func(ctx context.Context) (context.Context, context.CancelFunc) { return context.WithCancel(ctx) }
	wait := func(ctx context.Context) error { <-ctx.Done(); return fmt.Errorf("embed: %w", ctx.Err()) }
	ownTimeout := func(ctx context.Context) error {
		ctx, cancel := context.WithTimeout(ctx, time.Second)
		defer cancel()
		return wait(ctx)
	}
	tests := map[string]struct {
		ctx  func(context.Context) (context.Context, context.CancelFunc)
		fn   func(context.Context) error
		want breaker.State
	}{
		"an error":                          {live, fail, breaker.Open},
		"success":                           {live, succeed, breaker.Closed},
		"the caller cancelled":              {ended("cancel", time.Second), wait, breaker.Closed},
		"the caller's deadline":             {ended("deadline", time.Second), wait, breaker.Open},
		"the call's own timeout":            {live, ownTimeout, breaker.Open},
		"cancelled before, nothing tried":   {ended("cancel", 0), fail, breaker.Closed},
		"past deadline before, not tried":   {ended("deadline", 0), fail, breaker.Closed},
		"cancelled somewhere below":         {live, func(context.Context) error { return context.Canceled }, breaker.Open},
		"success although cancelled midway": {ended("cancel", time.Second), func(ctx context.Context) error { <-ctx.Done(); return nil }, breaker.Closed},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				b := breaker.New(breaker.Options{Failures: 1})
				ctx, cancel := tt.ctx(t.Context())
				defer cancel()
				synctest.Wait()
				b.Do(ctx, tt.fn)
				if got := b.State(); got != tt.want {
					t.Errorf("state = %v, want %v", got, tt.want)
				}
			})
		})
	}
}

func TestCancelledProbeLeavesRoomForTheNext(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := breaker.New(breaker.Options{Failures: 1})
		b.Do(t.Context(), fail)
		pass(30 * time.Second)
		ctx, cancel := context.WithCancel(t.Context())
		b.Do(ctx, func(ctx context.Context) error { cancel(); return ctx.Err() })
		if got := b.State(); got != breaker.HalfOpen {
			t.Fatalf("state after a cancelled probe = %v, want half-open still", got)
		}
		if err := b.Do(t.Context(), succeed); err != nil || b.State() != breaker.Closed {
			t.Errorf("next probe: %v, %v", err, b.State())
		}
	})
}

func TestPanicCountsAndPropagates(t *testing.T) {
	b := breaker.New(breaker.Options{Failures: 1})
	func() {
		defer func() {
			if got := recover(); got != "boom" {
				t.Errorf("recovered %v, want the panic itself", got)
			}
		}()
		b.Do(t.Context(), func(context.Context) error { panic("boom") })
	}()
	if b.State() != breaker.Open {
		t.Errorf("state after a panic = %v, want open", b.State())
	}
}

// A goroutine that ends inside the probe must not keep the breaker half-open
// with its only place taken for ever.
func TestGoexitInProbeIsAFailure(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := breaker.New(breaker.Options{Failures: 1})
		b.Do(t.Context(), fail)
		pass(30 * time.Second)
		go b.Do(t.Context(), func(context.Context) error { runtime.Goexit(); return nil })
		synctest.Wait()
		if b.State() != breaker.Open {
			t.Fatalf("state = %v, want open", b.State())
		}
		pass(30 * time.Second)
		if err := b.Do(t.Context(), succeed); err != nil {
			t.Error(err)
		}
	})
}

func TestLateSuccessDoesNotHideTheCause(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := breaker.New(breaker.Options{Failures: 1})
		release := make(chan struct{})
		go b.Do(t.Context(), func(context.Context) error { <-release; return nil })
		synctest.Wait()
		b.Do(t.Context(), fail)
		close(release)
		synctest.Wait()
		if b.State() != breaker.Open || b.LastError() != errDown {
			t.Errorf("%v, %v; want open with its cause", b.State(), b.LastError())
		}
	})
}

func TestOnChangeTellsInOrderWithoutALock(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var b *breaker.Breaker
		var got []string
		b = breaker.New(breaker.Options{Name: "x", Failures: 1, OnChange: func(c breaker.Change) {
			b.State() // would deadlock under a lock
			b.Do(t.Context(), succeed)
			got = append(got, fmt.Sprintf("%v to %v: %v", c.From, c.To, c.Cause))
		}})
		b.Do(t.Context(), fail)
		pass(30 * time.Second)
		b.State() // half-open; the hook's own call is the probe that closes it
		want := []string{
			"closed to open: connection refused",
			"open to half-open: connection refused",
			"half-open to closed: <nil>",
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("changes (-want +got):\n%s", diff)
		}
	})
}

func TestConcurrentUse(t *testing.T) {
	var changes int
	b := breaker.New(breaker.Options{Failures: 3, OpenFor: time.Nanosecond, OnChange: func(breaker.Change) { changes++ }})
	var wg sync.WaitGroup
	for i := range 8 {
		wg.Go(func() {
			for j := range 500 {
				fn := succeed
				if (i+j)%2 == 0 {
					fn = fail
				}
				b.Do(t.Context(), fn)
				b.Cause()
			}
		})
	}
	wg.Wait()
	b.State()
	t.Log("changes seen:", changes) // the race detector checks that the hook runs one at a time
}

func TestStateNames(t *testing.T) {
	for s, want := range map[breaker.State]string{
		breaker.Closed: "closed", breaker.Open: "open", breaker.HalfOpen: "half-open", 9: "state(9)",
	} {
		text, err := s.MarshalText()
		if s.String() != want || string(text) != want || err != nil {
			t.Errorf("%d: %q, %q, %v; want %q", s, s.String(), text, err, want)
		}
	}
}

func BenchmarkClosed(b *testing.B) {
	br := breaker.New(breaker.Options{})
	for b.Loop() {
		br.Do(b.Context(), succeed)
	}
}

func BenchmarkOpen(b *testing.B) {
	br := breaker.New(breaker.Options{Failures: 1})
	br.Do(b.Context(), fail)
	for b.Loop() {
		br.Do(b.Context(), succeed)
	}
}
