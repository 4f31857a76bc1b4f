package structure

import "github.com/kenlayer/ken/store"

// Weight is what an aspect counts among those of its entity, 0..1:
//
//	weight      = centrality/2 + utility/2
//	centrality  = degree of the aspect / largest degree of the entity's aspects
//	degree      = other names that its claims carry + constraints under it
//	utility     = (used + 1) / (shown + 2)
//
// Centrality is degree centrality (L. C. Freeman, Centrality in social networks:
// conceptual clarification, Social Networks 1, 1979): an aspect that ties its entity
// to much else, or is ruled by much, is central to it. Freeman divides by the
// largest degree that the graph admits, this by the largest that there is, so that
// entities of any size compare. How many claims an aspect has does not count: what
// is said often is not what matters.
//
// Utility is the mean of the posterior of a Beta prior with both parameters 1
// (Laplace's rule of succession): the chance that a model uses what it is shown of
// the aspect. It is a half for what was never shown.
//
// What has no aspect yet has no centrality: it belongs to none.
func Weight(a *store.AspectOutline, largest int, shown, used float64) float64 {
	centrality := 0.0
	if d := degree(a); d > 0 && largest > 0 {
		centrality = min(1, float64(d)/float64(largest))
	}
	used = max(0, used)
	shown = max(used, shown)
	return centrality/2 + (used+1)/(shown+2)/2
}

// degree of an aspect: see Weight.
func degree(a *store.AspectOutline) int {
	if a.Name == "" {
		return 0
	}
	return a.Others + a.Constraints
}

// Degree is the largest degree of an entity's aspects, for Weight.
func Degree(aspects []store.AspectOutline) (largest int) {
	for i := range aspects {
		largest = max(largest, degree(&aspects[i]))
	}
	return largest
}
