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

// There may be many similar episodes, one for each session with the same goal. The functions below
// keep them from crowding out the records that answer a turn.

// maxLookFactor limits how many hits a source examines, as a multiple of its limit.
const maxLookFactor = 64

// limitEpisodes calls search with rising limits until there are limit hits, or no more. At most most
// of them may be episodes. If the filter accepts only episodes, there is no such restriction.
func limitEpisodes(p store.Projections, f *ken.Filter, limit, most int, search func(limit int) (store.Result, error)) (store.Result, error) {
	kind := kindsOf(p)
	for n := limit; ; n *= 4 {
		res, err := search(n)
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
		if episodes <= most || len(res.Hits) >= limit || found < n || n >= maxLookFactor*limit {
			res.Hits = res.Hits[:min(len(res.Hits), limit)]
			return res, nil
		}
	}
}

// kindsOf returns a function that returns the kind of a record; "" if it was deleted. A store on
// disk knows it without reading the rest of the row.
func kindsOf(p store.Projections) func(store.Ref) ken.Kind {
	if k, ok := p.(interface{ Kind(ref store.Ref) ken.Kind }); ok {
		return k.Kind
	}
	return func(ref store.Ref) ken.Kind {
		row, _ := p.Row(ref)
		return row.Facts.Kind
	}
}

// answers removes from a pool the episodes that contain nothing but the question: a question is no
// evidence for itself. It reads only short episodes that either the keyword source did not find, or
// that have most of the question's words.
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

// mostWords is the part of the question's words from which an episode is read.
const mostWords = 0.5

// repeats reports whether a summary has no words other than those in asked. Its first line, which
// says who and when, the titles of its lines, and notes in parentheses don't count.
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

// distinct removes records that say the same as an earlier one from a sorted pool, so that they
// take no places. Of records that say the same, it keeps the one with the highest tier and trust,
// at the best position of them. It reads only records with the same form and similar scores.
func (r *Retriever) distinct(ctx context.Context, pool []*entry, f *ken.Filter, s *candidateFilter) []*entry {
	texts := map[store.Ref]string{}
	text := func(e *entry) string {
		if _, ok := texts[e.ref]; !ok {
			c, err := r.p.Claim(ctx, e.ref)
			if err != nil {
				c.Text = e.row.ID // unique, so it equals no other
			}
			texts[e.ref] = statement(&c)
		}
		return texts[e.ref]
	}
	kept := pool[:0]
	marks := make([]mark, 0, len(pool)) // of kept; most records differ in these values, and they are close together in memory
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

// mark holds the values that are compared before alike is called.
type mark struct {
	form  analysis.Form
	share float64 // in the first source; unfound if that did not find it
	apart float64
}

const unfound = -9 // less than any share

func markOf(e *entry) mark {
	m := mark{form: e.rank.form, share: unfound, apart: sameShare}
	if len(e.hits) > 0 && e.hits[0].rank > 0 {
		m.share = e.hits[0].Share
	}
	if e.row.Facts.Kind == ken.KindEpisode {
		m.apart = math.Inf(1) // a source may have found only one of two equal episodes
	}
	return m
}

// near returns false only for records that are not alike.
func (m *mark) near(o *mark) bool {
	return m.form == o.form && math.Abs(m.share-o.share) <= m.apart
}

// alike reports whether two records may say the same: they have the same kind and form, and every
// source that found both gave them nearly the same share.
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
		if apart == sameShare && (e.hits[i].rank > 0) != (o.hits[i].rank > 0) { // a source that finds a text also finds an equal one
			return false
		}
		if e.hits[i].rank > 0 && o.hits[i].rank > 0 && math.Abs(e.hits[i].Share-o.hits[i].Share) > apart {
			return false
		}
	}
	return both > 1 || apart == alikeShare // if only one source found both, equal shares prove little
}

// Maximum difference between the shares of two records that say the same. Equal words have equal
// shares, except for rounding. Equal episodes differ in their first line, and so in their vectors.
const (
	sameShare  = 1e-4
	alikeShare = 0.02
)

