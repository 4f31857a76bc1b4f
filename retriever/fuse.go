package retriever

import (
	"cmp"
	"math"
	"slices"
	"sync"
	"time"

	"github.com/kenlayer/ken"
	"github.com/kenlayer/ken/internal/analysis"
	"github.com/kenlayer/ken/internal/knowledge/structure"
	"github.com/kenlayer/ken/store"
)

// entry is a record that a source found.
type entry struct {
	ref  store.Ref
	row  store.Row // set by candidateFilter.admit
	rrf  float64
	hits []hit // by source, in the order of answers
	rank ranking

	recent *hit // its hit in the sessions source; nil for none
}

// hit is the position of a record in one source's result; rank 0 means that the source did not find
// it.
type hit struct {
	rank int
	store.Hit
}

// answer is the result of one source.
type answer struct {
	name string
	res  store.Result
}

// slab is how many entries are allocated at once. More would be a large object, which the allocator
// does not cache.
const slab = 64

// entrySlab is a slab of entries, with room for their hits.
type entrySlab struct {
	entries [slab]entry
	hits    []hit
}

// slabs holds the entries of finished turns.
var slabs = sync.Pool{New: func() any { return new(entrySlab) }}

// fusion owns the memory of one turn's entries.
type fusion struct{ used []*entrySlab }

// next returns a new slab of entries, and so many hits for each.
func (f *fusion) next(legs int) ([]entry, []hit) {
	s := slabs.Get().(*entrySlab)
	f.used = append(f.used, s)
	s.hits = slices.Grow(s.hits[:0], slab*legs)[:slab*legs]
	return s.entries[:], s.hits
}

// release returns the entries for reuse. They must not be used afterwards.
func (f *fusion) release() {
	for _, s := range f.used {
		clear(s.entries[:])
		clear(s.hits)
		slabs.Put(s)
	}
}

// fuse merges the sources' lists by reciprocal rank fusion: each list that contains a record adds
// 1/(k + rank), with rank from 1 (Cormack, Clarke and Büttcher, SIGIR 2009, with their k = 60 as
// the default). If a list contains a record twice, its first rank counts. The best entries come
// first; equal sums are sorted by ref. The entries belong to f.
func (f *fusion) fuse(answers []answer, k float64) []*entry {
	most := 0
	for _, a := range answers {
		most += len(a.res.Hits)
	}
	fused := make([]*entry, 0, most)
	var entries []entry // allocated together, because there are a hundred in every turn
	var hits []hit
	at := make(map[store.Ref]*entry, most)
	for leg, a := range answers {
		for i, h := range a.res.Hits {
			e := at[h.Ref]
			if e == nil {
				if len(entries) == 0 {
					entries, hits = f.next(len(answers))
				}
				e = &entries[0]
				e.ref, e.hits = h.Ref, hits[:len(answers):len(answers)]
				entries, hits = entries[1:], hits[len(answers):]
				at[h.Ref] = e
				fused = append(fused, e)
			}
			if e.hits[leg].rank == 0 {
				h.Score, h.Share = finite(h.Score), finite(h.Share)
				e.hits[leg] = hit{rank: i + 1, Hit: h}
				e.rrf += 1 / (k + float64(i+1))
			}
		}
	}
	slices.SortFunc(fused, byFusion)
	return fused
}

// fused returns the sum of reciprocal rank fusion if the ranks of the vector source have the given
// weight.
func (e *entry) fused(answers []answer, k, weight float64) (sum float64) {
	for leg, h := range e.hits {
		if h.rank == 0 {
			continue
		}
		part := 1 / (k + float64(h.rank))
		if name := answers[leg].name; name == SourceVector || name == SourceLate {
			part *= weight
		}
		sum += part
	}
	return sum
}

func byFusion(a, b *entry) int { return cmp.Or(cmp.Compare(b.rrf, a.rrf), cmp.Compare(a.ref, b.ref)) }

// finite replaces NaN and infinities, which can't be sorted or encoded as JSON, by 0.
func finite(f float64) float64 {
	if math.IsNaN(f) || math.IsInf(f, 0) {
		return 0
	}
	return f
}

