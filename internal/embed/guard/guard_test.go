package guard_test

import (
	"context"
	"errors"
	"math"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/kenlayer/ken"
	"github.com/kenlayer/ken/breaker"
	"github.com/kenlayer/ken/embed"
	"github.com/kenlayer/ken/internal/embed/guard"
)

// guarded runs f in a bubble with a fake clock, a guard and the endpoint behind it.
func guarded(t *testing.T, o guard.Options, f func(t *testing.T, g *guard.Guard, e *endpoint)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		e := &endpoint{}
		g := guard.New(e, o)
		defer g.Close()
		f(t, g, e)
	})
}

// turn embeds one question within a turn's deadline and says how long it took.
func turn(t *testing.T, g *guard.Guard, question string) (took time.Duration, err error) {
	ctx, cancel := context.WithTimeout(t.Context(), 150*time.Millisecond)
	defer cancel()
	start := time.Now()
	vectors, err := g.Embed(ctx, []string{question})
	if (err == nil) != (len(vectors) == 1) {
		t.Errorf("%d vectors with error %v", len(vectors), err)
	}
	return time.Since(start), err
}

// While an endpoint is down, turns must fail at once, and a turn must never be the one
// that probes it.
func TestEndpointDownFailsAtOnceAndSaysWhy(t *testing.T) {
	guarded(t, guard.Options{}, func(t *testing.T, g *guard.Guard, e *endpoint) {
		e.set(errRefused, 0)
		for range 5 {
			if _, err := turn(t, g, "a"); !errors.Is(err, errRefused) {
				t.Fatalf("error %v, want the endpoint's", err)
			}
		}
		before := len(e.asked())
		took, err := turn(t, g, "a")
		if !errors.Is(err, breaker.ErrOpen) || !errors.Is(err, ken.ErrUnavailable) || !strings.Contains(err.Error(), "connection refused") {
			t.Errorf("error %v, want an open circuit with its cause", err)
		}
		if took != 0 || len(e.asked()) != before {
			t.Errorf("an open circuit took %v and %d calls", took, len(e.asked())-before)
		}
		if !strings.Contains(g.Cause(), "connection refused") || g.State() != breaker.Open {
			t.Errorf("%v, %q", g.State(), g.Cause())
		}
	})
}

func TestRecoveryIsProbedInTheBackground(t *testing.T) {
	guarded(t, guard.Options{Failures: 1}, func(t *testing.T, g *guard.Guard, e *endpoint) {
		e.set(errRefused, 0)
		turn(t, g, "a")
		pass(95 * time.Second) // three probes fail
		if got := len(e.asked()); got != 4 {
			t.Fatalf("%d calls in 95 s, want the turn's and three probes", got)
		}
		e.set(nil, time.Second)
		pass(25*time.Second + 500*time.Millisecond) // the fourth probe is running
		if took, err := turn(t, g, "a"); !errors.Is(err, breaker.ErrOpen) || took != 0 {
			t.Errorf("a turn during the probe: %v after %v, want a refusal at once", err, took)
		}
		pass(time.Second)
		e.set(nil, 0)
		if _, err := turn(t, g, "a"); err != nil || g.State() != breaker.Closed || g.Cause() != "" {
			t.Errorf("after recovery: %v, %v, %q", err, g.State(), g.Cause())
		}
		for _, texts := range e.asked()[1:5] {
			if diff := cmp.Diff([]string{"hello"}, texts); diff != "" {
				t.Errorf("a probe asked for (-want +got):\n%s", diff)
			}
		}
	})
}

func TestFlappingEndpointKeepsOneProber(t *testing.T) {
	var changes []string
	o := guard.Options{Failures: 1, OnChange: func(c breaker.Change) { changes = append(changes, c.To.String()) }}
	guarded(t, o, func(t *testing.T, g *guard.Guard, e *endpoint) {
		for range 3 {
			e.set(errRefused, 0)
			turn(t, g, "a")
			e.set(nil, 0)
			pass(31 * time.Second)
			if _, err := turn(t, g, "a"); err != nil {
				t.Fatalf("after a probe: %v", err)
			}
		}
		if got := len(e.asked()); got != 9 {
			t.Errorf("%d calls, want three failing turns, three probes, three good turns", got)
		}
		want := strings.Repeat("open half-open closed ", 3)
		if got := strings.Join(changes, " ") + " "; got != want {
			t.Errorf("changes %q, want %q", got, want)
		}
	})
}

