package retriever

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/kenlayer/ken"
	"github.com/kenlayer/ken/store"
)

// Retriever searches one owner's projections. Safe for concurrent use.
type Retriever struct {
	p store.Projections
	o Options
}

// New returns a retriever over p.
func New(p store.Projections, o Options) *Retriever {
	return &Retriever{p: p, o: o.withDefaults()}
}

// Turn is what is asked of a retriever.
type Turn struct {
	Signals ken.Signals
	Filter  ken.Filter // Filter.Now also dates decay; zero means that nothing decays
	Late    <-chan store.Result
}

// lateLeg is how long a vector leg may run on after the turn has gone without it.
const lateLeg = 5 * time.Second

// reply is what a leg's goroutine hands back.
type reply struct {
	leg int
	res store.Result
	err error
	ms  float64
}

// Retrieve asks every leg and returns the best of what they found. It never
// fails: what went wrong is in the result.
func (r *Retriever) Retrieve(ctx context.Context, t Turn) Result {
	q := &Query{Signals: t.Signals, Filter: &t.Filter, Limit: r.o.PerLeg}
	out := Result{MS: map[string]float64{}}
	answers := r.ask(ctx, q, &out)
	if late, ok := receive(t.Late); ok {
		answers = append(answers, answer{LegLate, r.still(late, &t.Filter)})
	}
	r.assemble(answers, &t.Filter, &out)
	return out
}

func receive(late <-chan store.Result) (res store.Result, ok bool) {
	select {
	case res, ok = <-late:
	default: // nil, or not there yet
	}
	return res, ok && len(res.Hits) > 0
}

// still filters hits of the turn before by this turn's filter.
func (r *Retriever) still(res store.Result, f *ken.Filter) store.Result {
	var out store.Result
	for _, h := range res.Hits {
		if row, ok := r.p.Row(h.Ref); ok && f.Reject(row.Facts) == "" {
			out.Hits = append(out.Hits, h)
		}
	}
	return out
}

// ask runs the legs together until the deadline.
func (r *Retriever) ask(ctx context.Context, q *Query, out *Result) []answer {
	wait, cancel := context.WithTimeout(ctx, r.o.Deadline)
	defer cancel()
	replies := make(chan reply, len(r.o.Legs))
	late := make(chan store.Result, 1)
	for i, leg := range r.o.Legs {
		run, stop := wait, context.CancelFunc(func() {})
		if leg.Name() == LegVector { // it may finish after the turn, for the next one
			run, stop = context.WithTimeout(context.WithoutCancel(ctx), lateLeg)
		}
		go func() {
			defer stop()
			rep := search(run, leg, q)
			rep.leg = i
			if leg.Name() == LegVector && rep.err == nil {
				late <- rep.res
			}
			replies <- rep
		}()
	}
	answers := make([]answer, len(r.o.Legs))
	done := make([]bool, len(r.o.Legs))
	var failed []string
	for range r.o.Legs {
		select {
		case rep := <-replies:
			name := r.o.Legs[rep.leg].Name()
			done[rep.leg] = true
			out.MS[name] = rep.ms
			if rep.err != nil {
				failed = append(failed, name)
				out.Degraded = append(out.Degraded, name+": "+rep.err.Error())
				continue
			}
			answers[rep.leg] = answer{name, rep.res}
		case <-wait.Done():
		}
	}
	r.mode(out, done, failed, late)
	kept := answers[:0]
	for _, a := range answers {
		if a.name != "" {
			kept = append(kept, a)
		}
	}
	return kept
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
	if rep.err != nil && errors.Is(rep.err, context.DeadlineExceeded) {
		rep.err = fmt.Errorf("missed the deadline: %w", rep.err)
	}
	return rep
}