// Merge adds the result of another owner's store for the same turn. Rules come first and memory
// second; within each, the own ones come first. Knowledge is merged by score, scaled by each
// store's evidence; with equal scores the own comes first. topK are kept, and the rest is cut.
// Focus, mode and learned order stay those of the own store.
func (out *Result) Merge(owner string, other *Result, topK int) {
	for i := range other.Candidates {
		other.Candidates[i].Owner = owner
	}
	mine, theirs := out.parts(), other.parts()
	knowledge, rest := out.mergeByEvidence(mine[2], theirs[2], other.Evidence, topK)
	for i := range rest {
		out.Cut = append(out.Cut, ken.Cut{ID: rest[i].Row.ID, Reason: ken.CutPool})
	}
	out.Candidates = slices.Concat(mine[0], theirs[0], mine[1], theirs[1], knowledge)
	out.Rules, out.Memory, out.Sessions = out.Rules+other.Rules, out.Memory+other.Memory, out.Sessions+other.Sessions
	out.Retrieved += other.Retrieved
	out.Evidence = max(out.Evidence, other.Evidence)
	out.Cut = append(out.Cut, other.Cut...)
	for _, why := range other.Degraded {
		out.Degraded = append(out.Degraded, owner+": "+why)
	}
}

// parts returns the candidates that are rules, memory and knowledge.
func (out *Result) parts() (p [3][]Candidate) {
	rules, memory := out.Rules, out.Rules+out.Memory+out.Sessions
	p[0], p[1], p[2] = out.Candidates[:rules], out.Candidates[rules:memory], out.Candidates[memory:]
	return p
}

// mergeByEvidence merges two sorted lists. It returns the first n candidates and the rest. A score is
// relative to the best of its own store, so the scores of the store with less evidence are scaled
// down.
func (out *Result) mergeByEvidence(mine, theirs []Candidate, evidence float64, n int) (first, left []Candidate) {
	if most := max(out.Evidence, evidence); len(mine) > 0 && len(theirs) > 0 && most > 0 { // otherwise no floor applies
		scale(mine, out.Evidence/most)
		scale(theirs, evidence/most)
	}
	all := make([]Candidate, 0, len(mine)+len(theirs))
	for len(mine) > 0 && len(theirs) > 0 {
		if mine[0].Fused >= theirs[0].Fused {
			all, mine = append(all, mine[0]), mine[1:]
		} else {
			all, theirs = append(all, theirs[0]), theirs[1:]
		}
	}
	all = append(append(all, mine...), theirs...)
	n = min(n, len(all))
	return all[:n], all[n:]
}

func scale(list []Candidate, by float64) {
	for i := range list {
		list[i].Fused *= by
	}
}

// Weights holds the weight of each signal, relative to the keyword score, which is 1 for the turn's
// best record. A weight is 0 or more; 0 switches the signal off. docs/decisions/0009 has
// measurements.
type Weights struct {
	Context     float64 // factor for a word in a neighbouring record: see inContext
	Cosine      float64 // factor for the likeness to the question, on top of trustInCosines
	Speaker     float64 // added if the question names the speaker of the record
	When        float64 // added for a record with a time, if the question asks when
	Date        float64 // added for a record from the time that the question names
	Self        float64 // added for the first person, if the question is in the first person too
	Instruction float64 // added for a standing instruction or preference
	Question    float64 // subtracted from a short record that asks a question
	Structure   float64 // added for a record under a central aspect of the turn's entities: see structured
	Origin      float64 // how much the kind of file counts, 0..1: see originPrior
}

// DefaultWeights were chosen on the development sets.
var DefaultWeights = Weights{Context: 0.55, Cosine: 1, Speaker: 0.08, When: 0.1, Date: 0.3, Self: 0.2, Instruction: 0.2, Question: 0.08,
	Structure: 0.1, Origin: 1}

// ranking holds the values that the ranker computed for one entry. signals names them for the
// receipt.
type ranking struct {
	keyword  float64 // BM25 score with context, relative to the best of the turn, 0..1
	share    float64 // part of the query's terms that the record has, weighted by rarity, 0..1
	content  float64 // for a piece of a file: share without words that only phrase the question: see contentShare
	cosine   float64 // centred cosine to the question, 0 or more; see Retriever.likeness
	near     float64 // added by the cosines of its neighbours
	isolated float64 // added by its own cosine for missing neighbours; not evidence, so the floor ignores it
	manner   float64 // sum of the signals about the record's manner and date
	// likeness is the sum of cosine, near and isolated, times the turn's trust in cosines.
	likeness float64
	prior    float64  // factor on keyword and likeness by the record's origin, 0..1
	score    float64  // sorts the pool
	learned  float64  // for a piece of a file: sorts the pieces, see weighFiles
	reranked *float64 // the reranker's score; nil if it was not asked

	form  analysis.Form        // the form of the record's text
	place *structure.Attribute // its place among the turn's entities; nil if it has none
	named float64              // part of the query's terms that are in the name of its entity, 0..1
}

// totalShare returns the part of the query's terms that the record has, in its text or in the name of its
// entity.
func (r *ranking) totalShare() float64 { return math.Max(r.share, r.named) }

// shortWords is the number of words below which a record with a question counts as only a question.
const shortWords = 75

