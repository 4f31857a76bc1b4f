package tools

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/kenlayer/ken"
	"github.com/kenlayer/ken/internal/analysis"
	"github.com/kenlayer/ken/internal/harvest/consolidate"
	"github.com/kenlayer/ken/internal/harvest/matcher"
	"github.com/kenlayer/ken/internal/knowledge/structure"
	"github.com/kenlayer/ken/internal/knowledge/structure/reading"
	"github.com/kenlayer/ken/internal/run/session"
)

// Outcomes of learning.
const (
	outcomeLearned    = "learned"    // it is a new claim
	outcomeKnown      = "known"      // a claim says this already, and nothing was added
	outcomeReinforced = "reinforced" // a claim says this already, and got the evidence
	outcomeEcho       = "echo"       // Ken itself said this in the session
	outcomeRejected   = "rejected"   // a disputed claim says this; a person has to decide
	outcomeOutdated   = "outdated"   // newer knowledge contradicts it
	outcomeDisputed   = "disputed"   // it contradicts a current claim; a person has to decide
)

// learnResult is the outcome of learning a claim.
type learnResult struct {
	Outcome    string   `json:"outcome" rule:"enum=learned|known|reinforced|echo|rejected|outdated|disputed"`
	ID         string   `json:"id,omitempty" jsonschema:"of the claim that says so now"`
	Status     string   `json:"status,omitempty"`
	Tier       string   `json:"tier,omitempty" jsonschema:"how far it may be believed: Verified, Inferred, Assumed or Guessed"`
	Trust      string   `json:"trust,omitempty"`
	Superseded []string `json:"superseded,omitempty" jsonschema:"ids of claims that it replaces"`
	Conflicts  []string `json:"conflicts,omitempty" jsonschema:"ids of claims that it contradicts"`
	State      string   `json:"state,omitempty" rule:"enum=rule|candidate|fact" jsonschema:"how the claim was understood; candidate: it may be a rule, which a person decides, and is a fact until then"`
	About      []string `json:"about,omitempty" jsonschema:"what the claim is about, the main thing first"`
	Reach      string   `json:"reach,omitempty" jsonschema:"in which turns it is shown"`
	Notes      []string `json:"notes,omitempty" jsonschema:"what was not taken as it was given, and why"`
}

// Write implements Output.
func (l *learnResult) Write(p *Page) {
	p.Line(map[string]string{
		outcomeLearned:    "Learned as a new claim.",
		outcomeKnown:      "That is known already; nothing was added.",
		outcomeReinforced: "That is known already; the evidence was added.",
		outcomeEcho:       "Ken itself told you so in this session; nothing was learned. To back it, give evidence to knowledge_verify.",
		outcomeRejected:   "A claim that says so is disputed; a person decides about it. Nothing was learned.",
		outcomeOutdated:   "Something newer is known; nothing was learned. See knowledge_history.",
		outcomeDisputed:   "It contradicts what is known, so it is kept as disputed until a person decides.",
	}[l.Outcome])
	if l.ID != "" {
		p.Line("id " + l.ID + ", " + l.Status + ", tier " + l.Tier + ", trust " + l.Trust)
	}
	if l.State != "" {
		about := "nothing in particular"
		if len(l.About) > 0 {
			about = nameList(l.About)
		}
		p.Line("understood as a " + l.State + " about " + about + "; shown in " + oneLine(l.Reach, maxHeading))
	}
	for _, list := range []struct {
		title string
		ids   []string
	}{{"replaces", l.Superseded}, {"contradicts", l.Conflicts}} {
		if len(list.ids) > 0 {
			p.Line(list.title + " " + strings.Join(list.ids, ", "))
		}
	}
	p.notes(l.Notes)
}

// learn compares a new claim of the agent with known claims and stores the result. The claim's
// evidence has at most an agent's trust.
func (c *Call) learn(ctx context.Context, k ken.Claim, about []string, rule *bool, notes []string) (*learnResult, error) {
	if len(about) > 0 {
		k.Entities = append(slices.Clone(about), k.Entities...)
	}
	if rule != nil {
		k.RuleCandidate = *rule
	}
	out, err := c.learnClaim(ctx, k, rule, notes)
	if err != nil || out == nil || out.ID == "" || len(about) == 0 && (rule == nil || !*rule) || out.Outcome != outcomeKnown && out.Outcome != outcomeReinforced {
		return out, err
	}
	// The claim was known. Its entities, and that it may be a rule, may still be new.
	_, err = c.Store.Assign(ctx, ken.Assignment{ID: out.ID, By: ken.AssignedByModel, Entities: about, RuleCandidate: rule != nil && *rule, Actor: c.actor()})
	if err != nil {
		return out, err
	}
	return c.outcome(ctx, out.Outcome, out.ID, out.Notes)
}