// mode names what ran, and why it was less than what is configured.
func (r *Retriever) mode(out *Result, done []bool, failed []string, late chan store.Result) {
	ran := map[string]bool{}
	var isLate bool
	for i, leg := range r.o.Legs {
		name := leg.Name()
		ran[name] = done[i]
		if !done[i] {
			out.Degraded = append(out.Degraded, fmt.Sprintf("%s: not there within %s", name, r.o.Deadline))
			isLate = isLate || name == LegVector
		}
	}
	for _, name := range failed {
		ran[name] = false
	}
	switch {
	case ran[LegKeyword] && ran[LegVector]:
		out.Mode = ken.ModeHybrid
	case isLate:
		out.Mode, out.Late = ken.ModeLate, late
	case ran[LegKeyword]:
		out.Mode = ken.ModeKeyword
	case ran[LegVector]:
		out.Mode = ken.ModeVector
	default:
		out.Mode = ken.ModeNone
	}
	if len(out.Degraded) > 0 {
		out.Cause = out.Degraded[0]
	}
}

// assemble fuses, ranks, applies the floor, and names everything that was cut.
func (r *Retriever) assemble(answers []answer, f *ken.Filter, out *Result) {
	cut := func(ref store.Ref, why ken.CutReason) {
		if row, ok := r.p.Row(ref); ok {
			out.Cut = append(out.Cut, ken.Cut{ID: row.ID, Reason: why})
		}
	}
	var found, pinned []answer
	refused := map[store.Ref]bool{}
	for _, a := range answers {
		if a.name == LegPinned {
			pinned = append(pinned, a)
		} else {
			found = append(found, a)
		}
		for _, c := range a.res.Cut {
			if !refused[c.Ref] {
				refused[c.Ref] = true
				cut(c.Ref, c.Reason)
			}
		}
	}
	inMemory := map[store.Ref]bool{}
	for _, a := range pinned {
		for i, h := range a.res.Hits {
			inMemory[h.Ref] = true
			e := entry{ref: h.Ref, hits: []hit{{i + 1, h}}}
			r.keep(out, &e, pinned, f, true)
		}
	}
	out.Memory = len(out.Candidates)

	pool, rest := fuse(found, r.o.K, r.o.Pool)
	out.Retrieved = out.Memory + len(pool) + len(rest)
	for _, e := range rest {
		cut(e.ref, ken.CutPool)
	}
	if r.o.Order == OrderRRF {
		rankFused(pool, found)
	} else {
		rankEvidence(pool, found)
	}
	kept := 0
	for i := range pool {
		e := &pool[i]
		switch {
		case inMemory[e.ref]:
			out.Retrieved--
		case !r.o.Floor.holds(&e.rank):
			cut(e.ref, floorReason(e, found))
		case kept == r.o.TopK:
			cut(e.ref, ken.CutPool)
		default:
			kept++
			r.keep(out, e, found, f, false)
		}
	}
}

func (r *Retriever) keep(out *Result, e *entry, answers []answer, f *ken.Filter, memory bool) {
	row, ok := r.p.Row(e.ref)
	if !ok { // forgotten meanwhile
		return
	}
	c := Candidate{Ref: e.ref, Row: row, Memory: memory, Fused: e.rank.score, Legs: map[string]ken.LegScore{}, Tier: row.Support.Tier}
	if !f.Now.IsZero() {
		c.Tier = row.Support.At(f.Now, r.o.DecayDays)
	}
	for i, h := range e.hits {
		if h.rank > 0 {
			c.Legs[answers[i].name] = ken.LegScore{Rank: h.rank, Score: h.Score}
		}
	}
	if !memory {
		c.Signals = e.rank.signals()
	}
	out.Candidates = append(out.Candidates, c)
}

func (f Floor) holds(r *ranking) bool {
	return f.Share < 0 || r.share >= f.Share || f.Cosine >= 0 && r.cosine >= f.Cosine
}

// floorReason tells what only the turn before had found from what this turn did.
func floorReason(e *entry, answers []answer) ken.CutReason {
	for i, h := range e.hits {
		if h.rank > 0 && answers[i].name != LegLate {
			return ken.CutFloor
		}
	}
	return ken.CutLate
}
