package operator

import (
	"context"
	"slices"

	"github.com/kenlayer/ken"
	"github.com/kenlayer/ken/internal/harvest/memoryfile"
	"github.com/kenlayer/ken/store"
)

// Candidates are what waits for a person, most reinforced first.
type Candidates struct {
	Memory []ken.Claim // patterns and hot facts, in every turn once they are approved, and candidate rules
	Others []ken.Claim // hypotheses of all other kinds, those of the structure left out
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
		if !Reviewed(&c) {
			out.Others = append(out.Others, c)
		}
	}
	sortForReview(out.Others)
	return out, nil
}

// Memory lists the candidates among the claims that MEMORY.md is about and the candidate
// rules that stand, and with all also what MEMORY.md has that was approved, most
// reinforced first.
func (d *Desk) Memory(ctx context.Context, all bool) ([]ken.Claim, error) {
	claims, err := memoryfile.List(ctx, d.s)
	if err != nil {
		return nil, err
	}
	if !all {
		claims = slices.DeleteFunc(claims, func(c ken.Claim) bool { return c.Status != ken.StatusHypothesis })
	}
	f := ken.Filter{Statuses: ken.RecallStatuses(), ClaimsOnly: true, Now: d.o.Now()}
	for c, err := range d.s.Scan(ctx, &f, func(g store.Glance) bool { return g.Candidate }) {
		if err != nil {
			return nil, err
		}
		if !InMemory(c.Kind) {
			claims = append(claims, c)
		}
	}
	sortForReview(claims)
	return claims, nil
}

func sortForReview(claims []ken.Claim) {
	slices.SortFunc(claims, func(x, y ken.Claim) int { return memoryfile.MostReinforced(&x, &y) })
}
