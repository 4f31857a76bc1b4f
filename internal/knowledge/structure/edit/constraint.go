package edit

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"slices"
	"strings"
	"time"

	"github.com/kenlayer/ken"
	"github.com/kenlayer/ken/internal/knowledge/structure/reading"
)

// NewConstraint is a rule to add. Only Text is required.
type NewConstraint struct {
	Text string
	// Entities is what the rule is about, the primary one first. If it is empty, it is derived
	// from the text. A rule about nothing in particular applies in every turn.
	Entities []string
	Aspect   string // aspect of the primary entity; derived from the text if empty

	Scope     ken.Scope // zero means the editor's
	Project   string    // "" means the editor's
	ExpiresAt time.Time
	Evidence  []ken.Evidence // nil means the editor's
}

// Constraint is a rule that was written.
type Constraint struct {
	Claim        ken.Claim
	Dependencies []ken.Claim // dependencies that its text states
	Changed      bool        // false if everything existed already
}

// importance is that of a rule; a fact has 0.5.
const importance = 0.8

// AddConstraint adds a rule, and the dependencies that its text states. If a claim says the
// same, that claim becomes a rule instead. From an agent, the rule is a candidate until an
// operator approves it; see ken.Claim.RuleCandidate. Errors: ErrInvalid; ErrRefused for text of
// an external source unless an operator edits, and for an agent that repeats a disputed rule;
// the store's.
func (e *Editor) AddConstraint(ctx context.Context, n NewConstraint) (Constraint, error) {
	at := e.in(n.Scope, n.Project)
	c := at.newClaim(ken.KindFact, at.key(constraintKey(n.Text)), strings.TrimSpace(n.Text), at.evidence(n.Evidence))
	c.Constraint, c.Importance, c.ExpiresAt, c.Aspect = c.AssignedBy == ken.AssignedByOperator, importance, n.ExpiresAt, strings.TrimSpace(n.Aspect)
	c.RuleCandidate = !c.Constraint
	if err := c.Validate(); err != nil {
		return Constraint{}, err
	}
	given := ken.Assignment{By: c.AssignedBy, Aspect: c.Aspect, Constraint: c.Constraint, RuleCandidate: c.RuleCandidate, Actor: at.o.Actor}
	_, names, err := spellEach("entities", n.Entities)
	if err != nil {
		return Constraint{}, err
	}
	c.Entities = names
	if c.AssignedBy != ken.AssignedByOperator && c.Support(nil).Trust < ken.TrustAgent {
		return Constraint{}, noRule()
	}
	given.Entities = slices.Clone(c.Entities)
	read := reading.Read(&c, at.source())
	fillConstraint(&c, &read)
	return exclusive(ctx, at, "links", func(ctx context.Context) (Constraint, error) {
		return at.addConstraint(ctx, c, given, read.Dependencies)
	})
}

// ApproveRule makes a rule of a claim, whoever said it, with the operator as evidence. Errors:
// ErrRefused if the editor is not an operator's; the store's.
func (e *Editor) ApproveRule(ctx context.Context, c ken.Claim) (Constraint, error) {
	word := e.newClaim(c.Kind, "", c.Text, e.evidence(nil))
	if word.AssignedBy != ken.AssignedByOperator {
		return Constraint{}, refused("evidence", "only an operator approves a rule", "Ask the operator to approve it.")
	}
	read := reading.Read(&c, e.source())
	fillConstraint(&c, &read)
	return exclusive(ctx, e, "links", func(ctx context.Context) (Constraint, error) {
		given := ken.Assignment{By: word.AssignedBy, Entities: c.Entities, Aspect: c.Aspect, Constraint: true, Actor: e.o.Actor}
		word.Entities, word.Aspect = c.Entities, c.Aspect
		return e.makeRule(ctx, c, &word, given, read.Dependencies)
	})
}

func noRule() error {
	return refused("evidence", "what an external source says is no rule", "Ask the operator to add it as a constraint; until then it can be learned as a fact.")
}

// minConfidence is the minimum confidence of a name in a rule's text for the rule to apply to
// that entity only. A rule about nothing in particular is in every turn, which is safer than
// one that is filed under a word that is not a name and so is in no turn.
const minConfidence = reading.ByCapital

// fillConstraint sets fields that the caller left empty from the text.
func fillConstraint(c *ken.Claim, r *reading.Reading) {
	if len(c.Entities) == 0 {
		for _, m := range r.Entities {
			if m.Confidence >= minConfidence {
				c.Entities = append(c.Entities, m.Name)
			}
		}
	}
	if c.Aspect == "" && len(c.Entities) > 0 {
		c.Aspect = r.Aspect
	}
}

