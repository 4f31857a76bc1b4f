package store

import (
	"github.com/google/uuid"

	"github.com/kenlayer/ken"
)

// Parents are the ids of the claims that a claim was derived from: those that its
// evidence names as a decision or as knowledge. It goes when one of them is forgotten.
func Parents(c *ken.Claim) (out []uuid.UUID) {
	for i := range c.Evidence {
		e := &c.Evidence[i]
		if e.Kind != ken.EvidenceDecision && e.Kind != ken.EvidenceRepositoryMemory {
			continue
		}
		if id, err := uuid.Parse(e.ID); err == nil {
			out = append(out, id)
		}
	}
	return out
}