// questionManner describes what the manner or date of a record can contribute to an answer.
type questionManner struct {
	names map[uint32]bool
	when  bool
	self  bool
	times []period
}

func askedBy(s *ken.Signals, now time.Time) questionManner {
	a := questionManner{times: periods(s.Question, now), names: map[uint32]bool{}, when: analysis.AsksWhen(s.Question), self: analysis.FormOf(s.Question).Traits.Self() > 0}
	for _, list := range [][]string{s.Keywords, s.Entities} {
		for _, w := range list {
			a.names[analysis.Name(w)] = true
		}
	}
	return a
}

// manner returns the score for the way in which a record is written.
func (w *Weights) manner(a *questionManner, f analysis.Form) (sum float64) {
	if f.Traits.Origin() == analysis.OriginCode { // code has no speaker
		return 0
	}
	if f.Speaker != 0 && a.names[f.Speaker] {
		sum += w.Speaker
	}
	if a.when && f.Traits&analysis.Dated != 0 {
		sum += w.When
	}
	if a.self {
		sum += w.Self * f.Traits.Self()
	}
	if f.Traits&analysis.Instructs != 0 {
		sum += w.Instruction
	}
	if f.Traits&analysis.Asks != 0 && f.Words < shortWords {
		sum -= w.Question
	}
	return sum
}

// weigh computes the absolute score of each entry, whereas fusion only knows ranks.
func (r *Retriever) weigh(pool []*entry, answers []answer, t *Turn, out *Result) {
	best := 0.0
	for _, a := range answers {
		if a.name == SourceKeyword {
			for _, h := range a.res.Hits {
				best = max(best, finite(h.Score))
			}
		}
	}
	w, a := r.o.Weights, askedBy(&t.Signals, t.Filter.Now)
	for _, e := range pool {
		k := &e.rank
		k.form = r.p.Form(e.ref)
		for leg, h := range e.hits {
			if h.rank == 0 {
				continue
			}
			switch answers[leg].name {
			case SourceKeyword:
				if best > 0 {
					k.keyword = h.Score / best
				}
				k.share = h.Share
				if e.ofFile() {
					k.content = contentShare(&answers[leg].res, h.Parts, h.Share)
				}
			case SourceVector, SourceLate:
				k.cosine = math.Max(k.cosine, r.likeness(h.Share))
			}
		}
		k.manner = w.manner(&a, k.form) + w.Date*a.date(e.row.CreatedAt)
	}
	r.place(pool, answers, &out.Structure)
	trust := w.Cosine * trustInCosines(pool, r.compare(pool, answers))
	var origins *originPriors // parsed from the question if there is a piece of a file
	for _, e := range pool {
		k := &e.rank
		k.likeness = trust * (k.cosine + k.near + k.isolated)
		if k.prior = 1; e.ofFile() {
			k.likeness = w.Cosine * fileLikeness * k.cosine
			if origins == nil {
				origins = originsOf(t.Signals.Question)
			}
			k.prior -= w.Origin * (1 - origins.of(k.form.Traits))
		}
		k.score = k.prior*(k.keyword+k.likeness) + k.manner + w.Structure*k.structured()
	}
}

// unit limits a cosine to 0..1.
func unit(cosine float64) float64 { return math.Max(0, math.Min(1, finite(cosine))) }

// date returns how well a record's time matches the times that the question names, 0..1.
func (a *questionManner) date(t time.Time) (best float64) {
	for i := range a.times {
		best = math.Max(best, a.times[i].holds(t))
	}
	return best
}

// order sorts the pool by Options.Order.
func (r *Retriever) order(pool []*entry, answers []answer) {
	for _, e := range pool {
		switch r.o.Order {
		case OrderRRF:
			e.rank.score = e.rrf
		case OrderWeighted:
			e.rank.score = e.fused(answers, r.o.K, r.o.VectorWeight)
		}
	}
	slices.SortFunc(pool, func(a, b *entry) int { return cmp.Or(cmp.Compare(b.rank.score, a.rank.score), byFusion(a, b)) })
}

func (r *ranking) signals() map[string]float64 {
	m := map[string]float64{"keyword": r.keyword, "share": r.share, "cosine": r.cosine, "likeness": r.likeness,
		"manner": r.manner}
	if r.form.Traits.Origin() != analysis.OriginNone {
		m["origin"], m["content"], m["words"], m["learned"] = r.prior, r.content, float64(r.form.Words), r.learned
	}
	if r.reranked != nil {
		m["rerank"] = *r.reranked
	}
	if r.place != nil {
		m[SignalStructure], m[SignalDistance] = r.structured(), float64(r.place.Distance)
	}
	return m
}
