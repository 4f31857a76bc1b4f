package retriever

import (
	"context"
	"math"
	"slices"
	"strings"

	"github.com/kenlayer/ken"
	"github.com/kenlayer/ken/internal/analysis"
	"github.com/kenlayer/ken/store"
)

// Episodes may be many and alike: one for each session that had the same goal. What is
// here keeps them from taking the places of what answers a turn.

// mostLook bounds how far a source looks past episodes, in parts of its limit.
const mostLook = 64

// pastEpisodes calls search with rising limits until its hits, of which at most so many
// are episodes, fill the limit, or there are no more. Where episodes alone are asked for,
// it takes them all.
func pastEpisodes(p store.Projections, f *ken.Filter, limit, most int, search func(limit int) (store.Result, error)) (store.Result, error) {
	kind := kindsOf(p)
	for look := limit; ; look *= 4 {
		res, err := search(look)
		if err != nil || len(f.Kinds) == 1 && f.Kinds[0] == ken.KindEpisode {
			return res, err
		}
		found, episodes := len(res.Hits), 0
		res.Hits = slices.DeleteFunc(res.Hits, func(h store.Hit) bool {
			if kind(h.Ref) == ken.KindEpisode {
				episodes++
				return episodes > most
			}
			return false
		})
		if episodes <= most || len(res.Hits) >= limit || found < look || look >= mostLook*limit {
			res.Hits = res.Hits[:min(len(res.Hits), limit)]
			return res, nil
		}
	}
}

// kindsOf returns a function that tells the kind of a record, "" of one that is gone. A store on
// disk knows it without the rest of the row.
func kindsOf(p store.Projections) func(store.Ref) ken.Kind {
	if k, ok := p.(interface{ Kind(ref store.Ref) ken.Kind }); ok {
		return k.Kind
	}
	return func(ref store.Ref) ken.Kind {
		row, _ := p.Row(ref)
		return row.Facts.Kind
	}
}

// answers takes episodes that say nothing but what is asked out of a pool: a question is no
// evidence for itself. Only short ones are read that the keyword source did not find, or that
// have most of the question's words.
func (r *Retriever) answers(ctx context.Context, pool []*entry, t *Turn, s *candidateFilter, ruled map[store.Ref]bool) []*entry {
	suspect := func(e *entry) bool {
		return e.row.Facts.Kind == ken.KindEpisode && e.rank.form.Words < shortWords && (e.rank.share == 0 || e.rank.share >= mostWords) && !ruled[e.ref]
	}
	var refs []store.Ref
	for _, e := range pool {
		if suspect(e) {
			refs = append(refs, e.ref)
		}
	}
	if len(refs) == 0 {
		return pool
	}
	store.Fetch(ctx, r.p, refs)
	asked := map[string]bool{}
	for _, term := range analysis.Terms(t.Signals.Question) {
		asked[term] = true
	}
	kept := pool[:0]
	for _, e := range pool {
		if suspect(e) {
			if c, err := r.p.Claim(ctx, e.ref); err == nil && repeats(c.Text, asked) {
				s.cut(e, ken.CutFloor)
				continue
			}
		}
		kept = append(kept, e)
	}
	return kept
}

// mostWords is the part of the question's words that an episode has before it is read.
const mostWords = 0.5

// repeats reports whether a summary has no words but those that are asked, apart from its
// first line, which says who and when, the titles of its lines, and notes in parentheses.
func repeats(summary string, asked map[string]bool) bool {
	said := false
	_, rest, _ := strings.Cut(summary, "\n")
	for line := range strings.Lines(rest) {
		line = strings.TrimSpace(line)
		if strings.HasPrefix(line, "(") && strings.HasSuffix(line, ")") {
			continue
		}
		for {
			title, text, ok := strings.Cut(line, ": ")
			if !ok || strings.Count(title, " ") > 2 {
				break
			}
			line = text
		}
		for _, term := range analysis.Terms(line) {
			if said = true; !asked[term] {
				return false
			}
		}
	}
	return said
}

// distinct takes records that say the same as one before them out of a pool in its order,
// so that they take no place when it is cut. Of those that say the same, the one with the
// highest tier and trust stays, in the best place of all. Only records that
// are alike in form and found alike are read.
func (r *Retriever) distinct(ctx context.Context, pool []*entry, f *ken.Filter, s *candidateFilter) []*entry {
	texts := map[store.Ref]string{}
	text := func(e *entry) string {
		if _, ok := texts[e.ref]; !ok {
			c, err := r.p.Claim(ctx, e.ref)
			if err != nil {
				c.Text = e.row.ID // is like no other
			}
			texts[e.ref] = statement(&c)
		}
		return texts[e.ref]
	}
	kept := pool[:0]
	marks := make([]mark, 0, len(pool)) // of kept: they tell most apart, and lie side by side
	for _, e := range pool {
		m, i := markOf(e), 0
		for i < len(marks) && !(marks[i].near(&m) && kept[i].alike(e) && text(kept[i]) == text(e)) {
			i++
		}
		if i == len(marks) {
			kept, marks = append(kept, e), append(marks, m)
			continue
		}
		k := kept[i]
		if a, b := r.tier(&e.row, f), r.tier(&k.row, f); a > b || a == b && e.row.Facts.Trust > k.row.Facts.Trust {
			kept[i], marks[i], k, e = e, m, e, k
		}
		if !s.readmitted[e.ref] {
			s.out.Cut = append(s.out.Cut, ken.Cut{ID: e.row.ID, Reason: ken.CutDuplicate, Detail: k.row.ID})
		}
	}
	return kept
}

// mark holds the values that alike compares first.
type mark struct {
	form  analysis.Form
	share float64 // in the first source; unfound where that did not find it
	apart float64
}

