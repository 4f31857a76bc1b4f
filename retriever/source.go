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

// Names of the legs, as receipts show them.
const (
	LegKeyword = "keyword"
	LegVector  = "vector"
	LegPinned  = "pinned"
	LegLate    = "late" // what the vector leg found for the turn before, too late for it

	LegStructure = "structure" // what the turn's entities bring; not in Options.Legs: see Options.Structure

	LegSessions  = "sessions"  // the newest episodes
	LegPlaybooks = "playbooks" // playbooks that fit the turn
)

// Query is what every leg is asked.
type Query struct {
	Signals ken.Signals
	Filter  *ken.Filter
	Limit   int       // most hits of one leg
	Context float64   // what a word near a record counts, see Weights
	Session string    // that asks; may be empty
	Began   time.Time // see Turn.Began
}

// Leg is one way to find records. Search is called from several goroutines and
// returns at ctx's end; its hits are best first, and all pass the filter.
type Leg interface {
	Name() string
	Search(ctx context.Context, q *Query) (store.Result, error)
}

// Keyword is the leg over the keyword index: any of the turn's words, in the
// record or near it.
func Keyword(p store.Projections) Leg { return keywordLeg{p} }

type keywordLeg struct{ p store.Projections }

// contextDepth is how many hits context is looked for in, at least.
const contextDepth = 100

func (keywordLeg) Name() string { return LegKeyword }

func (l keywordLeg) Search(ctx context.Context, q *Query) (store.Result, error) {
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
		res = inContext(l.p, res, q.Context, q.Limit)
	}
	return res, nil
}

// KeywordText is what the keyword index is asked for: the keywords, then what
// names things exactly. The index itself drops repeated and common terms.
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

// Vector is the leg over the vectors: the question is embedded by e and compared
// with every record.
func Vector(p store.Projections, e embed.Embedder) Leg { return vectorLeg{p, e} }

type vectorLeg struct {
	p store.Projections
	e embed.Embedder
}

func (vectorLeg) Name() string { return LegVector }

func (l vectorLeg) Search(ctx context.Context, q *Query) (store.Result, error) {
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

// Pinned is the leg of what belongs into every turn.
func Pinned(p store.Projections) Leg { return pinnedLeg{p} }

type pinnedLeg struct{ p store.Projections }

func (pinnedLeg) Name() string { return LegPinned }

func (pinnedLeg) prompt() {}

func (l pinnedLeg) Search(ctx context.Context, q *Query) (store.Result, error) {
	res, err := l.p.Pinned(ctx, q.Filter, pinnedLimit)
	// Candidates for patterns that nobody has looked at may be many, and a receipt
	// that lists them in every turn says nothing.
	res.Cut = res.Cut[:min(len(res.Cut), q.Limit)]
	return res, err
}

// pinnedLimit is how many pinned records reach the budget, which decides among
// them and says what it left out; the legs' own limit is for ranked lists.
const pinnedLimit = 1000

// narrowed is the filter for one kind alone, and false when it admits none of it.
func narrowed(f *ken.Filter, kind ken.Kind) (ken.Filter, bool) {
	n := *f
	n.Kinds = []ken.Kind{kind}
	return n, f.Kinds == nil || slices.Contains(f.Kinds, kind)
}

// candidateFilter lets each record through once, and only what the filter accepts: every
// leg has filtered already, but a record may have changed since, the late leg had
// the filter of another turn, and a leg that forgets a condition must not leak.
type candidateFilter struct {
	p    store.Projections
	f    *ken.Filter
	out  *Result
	told map[store.Ref]bool // refused, or let through
	// spared are records that have another place in the result: they may be let
	// through a second time, and are cut without a word.
	spared map[store.Ref]bool
	barred map[store.Ref]ken.CutReason // pass the filter, and don't fit the turn by their leg's own measure
}

// spare lets the entries, which were admitted, be admitted once more.
func (s *candidateFilter) spare(entries []*entry) {
	s.spared = make(map[store.Ref]bool, len(entries))
	for _, e := range entries {
		s.spared[e.ref] = true
		delete(s.told, e.ref)
	}
}

// again lets rules that were let through be admitted once more.
func (s *candidateFilter) again(ruled map[store.Ref]bool) {
	for ref := range ruled {
		delete(s.told, ref)
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
	if !s.spared[e.ref] {
		s.out.Cut = append(s.out.Cut, ken.Cut{ID: e.row.ID, Reason: why})
	}
}

// refuse notes a record that is out, unless it is gone altogether, or a part of the
// structure that its words were found in: nobody expects that in a block.
func (s *candidateFilter) refuse(ref store.Ref, why ken.CutReason) {
	if s.told[ref] {
		return
	}
	s.told[ref] = true
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
	if s.told[ref] {
		return store.Row{}, false
	}
	s.told[ref] = true
	row, ok := s.p.Row(ref)
	if !ok { // forgotten meanwhile
		return row, false
	}
	why := s.f.Reject(row.Facts)
	if why == "" {
		why = s.barred[ref]
	}
	if why != "" {
		s.out.Cut = append(s.out.Cut, ken.Cut{ID: row.ID, Reason: why})
	}
	return row, why == ""
}
