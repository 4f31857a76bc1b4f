package harvest

import (
	"context"
	"fmt"
	"slices"

	"github.com/kenlayer/ken"
	"github.com/kenlayer/ken/internal/analysis"
	"github.com/kenlayer/ken/internal/harvest/extract"
)

// Limits for one request of the user to forget something.
const (
	mostToForget = 10 // claims that a person is asked about
	nearToForget = 40 // claims that are compared with the request
)

// markForgotten asks a person about what the user wants to be forgotten: the facts about it or, if there are none, the
// summaries that mention it. It changes no claim.
func (r *harvestRun) markForgotten(ctx context.Context) error {
	if r.o.AskToForget == nil {
		return nil
	}
	marked := 0
	for _, q := range extract.ForgetRequests(r.tr) {
		if q.About() == "" {
			continue
		}
		for _, kind := range []ken.Kind{ken.KindFact, ken.KindEpisode} {
			n, err := r.markNamed(ctx, &q, kind)
			if err != nil {
				return err
			}
			if marked += n; n > 0 {
				break
			}
		}
	}
	if marked > 0 {
		r.note(fmt.Sprintf("asked to forget %d: see ken attention", marked))
	}
	return nil
}

// markNamed marks the claims of a kind that a request names, and returns their number.
func (r *harvestRun) markNamed(ctx context.Context, q *extract.ForgetRequest, kind ken.Kind) (marked int, err error) {
	found, err := r.o.Store.Query(ctx, ken.Query{Question: q.About(), Limit: nearToForget,
		Filter: ken.Filter{Scopes: []ken.Scope{r.tr.Info.Scope}, Kinds: []ken.Kind{kind}, ClaimsOnly: true}})
	if err != nil {
		return 0, fmt.Errorf("find what is to be forgotten: %w", err)
	}
	for i := range found {
		c := &found[i]
		if marked == mostToForget || c.CreatedAt.After(q.At) || !mayForget(c) || !q.Names(analysis.WithoutPastNotes(c.Text)) {
			continue
		}
		if err := r.o.AskToForget(ctx, c.ID, q.Text, r.tr.Info.ID, q.At); err != nil {
			return marked, fmt.Errorf("ask to forget a claim: %w", err)
		}
		marked++
	}
	return marked, nil
}

// mayForget reports whether a user's request may be about a claim: it is a summary, or a rule or an unverified
// fact that the user stated and nothing else supports.
func mayForget(c *ken.Claim) bool {
	switch {
	case c.Status == ken.StatusSuperseded, c.Status == ken.StatusVerified && !c.Constraint:
		return false
	case c.Kind == ken.KindEpisode:
		return true
	}
	return len(c.Evidence) > 0 && !slices.ContainsFunc(c.Evidence, func(e ken.Evidence) bool {
		return e.Kind != ken.EvidenceMessage && e.Kind != ken.EvidenceUserStatement && e.Kind != ken.EvidenceHumanAssertion || e.Speaker() != ken.TrustOperator
	})
}
