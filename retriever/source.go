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
	SourceLate    = "late" // what the vector source found for the turn before, too late for it

	SourceStructure = "structure" // what the turn's entities bring; not in Options.Sources: see Options.Structure

	SourceSessions  = "sessions"  // the newest episodes
	SourcePlaybooks = "playbooks" // playbooks that fit the turn
)

// Query is the request that every source gets.
type Query struct {
	Signals ken.Signals
	Filter  *ken.Filter
	Limit   int       // most hits of one source
	Context float64   // what a word near a record counts, see Weights
	Session string    // that asks; may be empty
	Began   time.Time // see Turn.Began
}

// Source is one way to find records. Search is called from several goroutines and
// returns at ctx's end; its hits are best first, and all pass the filter.
type Source interface {
	Name() string
	Search(ctx context.Context, q *Query) (store.Result, error)
}

// Keyword returns the source over the keyword index: any of the turn's words, in the
// record or near it.
func Keyword(p store.Projections) Source { return keywordSource{p} }

type keywordSource struct{ p store.Projections }

// contextDepth is how many hits context is looked for in, at least.
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
	res, err := pastEpisodes(l.p, q.Filter, limit, q.Limit/2, func(limit int) (store.Result, error) { return l.p.Keyword(ctx, text, q.Filter, limit) })
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

// KeywordText returns the query for the keyword index: the keywords, then exact names.
// The index itself drops repeated and common terms.
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

// Vector returns the source over the vectors: the question is embedded by e and compared
// with every record.
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
		return store.Result{}, nil // no word of it is in the vocabulary
	}
	return pastEpisodes(l.p, q.Filter, q.Limit, q.Limit/2, func(limit int) (store.Result, error) { return l.p.Vector(ctx, vecs[0], q.Filter, limit) })
}

// Pinned returns the source of the records that belong into every turn.
func Pinned(p store.Projections) Source { return pinnedSource{p} }

type pinnedSource struct{ p store.Projections }

func (pinnedSource) Name() string { return SourcePinned }

func (pinnedSource) prompt() {}

func (l pinnedSource) Search(ctx context.Context, q *Query) (store.Result, error) {
	res, err := l.p.Pinned(ctx, q.Filter, pinnedLimit)
	// Candidates for patterns that nobody has looked at may be many, and a receipt
	// that lists them in every turn says nothing.
	res.Cut = res.Cut[:min(len(res.Cut), q.Limit)]
	return res, err
}

// pinnedLimit is how many pinned records reach the budget, which decides among
// them and says what it left out; the sources' own limit is for ranked lists.
const pinnedLimit = 1000

// narrowed is the filter for one kind alone, and false when it admits none of it.
func narrowed(f *ken.Filter, kind ken.Kind) (ken.Filter, bool) {
	n := *f
	n.Kinds = []ken.Kind{kind}
	return n, f.Kinds == nil || slices.Contains(f.Kinds, kind)
}

// candidateFilter lets each record through once, and only what the filter accepts: every
// source has filtered already, but a record may have changed since, the late source had
// the filter of another turn, and a source that forgets a condition must not leak.
type candidateFilter struct {
	p       store.Projections
	f       *ken.Filter
	out     *Result
	decided map[store.Ref]bool // refused, or let through
	// readmitted are records that have another place in the result: they may be let
	// through a second time, and are cut without a word.
	readmitted map[store.Ref]bool
	excluded   map[store.Ref]ken.CutReason // pass the filter, and don't fit the turn by their source's own measure
}

// readmit lets the entries, which were admitted, be admitted once more.
func (s *candidateFilter) readmit(entries []*entry) {
	s.readmitted = make(map[store.Ref]bool, len(entries))
	for _, e := range entries {
		s.readmitted[e.ref] = true
		delete(s.decided, e.ref)
	}
}

// readmitRules lets rules that were let through be admitted once more.
func (s *candidateFilter) readmitRules(ruled map[store.Ref]bool) {
	for ref := range ruled {
		delete(s.decided, ref)
	}
}

// capped is the first n of a pool, rules not counted.
func (s *candidateFilter) capped(pool []*entry, n int, ruled map[store.Ref]bool) []*entry {
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

// grade notes what the rules that were found by their words as well are worth as
// answers. They come first whatever that is.
func (s *candidateFilter) grade(pool []*entry, ruled map[store.Ref]bool) {
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

// cut notes an entry that was admitted and is out.
func (s *candidateFilter) cut(e *entry, why ken.CutReason) {
	if !s.readmitted[e.ref] {
		s.out.Cut = append(s.out.Cut, ken.Cut{ID: e.row.ID, Reason: why})
	}
}

// refuse notes a record that is out, unless it is gone altogether, or a part of the
// structure that its words were found in: nobody expects that in a block.
func (s *candidateFilter) refuse(ref store.Ref, why ken.CutReason) {
	if s.decided[ref] {
		return
	}
	s.decided[ref] = true
	if row, ok := s.p.Row(ref); ok && !(why == ken.CutScope && row.Facts.Kind.Structural()) {
		s.out.Cut = append(s.out.Cut, ken.Cut{ID: row.ID, Reason: why})
	}
}

// admit returns the entries that pass, with their rows, in their order.
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

// pass returns the row of a record that passes, and false for one that does not or
// that has passed before.
func (s *candidateFilter) pass(ref store.Ref) (store.Row, bool) {
	if s.decided[ref] {
		return store.Row{}, false
	}
	s.decided[ref] = true
	row, ok := s.p.Row(ref)
	if !ok { // forgotten meanwhile
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
