package evals

import (
	"cmp"
	"context"
	"slices"
	"time"

	"github.com/kenlayer/ken"
	"github.com/kenlayer/ken/internal/evals/dataset"
	"github.com/kenlayer/ken/middleware"
	"github.com/kenlayer/ken/retriever"
)

// heard is what one question's turn did.
type heard struct {
	ranked   []string // records, in the order in which the turn ranked them, the floor applied
	block    []string // records in the block
	empty    bool     // no block at all
	chars    int      // of the block
	ms       float64  // wall time of Layer.Assemble, of a turn that ran alone; else 0
	degraded string   // what went wrong, "" for nothing
	mode     ken.Mode
}

// probe carries one turn's state out of the chain.
type probe struct{ ranked []string }

type probeKey struct{}

// listen is a middleware that notes the order in which a turn ranked its
// candidates. It changes nothing. pool is the size of the retriever's.
func listen(pool int) middleware.Middleware {
	return func(next middleware.Handler) middleware.Handler {
		return func(ctx context.Context, st *middleware.State) error {
			err := next(ctx, st)
			if p, ok := ctx.Value(probeKey{}).(*probe); ok {
				p.ranked = ranking(&st.Found, pool)
			}
			return err
		}
	}
}

// ranking is every candidate that the floor left, best first: those handed on to
// the block, and behind them those beyond retrieval's top k, which the retriever
// lists as cut in the same order. It lists what fusion left out of the pool
// before these: as many as were found beyond the pool's size. Rules stand first in
// every turn that they apply to, which says nothing of how well they answer it: they
// are put where their words put them.
func ranking(found *retriever.Result, pool int) []string {
	var out, beyond []string
	var in []*retriever.Candidate
	for i := range found.Candidates {
		if c := &found.Candidates[i]; !c.Memory {
			in = append(in, c)
		}
	}
	slices.SortStableFunc(in, func(a, b *retriever.Candidate) int { return cmp.Compare(b.Fused, a.Fused) })
	for _, c := range in {
		out = append(out, c.Row.ID)
	}
	for _, cut := range found.Cut {
		if cut.Reason == ken.CutPool {
			beyond = append(beyond, cut.ID)
		}
	}
	unranked := max(0, found.Retrieved-found.Memory-pool)
	return append(out, beyond[min(unranked, len(beyond)):]...)
}

// ask runs one question as a turn of a conversation that just began, and nothing
// else before the clock stops.
func ask(ctx context.Context, l *middleware.Layer, o *owner, q *dataset.Query) (heard, error) {
	_, release, err := l.Store(ctx, o.name) // opening it is not the turn's time
	if err != nil {
		return heard{}, err
	}
	defer release()
	p := &probe{}
	turn := ken.Turn{Owner: o.name, Messages: []ken.Message{{Role: "user", Text: q.Text}}}
	asked := context.WithValue(ctx, probeKey{}, p)
	start := time.Now()
	a := l.Assemble(asked, turn)
	h := heard{ms: max(float64(time.Since(start))/float64(time.Millisecond), 1e-6)}
	if err := ctx.Err(); err != nil {
		return heard{}, err
	}
	r := &a.Receipt
	h.empty, h.chars, h.mode = r.Block == "", r.Chars, r.Mode
	if len(r.Degraded) > 0 {
		h.degraded = r.Degraded[0]
	}
	for _, id := range p.ranked {
		h.ranked = append(h.ranked, o.records[id])
	}
	for i := range r.Items {
		h.block = append(h.block, o.records[r.Items[i].ID])
	}
	return h, nil
}
