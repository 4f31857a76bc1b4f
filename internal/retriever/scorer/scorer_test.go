package scorer_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/kenlayer/ken"
	"github.com/kenlayer/ken/internal/retriever/scorer"
)

// order is a scorer made of a function.
type order func(ctx context.Context, c []scorer.Features) ([]int, error)

func (f order) Order(ctx context.Context, _ scorer.Turn, c []scorer.Features) ([]int, error) {
	return f(ctx, c)
}

func candidates(n int) []scorer.Features {
	out := make([]scorer.Features, n)
	for i := range out {
		out[i] = scorer.Features{ID: fmt.Sprint("c", i), Rank: i + 1, Distance: -1, Keyword: i + 1, Score: 1 / float64(i+1)}
	}
	return out
}

// Whatever a scorer does, the turn goes on with the plain order and knows why.
func TestAScorerThatMisbehavesIsAnError(t *testing.T) {
	kept := []int{2, 1, 0}
	for name, tt := range map[string]struct {
		s    scorer.Scorer
		want string
	}{
		"fails":           {order(func(context.Context, []scorer.Features) ([]int, error) { return nil, errors.New("no model") }), "no model"},
		"panics":          {order(func(context.Context, []scorer.Features) ([]int, error) { panic("boom") }), "panic: boom"},
		"drops one":       {order(func(context.Context, []scorer.Features) ([]int, error) { return []int{0, 1}, nil }), "2 places for 3"},
		"repeats one":     {order(func(context.Context, []scorer.Features) ([]int, error) { return []int{0, 1, 1}, nil }), "candidate 1"},
		"invents one":     {order(func(context.Context, []scorer.Features) ([]int, error) { return []int{0, 1, 3}, nil }), "candidate 3"},
		"below zero":      {order(func(context.Context, []scorer.Features) ([]int, error) { return []int{0, 1, -1}, nil }), "candidate -1"},
		"says nothing":    {order(func(context.Context, []scorer.Features) ([]int, error) { return nil, nil }), "0 places"},
		"behaves":         {order(func(context.Context, []scorer.Features) ([]int, error) { return kept, nil }), ""},
		"changes what is": {order(func(_ context.Context, c []scorer.Features) ([]int, error) { c[0].ID = "x"; return kept, nil }), ""},
	} {
		t.Run(name, func(t *testing.T) {
			c := candidates(3)
			got, err := scorer.NewGuard(tt.s, time.Minute).Order(t.Context(), scorer.Turn{ID: "t"}, c)
			if tt.want == "" {
				if err != nil || !slices.Equal(got, kept) || &got[0] == &kept[0] || c[0].ID != "c0" {
					t.Errorf("%v, %v, %+v", got, err, c[0])
				}
				return
			}
			if err == nil || !strings.Contains(err.Error(), tt.want) {
				t.Errorf("%v, %v", got, err)
			}
		})
	}
}

// One that hangs is waited for until the deadline, and after some turns not at all.
func TestAScorerThatHangsIsNotAskedForever(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		end := make(chan struct{})
		asked := 0
		g := scorer.NewGuard(order(func(context.Context, []scorer.Features) ([]int, error) { asked++; <-end; return []int{0, 1}, nil }), 0)
		for i := range 12 {
			start := time.Now()
			_, err := g.Order(t.Context(), scorer.Turn{}, candidates(2))
			took := time.Since(start)
			if late := i < 8; err == nil || late != (took == scorer.DefaultDeadline) || !late && took != 0 || late != errors.Is(err, context.DeadlineExceeded) {
				t.Fatalf("call %d: %v after %s", i, err, took)
			}
			synctest.Wait()
		}
		if asked != 8 {
			t.Errorf("asked %d times", asked)
		}
		close(end)
		synctest.Wait()
		if _, err := g.Order(t.Context(), scorer.Turn{}, candidates(2)); err != nil {
			t.Errorf("once it came back: %v", err)
		}
	})
}

// Nothing is asked where there is nothing to order.
func TestOneCandidateIsInOrder(t *testing.T) {
	g := scorer.NewGuard(order(func(context.Context, []scorer.Features) ([]int, error) { panic("asked") }), 0)
	for n := range 2 {
		if got, err := g.Order(t.Context(), scorer.Turn{}, candidates(n)); err != nil || len(got) != n {
			t.Errorf("%d: %v, %v", n, got, err)
		}
	}
}

// The same turn explores or not whenever it is asked for, and one in twenty does.
func TestExplorationIsOneInTwentyAndTheSameForATurn(t *testing.T) {
	var e scorer.Explorer
	n := 0
	for i := range 20000 {
		id := fmt.Sprintf("0195616d-8c00-7000-8000-%012d", i)
		swap, p := e.Explore(id)
		again, _ := e.Explore(id)
		if swap != again || swap && p != scorer.Rate || !swap && p != 1-scorer.Rate {
			t.Fatalf("%s: %v %v, then %v", id, swap, p, again)
		}
		if swap {
			n++
		}
	}
	if n < 900 || n > 1100 {
		t.Errorf("%d of 20000 explore", n)
	}
	always := scorer.Explorer{Rate: 0.5, Chance: func(string) float64 { return 0.49 }}
	if swap, p := always.Explore("x"); !swap || p != 0.5 {
		t.Errorf("%v %v", swap, p)
	}
}

// A name has one slot however it is written, and the empty name none.
func TestSlotsFollowTheSpelling(t *testing.T) {
	if a, b := scorer.Slot("The Payments-Service"), scorer.Slot("payments_service"); a != b || a == 0 {
		t.Errorf("%d, %d", a, b)
	}
	if scorer.Slot("payments") == scorer.Slot("ledger") || scorer.Slot(" the ") != scorer.Slot("the") || scorer.Slot("") != 0 || scorer.Slot("?!") != 0 {
		t.Error("slots of other names")
	}
}

func BenchmarkOrder(b *testing.B) {
	var m scorer.Model
	c := candidates(100)
	labels := make([]scorer.Judged, len(c))
	for i := range c {
		c[i].Entity, c[i].Aspect, c[i].Tier = uint32(i%7+1), uint32(i%11+1), ken.Inferred
		labels[i] = scorer.Judged{Features: c[i], Used: i%3 == 0}
	}
	m.Learn(labels)
	g := scorer.NewGuard(scorer.NewLearned(&m), 0)
	b.ReportAllocs()
	for b.Loop() {
		if _, err := g.Order(context.Background(), scorer.Turn{}, c); err != nil {
			b.Fatal(err)
		}
	}
}
