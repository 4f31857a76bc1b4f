package structuretest

import (
	"slices"
	"strings"
	"unicode"

	"github.com/kenlayer/ken"
)

// Obliged says which of the claims, by their place, are constraints that a turn must
// be told which names these entities, spelled by analysis.Entity as the claims' own
// are: those that stand and name no entity, one of these, or one that a dependency of
// at least this strength ties to one of these, be it among their entities or in their
// words. It goes over all claims again and again until nothing new comes up.
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

// Carries says whether a claim that passes has the name.
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

// words are those of a text, in small letters, without the marks between them.
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

// closed are the names that aliases lead to from these: up to what they are names of,
// or down to other names.
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

// whole are all names of what the names are names of: of where their aliases end,
// which is a name from which every further alias leads back.
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
