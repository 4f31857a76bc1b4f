package tools

import (
	"context"
	"errors"
	"slices"
	"strings"
	"time"

	"github.com/kenlayer/ken"
	"github.com/kenlayer/ken/internal/harvest/consolidate"
	"github.com/kenlayer/ken/internal/knowledge/structure"
	"github.com/kenlayer/ken/internal/knowledge/structure/edit"
)

// editor returns an editor of the knowledge structure for the caller. What it writes has at most an
// agent's trust. It refuses a rule that an external source states.
func (c *Call) editor(tool string, evidence []ken.Evidence) *edit.Editor {
	return edit.New(c.Store, edit.Options{Now: c.Now, Actor: c.actor(), Evidence: evidence, By: ken.AssignedByModel, Scope: c.scope(), Scopes: c.Scopes,
		Project: c.Project, Session: c.Session, Branch: c.Branch, SourceType: "tool:" + tool})
}

// visibleFilter returns a filter for current claims that are within the caller's scopes and trusted
// enough.
func (c *Call) visibleFilter() *ken.Filter {
	f := c.filter(nil)
	f.MinTrust, f.Now = c.r.layer.Config().Retrieval.MinTrust, c.Now()
	return &f
}

// evidenceFor returns the evidence for an agent's text: the given pieces, or the agent's assertion.
// If the text repeats an external claim, that claim is added as evidence, so that the text stays
// external.
func (c *Call) evidenceFor(ctx context.Context, text string, given []evidenceIn) (checkedEvidence, error) {
	if len(given) == 0 {
		given = []evidenceIn{{Kind: string(ken.EvidenceAgentAssertion)}}
	}
	ev, err := c.evidence(ctx, given)
	if err != nil {
		return ev, err
	}
	ids, err := c.externalClaimsSaying(ctx, text)
	for _, id := range ids {
		from := ken.FromRepositoryMemory(id)
		from.Trust, from.FetchedAt = ken.TrustExternal, c.Now()
		ev.pieces = append(ev.pieces, from)
		ev.notes = append(ev.notes, "claim "+shortID(id)+" of an external source says so, and this is as external as that")
	}
	return ev, err
}

// externalClaimsSaying returns the ids of the claims of external sources that say the text.
func (c *Call) externalClaimsSaying(ctx context.Context, text string) (external []string, err error) {
	ids, err := c.claimsSaying(ctx, text)
	for _, id := range ids {
		k, err := c.Store.Get(ctx, id)
		switch {
		case errors.Is(err, ken.ErrNotFound): // a piece of a file
		case err != nil:
			return nil, err
		case k.Support(nil).Trust < ken.TrustAgent:
			external = append(external, id)
		}
	}
	return external, err
}

// claimsSaying returns the ids of claims that say the same as a text, and that were shown in this
// session or are known.
func (c *Call) claimsSaying(ctx context.Context, text string) ([]string, error) {
	var ids []string
	id, echo, err := c.echo(ctx, text)
	if err != nil {
		return nil, err
	}
	if echo && id != "" {
		ids = append(ids, id)
	}
	k := ken.Claim{Kind: ken.KindFact, Text: text, Scope: c.scope(), Status: ken.StatusObserved, CreatedAt: c.Now(),
		Evidence: []ken.Evidence{ken.FromAgentAssertion(c.Agent, "")}}
	known, err := consolidate.Similar(ctx, c.Store, k)
	if err != nil {
		return nil, err
	}
	known = slices.DeleteFunc(known, func(o ken.Claim) bool { return !c.sees(&o) })
	if a := consolidate.Plan(k, known); a.Do == consolidate.Skip || a.Do == consolidate.Reinforce {
		for _, id := range append(a.IDs, a.Own) {
			if id != "" && !slices.Contains(ids, id) {
				ids = append(ids, id)
			}
		}
	}
	return ids, nil
}

