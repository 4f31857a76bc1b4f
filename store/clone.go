package store

import (
	"slices"

	"github.com/kenlayer/ken"
)

// Clone returns a claim that shares no memory with c that a caller could change.
func Clone(c *ken.Claim) ken.Claim {
	out := *c
	out.Body = slices.Clone(c.Body)
	out.Tags = slices.Clone(c.Tags)
	out.Entities = slices.Clone(c.Entities)
	out.Evidence = slices.Clone(c.Evidence)
	for i, e := range out.Evidence {
		if e.ExitCode != nil {
			code := *e.ExitCode
			out.Evidence[i].ExitCode = &code
		}
	}
	return out
}
