package evals

import (
	"cmp"
	"context"
	"slices"
	"sync"
	"sync/atomic"

	"github.com/kenlayer/ken"
	"github.com/kenlayer/ken/middleware"
)

// timed is how many turns of each variant run alone, for the clock: the 99th
// percentile is then the third slowest.
const timed = 300

// warmUp is asked before an owner's first timed turn. A store that was opened a
// moment ago reads its files for the first time; one in use has.
const warmUp = "What do we know so far?"

// ask runs every question's turn once. Some run one after the other, and only
// these count for latency; then the rest run side by side.
func (s *sweep) ask(ctx context.Context, l *middleware.Layer, out *run) error {
	alone, together := s.schedule()
	total := len(alone) + len(together)
	var done atomic.Int64
	one := func(ctx context.Context, at int) error {
		q := &s.set.Queries[at]
		o := s.corpus.owners[ownerOf(q)]
		h, err := ask(ctx, l, o, q)
		if err == nil {
			out.heard[at], out.judged[at] = h, judge(q, o, &h)
			s.o.Progress(out.name, int(done.Add(1)), total)
		}
		return err
	}
	warm := ""
	for _, at := range alone {
		if o := s.corpus.owners[ownerOf(&s.set.Queries[at])]; o.name != warm {
			warm = o.name
			_, release, err := l.Store(ctx, o.name)
			if err != nil {
				return err
			}
			l.Assemble(ctx, ken.Turn{Owner: o.name, Messages: []ken.Message{{Role: "user", Text: warmUp}}})
			release()
		}
		if err := one(ctx, at); err != nil {
			return err
		}
	}
	return each(ctx, s.o.Workers, together, func(ctx context.Context, at int) error {
		err := one(ctx, at)
		out.heard[at].ms = 0 // others ran beside it
		return err
	})
}

// schedule orders the questions owner by owner, so that few stores are open at a
// time, and picks those that run alone, evenly from all.
func (s *sweep) schedule() (alone, together []int) {
	place := map[string]int{}
	for i, o := range s.corpus.order {
		place[o.name] = i
	}
	order := make([]int, len(s.set.Queries))
	for i := range order {
		order[i] = i
	}
	slices.SortStableFunc(order, func(a, b int) int {
		return cmp.Compare(place[ownerOf(&s.set.Queries[a])], place[ownerOf(&s.set.Queries[b])])
	})
	n := min(timed, len(order))
	for i, at := range order {
		if (i+1)*n/len(order) > i*n/len(order) {
			alone = append(alone, at)
		} else {
			together = append(together, at)
		}
	}
	return alone, together
}

// each calls do for every element, workers at a time, until one fails or ctx ends.
func each[T any](ctx context.Context, workers int, list []T, do func(context.Context, T) error) error {
	outer := ctx
	ctx, stop := context.WithCancelCause(outer)
	defer stop(nil)
	var next atomic.Int64
	var wg sync.WaitGroup
	for range min(workers, len(list)) {
		wg.Go(func() {
			for ctx.Err() == nil {
				n := int(next.Add(1)) - 1
				if n >= len(list) {
					return
				}
				if err := do(ctx, list[n]); err != nil {
					stop(err)
				}
			}
		})
	}
	wg.Wait()
	switch {
	case outer.Err() != nil: // whatever its cause, such as a signal
		return outer.Err()
	case ctx.Err() != nil:
		return context.Cause(ctx)
	}
	return nil
}