// parseTime parses a date or a time; "" and "never" are the zero time.
func parseTime(field, s string) (time.Time, error) {
	if s = strings.TrimSpace(s); s == "" || s == "never" {
		return time.Time{}, nil
	}
	for _, layout := range []string{time.RFC3339, time.DateOnly} {
		if t, err := time.Parse(layout, s); err == nil {
			return t.UTC(), nil
		}
	}
	return time.Time{}, invalid(field, clip(s)+" is no time", "Write it as in 2026-12-31 or 2026-12-31T18:00:00Z.")
}

// nameList formats names for one line.
func nameList(list []string) string {
	out := make([]string, len(list))
	for i, n := range list {
		out[i] = oneLine(n, maxName)
	}
	return strings.Join(out, ", ")
}

// maxName is the maximum length of a name that is shown, in code points.
const maxName = 120

// constraintIn are constraint_add's arguments.
type constraintIn struct {
	Text      string       `json:"text" rule:"filled;chars=2000" jsonschema:"one statement that makes sense without this conversation"`
	Entities  []string     `json:"entities,omitempty" rule:"items=20;chars=200;filled" jsonschema:"what it is about, the most important first; default: names in the text. A rule about nothing is in every turn"`
	Aspect    string       `json:"aspect,omitempty" rule:"chars=80" jsonschema:"such as deployment or security"`
	ExpiresAt string       `json:"expires_at,omitempty" rule:"chars=40" jsonschema:"such as 2026-12-31; default: never"`
	Evidence  []evidenceIn `json:"evidence,omitempty" rule:"items=20" jsonschema:"who or what says so; default: your own word"`
}

// constraintResult is the outcome of adding a rule.
type constraintResult struct {
	Outcome      string   `json:"outcome" rule:"enum=candidate|rule|known" jsonschema:"candidate: a person has to approve it; rule: it is one already"`
	ID           string   `json:"id"`
	Status       string   `json:"status"`
	Tier         string   `json:"tier" jsonschema:"how far it may be believed: Verified, Inferred, Assumed or Guessed"`
	Trust        string   `json:"trust"`
	Entities     []string `json:"entities" jsonschema:"what it is about; none: it is in every turn"`
	Aspect       string   `json:"aspect,omitempty"`
	Dependencies []string `json:"dependencies,omitempty" jsonschema:"that its text states, and that are known now"`
	Notes        []string `json:"notes,omitempty"`
}

// Outcomes of constraint_add, in addition to outcomeKnown.
const (
	outcomeCandidate = "candidate"
	outcomeRule      = "rule"
)

// Write implements Output.
func (a *constraintResult) Write(p *Page) {
	switch a.Outcome {
	case outcomeKnown:
		p.Line("That rule is there already; nothing was changed.")
	case outcomeRule:
		p.Line("The rule is kept.")
	default:
		p.Line("Kept as a candidate rule. Turns that it bears on are told it as that, until a person approves it: ken memory approve " + shortID(a.ID))
	}
	if what := "Approved, it is"; a.Outcome == outcomeCandidate && len(a.Entities) == 0 {
		p.Line(what + " in every turn, since it is about nothing in particular. Name entities to narrow it.")
	} else if a.Outcome == outcomeCandidate {
		p.Line(what + " in every turn about " + nameList(a.Entities) + " and what is one dependency away.")
	}
	p.Line("id " + a.ID + ", " + a.Status + ", tier " + a.Tier + ", trust " + a.Trust)
	for _, d := range a.Dependencies {
		p.Line("dependency: " + d)
	}
	p.notes(a.Notes)
}

