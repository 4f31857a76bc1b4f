package session

import (
	"context"
	"slices"
	"strings"

	"github.com/kenlayer/ken"
)

// LearnOption sets a field of a claim that is learned.
type LearnOption func(*ken.Claim)

// WithStatus says how the claim was come by: observed (the default), inferred or
// hypothesis. A claim gets further by Verify and Dispute.
func WithStatus(s ken.Status) LearnOption { return func(c *ken.Claim) { c.Status = s } }

// WithConfidence says how sure it is, 0..1; 1 is the default.
func WithConfidence(p float64) LearnOption { return func(c *ken.Claim) { c.Confidence = p } }

// WithDomain names the field that the claim is of, such as architecture.
func WithDomain(domain string) LearnOption { return func(c *ken.Claim) { c.Domain = domain } }

// WithTags adds tags.
func WithTags(tags ...string) LearnOption {
	return func(c *ken.Claim) { c.Tags = slices.Concat(c.Tags, tags) }
}

// WithKind says what the claim is; a fact is the default.
func WithKind(k ken.Kind) LearnOption { return func(c *ken.Claim) { c.Kind = k } }

// WithKey names the claim: learning it again under its key revises it. The id that
// the audit trail has then is one that was not used; Log is told both.
func WithKey(key string) LearnOption { return func(c *ken.Claim) { c.Key = key } }

// WithEntities adds named things that the claim is about.
func WithEntities(names ...string) LearnOption {
	return func(c *ken.Claim) { c.Entities = slices.Concat(c.Entities, names) }
}

// WithScope says what the claim applies to; About.Scope is the default.
func WithScope(scope ken.Scope) LearnOption { return func(c *ken.Claim) { c.Scope = scope } }

// Learn writes what was found out, with what backs it, and returns the claim's id;
// "" from a store that keeps nothing. evidence is never empty: where there is none,
// a hypothesis with ken.FromModelInference says so honestly. The caller's slices
// are not kept.
//
// Errors: ErrInvalid, which Rejected is told when evidence is what is missing;
// ErrRefused for a status that nothing starts with, and as the store says.
func (s *Session) Learn(ctx context.Context, text string, evidence []ken.Evidence, opts ...LearnOption) (id string, err error) {
	c := ken.Claim{ID: s.o.NewID(), Kind: ken.KindFact, Text: text, Evidence: slices.Clone(evidence),
		Status: ken.StatusObserved, Confidence: 1, Importance: 0.5,
		Scope: s.o.About.Scope, Project: s.o.About.Project, Session: s.o.About.ID, Branch: s.o.About.Branch, Actor: s.o.Actor,
		SourceType: "learn", CreatedAt: s.now()}
	for _, opt := range opts {
		opt(&c)
	}
	action := s.action(EventLearn, c.ID, c.Status, c.Evidence)
	action.ScopeType, action.ScopeID = string(c.Scope.Type), c.Scope.ID
	if err := c.Validate(); err != nil {
		if len(c.Evidence) == 0 {
			s.reject(ctx, action, c.Text, err)
		}
		return "", err
	}
	if c.Status != ken.StatusObserved && c.Status != ken.StatusInferred && c.Status != ken.StatusHypothesis {
		return "", &ken.Error{Code: ken.CodeRefused, Field: "status", Msg: "nothing is learned as " + string(c.Status),
			Try: "Learn it as observed, inferred or hypothesis, and verify or dispute it then."}
	}
	s.log(ctx, action)
	id, err = s.o.Store.WriteClaim(ctx, c)
	if err == nil && id != "" && id != c.ID {
		s.o.Log.Info("a claim was known under another id", "logged", c.ID, "claim_id", id, "key", c.Key)
	}
	return id, err
}

// RecallOptions narrows a recall; the zero value is the default.
type RecallOptions struct {
	Limit    int          // at most this many claims; <= 0 means 5
	Statuses []ken.Status // nil means ken.RecallStatuses; ask for disputed by name
	Kinds    []ken.Kind   // nil means every kind
	Scopes   []ken.Scope  // nil means About.Scopes; what is unscoped is always in
}

// defaultRecall is how many claims a recall returns.
const defaultRecall = 5

// Recall returns what is known that bears on a question, best first; an empty
// question means the newest. A recall is no action, so no log entry tells of it.
func (s *Session) Recall(ctx context.Context, question string, o RecallOptions) ([]ken.Claim, error) {
	if o.Limit <= 0 {
		o.Limit = defaultRecall
	}
	if o.Scopes == nil {
		o.Scopes = s.o.About.Scopes
	}
	return s.o.Store.Query(ctx, ken.Query{Question: question, Limit: o.Limit,
		Filter: ken.Filter{Scopes: o.Scopes, Unscoped: true, Statuses: o.Statuses, Kinds: o.Kinds}})
}

// Verify moves a claim to verified, on evidence if there is any. Errors:
// ErrNotFound; ErrRefused when it can't get there from where it stands.
func (s *Session) Verify(ctx context.Context, id string, evidence ...ken.Evidence) error {
	s.log(ctx, s.action(EventVerify, id, ken.StatusVerified, evidence))
	return s.o.Store.Transition(ctx, ken.Transition{ID: id, To: ken.StatusVerified, Evidence: slices.Clone(evidence), Actor: s.o.Actor})
}

// Dispute moves a claim to disputed, for a reason that somebody can look into.
// Errors: ErrInvalid without a reason; ErrNotFound; ErrRefused when it can't get
// there from where it stands.
func (s *Session) Dispute(ctx context.Context, id, reason string, evidence ...ken.Evidence) error {
	if strings.TrimSpace(reason) == "" {
		return &ken.Error{Code: ken.CodeInvalid, Field: "reason", Msg: "empty", Try: "Say what speaks against the claim."}
	}
	s.log(ctx, s.action(EventDispute, id, ken.StatusDisputed, evidence))
	return s.o.Store.Transition(ctx, ken.Transition{ID: id, To: ken.StatusDisputed, Reason: reason, Evidence: slices.Clone(evidence), Actor: s.o.Actor})
}
