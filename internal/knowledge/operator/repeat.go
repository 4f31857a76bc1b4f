package operator

import (
	"context"
	"slices"
	"strings"
	"time"

	"github.com/kenlayer/ken"
	"github.com/kenlayer/ken/internal/harvest/consolidate"
	"github.com/kenlayer/ken/store"
)

// Repeat finds the claim that a new claim only repeats: the same text, by a speaker who is trusted at
// least as much, and nothing in another field that is new. It adds the evidence that the known claim
// lacks, in the name of its actor, and returns its id; "" if there is none. Evidence of a less trusted speaker
// is not added, since it would make the claim less trusted. Of an agent's evidence, its mere word is
// not added either.
func Repeat(ctx context.Context, s store.Engine, c ken.Claim, now time.Time) (id string, err error) {
	c.CreatedAt = now
	if c.Key != "" || c.Validate() != nil {
		return "", nil
	}
	known, err := consolidate.Similar(ctx, s, c)
	if err != nil {
		return "", err
	}
	for i := range known {
		have := &known[i]
		if !repeats(&c, have) {
			continue
		}
		trust := have.Support(nil).Trust
		more := slices.DeleteFunc(slices.Clone(c.Evidence), func(e ken.Evidence) bool {
			return e.Speaker() < trust || e.Speaker() < ken.TrustOperator && !e.Hard() && !e.Backed() ||
				slices.ContainsFunc(have.Evidence, func(o ken.Evidence) bool {
					return o.Kind == e.Kind && o.Reference() == e.Reference() && o.ContentHash == e.ContentHash
				})
		})
		if len(more) == 0 {
			return have.ID, nil
		}
		return have.ID, s.Reinforce(ctx, have.ID, more, c.Actor)
	}
	return "", nil
}

// repeats reports whether a new claim says nothing that have does not say.
func repeats(c, have *ken.Claim) bool {
	within := func(few, all []string) bool {
		return !slices.ContainsFunc(few, func(s string) bool { return !slices.Contains(all, s) })
	}
	switch {
	case strings.TrimSpace(c.Text) != strings.TrimSpace(have.Text), c.Kind != have.Kind, c.Scope != have.Scope, c.Project != have.Project,
		have.Status != c.Status && have.Status != ken.StatusVerified, !have.ArchivedAt.IsZero(), have.Expired(c.CreatedAt), !c.ExpiresAt.Equal(have.ExpiresAt),
		c.Support(nil).Trust > have.Support(nil).Trust:
		return false
	case c.Heading != have.Heading, c.Source != "" && c.Source != have.Source, string(c.Body) != string(have.Body), c.Domain != "" && c.Domain != have.Domain,
		c.Confidence != have.Confidence, c.Importance != have.Importance, c.Aspect != "" && c.Aspect != have.Aspect, c.Session != "" && c.Session != have.Session:
		return false
	case c.Constraint && !have.Constraint, c.RuleCandidate && !have.RuleCandidate && !have.Constraint,
		c.AssignedBy != "" && (c.Constraint != have.Constraint || c.RuleCandidate != have.RuleCandidate):
		return false
	}
	return within(c.Tags, have.Tags) && within(c.Entities, have.Entities)
}