func (c *Call) learnClaim(ctx context.Context, k ken.Claim, rule *bool, notes []string) (*learnResult, error) {
	k.Scope, k.Project, k.Session, k.Branch, k.Actor = c.scope(), c.Project, c.Session, c.Branch, c.actor()
	k.CreatedAt = c.Now()
	if rule != nil && !*rule { // even if its text reads as a rule
		reading.Assign(&k, c.Store)
		k.Constraint, k.RuleCandidate, k.AssignedBy = false, false, ken.AssignedByModel
	}
	given := k.Text
	if len(k.Evidence) == 0 { // the session handle refuses it and reports it to the attention queue
		_, err := c.handle().Learn(ctx, k.Text, nil)
		return nil, err
	}
	id, echo, err := c.echo(ctx, k.Text)
	if err != nil {
		return nil, err
	}
	if echo {
		return c.outcome(ctx, outcomeEcho, id, notes)
	}
	release, err := c.r.writeLocks.Take(ctx, c.Owner)
	if err != nil {
		return nil, err
	}
	defer release()
	k.Key = learnKey(&k)
	out, err := c.consolidate(ctx, k, notes)
	if errors.Is(err, ken.ErrRefused) && ctx.Err() == nil { // another call changed a claim in the meantime
		out, err = c.consolidate(ctx, k, notes)
	}
	if err != nil {
		return nil, err
	}
	if kept, err := c.Store.Get(ctx, out.ID); err == nil && out.Outcome == outcomeLearned && analysis.WithoutPastNotes(kept.Text) != strings.TrimSpace(given) {
		out.Notes = append(out.Notes, "what looked like a secret, a model's reasoning or a control character was taken out")
	}
	return out, nil
}

// learnKey returns a key that depends only on the claim's scope, kind and text. So the same text
// becomes one claim, even if two processes learn it at once.
func learnKey(k *ken.Claim) string {
	sum := sha256.Sum256([]byte(k.Scope.String() + "\x00" + string(k.Kind) + "\x00" + strings.ToLower(collapseSpaces(k.Text))))
	return "tool:" + hex.EncodeToString(sum[:16])
}

func (c *Call) consolidate(ctx context.Context, k ken.Claim, notes []string) (*learnResult, error) {
	known, err := consolidate.Similar(ctx, c.Store, k)
	if err != nil {
		return nil, err
	}
	known = slices.DeleteFunc(known, func(o ken.Claim) bool { return !c.sees(&o) })
	a := consolidate.Plan(k, known)
	switch own := a.Own; {
	case own != "" && a.Do == consolidate.Skip:
		return c.reinforce(ctx, own, k.Evidence, notes)
	case a.Do == consolidate.Skip:
		return c.skipOutcome(ctx, a, notes)
	case a.Do == consolidate.Reinforce:
		return c.reinforce(ctx, a.IDs[0], a.Evidence, notes)
	}
	res, err := consolidate.Apply(ctx, auditedStore{c.Store, c.handle()}, k, known)
	if err == nil {
		err = matcher.WithdrawAll(ctx, c.Store, res.Superseded, c.actor())
	}
	if err != nil {
		return nil, err
	}
	c.Touch(res.ID)
	c.Touch(res.Superseded...)
	c.Touch(res.Amended...)
	c.Touch(res.Disputed...)
	what := outcomeLearned
	if slices.Contains(res.Disputed, res.ID) {
		what = outcomeDisputed
	}
	out, err := c.outcome(ctx, what, res.ID, notes)
	if err != nil {
		return nil, err
	}
	out.Superseded = slices.Concat(res.Superseded, res.Amended)
	for _, list := range [][]string{a.IDs, a.Against} {
		for _, id := range list {
			if what == outcomeDisputed && !slices.Contains(out.Conflicts, id) {
				out.Conflicts = append(out.Conflicts, id)
			}
		}
	}
	return out, nil
}