// statement returns a claim's text in lower case with single spaces, and of an episode without the
// first line, which has the session and its date.
func statement(c *ken.Claim) string {
	s := c.Text
	if _, rest, ok := strings.Cut(s, "\n"); ok && c.Kind == ken.KindEpisode {
		s = rest
	}
	return strings.ToLower(strings.Join(strings.Fields(c.Heading+" "+s), " "))
}

// DefaultFloor was chosen on the development sets. With it, 1 % of the questions that have an
// answer get no block, and neither do nine in ten of those about foreign subjects. The curve is in
// docs/decisions/0009.
const DefaultFloor = 0.16

// In a turn above the floor, a record needs one of these values. It need not have both: a long
// message may have every word of the question but no likeness. A floor below leastShare lowers it,
// so that with a low floor any common word is enough.
const (
	leastShare  = 0.12
	leastCosine = 0.2
)

// freeShare is added to the share, so that the cosine counts even if no record has a word of the
// question.
const freeShare = 0.2

// allWords is the evidence of having all words of the question, without any likeness.
const allWords = 0.2

// Assumed values of a source that is missing in a turn.
const (
	absentShare  = 0.35
	absentCosine = 0.35
)

// evidence returns how certain it is that something is relevant to the question, 0..1.2: the part
// of the question's words that it has, times its likeness. Either alone proves little, because
// common words and some likeness occur in unrelated texts. But most of the words are enough alone,
// because the embedder may not know the language.
func evidence(share, cosine float64) float64 {
	return math.Max((share+freeShare)*cosine, allWords*share)
}

// floor splits the pool by evidence. If the best share and the best cosine of a turn together don't
// reach the floor, everything is below it. Otherwise only records with little evidence of their own
// are. Pieces of files have a floor of their own: see fileFloor. Rules are in neither result.
//
// A record filed under an entity that the turn names is treated as if its text had the name. Naming
// a known entity is evidence itself, as much as having all words. But the name must be a large
// enough part of the question, so that an entity mentioned in passing does not bring everything
// known about it.
func (r *Retriever) floor(pool []*entry, found []answer, t *Turn, s *candidateFilter, ruled map[store.Ref]bool) (above, below []*entry) {
	if r.o.Floor < 0 {
		return slices.DeleteFunc(pool, func(e *entry) bool { return ruled[e.ref] }), nil
	}
	keyword, vector := sourcesOf(found)
	share, cosine := 0.0, 0.0
	for _, e := range pool {
		share, cosine = math.Max(share, e.rank.totalShare()), math.Max(cosine, e.rank.cosine)
	}
	if !keyword {
		share = absentShare
	}
	if !vector {
		cosine = absentCosine
	}
	s.out.Evidence = evidence(share, cosine)
	files := fileFloorOf(pool, found, &t.Signals, vector)
	kept := pool[:0]
	for _, e := range pool {
		if ruled[e.ref] {
			continue
		}
		turn := s.out.Evidence >= r.o.Floor || e.rank.named > 0 && allWords >= r.o.Floor
		if e.ofFile() {
			turn = files.admits(e, r.o.Floor)
		}
		if turn && (e.rank.totalShare() >= math.Min(leastShare, r.o.Floor) || e.rank.cosine+e.rank.near >= leastCosine) {
			kept = append(kept, e)
		} else {
			below = append(below, e)
		}
	}
	return kept, below
}

// ofFile reports whether the record is a piece of a file or a commit.
func (e *entry) ofFile() bool { return e.rank.form.Traits.Origin() != analysis.OriginNone }

// sourcesOf reports which of the two sources that evidence is based on answered.
func sourcesOf(found []answer) (keyword, vector bool) {
	for _, a := range found {
		keyword = keyword || a.name == SourceKeyword
		// A question without a word that the embedder knows has no vector.
		vector = vector || (a.name == SourceVector || a.name == SourceLate) && len(a.res.Hits) > 0
	}
	return keyword, vector
}
