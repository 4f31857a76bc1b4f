package retriever

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/kenlayer/ken"
	"github.com/kenlayer/ken/store"
)

// lateLeg is how long a vector leg may run on after the turn has gone without it.
const lateLeg = 5 * time.Second

// reply is what a leg's goroutine hands back.
type reply struct {
	leg int
	res store.Result
	err error
	ms  float64
}

// prompt is a leg that finds what it does without a search, in microseconds. It runs
// on the turn's own goroutine, beside the searches: to start another one, and to be
// woken by it, would take longer than its work.
type prompt interface{ prompt() }

// ask runs the legs together until the deadline. Each gets a filter of its own,
// so that none can change what another sees.
func (r *Retriever) ask(ctx context.Context, t *Turn, out *Result) []answer {
	wait, cancel := context.WithTimeout(ctx, r.o.Deadline)
	defer cancel()
	replies := make(chan reply, len(r.o.Legs))
	late := make(chan store.Result, len(r.o.Legs))
	queries := make([]Query, len(r.o.Legs))
	filters := make([]ken.Filter, len(r.o.Legs))
	for i, leg := range r.o.Legs {
		filters[i] = t.Filter
		queries[i] = Query{Signals: t.Signals, Filter: &filters[i], Limit: r.o.limit(leg.Name()), Context: r.o.Weights.Context, Session: t.Session, Began: t.Began}
		if _, ok := leg.(prompt); ok {
			continue
		}
		if ctx.Err() != nil { // nobody is waiting, not even for what comes late
			break
		}
		run, stop := wait, context.CancelFunc(func() {})
		if leg.Name() == LegVector { // it may finish after the turn, for the next one
			run, stop = context.WithTimeout(context.WithoutCancel(ctx), lateLeg)
		}
		go func() {
			defer stop()
			rep := search(run, leg, &queries[i])
			rep.leg = i
			if leg.Name() == LegVector && rep.err == nil {
				late <- rep.res
			}
			replies <- rep
		}()
	}
	for i, leg := range r.o.Legs {
		if _, ok := leg.(prompt); ok && wait.Err() == nil {
			rep := search(wait, leg, &queries[i])
			rep.leg = i
			replies <- rep
		}
	}
	got := make([]*reply, len(r.o.Legs))
	for _, rep := range collect(replies, len(got), wait.Done()) {
		out.MS[r.o.Legs[rep.leg].Name()] = rep.ms
		if wait.Err() == nil || !errors.Is(rep.err, wait.Err()) { // else it says in its own words that it was late
			got[rep.leg] = &rep
		}
	}
	return r.settle(ctx, got, late, out)
}

// collect takes n replies, or what is there at the end.
func collect(replies <-chan reply, n int, end <-chan struct{}) (got []reply) {
	for len(got) < n {
		select {
		case rep := <-replies:
			got = append(got, rep)
		case <-end:
			for len(got) < n {
				select {
				case rep := <-replies:
					got = append(got, rep)
				default:
					return got
				}
			}
		}
	}
	return got
}

// search calls a leg; a panic in it is its error.
func search(ctx context.Context, leg Leg, q *Query) (rep reply) {
	start := time.Now()
	defer func() {
		if p := recover(); p != nil {
			rep.err = fmt.Errorf("panic: %v", p)
		}
		rep.ms = float64(time.Since(start)) / float64(time.Millisecond)
	}()
	rep.res, rep.err = leg.Search(ctx, q)
	return rep
}

// settle returns the answers, and names the mode and what is missing from it. A
// reply that did not come is nil.
func (r *Retriever) settle(ctx context.Context, got []*reply, late <-chan store.Result, out *Result) (answers []answer) {
	ran := map[string]bool{}
	var causes []string
	for i, leg := range r.o.Legs {
		name := leg.Name()
		var why string
		switch rep := got[i]; {
		case rep != nil && rep.err == nil:
			ran[name] = true
			answers = append(answers, answer{name, rep.res})
			continue
		case rep != nil:
			why = rep.err.Error()
		case ctx.Err() != nil:
			why = "the turn ended first: " + context.Cause(ctx).Error()
		default:
			why = fmt.Sprintf("not there within %s", r.o.Deadline)
		}
		if rep := got[i]; rep == nil && name == LegVector {
			out.Late = late
			if ctx.Err() == nil {
				out.Mode = ken.ModeLate
			}
		}
		out.Degraded = append(out.Degraded, name+": "+why)
		if name == LegKeyword || name == LegVector {
			causes = append(causes, name+": "+why)
		}
	}
	switch {
	case out.Mode == ken.ModeLate:
	case ran[LegKeyword] && ran[LegVector]:
		out.Mode = ken.ModeHybrid
	case ran[LegKeyword]:
		out.Mode = ken.ModeKeyword
	case ran[LegVector]:
		out.Mode = ken.ModeVector
	default:
		out.Mode = ken.ModeNone
	}
	out.Cause = strings.Join(causes, "; ")
	return answers
}
