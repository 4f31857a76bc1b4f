package retriever_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/kenlayer/ken"
	"github.com/kenlayer/ken/retriever"
	"github.com/kenlayer/ken/store"
)

var errBoom = errors.New("boom")

// What a source can do to a turn.
var behaviours = map[string]func(ctx context.Context, hits []store.Hit) (store.Result, error){
	"answers": func(_ context.Context, hits []store.Hit) (store.Result, error) { return store.Result{Hits: hits}, nil },
	"errs":    func(context.Context, []store.Hit) (store.Result, error) { return store.Result{}, errBoom },
	"panics":  func(context.Context, []store.Hit) (store.Result, error) { panic(errBoom) },
	"hangs": func(ctx context.Context, _ []store.Hit) (store.Result, error) {
		<-ctx.Done()
		return store.Result{}, fmt.Errorf("search: %w", ctx.Err())
	},
	"is late": func(_ context.Context, hits []store.Hit) (store.Result, error) { // and looks at no context
		<-time.After(time.Second) // by the bubble's clock
		return store.Result{Hits: hits}, nil
	},
}

func behaving(name, how string, list ...store.Ref) leg {
	return leg{name, func(ctx context.Context, _ *retriever.Query) (store.Result, error) {
		return behaviours[how](ctx, refs(list...))
	}}
}

// Whatever a source does, the others answer, the turn ends at the deadline, and the
// mode and its cause say what is missing. Other products return nothing for days
// before that is noticed.
func TestModesAndCauses(t *testing.T) {
	const keyword, vector = retriever.SourceKeyword, retriever.SourceVector
	says := map[string]string{"answers": "", "errs": "boom", "panics": "panic: boom", "hangs": "not there within 150ms", "is late": "not there within 150ms"}
	for k := range behaviours {
		for v := range behaviours {
			t.Run("keyword "+k+", vector "+v, func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					start := time.Now()
					got := retrieve(t, records(3), retriever.Options{Sources: []retriever.Source{behaving(keyword, k, 1), behaving(vector, v, 2)}})
					slow := time.Duration(0)
					if strings.HasPrefix(says[k]+says[v], "not") || strings.Contains(says[v], "not") {
						slow = 150 * time.Millisecond
					}
					if took := time.Since(start); took != slow {
						t.Errorf("took %v, want %v", took, slow)
					}
					mode, late := ken.ModeNone, v == "hangs" || v == "is late"
					switch {
					case late:
						mode = ken.ModeLate
					case k == "answers" && v == "answers":
						mode = ken.ModeHybrid
					case k == "answers":
						mode = ken.ModeKeyword
					case v == "answers":
						mode = ken.ModeVector
					}
					var degraded, found []string
					if says[k] != "" {
						degraded = append(degraded, keyword+": "+says[k])
					}
					if says[v] != "" {
						degraded = append(degraded, vector+": "+says[v])
					}
					if k == "answers" {
						found = append(found, "1")
					}
					if v == "answers" {
						found = append(found, "2")
					}
					equal(t, "mode", got.Mode, mode)
					equal(t, "degraded", got.Degraded, degraded)
					equal(t, "cause", got.Cause, strings.Join(degraded, "; "))
					equal(t, "candidates", ids(got), found)
					if (got.Late != nil) != late {
						t.Errorf("late results to come: %v, want %v", got.Late != nil, late)
					}
					time.Sleep(10 * time.Second) // let every source end inside the bubble
				})
			})
		}
	}
}

func TestModeOfFewerLegs(t *testing.T) {
	for _, tt := range []struct {
		legs []retriever.Source
		mode ken.Mode
	}{
		{nil, ken.ModeNone},
		{[]retriever.Source{says(retriever.SourcePinned, refs(1)...)}, ken.ModeNone},
		{[]retriever.Source{says(retriever.SourceKeyword)}, ken.ModeKeyword},
		{[]retriever.Source{says(retriever.SourceVector)}, ken.ModeVector},
		{[]retriever.Source{says(retriever.SourceVector), says(retriever.SourceKeyword)}, ken.ModeHybrid},
	} {
		got := retrieve(t, records(2), retriever.Options{Sources: tt.legs})
		if got.Mode != tt.mode || got.Cause != "" || got.Degraded != nil || got.Late != nil {
			t.Errorf("%d legs: %+v, want mode %s without a cause", len(tt.legs), got, tt.mode)
		}
	}
}

// A source beside the two that make the mode is named, but is no cause of the mode.
func TestPinnedLegDegradesWithoutChangingTheMode(t *testing.T) {
	got := retrieve(t, records(3), retriever.Options{Sources: []retriever.Source{
		says(retriever.SourceKeyword, refs(1)...), says(retriever.SourceVector, refs(2)...), behaving(retriever.SourcePinned, "errs")}})
	if got.Mode != ken.ModeHybrid || got.Cause != "" || len(got.Degraded) != 1 || got.Degraded[0] != "pinned: boom" {
		t.Errorf("%+v", got)
	}
}

