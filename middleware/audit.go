package middleware

import (
	"context"
	"slices"

	"github.com/kenlayer/ken"
	"github.com/kenlayer/ken/internal/knowledge/structure/reading"
	"github.com/kenlayer/ken/internal/run/session"
	"github.com/kenlayer/ken/store"
)

// Audit writes to the event log that somebody sets out to change a claim, by a way that is no
// session's handle: the command line, the console, the API, a harvest. event is one of those of
// the package session. The claim is as it is to be, or as it is where that is not known. A
// write that fails costs the entry, which the layer's log tells of.
func (l operator) Audit(event string, c *ken.Claim, to ken.Status, evidence []ken.Evidence, actor ken.Actor) {
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

// DistrustUser ends that what the user of a session says may be a rule, whatever the configuration
// says: a gateway that has keys now serves others as well.
func (l operator) DistrustUser() { l.distrusts.Store(true) }

// auditedStore is an owner's store whose changes are in the event log: a harvest's.
type auditedStore struct{ ownerStore }

// WriteClaim implements ken.Store.
func (t auditedStore) WriteClaim(ctx context.Context, c ken.Claim) (string, error) {
	if c.ID == "" {
		c.ID = t.l.newID()
	}
	if c.Kind == ken.KindFact && saidByUser(&c) && t.trustsUser(ctx, c.Session) {
		t.l.trustRule(ctx, t.ownerStore, &c)
	}
	t.l.Operator().Audit(session.EventLearn, &c, c.Status, c.Evidence, c.Actor)
	return t.ownerStore.WriteClaim(ctx, c)
}

// trustsUser reports whether what the user of a session says may be a rule.
func (t auditedStore) trustsUser(ctx context.Context, id string) bool {
	k := &t.l.cfg.Knowledge
	if !k.TrustsUser() || t.l.distrusts.Load() || t.owner != k.Owner {
		return false
	}
	if k.TrustsAnyTurn() || id == "" {
		return true
	}
	info, err := t.l.Operator().Journal(t.owner).Info(ctx, id)
	if err != nil {
		t.l.o.Log.Warn("read whether a session's user is trusted", "session", id, "cause", err)
	}
	return err == nil && !info.DistrustUser
}

// saidByUser reports a claim that rests on what the user of a session said, and nothing else.
func saidByUser(c *ken.Claim) bool {
	return len(c.Evidence) > 0 && !slices.ContainsFunc(c.Evidence, func(e ken.Evidence) bool {
		return e.Kind != ken.EvidenceMessage && e.Kind != ken.EvidenceUserStatement || e.Speaker() != ken.TrustOperator
	})
}

// trustRule makes a rule of a candidate that says in so many words that it is one, of a thing
// that it names.
func (l *Layer) trustRule(ctx context.Context, t ownerStore, c *ken.Claim) {
	err := t.use(ctx, func(s store.Engine) error {
		said := *c
		said.Entities = nil                 // as its own words name it
		if c.Status == ken.StatusInferred { // a model worded it: the user's own words decide
			said.Text = c.Evidence[0].Detail
		}
		r, bare := reading.Read(&said, s), reading.Read(&said, nil) // how an agent behaves is about nothing, whatever is known
		if r.Constraint && len(bare.Entities) > 0 && bare.Entities[0].Name != "user" && len(r.Entities) > 0 && r.Entities[0].Confidence >= reading.ByCapital && r.Entities[0].Name != "user" {
			c.Constraint, c.RuleCandidate = true, false
		}
		return nil
	})
	if err != nil {
		l.o.Log.Warn("read a rule of the user", "cause", err)
	}
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
