package retriever

import (
	"math"
	"slices"

	"github.com/kenlayer/ken/store"
)

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

// What a leg that a turn goes without is taken to have said.
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

// floor cuts what is not evident enough from the pool: everything in a turn
// whose best words and best likeness together don't reach the floor, and else
// the records that are far below it. Rules don't come out of it.
//
// What is filed under an entity that the turn names has that name, as if it stood in
// the text, and to name something that is known is evidence by itself, as much as
// having all words. But the name has to be enough of the question for a record, so
// that an entity that is mentioned by the way does not bring all that is known of it.
func (r *Retriever) floor(pool []*entry, found []answer, s *sieve, ruled map[store.Ref]bool) []*entry {
	if r.o.Floor < 0 {
		return slices.DeleteFunc(pool, func(e *entry) bool { return ruled[e.ref] })
	}
	keyword, vector := legsOf(found)
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
	kept := pool[:0]
	for _, e := range pool {
		if ruled[e.ref] {
			continue
		}
		if (s.out.Evidence >= r.o.Floor || e.rank.named > 0 && allWords >= r.o.Floor) && (e.rank.had() >= math.Min(leastShare, r.o.Floor) || e.rank.cosine+e.rank.near >= leastCosine) {
			kept = append(kept, e)
		} else {
			s.cut(e, floorReason(e, found))
		}
	}
	return kept
}

// legsOf says which of the two legs that evidence comes from answered.
func legsOf(found []answer) (keyword, vector bool) {
	for _, a := range found {
		keyword = keyword || a.name == LegKeyword
		// A question without a word that the embedder knows has no vector.
		vector = vector || (a.name == LegVector || a.name == LegLate) && len(a.res.Hits) > 0
	}
	return keyword, vector
}