// The sources' times overlap: together they take as long as the slowest.
func TestLegsRunAtOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var legs []retriever.Source
		for _, name := range []string{retriever.SourceKeyword, retriever.SourceVector, retriever.SourcePinned} {
			legs = append(legs, leg{name, func(context.Context, *retriever.Query) (store.Result, error) {
				time.Sleep(100 * time.Millisecond)
				return store.Result{}, nil
			}})
		}
		start := time.Now()
		got := retrieve(t, records(0), retriever.Options{Sources: legs})
		if took := time.Since(start); took != 100*time.Millisecond || got.Mode != ken.ModeHybrid {
			t.Errorf("took %v in mode %s", took, got.Mode)
		}
		equal(t, "milliseconds", got.MS, map[string]float64{"keyword": 100, "vector": 100, "pinned": 100})
	})
}

// Hits of a late vector source are not lost: the next turn has them as a source.
func TestLateHitsServeTheNextTurn(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := records(6)
		late := leg{retriever.SourceVector, func(ctx context.Context, _ *retriever.Query) (store.Result, error) {
			time.Sleep(400 * time.Millisecond)
			return store.Result{Hits: []store.Hit{{Ref: 2, Score: 0.9, Share: 0.8}, {Ref: 1, Score: 0.8, Share: 0.6}, {Ref: 3, Score: 0.5, Share: 0.1}, {Ref: 4, Share: 0.9}},
				Cut: []store.Rejected{{Ref: 5, Reason: ken.CutScope}}}, ctx.Err()
		}}
		first := retrieve(t, p, retriever.Options{Sources: []retriever.Source{says(retriever.SourceKeyword, refs(1)...), late}})
		equal(t, "mode", first.Mode, ken.ModeLate)

		next := retriever.New(p, retriever.Options{Sources: []retriever.Source{says(retriever.SourceKeyword, refs(1)...), says(retriever.SourceVector)}})
		early := next.Retrieve(t.Context(), retriever.Turn{Late: first.Late}) // it is not there yet, and the turn does not wait
		equal(t, "without the late hits", ids(early), []string{"1"})

		time.Sleep(time.Second)
		disputed := p.rows[4]
		disputed.Facts.Status = ken.StatusDisputed // since it was found
		p.rows[4] = disputed
		got := next.Retrieve(t.Context(), retriever.Turn{Late: first.Late})
		equal(t, "mode", got.Mode, ken.ModeHybrid)
		equal(t, "with the late hits", ids(got), []string{"1", "2"})
		equal(t, "cuts", cuts(got), map[string]ken.CutReason{"3": ken.CutLate, "4": ken.CutStatus})
		equal(t, "legs of 1", got.Candidates[0].Sources, map[string]ken.LegScore{"keyword": {Rank: 1, Score: 100}, "late": {Rank: 2, Score: 0.8}})
		equal(t, "legs of 2", got.Candidates[1].Sources, map[string]ken.LegScore{"late": {Rank: 1, Score: 0.9}})

		again := next.Retrieve(t.Context(), retriever.Turn{Late: first.Late})
		equal(t, "delivered once", ids(again), []string{"1"})
	})
}

// A late source must end even when it only ends with its context.
func TestLateLegIsNotForever(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		start := time.Now()
		ended := make(chan time.Time, 1)
		hangs := leg{retriever.SourceVector, func(ctx context.Context, _ *retriever.Query) (store.Result, error) {
			<-ctx.Done()
			ended <- time.Now()
			return store.Result{}, ctx.Err()
		}}
		got := retrieve(t, records(0), retriever.Options{Sources: []retriever.Source{hangs}})
		if took := (<-ended).Sub(start); took != 5*time.Second {
			t.Errorf("ended after %v, want 5s", took)
		}
		synctest.Wait()
		select {
		case res := <-got.Late:
			t.Errorf("a failed leg delivered %+v", res)
		default:
		}
	})
}

func TestCancelledCaller(t *testing.T) {
	t.Run("before", func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		asked := false
		ask := func(name string) leg {
			return leg{name, func(context.Context, *retriever.Query) (store.Result, error) {
				asked = true
				return store.Result{}, nil
			}}
		}
		got := retriever.New(records(1), retriever.Options{Sources: []retriever.Source{ask(retriever.SourceKeyword), ask(retriever.SourceVector)}}).
			Retrieve(ctx, retriever.Turn{})
		if asked || got.Mode != ken.ModeNone || !strings.Contains(got.Cause, "context canceled") || len(got.Degraded) != 2 {
			t.Errorf("asked %v, %+v", asked, got)
		}
	})
	t.Run("meanwhile", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			ctx, cancel := context.WithCancel(t.Context())
			time.AfterFunc(50*time.Millisecond, cancel)
			start := time.Now()
			got := retriever.New(records(3), retriever.Options{Sources: []retriever.Source{
				says(retriever.SourcePinned, refs(2)...), behaving(retriever.SourceKeyword, "hangs"), behaving(retriever.SourceVector, "is late", 1)}}).
				Retrieve(ctx, retriever.Turn{})
			if took := time.Since(start); took != 50*time.Millisecond {
				t.Errorf("took %v", took)
			}
			if got.Mode != ken.ModeNone || strings.Contains(got.Cause, "within") || strings.Count(got.Cause, "context canceled") != 2 {
				t.Errorf("mode %s, cause %q", got.Mode, got.Cause)
			}
			equal(t, "what was there is used", ids(got), []string{"2"})
			time.Sleep(10 * time.Second)
		})
	})
}
