package calibrate

import (
	"cmp"
	"context"
	"fmt"
	"math"
	"time"

	"github.com/kenlayer/ken"
	"github.com/kenlayer/ken/embed"
	"github.com/kenlayer/ken/intent"
	"github.com/kenlayer/ken/internal/retriever/knownitem"
	"github.com/kenlayer/ken/retriever"
	"github.com/kenlayer/ken/store"
)

// meter searches for questions as turns do.
type meter struct {
	p       store.Projections
	keyword retriever.Source
	vector  retriever.Source
	o       retriever.Options
	filter  ken.Filter
}

// searchDeadline replaces a turn's deadline, so that the load of the machine does not matter.
const searchDeadline = time.Minute

func newMeter(p store.Projections, e embed.Embedder, o retriever.Options, f ken.Filter) *meter {
	o.Weights = cmp.Or(o.Weights, &retriever.DefaultWeights)
	o.Floor, o.TopK, o.Deadline, o.Order, o.Sources = -1, math.MaxInt, searchDeadline, retriever.OrderEvidence, nil
	return &meter{p: p, keyword: retriever.Keyword(p), vector: retriever.Vector(p, e), o: o, filter: f}
}

// found is the result of a source. As a source, it returns that result again.
type found struct {
	name string
	res  store.Result
}

func (f found) Name() string { return f.name }

func (f found) Search(context.Context, *retriever.Query) (store.Result, error) { return f.res, nil }

// searched is a question with the results of each source.
type searched struct {
	want            string
	turn            retriever.Turn
	keyword, vector found
	cosine          float64 // of the best record; 0 if there are no vectors
}

func (m *meter) search(ctx context.Context, q *knownitem.Question) (searched, error) {
	s := searched{want: q.Want,
		turn: retriever.Turn{Signals: intent.Analyze([]ken.Message{{Role: "user", Text: q.Text}}), Filter: m.filter}}
	var err error
	if s.keyword, err = m.ask(ctx, m.keyword, &s.turn); err != nil {
		return s, fmt.Errorf("search by words: %w", err)
	}
	if s.vector, err = m.ask(ctx, m.vector, &s.turn); err != nil {
		return s, fmt.Errorf("search by vectors: %w", err)
	}
	for _, h := range s.vector.res.Hits {
		s.cosine = math.Max(s.cosine, math.Min(1, h.Share))
	}
	return s, nil
}

// perLeg is the maximum number of hits of a source, if the options set none.
const perLeg = 50

func (m *meter) ask(ctx context.Context, leg retriever.Source, t *retriever.Turn) (found, error) {
	limit, f := perLeg, m.filter
	if m.o.PerSource > 0 {
		limit = m.o.PerSource
	}
	if n := m.o.Limits[leg.Name()]; n > 0 {
		limit = n
	}
	res, err := leg.Search(ctx, &retriever.Query{Signals: t.Signals, Filter: &f, Limit: limit, Context: m.o.Weights.Context})
	return found{leg.Name(), res}, err
}

// outcome holds the ranks of one question's record. Ranks begin at 1; 0 means not found.
type outcome struct {
	vector int   // by vector search alone
	ranks  []int // by both sources, for each of factors
}

// rank ranks the results in all variants.
func (m *meter) rank(ctx context.Context, s *searched) outcome {
	out := outcome{vector: m.place(ctx, s, 1, s.vector), ranks: make([]int, len(factors))}
	out.ranks[0] = m.place(ctx, s, 1, s.keyword)
	for i, f := range factors[1:] {
		out.ranks[i+1] = m.place(ctx, s, f, s.keyword, s.vector)
	}
	return out
}

// place returns the rank of the record in the combined results of sources.
func (m *meter) place(ctx context.Context, s *searched, factor float64, legs ...retriever.Source) int {
	o, w := m.o, *m.o.Weights
	w.Cosine *= factor
	o.Weights, o.Sources = &w, legs
	for i, c := range retriever.New(m.p, o).Retrieve(ctx, s.turn).Candidates {
		if c.Row.ID == s.want {
			return i + 1
		}
	}
	return 0
}