// reinforce handles a claim that is known already. The known claim gets the evidence except for
// assertions: an agent that repeats what it was told must not raise the claim's tier.
func (c *Call) reinforce(ctx context.Context, id string, evidence []ken.Evidence, notes []string) (*learnResult, error) {
	k, err := c.Store.Get(ctx, id)
	if err != nil {
		return nil, err
	}
	trust := k.Support(nil).Trust
	more := slices.DeleteFunc(newEvidence(k.Evidence, evidence), func(e ken.Evidence) bool {
		return !e.Hard() && !e.Backed() || e.Speaker() < trust
	})
	if len(more) == 0 || !slices.Contains(ken.RecallStatuses(), k.Status) {
		return c.outcome(ctx, outcomeKnown, id, notes)
	}
	if err := c.Store.Reinforce(ctx, id, more, c.actor()); err != nil {
		return nil, err
	}
	c.Touch(id)
	return c.outcome(ctx, outcomeReinforced, id, notes)
}

func (c *Call) skipOutcome(ctx context.Context, a consolidate.Action, notes []string) (*learnResult, error) {
	what := map[string]string{consolidate.Rejected: outcomeRejected, consolidate.Outdated: outcomeOutdated}[a.Reason]
	ids := append([]string{a.Own}, a.IDs...)
	return c.outcome(ctx, cmp.Or(what, outcomeKnown), cmp.Or(ids...), notes)
}

// outcome describes the current state of the claim with this id. It may also be a piece of a file,
// or deleted.
func (c *Call) outcome(ctx context.Context, what, id string, notes []string) (*learnResult, error) {
	out := &learnResult{Outcome: what, Notes: notes}
	k, err := c.Store.Get(ctx, id)
	switch {
	case id == "", errors.Is(err, ken.ErrNotFound), err == nil && !c.sees(&k):
		return out, nil
	case err != nil:
		return nil, fmt.Errorf("read what was learned: %w", err)
	}
	v := c.r.layer.Operator().View(k)
	out.ID, out.Status, out.Tier, out.Trust = k.ID, string(k.Status), v.Tier.String(), v.Trust.String()
	u := structure.Understand(&k)
	out.State, out.About, out.Reach = u.State, u.About, u.Reach
	return out, nil
}

// handle returns the session's handle, which writes each action to the event log.
func (c *Call) handle() *session.Session {
	return c.r.layer.Operator().Handle(ken.Turn{Owner: c.Owner, Project: c.Project, Session: c.Session, Branch: c.Branch, Agent: c.Agent, Scopes: c.Scopes})
}

// auditedStore is a store whose new claims are written through a session's handle.
type auditedStore struct {
	consolidate.Store
	h *session.Session
}

// WriteClaim implements ken.Store.
func (r auditedStore) WriteClaim(ctx context.Context, k ken.Claim) (string, error) {
	return r.h.Learn(ctx, k.Text, k.Evidence, func(o *ken.Claim) {
		k.ID = o.ID
		*o = k
	})
}

// SupersedeFor implements consolidate.Superseder if the store does.
func (r auditedStore) SupersedeFor(ctx context.Context, oldID, newID, reason string, actor ken.Actor) error {
	if s, ok := r.Store.(consolidate.Superseder); ok {
		return s.SupersedeFor(ctx, oldID, newID, reason, actor)
	}
	return r.Supersede(ctx, oldID, newID)
}

// ByKey implements consolidate.Keyed if the store does.
func (r auditedStore) ByKey(ctx context.Context, key string) (ken.Claim, error) {
	if s, ok := r.Store.(consolidate.Keyed); ok {
		return s.ByKey(ctx, key)
	}
	return ken.Claim{}, ken.ErrNotFound
}

// learnIn are knowledge_learn's arguments.
type learnIn struct {
	Claim      string       `json:"claim" rule:"filled;chars=4000" jsonschema:"one statement that makes sense without this conversation"`
	Evidence   []evidenceIn `json:"evidence" rule:"items=20" jsonschema:"what backs it, at least one piece"`
	Heading    string       `json:"heading,omitempty" rule:"chars=160" jsonschema:"topic, if the claim does not name it"`
	Kind       string       `json:"kind,omitempty" rule:"enum=fact|finding;default=fact" jsonschema:"finding: a tool discovered it"`
	Status     string       `json:"status,omitempty" rule:"enum=observed|inferred|hypothesis" jsonschema:"a hypothesis is not recalled by default"`
	Confidence *float64     `json:"confidence,omitempty" rule:"min=0;max=1" jsonschema:"how sure it is"`
	Domain     string       `json:"domain,omitempty" rule:"chars=80" jsonschema:"such as architecture"`
	Tags       []string     `json:"tags,omitempty" rule:"items=20;chars=80;filled"`
	About      []string     `json:"about,omitempty" rule:"items=20;chars=200;filled" jsonschema:"what it is about, the main thing first; default: names in the text"`
	Entities   []string     `json:"entities,omitempty" rule:"items=20;chars=200;filled" jsonschema:"further things that it names"`
	Rule       *bool        `json:"rule,omitempty" jsonschema:"true: it binds what is done later, and waits as a candidate for a person; false: it does not, whatever its words"`
}