const unfound = -9 // less than any share

func markOf(e *entry) mark {
	m := mark{form: e.rank.form, share: unfound, apart: sameShare}
	if len(e.hits) > 0 && e.hits[0].rank > 0 {
		m.share = e.hits[0].Share
	}
	if e.row.Facts.Kind == ken.KindEpisode {
		m.apart = math.Inf(1) // a source may have found one of them alone
	}
	return m
}

// near reports false only for records that are not alike.
func (m *mark) near(o *mark) bool {
	return m.form == o.form && math.Abs(m.share-o.share) <= m.apart
}

// alike reports whether two records may say the same: they are of one kind and form, and
// the sources that found both say the same of both.
func (e *entry) alike(o *entry) bool {
	if e.rank.form.Words == 0 || e.rank.form != o.rank.form || e.row.Facts.Kind != o.row.Facts.Kind || e.row.Facts.Scope != o.row.Facts.Scope || e.row.Facts.Kind == ken.KindDocument {
		return false
	}
	apart := sameShare
	if e.row.Facts.Kind == ken.KindEpisode {
		apart = alikeShare
	}
	both := 0
	for i := range e.hits {
		if e.hits[i].rank > 0 && o.hits[i].rank > 0 {
			both++
		}
		if apart == sameShare && (e.hits[i].rank > 0) != (o.hits[i].rank > 0) { // a source that finds equal words finds both
			return false
		}
		if e.hits[i].rank > 0 && o.hits[i].rank > 0 && math.Abs(e.hits[i].Share-o.hits[i].Share) > apart {
			return false
		}
	}
	return both > 1 || apart == alikeShare // words alone give many records one share
}

// How far the shares of two records that say the same may lie apart. Equal words have equal
// shares, but for rounding, and whatever lies further apart need not be read. An episode's
// first line is another one, and its vector with it.
const (
	sameShare  = 1e-4
	alikeShare = 0.02
)

// statement returns the text of a claim without case and white space, and of an episode
// without its first line, which names the session and its date.
func statement(c *ken.Claim) string {
	s := c.Text
	if _, rest, ok := strings.Cut(s, "\n"); ok && c.Kind == ken.KindEpisode {
		s = rest
	}
	return strings.ToLower(strings.Join(strings.Fields(c.Heading+" "+s), " "))
}

// DefaultFloor was chosen on the development sets: it leaves 1 % of the
// questions that have an answer without a block, and nine in ten of those on
// foreign subjects. The curve is in docs/decisions/0009.
const DefaultFloor = 0.16

// A record needs one of these in a turn that is above the floor. Not both: a
// long message may have every word of the question and be like nothing. A floor
// below the first lowers it: who asks for little gets what has any word.
const (
	leastShare  = 0.12
	leastCosine = 0.2
)

// The share of the question's words that nobody has still leaves this much to
// the cosine.
const freeShare = 0.2

// What having all words is worth alone.
const allWords = 0.2

// What a source that a turn goes without is taken to have said.
const (
	absentShare  = 0.35
	absentCosine = 0.35
)

// evidence says how surely something bears on the question, 0..1.2: what part of
// its words it has times how like it is. Either alone is easily had: a common
// word in a foreign question, some likeness of everything to everything. Most of
// the words are enough by themselves: an embedder may not know the language.
func evidence(share, cosine float64) float64 {
	return math.Max((share+freeShare)*cosine, allWords*share)
}

// floor parts the pool by evidence. Below the floor is everything in a turn
// whose best words and best likeness together don't reach the floor, and else
// the records that are far below it. Pieces of files have a floor of their own: see
// fileFloor. Rules don't come out of it.
//
// What is filed under an entity that the turn names has that name, as if it stood in
// the text, and to name something that is known is evidence by itself, as much as
// having all words. But the name has to be enough of the question for a record, so
// that an entity that is mentioned by the way does not bring all that is known of it.
func (r *Retriever) floor(pool []*entry, found []answer, s *candidateFilter, ruled map[store.Ref]bool) (above, below []*entry) {
	if r.o.Floor < 0 {
		return slices.DeleteFunc(pool, func(e *entry) bool { return ruled[e.ref] }), nil
	}
	keyword, vector := sourcesOf(found)
	share, cosine := 0.0, 0.0
	for _, e := range pool {
		share, cosine = math.Max(share, e.rank.had()), math.Max(cosine, e.rank.cosine)
	}
	if !keyword {
		share = absentShare
	}
	if !vector {
		cosine = absentCosine
	}
	s.out.Evidence = evidence(share, cosine)
	files := fileFloorOf(pool, found, vector)
	kept := pool[:0]
	for _, e := range pool {
		if ruled[e.ref] {
			continue
		}
		turn := s.out.Evidence >= r.o.Floor || e.rank.named > 0 && allWords >= r.o.Floor
		if e.ofFile() {
			turn = files.admits(e, r.o.Floor)
		}
		if turn && (e.rank.had() >= math.Min(leastShare, r.o.Floor) || e.rank.cosine+e.rank.near >= leastCosine) {
			kept = append(kept, e)
		} else {
			below = append(below, e)
		}
	}
	return kept, below
}

// ofFile reports whether the record is a piece of a file or a commit.
func (e *entry) ofFile() bool { return e.rank.form.Traits.Origin() != analysis.OriginNone }

// sourcesOf says which of the two sources that evidence comes from answered.
func sourcesOf(found []answer) (keyword, vector bool) {
	for _, a := range found {
		keyword = keyword || a.name == SourceKeyword
		// A question without a word that the embedder knows has no vector.
		vector = vector || (a.name == SourceVector || a.name == SourceLate) && len(a.res.Hits) > 0
	}
	return keyword, vector
}