func (e *Editor) addConstraint(ctx context.Context, c ken.Claim, given ken.Assignment, stated []reading.Dependency) (Constraint, error) {
	have, err := e.existingConstraint(ctx, &c)
	if err != nil {
		return Constraint{}, err
	}
	if have != nil {
		return e.makeRule(ctx, *have, &c, given, stated)
	}
	c.ID = e.o.NewID()
	edges, err := e.derived(ctx, &c, stated)
	if err != nil {
		return Constraint{}, err
	}
	out, changed, err := e.write(ctx, append([]ken.Claim{c}, edges...)...)
	if err != nil {
		return Constraint{}, err
	}
	return Constraint{out[0], out[1:], slices.Contains(changed, true)}, nil
}

// existingConstraint returns the claim in the same scope that says the same as c: the rule
// itself, whatever its status, or another valid claim. It returns nil if there is none.
func (e *Editor) existingConstraint(ctx context.Context, c *ken.Claim) (*ken.Claim, error) {
	have, err := e.s.ByKey(ctx, c.Key)
	if err == nil && plain(have.Text) == plain(c.Text) {
		return &have, nil
	}
	if err != nil && !errors.Is(err, ken.ErrNotFound) {
		return nil, err
	}
	f := e.filter()
	f.ClaimsOnly = true
	found, err := e.s.Keyword(ctx, clipped(c.Text), f, 8)
	if err != nil {
		return nil, err
	}
	for _, h := range found.Hits {
		o, err := e.s.Claim(ctx, h.Ref)
		if errors.Is(err, ken.ErrNotFound) {
			continue
		}
		if err != nil {
			return nil, err
		}
		if o.Scope == c.Scope && plain(o.Text) == plain(c.Text) {
			return &o, nil
		}
	}
	return nil, nil
}

// clipped returns the part of a text that is used to search for it.
func clipped(s string) string { return strings.ToValidUTF8(s[:min(len(s), 1000)], "") }

// makeRule makes a rule of a claim that says the same.
func (e *Editor) makeRule(ctx context.Context, have ken.Claim, c *ken.Claim, given ken.Assignment, stated []reading.Dependency) (Constraint, error) {
	operator := c.AssignedBy == ken.AssignedByOperator
	if !operator && have.Support(nil).Trust < ken.TrustAgent {
		return Constraint{}, noRule()
	}
	out, was := Constraint{Claim: have}, have.Status
	var err error
	if !isRecalled(&have) {
		if err := e.mayRevive(&have, c.Evidence); err != nil {
			return out, err
		}
		if out.Claim, err = e.revive(ctx, have, "stated again", c.Evidence); err != nil {
			return out, err
		}
	} else if out.Claim, err = e.addEvidence(ctx, have, c.Evidence); err != nil {
		return out, err
	}
	out.Changed = was != out.Claim.Status || len(have.Evidence) != len(out.Claim.Evidence)
	changed := false
	if given.ID = have.ID; len(given.Entities) > 0 || given.Aspect != "" || !have.Constraint && (operator || !have.RuleCandidate) {
		if len(given.Entities) == 0 { // an operator's assignment replaces the claim's entities
			given.Entities = have.Entities
		}
		if len(given.Entities) == 0 {
			given.Entities, given.Aspect = c.Entities, c.Aspect
		}
		if changed, err = e.s.Assign(ctx, given); err != nil {
			return out, err
		}
	}
	edges, err := e.derived(ctx, &out.Claim, stated)
	if err != nil {
		return out, err
	}
	written, more, err := e.write(ctx, edges...)
	if err != nil {
		return out, err
	}
	out.Dependencies, out.Changed = written, out.Changed || changed || slices.Contains(more, true)
	out.Claim, err = e.s.Get(ctx, have.ID)
	return out, err
}

// derived returns claims for the dependencies that a claim states. Existing ones are left out,
// whatever their status: a disputed dependency must not come back because a text states it.
func (e *Editor) derived(ctx context.Context, c *ken.Claim, stated []reading.Dependency) ([]ken.Claim, error) {
	from := ken.FromRepositoryMemory(c.ID)
	from.Trust = c.Support(nil).Trust
	from.FetchedAt = e.now()
	var out []ken.Claim
	for _, s := range stated {
		d, err := edgeOf(s.Source, s.Type, s.Target, s.Strength)
		if err != nil {
			continue // the text states something unusual; the rule is added all the same
		}
		if e.canonicalEnds(ctx, &d) != nil {
			continue // two names of one thing
		}
		have, err := e.existingDependency(ctx, &d)
		if err != nil {
			return nil, err
		}
		if have == nil {
			out = append(out, e.claimOf(d, []ken.Evidence{from}))
		}
	}
	return out, nil
}

func constraintKey(text string) string {
	sum := sha256.Sum256([]byte(plain(text)))
	return "constraint:" + hex.EncodeToString(sum[:16])
}

// plain returns a text in the form in which texts are compared.
func plain(text string) string {
	return strings.TrimRight(strings.ToLower(strings.Join(strings.Fields(text), " ")), ".! ")
}
