package structuretest

import (
	"slices"
	"strings"
	"unicode"

	"github.com/kenlayer/ken"
)

// Obliged returns the indices of the constraints that must be in a turn that names
// the entities in said. These are valid constraints that name no entity, one of
// these, or one that a dependency of at least this strength connects to one of these.
// A constraint names an entity in its entities or in its text. Names are in the form
// of analysis.Entity. Obliged repeats over all claims until nothing changes.
func Obliged(claims []ken.Claim, said []string, f *ken.Filter, strength float64) map[int]bool {
	m := model{claims, f, *f}
	m.links.Kinds = []ken.Kind{ken.KindAlias, ken.KindDependency, ken.KindEntity}
	focal := m.whole(set(said))
	hop := map[string]bool{}
	for i := range claims {
		c := &claims[i]
		if c.Kind == ken.KindDependency && m.passes(c) && c.Importance >= strength {
			if focal[c.Entities[0]] {
				hop[c.Entities[1]] = true
			}
			if focal[c.Entities[1]] {
				hop[c.Entities[0]] = true
			}
		}
	}
	hop = m.whole(hop)
	out := map[int]bool{}
	for i := range claims {
		c := &claims[i]
		if c.Constraint && !c.Kind.Structural() && m.passes(c) &&
			(len(c.Entities) == 0 || slices.ContainsFunc(slices.Concat(c.Entities, words(c.Text)), func(n string) bool { return focal[n] || hop[n] })) {
			out[i] = true
		}
	}
	return out
}

// Carries reports whether a claim that passes the filter has the name.
func Carries(claims []ken.Claim, name string, f *ken.Filter) bool {
	m := model{claims, f, *f}
	m.links.Kinds = []ken.Kind{ken.KindAlias, ken.KindDependency, ken.KindEntity}
	return slices.ContainsFunc(claims, func(c ken.Claim) bool { return slices.Contains(c.Entities, name) && m.passes(&c) })
}

type model struct {
	claims []ken.Claim
	f      *ken.Filter
	links  ken.Filter
}

func (m *model) passes(c *ken.Claim) bool {
	if c.Kind.Structural() {
		return m.links.Reject(c.Facts()) == ""
	}
	return m.f.Reject(c.Facts()) == ""
}

// words returns the words of a text in lower case, without punctuation.
func words(text string) []string {
	return strings.FieldsFunc(strings.ToLower(text), func(r rune) bool { return !unicode.IsLetter(r) && !unicode.IsDigit(r) })
}

func set(names []string) map[string]bool {
	out := map[string]bool{}
	for _, n := range names {
		out[n] = true
	}
	return out
}

// closed returns the names that can be reached from these by aliases: with up, the
// names that they are aliases of, otherwise their aliases.
func (m *model) closed(names map[string]bool, up bool) map[string]bool {
	for again := true; again; {
		again = false
		for i := range m.claims {
			c := &m.claims[i]
			if c.Kind != ken.KindAlias || !m.passes(c) {
				continue
			}
			from, to := c.Entities[1], c.Entities[0]
			if !up {
				from, to = to, from
			}
			if names[from] && !names[to] {
				names[to], again = true, true
			}
		}
	}
	return names
}

// whole returns all names of the entities that the names stand for. An entity's
// primary name is the end of its aliases: every further alias leads back to it.
func (m *model) whole(names map[string]bool) map[string]bool {
	ends := map[string]bool{}
	for n := range names {
		for e := range m.closed(set([]string{n}), true) {
			last := true
			for further := range m.closed(set([]string{e}), true) {
				last = last && m.closed(set([]string{further}), true)[e]
			}
			if last {
				ends[e] = true
			}
		}
	}
	return m.closed(ends, false)
}