// The fault of a rival: a slow endpoint held up the first token for a minute.
func TestSlowEndpointNeverHoldsATurnLongerThanItsDeadline(t *testing.T) {
	guarded(t, guard.Options{InFlight: 100}, func(t *testing.T, g *guard.Guard, e *endpoint) {
		e.set(nil, time.Hour)
		for range 7 {
			if took, err := turn(t, g, "a"); !errors.Is(err, guard.ErrLate) || took != 150*time.Millisecond {
				t.Fatalf("%v after %v, want ErrLate after the turn's 150 ms", err, took)
			}
		}
		pass(2 * time.Second)
		if took, err := turn(t, g, "a"); !errors.Is(err, breaker.ErrOpen) || took != 0 || !strings.Contains(err.Error(), "no embedding within 2s") {
			t.Errorf("%v after %v, want an open circuit that names the timeout", err, took)
		}
	})
}

// Slower than a turn but quicker than the timeout is late, not broken: the
// circuit stays closed, and the next turn has the vector.
func TestLateResultIsKeptForTheNextTurn(t *testing.T) {
	guarded(t, guard.Options{Cache: guard.NewCache(0), Failures: 1}, func(t *testing.T, g *guard.Guard, e *endpoint) {
		e.set(nil, time.Second)
		if _, err := turn(t, g, "a"); !errors.Is(err, guard.ErrLate) {
			t.Fatalf("error %v, want ErrLate", err)
		}
		pass(time.Second)
		if took, err := turn(t, g, "a"); err != nil || took != 0 || len(e.asked()) != 1 {
			t.Errorf("%v after %v and %d calls, want the kept vector", err, took, len(e.asked()))
		}
		if g.State() != breaker.Closed {
			t.Error("a late answer opened the circuit")
		}
	})
}

func TestCacheAnswersWhileTheCircuitIsOpen(t *testing.T) {
	guarded(t, guard.Options{Cache: guard.NewCache(0), Failures: 1}, func(t *testing.T, g *guard.Guard, e *endpoint) {
		turn(t, g, "known")
		e.set(errRefused, 0)
		turn(t, g, "new")
		if _, err := turn(t, g, "known"); err != nil {
			t.Errorf("a cached question: %v", err)
		}
		if _, err := turn(t, g, "new"); !errors.Is(err, breaker.ErrOpen) {
			t.Errorf("a new question: %v, want a refusal", err)
		}
	})
}

func TestCallsInFlightAreBounded(t *testing.T) {
	guarded(t, guard.Options{InFlight: 2}, func(t *testing.T, g *guard.Guard, e *endpoint) {
		e.set(nil, time.Second)
		turn(t, g, "a")
		turn(t, g, "b")
		took, err := turn(t, g, "c")
		if !errors.Is(err, ken.ErrUnavailable) || errors.Is(err, guard.ErrLate) || took != 0 || len(e.asked()) != 2 {
			t.Errorf("third call: %v after %v, %d calls; want a refusal at once", err, took, len(e.asked()))
		}
		pass(time.Second)
		e.set(nil, 0)
		for range 3 { // a slot is free again by the time the caller hears
			if _, err := turn(t, g, "d"); err != nil {
				t.Error(err)
			}
		}
	})
}

func TestCallerWithoutDeadlineWaitsForTheTimeoutAtMost(t *testing.T) {
	guarded(t, guard.Options{Timeout: time.Second}, func(t *testing.T, g *guard.Guard, e *endpoint) {
		e.set(nil, time.Hour)
		start := time.Now()
		_, err := g.Embed(t.Context(), []string{"a"})
		if !errors.Is(err, ken.ErrUnavailable) || time.Since(start) != time.Second || ken.Hint(err) == "" {
			t.Errorf("%v after %v, want unavailable after 1 s with a hint", err, time.Since(start))
		}
	})
}

func TestCallersCancellationIsNoFailure(t *testing.T) {
	guarded(t, guard.Options{Failures: 1}, func(t *testing.T, g *guard.Guard, e *endpoint) {
		e.set(nil, time.Second)
		ctx, cancel := context.WithCancel(t.Context())
		time.AfterFunc(time.Millisecond, cancel)
		if _, err := g.Embed(ctx, []string{"a"}); err != context.Canceled {
			t.Errorf("error %v, want context.Canceled itself", err)
		}
		pass(2 * time.Second)
		if g.State() != breaker.Closed {
			t.Error("a cancelled call opened the circuit")
		}
	})
}

