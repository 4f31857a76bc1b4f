package operator

import (
	"context"
	"slices"

	"github.com/kenlayer/ken"
	"github.com/kenlayer/ken/harvest/memoryfile"
)

// Candidates are the hypotheses that wait for a person, most reinforced first.
type Candidates struct {
	Memory []ken.Claim // patterns and hot facts: in every turn once they are approved
	Others []ken.Claim // of all other kinds, those of the structure left out
}

// Candidates lists what waits for a review. What has expired is left out.
func (d *Desk) Candidates(ctx context.Context) (Candidates, error) {
	var out Candidates
	var err error
	if out.Memory, err = d.Memory(ctx, false); err != nil {
		return Candidates{}, err
	}
	f := ken.Filter{Statuses: []ken.Status{ken.StatusHypothesis}, ClaimsOnly: true, Now: d.o.Now()}
	for c, err := range d.s.Scan(ctx, &f, nil) {
		if err != nil {
			return Candidates{}, err
		}
		if !InMemory(c.Kind) {
			out.Others = append(out.Others, c)
		}
	}
	sortForReview(out.Others)
	return out, nil
}

// Memory lists the candidates among the claims that MEMORY.md is about, and with all
// also what was approved, most reinforced first.
func (d *Desk) Memory(ctx context.Context, all bool) ([]ken.Claim, error) {
	claims, err := memoryfile.List(ctx, d.s)
	if !all {
		claims = slices.DeleteFunc(claims, func(c ken.Claim) bool { return c.Status != ken.StatusHypothesis })
	}
	sortForReview(claims)
	return claims, err
}

func sortForReview(claims []ken.Claim) {
	slices.SortFunc(claims, func(x, y ken.Claim) int { return memoryfile.MostReinforced(&x, &y) })
}
