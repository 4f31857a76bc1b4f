package retriever

import (
	"context"
	"slices"

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

// Retrieve asks every leg and returns the best of what they found, at the
// deadline or at ctx's end at the latest. It never fails: what went wrong is in
// the result.
func (r *Retriever) Retrieve(ctx context.Context, t Turn) Result {
	out := Result{MS: make(map[string]float64, len(r.o.Legs))}
	answers := r.ask(ctx, &t, &out)
	if late, ok := receive(t.Late); ok {
		answers = append(answers, answer{LegLate, store.Result{Hits: late.Hits}}) // what it refused was that turn's affair
	}
	r.choose(answers, &t, &out)
	return out
}

func receive(late <-chan store.Result) (res store.Result, ok bool) {
	select {
	case res, ok = <-late:
	default: // nil, or not there yet
	}
	return res, ok && len(res.Hits) > 0
}

// choose fuses, ranks, applies the floor, and names everything that was cut.
func (r *Retriever) choose(answers []answer, t *Turn, out *Result) {
	f := &t.Filter
	s := sieve{p: r.p, f: f, out: out, told: map[store.Ref]bool{}}
	var found, pinned []answer
	for _, a := range answers {
		for _, c := range a.res.Cut {
			s.refuse(c.Ref, c.Reason)
		}
		if a.name == LegPinned {
			pinned = append(pinned, a)
		} else {
			found = append(found, a)
		}
	}
	for _, e := range s.admit(fuse(pinned, r.o.K)) {
		r.keep(out, e, pinned, f, true)
	}
	out.Memory = len(out.Candidates)

	pool := s.admit(fuse(found, r.o.K)) // what is in memory already is not admitted again
	out.Retrieved = out.Memory + len(pool)
	out.Cut = slices.Grow(out.Cut, len(pool))
	if len(pool) > r.o.Pool {
		for _, e := range pool[r.o.Pool:] {
			out.cut(e, ken.CutPool)
		}
		pool = pool[:r.o.Pool]
	}
	r.weigh(pool, found, t)
	r.order(pool, found)
	for i, e := range r.floor(pool, found, out) {
		if i < r.o.TopK {
			r.keep(out, e, found, f, false)
		} else {
			out.cut(e, ken.CutPool)
		}
	}
}

func (out *Result) cut(e *entry, why ken.CutReason) {
	out.Cut = append(out.Cut, ken.Cut{ID: e.row.ID, Reason: why})
}

func (r *Retriever) keep(out *Result, e *entry, answers []answer, f *ken.Filter, memory bool) {
	c := Candidate{Ref: e.ref, Row: e.row, Memory: memory, Fused: e.rank.score,
		Legs: make(map[string]ken.LegScore, len(answers)), Tier: e.row.Support.Tier}
	if !f.Now.IsZero() {
		c.Tier = e.row.Support.At(f.Now, r.o.DecayDays)
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

// floorReason tells what only the turn before had found from what this turn did.
func floorReason(e *entry, answers []answer) ken.CutReason {
	for i, h := range e.hits {
		if h.rank > 0 && answers[i].name != LegLate {
			return ken.CutFloor
		}
	}
	return ken.CutLate
}
