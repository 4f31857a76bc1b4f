package harvest

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/kenlayer/ken/internal/run/session"
)

// Kept says in one line what a harvest has kept, for people.
func Kept(o *session.Outcome) string {
	var parts []string
	count := func(n int, one, many string) {
		switch {
		case n == 1:
			parts = append(parts, "1 "+one)
		case n > 1:
			parts = append(parts, fmt.Sprintf("%d %s", n, many))
		}
	}
	if o.Episode != "" {
		parts = append(parts, "an episode")
	}
	count(len(o.Learned), "fact", "facts")
	count(len(o.Reinforced), "known fact", "known facts")
	count(len(o.Superseded), "fact replaced", "facts replaced")
	count(len(o.Disputed), "fact disputed", "facts disputed")
	count(len(o.Findings), "finding", "findings")
	count(len(o.Patterns), "pattern", "patterns")
	if len(parts) == 0 {
		return "nothing"
	}
	return strings.Join(parts, ", ")
}

// Describe is an outcome in one line, for people: what was kept, what was not,
// and what there is to say about it.
func Describe(o *session.Outcome) string {
	s := Kept(o)
	if len(o.Dropped) > 0 {
		var why []string
		for _, k := range slices.Sorted(maps.Keys(o.Dropped)) {
			why = append(why, fmt.Sprintf("%s %d", k, o.Dropped[k]))
		}
		s += "; left out: " + strings.Join(why, ", ")
	}
	if o.Note != "" {
		s += "; " + o.Note
	}
	return s
}
