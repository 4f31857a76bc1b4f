package middleware

import (
	"context"
	"slices"

	"github.com/kenlayer/ken"
	"github.com/kenlayer/ken/internal/run/session"
)

// Audit writes to the event log that somebody sets out to change a claim, by a way that is no
// session's handle: the command line, the console, the API, a harvest. event is one of those of
// the package session. The claim is as it is to be, or as it is where that is not known. A
// write that fails costs the entry, which the layer's log tells of.
func (l Operator) Audit(event string, c *ken.Claim, to ken.Status, evidence []ken.Evidence, actor ken.Actor) {
	if l.events == nil {
		return
	}
	a := session.Action{Event: event, ClaimID: c.ID, ClaimStatus: string(to), EvidenceCount: len(evidence), EvidenceKinds: []string{},
		ActorType: actor.Type, ActorID: actor.ID, BranchID: c.Branch, Timestamp: float64(l.now().UnixMicro()) / 1e6}
	if event == session.EventLearn {
		a.ScopeType, a.ScopeID, a.SessionID = string(c.Scope.Type), c.Scope.ID, c.Session
	}
	for _, e := range evidence {
		if !slices.Contains(a.EvidenceKinds, string(e.Kind)) {
			a.EvidenceKinds = append(a.EvidenceKinds, string(e.Kind))
		}
	}
	if err := l.events.Write(a.SessionID, a); err != nil {
		l.o.Log.Warn("log a knowledge action", "event", event, "claim", c.ID, "cause", err)
	}
}

// auditedStore is an owner's store whose changes are in the event log: a harvest's.
type auditedStore struct{ ownerStore }

// WriteClaim implements ken.Store.
func (t auditedStore) WriteClaim(ctx context.Context, c ken.Claim) (string, error) {
	if c.ID == "" {
		c.ID = t.l.newID()
	}
	t.l.Operator().Audit(session.EventLearn, &c, c.Status, c.Evidence, c.Actor)
	return t.ownerStore.WriteClaim(ctx, c)
}

// Transition implements ken.Store.
func (t auditedStore) Transition(ctx context.Context, tr ken.Transition) error {
	event := session.EventVerify
	if tr.To == ken.StatusDisputed {
		event = session.EventDispute
	}
	t.l.Operator().Audit(event, &ken.Claim{ID: tr.ID}, tr.To, tr.Evidence, tr.Actor)
	return t.ownerStore.Transition(ctx, tr)
}

// SupersedeFor implements consolidate.Superseder.
func (t auditedStore) SupersedeFor(ctx context.Context, oldID, newID, reason string, actor ken.Actor) error {
	t.l.Operator().Audit(session.EventSupersede, &ken.Claim{ID: oldID}, ken.StatusSuperseded, nil, actor)
	return t.ownerStore.SupersedeFor(ctx, oldID, newID, reason, actor)
}