func knowledgeLearn() Tool {
	return Define(Spec{Name: "knowledge_learn", Title: "Learn a claim", Effect: Writes, Right: Write, Idempotent: true,
		Description: "Keep a fact for later sessions, with its evidence: what the user told you (user_statement) or what you found out. " +
			"One statement per call. Evidence that Ken can check makes it stronger. Known facts are not kept twice.",
		Example: `{"claim":"Payments are retried three times.","evidence":[{"kind":"file","path":"retry.go"}]}`},
		func(ctx context.Context, c *Call, in learnIn) (*learnResult, error) {
			ev, err := c.evidence(ctx, in.Evidence)
			if err != nil {
				return nil, err
			}
			k := ken.Claim{Kind: ken.Kind(in.Kind), Heading: in.Heading, Text: in.Claim, Evidence: ev.pieces, Status: ken.StatusObserved,
				Confidence: 1, Importance: 0.5, Domain: in.Domain, Tags: in.Tags, Entities: in.Entities, SourceType: "tool:knowledge_learn"}
			if len(ev.pieces) > 0 && !slices.ContainsFunc(ev.pieces, func(e ken.Evidence) bool { return e.Kind != ken.EvidenceModelInference }) {
				k.Status, k.Confidence = ken.StatusHypothesis, 0.4
			}
			if in.Status != "" {
				k.Status = ken.Status(in.Status)
			}
			if in.Confidence != nil {
				k.Confidence = *in.Confidence
			}
			return c.learn(ctx, k, in.About, in.Rule, ev.notes)
		})
}

// ingestIn are memory_ingest's arguments.
type ingestIn struct {
	Text    string   `json:"text" rule:"filled;chars=4000" jsonschema:"the fact, in one statement that can be understood without this conversation"`
	From    string   `json:"from,omitempty" rule:"enum=user|agent;default=agent" jsonschema:"who says so: the user in this conversation, or you"`
	URL     string   `json:"url,omitempty" rule:"chars=2000" jsonschema:"the page that it comes from; it makes the fact external"`
	Heading string   `json:"heading,omitempty" rule:"chars=160" jsonschema:"what it is about"`
	Domain  string   `json:"domain,omitempty" rule:"chars=80" jsonschema:"a bucket of your own, such as preferences"`
	Tags    []string `json:"tags,omitempty" rule:"items=20;chars=80;filled"`
	About   []string `json:"about,omitempty" rule:"items=20;chars=200;filled" jsonschema:"what it is about, the main thing first; default: names in the text"`
	Rule    *bool    `json:"rule,omitempty" jsonschema:"true: it binds what is done later, and waits as a candidate for a person; false: it does not, whatever its words"`
}

func memoryIngest() Tool {
	return Define(Spec{Name: "memory_ingest", Title: "Remember a fact", Effect: Writes, Right: Write, Idempotent: true,
		Description: "Another name of knowledge_learn, for a fact with little evidence.",
		Example:     `{"text":"The user deploys on Tuesdays.","from":"user"}`},
		func(ctx context.Context, c *Call, in ingestIn) (*learnResult, error) {
			given := []evidenceIn{{Kind: string(ken.EvidenceAgentAssertion)}}
			if in.From == "user" {
				given[0].Kind = string(ken.EvidenceUserStatement)
			}
			if in.URL != "" {
				given = append(given, evidenceIn{Kind: string(ken.EvidenceURL), URL: in.URL})
			}
			ev, err := c.evidence(ctx, given)
			if err != nil {
				return nil, err
			}
			return c.learn(ctx, ken.Claim{Kind: ken.KindFact, Heading: in.Heading, Text: in.Text, Evidence: ev.pieces, Status: ken.StatusObserved,
				Confidence: 1, Importance: 0.5, Domain: in.Domain, Tags: in.Tags, SourceType: "tool:memory_ingest"}, in.About, in.Rule, ev.notes)
		})
}
