package structure_test

import (
	"testing"

	"github.com/kenlayer/ken/internal/knowledge/structure/reading"
	"github.com/kenlayer/ken/internal/race"
)

// At least nine of ten facts have a primary entity and an aspect by rules alone,
// without a name that is known beforehand. The general aspect counts as one, and is
// shown apart. The session taught ten facts, two of which name nothing.
//
//	go test ./internal/evals/structure -run MostFacts -v
func TestMostFactsAreAssignedByRules(t *testing.T) {
	race.SkipLong(t)
	t.Logf("%-9s %6s %8s %9s %8s %11s %10s", "", "facts", "assigned", "certain", "aspect", "constraints", "dependencies")
	for _, s := range []struct {
		facts func(testing.TB) []fact
		least float64
	}{{locomoFacts, 0.99}, {beamFacts, 0.97}, {recordFacts, 0.97}, {sessionFacts, 0.8}} {
		list := s.facts(t)
		assigned, certain, aspect, constraints, dependencies := 0, 0, 0, 0, 0
		for i := range list {
			r := read(&list[i], false)
			if len(r.Entities) > 0 && r.Aspect != "" {
				assigned++
			}
			if r.Confidence >= reading.ByObject {
				certain++
			}
			if r.Aspect != reading.General {
				aspect++
			}
			if r.Constraint {
				constraints++
			}
			dependencies += len(r.Dependencies)
		}
		n := len(list)
		t.Logf("%-9s %6d %8.3f %9.3f %8.3f %11d %10d", list[0].source, n, share(assigned, n), share(certain, n), share(aspect, n), constraints, dependencies)
		if got := share(assigned, n); got < s.least {
			t.Errorf("%s: %.3f of the facts are assigned, want %v", list[0].source, got, s.least)
		}
	}
}
