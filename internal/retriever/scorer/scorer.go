package scorer

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync/atomic"
	"time"

	"github.com/kenlayer/ken"
)

// Features is what a scorer sees of a candidate; see ken.Features.
type Features = ken.Features

// Turn is what a scorer knows of the turn.
type Turn struct {
	ID string // the turn's; "" when it has none
	At time.Time
}

// Scorer orders candidates.
type Scorer interface {
	// Order returns the indices of c in the order in which the candidates should be
	// considered, best first, each once. c is in the plain order, and the scorer's to
	// keep; there is no constraint in it. Order must be safe for concurrent use and
	// should return at ctx's end.
	Order(ctx context.Context, turn Turn, c []Features) (order []int, err error)
}

// DefaultDeadline is how long a turn waits for a scorer.
const DefaultDeadline = 5 * time.Millisecond

// maxBehind is how many calls of a scorer may be under way: one that does not come
// back is not asked again and again.
const maxBehind = 8

// Guard asks a scorer so that it can do no harm. It is safe for concurrent use.
type Guard struct {
	scorer   Scorer
	deadline time.Duration
	behind   atomic.Int32 // calls under way
}

// NewGuard returns a guard of s; a deadline of 0 or less is DefaultDeadline.
func NewGuard(s Scorer, deadline time.Duration) *Guard {
	if deadline <= 0 {
		deadline = DefaultDeadline
	}
	return &Guard{scorer: s, deadline: deadline}
}

// Order is Scorer.Order with all that can go wrong as an error: that it is late, that
// it panics, that what it says is no permutation. The built-in one is asked on this
// goroutine, any other on one of its own. c is not changed.
func (g *Guard) Order(ctx context.Context, turn Turn, c []Features) ([]int, error) {
	if len(c) < 2 {
		return identity(len(c)), nil
	}
	ctx, cancel := context.WithTimeout(ctx, g.deadline)
	defer cancel()
	if own, ok := g.scorer.(*Learned); ok { // some microseconds, and no place to hang
		order, err := own.Order(ctx, turn, c)
		if err == nil {
			err = permutation(order, len(c))
		}
		return order, err
	}
	if g.behind.Add(1) > maxBehind {
		g.behind.Add(-1)
		return nil, errors.New("earlier calls did not come back")
	}
	type answer struct {
		order []int
		err   error
	}
	done := make(chan answer, 1)
	own := slices.Clone(c)
	go func() {
		defer g.behind.Add(-1)
		var a answer
		defer func() {
			if p := recover(); p != nil {
				a.err = fmt.Errorf("panic: %v", p)
			}
			done <- a
		}()
		a.order, a.err = g.scorer.Order(ctx, turn, own)
	}()
	select {
	case a := <-done:
		if a.err == nil {
			a.order = slices.Clone(a.order) // it may be used again by who made it
			a.err = permutation(a.order, len(c))
		}
		return a.order, a.err
	case <-ctx.Done():
		return nil, fmt.Errorf("no answer in %s: %w", g.deadline, ctx.Err())
	}
}

// permutation reports an order that does not have each of n indices once.
func permutation(order []int, n int) error {
	if len(order) != n {
		return fmt.Errorf("%d places for %d candidates", len(order), n)
	}
	seen := make([]bool, n)
	for _, i := range order {
		if i < 0 || i >= n || seen[i] {
			return fmt.Errorf("candidate %d is not there, or there twice", i)
		}
		seen[i] = true
	}
	return nil
}

func identity(n int) []int {
	order := make([]int, n)
	for i := range order {
		order[i] = i
	}
	return order
}
