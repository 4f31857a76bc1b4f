package retriever

import (
	"math"
	"slices"
	"time"

	"github.com/kenlayer/ken"
	"github.com/kenlayer/ken/internal/retriever/scorer"
)

// Learned configures how a turn applies the order that was learned from use. It must not be changed
// after New.
type Learned struct {
	// Order returns the order of the candidates above the floor, except constraints, by their
	// indices: see scorer.Learned. If it is nil, the plain order is used and logged, so that the two
	// can be compared.
	Order func([]ken.Features) []int
	// Earlier fills in the candidates' results in earlier turns; nil leaves them empty.
	Earlier func(c []ken.Features, now time.Time)
	// Explore reports whether a turn swaps the two candidates at the cut, and the probability of
	// that choice: see scorer.Explore. Nil means never.
	Explore func(turn string) (swap bool, propensity float64)
}

// rankedBeyond is how many candidates after the cut are logged.
const rankedBeyond = 4

// learned sorts the pool by the learned order. Constraints keep their positions: only the other
// candidates are reordered.
func (r *Retriever) learned(pool []*entry, answers []answer, t *Turn, out *Result) []*entry {
	l := r.o.Learned
	if l == nil {
		return pool
	}
	places := make([]int, 0, len(pool)) // positions of the candidates that may move
	for i, e := range pool {
		if !e.row.Constraint {
			places = append(places, i)
		}
	}
	if len(places) < 2 {
		return pool
	}
	within, _ := slices.BinarySearch(places, r.o.TopK) // number of places before the cut
	n := len(places)
	if l.Order == nil { // candidates further down are not logged
		n = min(n, within+rankedBeyond)
	}
	seen := r.features(pool, places, n, answers, t)
	if l.Earlier != nil {
		l.Earlier(seen, t.Filter.Now)
	}
	ranking := &ken.Ranking{}
	out.Ranking = ranking
	pool, plain := slices.Clone(pool), pool
	now := make([]int, len(places)) // for each place, the index into seen of its candidate
	for i := range now {
		now[i] = i
	}
	if l.Order != nil {
		ranking.Learned, now = true, l.Order(seen)
		for i, at := range places {
			pool[at] = plain[places[now[i]]]
		}
	}
	if l.Explore != nil && within > 0 && within < len(places) {
		last, next := places[within-1], places[within]
		x := &ken.Explored{In: pool[next].row.ID, Out: pool[last].row.ID}
		if x.Swapped, x.Propensity = l.Explore(t.ID); x.Swapped {
			pool[last], pool[next] = pool[next], pool[last]
			now[within-1], now[within] = now[within], now[within-1]
		}
		out.Explored = x
	}
	ranking.Cut = within
	logged := make([]bool, len(seen))
	for i := range seen {
		logged[i] = i < within+rankedBeyond
	}
	for _, i := range now[:min(len(now), within+1)] {
		logged[i] = true
	}
	ranking.Candidates = make([]ken.Features, 0, min(len(seen), within+rankedBeyond))
	for i := range seen {
		if logged[i] {
			ranking.Candidates = append(ranking.Candidates, seen[i])
		}
	}
	return pool
}

// features returns the ranking features of the entries at the first n places. It reads no claims.
func (r *Retriever) features(pool []*entry, places []int, n int, answers []answer, t *Turn) []ken.Features {
	best := 0.0
	for _, at := range places {
		best = max(best, pool[at].rank.score)
	}
	out := make([]ken.Features, n)
	for i, at := range places[:n] {
		e := pool[at]
		f := &out[i]
		*f = ken.Features{ID: e.row.ID, Rank: i + 1, Distance: -1, Tier: r.tier(&e.row, &t.Filter), Trust: e.row.Facts.Trust,
			Document: e.row.Facts.Kind == ken.KindDocument, Episode: e.row.Facts.Kind == ken.KindEpisode}
		if best > 0 {
			f.Score = e.rank.score / best
		}
		if age := t.Filter.Now.Sub(e.row.CreatedAt); age > 0 && !t.Filter.Now.IsZero() && !e.row.CreatedAt.IsZero() {
			f.AgeDays = math.Round(age.Hours()/2.4) / 10
		}
		if p := e.rank.place; p != nil {
			f.Distance, f.Weight = p.Distance, p.Weight
			f.Entity, f.Aspect = scorer.Slot(p.Entity), scorer.Slot(p.Aspect)
		}
		for leg, h := range e.hits {
			if h.rank == 0 {
				continue
			}
			switch answers[leg].name {
			case SourceKeyword:
				f.Keyword = h.rank
			case SourceVector, SourceLate:
				f.Vector = h.rank
			case SourceStructure:
				f.Structure = h.rank
			}
		}
	}
	return out
}
