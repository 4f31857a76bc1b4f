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
	row  store.Row // set by sieve.admit
	rrf  float64
	hits []hit // by source, in the order of the answers
	rank ranking

	recent *hit // where the sessions source has it too
}

// hit is where one source put the record; rank 0 means that it did not.
type hit struct {
	rank int
	store.Hit
}

// answer is what one source said.
type answer struct {
	name string
	res  store.Result
}

// slab is how many entries are allocated at once. More would be one of the large
// objects, each of which goes past the caches of the allocator.
const slab = 64

// slabs holds the entries of turns that are over.
var slabs = sync.Pool{New: func() any { return new([slab]entry) }}

// fusion is the memory of one turn's entries.
type fusion struct{ used []*[slab]entry }

// next returns room for the next slab of entries.
func (f *fusion) next() []entry {
	s := slabs.Get().(*[slab]entry)
	f.used = append(f.used, s)
	return s[:]
}

// release gives the entries back. Nobody may use them any more.
func (f *fusion) release() {
	for _, s := range f.used {
		clear(s[:])
		slabs.Put(s)
	}
}

// fuse merges the sources' lists by reciprocal rank fusion: each list that holds a
// record adds 1/(k + rank), rank from 1 (Cormack, Clarke and Büttcher, SIGIR
// 2009, with their k = 60 as the default). A record that a list holds twice has
// its first rank there. Best first, equal sums by ref. The entries are in the memory of f.
func (f *fusion) fuse(answers []answer, k float64) []*entry {
	most := 0
	for _, a := range answers {
		most += len(a.res.Hits)
	}
	fused := make([]*entry, 0, most)
	var entries []entry // not one by one: there are a hundred in every turn
	var hits []hit
	at := make(map[store.Ref]*entry, most)
	for leg, a := range answers {
		for i, h := range a.res.Hits {
			e := at[h.Ref]
			if e == nil {
				if len(entries) == 0 {
					entries, hits = f.next(), make([]hit, min(slab, most-len(fused))*len(answers))
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

// fused is reciprocal rank fusion in which the vector source's ranks count weight.
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

// finite makes 0 of what no order and no JSON can hold.
func finite(f float64) float64 {
	if math.IsNaN(f) || math.IsInf(f, 0) {
		return 0
	}
	return f
}

// Merge adds to a result what another owner's store has for the same turn. Rules come
// first and memory second, each of them the own ones first. Knowledge is merged by its
// score, as far as the stores have evidence that they bear on the turn at all; the own
// comes first where both are equal, topK are kept, and the others are cut. The focus, the
// mode and the learned order stay those of the own store.
func (out *Result) Merge(owner string, other *Result, topK int) {
	for i := range other.Candidates {
		other.Candidates[i].Owner = owner
	}
	mine, theirs := out.parts(), other.parts()
	knowledge, rest := out.byEvidence(mine[2], theirs[2], other.Evidence, topK)
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

// parts are the candidates that are rules, memory and knowledge.
func (out *Result) parts() (p [3][]Candidate) {
	rules, memory := out.Rules, out.Rules+out.Memory+out.Sessions
	p[0], p[1], p[2] = out.Candidates[:rules], out.Candidates[rules:memory], out.Candidates[memory:]
	return p
}

// byEvidence merges two lists, each of which keeps its order, and returns the first n of
// them and what is left. A score is a part of the best of its own store, so it counts as
// much as the evidence of that store: that of the store with less is made smaller.
func (out *Result) byEvidence(mine, theirs []Candidate, evidence float64, n int) (first, left []Candidate) {
	if most := max(out.Evidence, evidence); len(mine) > 0 && len(theirs) > 0 && most > 0 { // else no floor applies
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

// Weights say how much each signal counts beside the keyword score, which is 1
// for the turn's best. Each is a number from 0, which switches the signal off.
// What each is worth, measured: docs/decisions/0009.
type Weights struct {
	Context     float64 // of a word that stands in a neighbouring record: see inContext
	Cosine      float64 // of the likeness to the question; 1 is what the turn's own evidence says: see trustInCosines
	Speaker     float64 // added for who is named in the question and speaks in the record
	When        float64 // added for a record that says when, if the question asks when
	Date        float64 // added for a record of the time that the question names
	Self        float64 // added for the first person, if the question has it too
	Instruction float64 // added for a standing instruction or preference
	Question    float64 // taken from a short record that asks something
	Structure   float64 // added for a record under a central aspect of what the turn is about: see structured
	Origin      float64 // of the kind of file that a record was cut from, 0..1: see originPrior
}

// DefaultWeights were chosen on the development sets.
var DefaultWeights = Weights{Context: 0.55, Cosine: 1, Speaker: 0.08, When: 0.1, Date: 0.3, Self: 0.2, Instruction: 0.2, Question: 0.08,
	Structure: 0.1, Origin: 1}

// ranking is what the ranker found of one entry. Every part has a name in the
// receipt.
type ranking struct {
	keyword float64 // BM25 in context as a part of the best in this turn, 0..1
	share   float64 // of the query's terms, rare ones counting more, 0..1
	content float64 // of a piece of a file: share without the words that only phrase a question: see contentShare
	cosine  float64 // centred cosine to the question: below zero counts as zero; see Retriever.likeness
	near    float64 // what the cosines of its neighbours add
	alone   float64 // what its own adds for neighbours that it has not; no evidence, so the floor leaves it out
	manner  float64 // what the signals that read the record's manner and date add together
	// likeness is the sum of cosine, near and alone, times the turn's trust in cosines.
	likeness float64
	prior    float64  // what keyword and likeness count by the record's origin, 0..1
	score    float64  // what orders the pool
	learned  float64  // of a piece of a file: what orders those among themselves, see weighFiles
	reranked *float64 // what the reranker said; nil if it was not asked

	form  analysis.Form        // how the record speaks
	place *structure.Attribute // where the record stands among what the turn is about; nil elsewhere
	named float64              // the part of the query's terms that the name is under which it is filed, 0..1
}

// had is the part of the query's terms that the record has, in its text or in the name
// that it is filed under.
func (r *ranking) had() float64 { return math.Max(r.share, r.named) }

// shortWords is the length below which a record that asks is only a question.
const shortWords = 75

// questionManner is what a turn asks for, as far as the manner of a record can answer it.
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

// manner is what a record earns by how it speaks.
func (w *Weights) manner(a *questionManner, f analysis.Form) (sum float64) {
	if f.Traits.Origin() == analysis.OriginCode { // it speaks to nobody
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

// weigh finds out what is known of each entry in absolute terms, where fusion
// only knows ranks.
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
	var origins *originPriors // read from the question where there is a piece of a file
	for _, e := range pool {
		k := &e.rank
		k.likeness = trust * (k.cosine + k.near + k.alone)
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

// unit brings a cosine into 0..1.
func unit(cosine float64) float64 { return math.Max(0, math.Min(1, finite(cosine))) }

// date is how well a record's time fits what the question names, 0..1.
func (a *questionManner) date(t time.Time) (best float64) {
	for i := range a.times {
		best = math.Max(best, a.times[i].holds(t))
	}
	return best
}

// order sorts the pool: by evidence, or by the fused rank alone.
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