// An embedder that fails silently (empty or broken vectors) looks like a search
// that finds nothing; the guard makes it a failure with a cause.
func TestWrongAnswersAreFailures(t *testing.T) {
	nan := float32(math.NaN())
	tests := map[string]func([][]float32) [][]float32{
		"too few":           func(v [][]float32) [][]float32 { return v[:1] },
		"too many":          func(v [][]float32) [][]float32 { return append(v, v[0]) },
		"none":              func([][]float32) [][]float32 { return nil },
		"no vector":         func(v [][]float32) [][]float32 { return [][]float32{v[0], nil} },
		"empty vector":      func(v [][]float32) [][]float32 { return [][]float32{v[0], {}} },
		"another dimension": func(v [][]float32) [][]float32 { return [][]float32{v[0], v[1][:32]} },
		"zero vector":       func(v [][]float32) [][]float32 { return [][]float32{v[0], make([]float32, len(v[1]))} },
		"no number":         func(v [][]float32) [][]float32 { v[1][3] = nan; return v },
		"not of length 1":   func(v [][]float32) [][]float32 { v[1][0] += 7; return v },
		"a panic":           func([][]float32) [][]float32 { panic("index out of range") },
	}
	for name, wrong := range tests {
		t.Run(name, func(t *testing.T) {
			guarded(t, guard.Options{Failures: 1, Cache: guard.NewCache(0)}, func(t *testing.T, g *guard.Guard, e *endpoint) {
				e.wrong = wrong
				vectors, err := g.Embed(t.Context(), []string{"a", "b"})
				var kenErr *ken.Error
				if vectors != nil || !errors.As(err, &kenErr) || kenErr.Msg == "" {
					t.Errorf("%v, %v; want a *ken.Error that says what is wrong", vectors, err)
				}
				if g.State() != breaker.Open {
					t.Error("a wrong answer did not count as a failure")
				}
				if _, err := g.Embed(t.Context(), []string{"b"}); err == nil {
					t.Error("a wrong answer was cached")
				}
			})
		})
	}
}

func TestCloseEndsCallsAndProbes(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		e := &endpoint{}
		g := guard.New(e, guard.Options{Failures: 1, Timeout: time.Hour})
		e.set(errRefused, 0)
		turn(t, g, "a") // starts the prober
		pass(time.Minute)
		e.set(nil, 0)
		pass(time.Minute)
		e.set(nil, time.Hour)
		waiting := make(chan error, 1)
		go func() {
			_, err := g.Embed(t.Context(), []string{"b"})
			waiting <- err
		}()
		synctest.Wait()
		start := time.Now()
		if err := errors.Join(g.Close(), g.Close()); err != nil {
			t.Error(err)
		}
		if time.Since(start) != 0 {
			t.Errorf("Close took %v", time.Since(start))
		}
		if err := <-waiting; err == nil {
			t.Error("the call in flight succeeded")
		}
		if _, err := g.Embed(t.Context(), []string{"c"}); !errors.Is(err, ken.ErrUnavailable) {
			t.Errorf("after Close: %v, want unavailable", err)
		}
	})
}

func TestCloseStopsAWaitingProber(t *testing.T) {
	guarded(t, guard.Options{Failures: 1}, func(t *testing.T, g *guard.Guard, e *endpoint) {
		e.set(errRefused, 0)
		turn(t, g, "a")
		g.Close() // synctest fails the test if a goroutine is left
	})
}

func TestProbeReportsAndCounts(t *testing.T) {
	guarded(t, guard.Options{Failures: 2}, func(t *testing.T, g *guard.Guard, e *endpoint) {
		if err := g.Probe(t.Context()); err != nil {
			t.Fatal(err)
		}
		e.set(errRefused, 0)
		for range 2 {
			if err := g.Probe(t.Context()); !errors.Is(err, errRefused) {
				t.Errorf("error %v, want the endpoint's", err)
			}
		}
		if g.State() != breaker.Open {
			t.Error("failed probes did not open the circuit")
		}
	})
}

func TestGuardOfNoneNamesTheCause(t *testing.T) {
	g := guard.New(embed.None(), guard.Options{Failures: 1})
	defer g.Close()
	for range 3 {
		if _, err := g.Embed(t.Context(), []string{"a"}); !errors.Is(err, embed.ErrOff) {
			t.Errorf("error %v, want ErrOff", err)
		}
	}
	if g.Cause() != "embeddings are off" || g.State() != breaker.Closed || !errors.Is(g.Probe(t.Context()), embed.ErrOff) {
		t.Errorf("%q, %v", g.Cause(), g.State())
	}
}
