package store

import "github.com/kenlayer/ken"

// EmbedText is the text that stands for a claim in vector space.
func EmbedText(c *ken.Claim) string {
	if c.Heading == "" {
		return c.Text
	}
	return c.Heading + "\n" + c.Text
}

// Pinned reports whether a claim of these facts belongs into every turn, as far
// as its kind goes: hot claims, patterns, objectives. Its status is the filter's
// business: a pattern that nobody approved is a hypothesis, which no recall sees.
func Pinned(k ken.Kind) bool {
	return k == ken.KindHot || k == ken.KindPattern || k == ken.KindObjective
}