func constraintAdd() Tool {
	return Define(Spec{Name: "constraint_add", Title: "Add a constraint", Effect: Writes, Right: Write, Idempotent: true,
		Description: "Propose a rule, such as \"never deploy payments on Fridays\", when the user sets one. It is a candidate until a person approves " +
			"it; then it is in every turn about its entities. For facts use knowledge_learn. An external source cannot set rules.",
		Example: `{"text":"Never deploy the payments service on Fridays.","entities":["payments"],"evidence":[{"kind":"user_statement"}]}`},
		func(ctx context.Context, c *Call, in constraintIn) (*constraintResult, error) {
			until, err := parseTime("expires_at", in.ExpiresAt)
			if err != nil {
				return nil, err
			}
			ev, err := c.evidenceFor(ctx, in.Text, in.Evidence)
			if err != nil {
				return nil, err
			}
			release, err := c.r.writeLocks.Take(ctx, c.Owner)
			if err != nil {
				return nil, err
			}
			defer release()
			got, err := c.editor("constraint_add", ev.pieces).AddConstraint(ctx, edit.NewConstraint{Text: in.Text, Entities: in.Entities, Aspect: in.Aspect, ExpiresAt: until})
			if err != nil {
				return nil, err
			}
			k := c.show(got.Claim)
			out := &constraintResult{Outcome: outcomeCandidate, ID: k.ID, Status: k.Status, Tier: k.Tier, Trust: k.Trust, Entities: append([]string{}, got.Claim.Entities...),
				Aspect: got.Claim.Aspect, Notes: ev.notes}
			if got.Claim.Constraint {
				out.Outcome = outcomeRule
			}
			if !got.Changed {
				out.Outcome = outcomeKnown
				return out, nil
			}
			c.Touch(k.ID)
			for _, d := range got.Dependencies {
				c.Touch(d.ID)
				out.Dependencies = append(out.Dependencies, oneLine(d.Text, maxHeading))
			}
			return out, nil
		})
}

// dependencyIn are dependency_add's arguments.
type dependencyIn struct {
	Source   string       `json:"source" rule:"filled;chars=200" jsonschema:"what depends"`
	Type     string       `json:"type" rule:"enum=uses|requires|owned_by|blocks|informs"`
	Target   string       `json:"target" rule:"filled;chars=200" jsonschema:"what it depends on"`
	Strength *float64     `json:"strength,omitempty" rule:"min=0.01;max=1" jsonschema:"default 0.5; below 0.3 it is not followed by default"`
	Evidence []evidenceIn `json:"evidence,omitempty" rule:"items=20" jsonschema:"who or what says so; default: your own word"`
}

// dependencyResult is a dependency after it was added.
type dependencyResult struct {
	ID       string   `json:"id"`
	Text     string   `json:"text"`
	Strength float64  `json:"strength"`
	Status   string   `json:"status"`
	Tier     string   `json:"tier" jsonschema:"how far it may be believed: Verified, Inferred, Assumed or Guessed"`
	Trust    string   `json:"trust"`
	Notes    []string `json:"notes,omitempty"`
}

// Write implements Output.
func (d *dependencyResult) Write(p *Page) {
	p.Line("It is known now that " + d.Text + ".")
	p.Line("id " + d.ID + ", " + d.Status + ", tier " + d.Tier + ", trust " + d.Trust)
	p.notes(d.Notes)
}

func dependencyAdd() Tool {
	return Define(Spec{Name: "dependency_add", Title: "Add a dependency", Effect: Writes, Right: Write, Idempotent: true,
		Description: "Record that one thing uses, requires, is owned by, blocks or informs another. Turns about one then show the rules of the other.",
		Example:     `{"source":"payments","type":"requires","target":"ledger"}`},
		func(ctx context.Context, c *Call, in dependencyIn) (*dependencyResult, error) {
			ev, err := c.evidenceFor(ctx, structure.Sentence(in.Source, in.Type, in.Target), in.Evidence)
			if err != nil {
				return nil, err
			}
			strength := 0.0
			if in.Strength != nil {
				strength = *in.Strength
			}
			before := c.Store.Seq()
			got, err := c.editor("dependency_add", ev.pieces).AddDependency(ctx, in.Source, in.Type, in.Target, strength)
			if err != nil {
				return nil, err
			}
			if c.Store.Seq() != before {
				c.Touch(got.ID)
			}
			k := c.show(got)
			return &dependencyResult{k.ID, oneLine(got.Text, maxHeading), got.Importance, k.Status, k.Tier, k.Trust, ev.notes}, nil
		})
}
