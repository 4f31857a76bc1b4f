package store

import "github.com/kenlayer/ken"

// Glance is what a scan sees of a claim before it is read whole.
type Glance struct {
	Confidence   float64
	SupersededBy string
	Archived     bool
	Candidate    bool // it is a ken.Claim's RuleCandidate
	Expires      bool // at some time, be it over
}

// GlanceOf is a claim's.
func GlanceOf(c *ken.Claim) Glance {
	return Glance{c.Confidence, c.SupersededBy, !c.ArchivedAt.IsZero(), c.RuleCandidate, !c.ExpiresAt.IsZero()}
}
