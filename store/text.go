package store

import (
	"slices"

	"github.com/kenlayer/ken"
	"github.com/kenlayer/ken/internal/analysis"
)

// EmbedText is the text that stands for a claim in vector space.
func EmbedText(c *ken.Claim) string {
	if c.Heading == "" {
		return c.Text
	}
	return c.Heading + "\n" + c.Text
}

// IndexTerms are the words beside heading and text under which a claim is found:
// tags, entities, domain, aspect, and twice what its code defines.
func IndexTerms(c *ken.Claim) []string {
	terms := slices.Concat(c.Tags, c.Entities)
	for _, w := range []string{c.Domain, c.Aspect} {
		if w != "" {
			terms = append(terms, w)
		}
	}
	defined := analysis.Definitions(c.Text)
	return slices.Concat(terms, defined, defined)
}

// Pinned reports whether a claim of these facts belongs into every turn, as far
// as its kind goes: hot claims, patterns, objectives. Its status is the filter's
// business: a pattern that nobody approved is a hypothesis, which no recall sees.
func Pinned(k ken.Kind) bool {
	return k == ken.KindHot || k == ken.KindPattern || k == ken.KindObjective
}

// SpellEntities returns names as analysis.Entity spells them, each once; what is no
// name is left out. Nil when there is none.
func SpellEntities(names []string) []string {
	var out []string
	for _, n := range names {
		if n = analysis.Entity(n); n != "" && !slices.Contains(out, n) {
			out = append(out, n)
		}
	}
	return out
}
