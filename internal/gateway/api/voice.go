package api

import (
	"slices"

	"github.com/kenlayer/ken"
	"github.com/kenlayer/ken/internal/access"
	"github.com/kenlayer/ken/store"
)

// Who may write but not operate speaks as an agent: nothing that it sends is taken
// for a person's word, and nothing that it sends gets into every turn.

// vouched returns evidence as the caller may give it. A piece without a time is from
// now; a person's word without a name is the caller's; an agent's pieces speak with
// an agent's voice at most; a file of the project gets its hash.
func (c *call) vouched(evidence []ken.Evidence) []ken.Evidence {
	out := slices.Clone(evidence)
	for i := range out {
		e := &out[i]
		if e.FetchedAt.IsZero() {
			e.FetchedAt = c.api.o.Now().UTC()
		}
		if e.Kind == ken.EvidenceHumanAssertion && e.ID == "" {
			e.ID = c.who.Name
		}
		if !c.operator() {
			e.Trust = min(max(e.Speaker(), ken.TrustExternal), ken.TrustAgent)
		}
	}
	c.hash(out)
	return out
}

// spoken reports evidence that only a person can give.
func (c *call) spoken(evidence []ken.Evidence) error {
	if c.operator() {
		return nil
	}
	for _, e := range evidence {
		if e.Kind == ken.EvidenceHumanAssertion || e.Kind == ken.EvidenceUserStatement {
			return c.personal("evidence", "evidence of kind "+string(e.Kind)+" is a person's word")
		}
	}
	return nil
}

// modest reports what of a claim is not an agent's to say.
func (c *call) modest(want *ken.Claim) error {
	switch {
	case want.Constraint:
		return c.personal("constraint", "a constraint surfaces in every turn that it is about")
	case store.Pinned(want.Kind) && want.Status != ken.StatusHypothesis:
		return c.personal("status", "a claim of kind "+string(want.Kind)+" is in every turn unless it is a hypothesis")
	}
	return c.spoken(want.Evidence)
}

// personal refuses what needs a person.
func (c *call) personal(field, why string) error {
	p := problemf(codeForbidden, "This needs the right %q: %s.", string(access.Operate), why)
	p.Try, p.field = ken.Hint(c.who.Need(access.Operate)), field
	return p
}
