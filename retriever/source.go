package retriever

import (
	"cmp"
	"context"
	"slices"
	"strings"
	"time"

	"github.com/kenlayer/ken"
	"github.com/kenlayer/ken/embed"
	"github.com/kenlayer/ken/store"
)

// Names of the sources, as receipts show them.
const (
	SourceKeyword = "keyword"
	SourceVector  = "vector"
	SourcePinned  = "pinned"
	SourceLate    = "late" // late hits of the turn before's vector source

	SourceStructure = "structure" // found through the turn's entities; not in Options.Sources: see Options.Structure

	SourceSessions  = "sessions"  // the newest episodes
	SourcePlaybooks = "playbooks" // playbooks that fit the turn
)

// Query is passed to every source.
type Query struct {
	Signals ken.Signals
	Filter  *ken.Filter
	Limit   int       // maximum number of hits
	Context float64   // weight of a word in a neighbouring record, see Weights
	Session string    // the turn's session; may be empty
	Began   time.Time // see Turn.Began
}

// Source is one way to find records. Search may be called from several goroutines and must return
// when ctx ends. Its hits are sorted, best first, and all pass the filter.
type Source interface {
	Name() string
	Search(ctx context.Context, q *Query) (store.Result, error)
}

// Keyword returns the source for the keyword index. It finds any of the turn's words, in the record
// or its neighbours.
func Keyword(p store.Projections) Source { return keywordSource{p} }

type keywordSource struct{ p store.Projections }

// contextDepth is the minimum number of hits to which inContext is applied.
const contextDepth = 100

func (keywordSource) Name() string { return SourceKeyword }

func (l keywordSource) Search(ctx context.Context, q *Query) (store.Result, error) {
	text := KeywordText(q.Signals)
	if text == "" {
		return store.Result{}, nil
	}
	limit := q.Limit
	if q.Context > 0 {
		limit = max(contextDepth, limit)
	}
	res, err := limitEpisodes(l.p, q.Filter, limit, q.Limit/2, func(limit int) (store.Result, error) { return l.p.Keyword(ctx, text, q.Filter, limit) })
	if err != nil {
		return res, err
	}
	res = withoutDates(res, q.Signals.Question)
	if q.Context > 0 {
		res = inContext(l.p, res, q.Context, limit)
	}
	if res, err = l.withRelated(ctx, q, res); err != nil {
		return res, err
	}
	res.Hits = res.Hits[:min(len(res.Hits), q.Limit)]
	return res, nil
}

// KeywordText returns the query for the keyword index: the keywords, then exact names. The index
// drops repeated and common terms.
func KeywordText(s ken.Signals) string {
	var b strings.Builder
	for _, list := range [][]string{s.Keywords, s.Symbols, s.Entities, s.Failures} {
		for _, w := range list {
			b.WriteString(w)
			b.WriteByte('\n')
		}
	}
	return b.String()
}

// Vector returns the source for vectors. It embeds the question with e and compares it with every
// record.
func Vector(p store.Projections, e embed.Embedder) Source { return vectorSource{p, e} }

type vectorSource struct {
	p store.Projections
	e embed.Embedder
}

func (vectorSource) Name() string { return SourceVector }

func (l vectorSource) Search(ctx context.Context, q *Query) (store.Result, error) {
	text := cmp.Or(q.Signals.Subject, q.Signals.Question)
	if text == "" {
		return store.Result{}, nil
	}
	vecs, err := l.e.Embed(ctx, []string{undated(text)})
	if err != nil {
		return store.Result{}, err
	}
	if len(vecs) != 1 || vecs[0] == nil {
		return store.Result{}, nil // the vocabulary has none of its words
	}
	return limitEpisodes(l.p, q.Filter, q.Limit, q.Limit/2, func(limit int) (store.Result, error) { return l.p.Vector(ctx, vecs[0], q.Filter, limit) })
}

// Pinned returns the source of the records that belong in every turn.
func Pinned(p store.Projections) Source { return pinnedSource{p} }

type pinnedSource struct{ p store.Projections }

func (pinnedSource) Name() string { return SourcePinned }

func (pinnedSource) immediate() {}

func (l pinnedSource) Search(ctx context.Context, q *Query) (store.Result, error) {
	res, err := l.p.Pinned(ctx, q.Filter, pinnedLimit)
	// There may be many pattern candidates that nobody has reviewed. Listing all of them in every
	// receipt is not useful.
	res.Cut = res.Cut[:min(len(res.Cut), q.Limit)]
	return res, err
}

// pinnedLimit is the maximum number of pinned records. The limits of sources are for ranked lists;
// of pinned records the budgeter chooses, and reports what it leaves out.
const pinnedLimit = 1000

// narrowed returns the filter restricted to one kind; false if it does not accept that kind.
func narrowed(f *ken.Filter, kind ken.Kind) (ken.Filter, bool) {
	n := *f
	n.Kinds = []ken.Kind{kind}
	return n, f.Kinds == nil || slices.Contains(f.Kinds, kind)
}

// candidateFilter accepts each record once, and only if the turn's filter does. Sources have
// filtered already, but a record may have changed since, the late source used another turn's
// filter, and a source that ignores a condition must not leak records.
type candidateFilter struct {
	p       store.Projections
	f       *ken.Filter
	out     *Result
	decided map[store.Ref]bool // refused or accepted already
	// readmitted are records that are elsewhere in the result already. They may be accepted a
	// second time, and if they are then cut, that is not recorded.
	readmitted map[store.Ref]bool
	excluded   map[store.Ref]ken.CutReason // records that pass the filter but that their own source rejected
}

// readmit allows accepted entries to be accepted a second time.
func (s *candidateFilter) readmit(entries []*entry) {
	s.readmitted = make(map[store.Ref]bool, len(entries))
	for _, e := range entries {
		s.readmitted[e.ref] = true
		delete(s.decided, e.ref)
	}
}

// readmitRules allows accepted rules to be accepted a second time.
func (s *candidateFilter) readmitRules(ruled map[store.Ref]bool) {
	for ref := range ruled {
		delete(s.decided, ref)
	}
}

// limitPool returns the first n entries of a pool, plus all rules. It cuts the others.
func (s *candidateFilter) limitPool(pool []*entry, n int, ruled map[store.Ref]bool) []*entry {
	in := pool[:0]
	for _, e := range pool {
		switch {
		case ruled[e.ref]:
			in = append(in, e)
		case n > 0:
			n--
			in = append(in, e)
		default:
			s.cut(e, ken.CutPool)
		}
	}
	return in
}

// scoreRules sets the scores of rules that sources found by their words too. Rules come first whatever
// their score.
func (s *candidateFilter) scoreRules(pool []*entry, ruled map[store.Ref]bool) {
	if len(ruled) == 0 {
		return
	}
	rules := s.out.Candidates[:s.out.Rules]
	for _, e := range pool {
		if !ruled[e.ref] {
			continue
		}
		for i := range rules {
			if rules[i].Ref == e.ref {
				rules[i].Fused = e.rank.score
			}
		}
	}
}

// cut records that an accepted entry is left out.
func (s *candidateFilter) cut(e *entry, why ken.CutReason) {
	if !s.readmitted[e.ref] {
		s.out.Cut = append(s.out.Cut, ken.Cut{ID: e.row.ID, Reason: why})
	}
}

// refuse records that a record is left out. It does not list deleted records, and parts of the
// structure that were found by their words, which are not expected in a block.
func (s *candidateFilter) refuse(ref store.Ref, why ken.CutReason) {
	if s.decided[ref] {
		return
	}
	s.decided[ref] = true
	if row, ok := s.p.Row(ref); ok && !(why == ken.CutScope && row.Facts.Kind.Structural()) {
		s.out.Cut = append(s.out.Cut, ken.Cut{ID: row.ID, Reason: why})
	}
}

// admit returns the entries that pass, with their rows, in the same order.
func (s *candidateFilter) admit(entries []*entry) []*entry {
	in := entries[:0]
	for _, e := range entries {
		if row, ok := s.pass(e.ref); ok {
			e.row = row
			in = append(in, e)
		}
	}
	return in
}

// pass returns the row of a record that passes; false for one that does not, or that has passed
// before.
func (s *candidateFilter) pass(ref store.Ref) (store.Row, bool) {
	if s.decided[ref] {
		return store.Row{}, false
	}
	s.decided[ref] = true
	row, ok := s.p.Row(ref)
	if !ok { // deleted since the search
		return row, false
	}
	why := s.f.Reject(row.Facts)
	if why == "" {
		why = s.excluded[ref]
	}
	if why != "" {
		s.out.Cut = append(s.out.Cut, ken.Cut{ID: row.ID, Reason: why})
	}
	return row, why == ""
}
