package middleware

import (
	"context"
	"slices"

	"github.com/kenlayer/ken"
	"github.com/kenlayer/ken/config"
	"github.com/kenlayer/ken/internal/knowledge/structure/reading"
	"github.com/kenlayer/ken/internal/run/session"
	"github.com/kenlayer/ken/internal/run/telemetry"
	"github.com/kenlayer/ken/store"
)

// Audit writes an entry to the event log when a claim is about to be changed other than through a
// session handle: by the command line, the console, the API or a harvest. event is one of the Event
// constants of package session. c is the claim as it will be, or only its id where the rest is not
// known. If the write fails, Audit logs a warning and the entry is lost.
func (l operator) Audit(owner, event string, c *ken.Claim, to ken.Status, evidence []ken.Evidence, actor ken.Actor) {
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
	if err := l.logEvent(owner, a.SessionID, a); err != nil {
		l.o.Log.Warn("log a knowledge action", "event", event, "claim", c.ID, "cause", err)
	}
}

// logEvent appends an event to the file of an owner's session.
func (l *Layer) logEvent(owner, session string, event any) error {
	return l.events.Write(l.eventOwner(owner), session, event)
}

// eventOwner returns an owner as package telemetry names it: the configured owner is "".
func (l *Layer) eventOwner(owner string) string {
	if owner == l.cfg.Knowledge.Owner {
		return ""
	}
	return owner
}

// EventsDir returns the folder of an owner's event files.
func (l operator) EventsDir(owner string) string {
	return telemetry.Dir(config.InProject(l.o.Root, l.cfg.Telemetry.Events), l.eventOwner(owner))
}

// DistrustUser stops the layer from making rules of what a session's user says, whatever the
// configuration allows. A gateway calls it when it gets keys, because it then serves several users.
func (l operator) DistrustUser() { l.distrusts.Store(true) }

// auditedStore is an owner's store that writes each change to the event log. Harvests use it.
type auditedStore struct{ ownerStore }

// WriteClaim implements ken.Store.
func (t auditedStore) WriteClaim(ctx context.Context, c ken.Claim) (string, error) {
	if c.ID == "" {
		c.ID = t.l.newID()
	}
	if c.Kind == ken.KindFact && saidByUser(&c) && t.trustsUser(ctx, c.Session) {
		t.l.trustRule(ctx, t.ownerStore, &c)
	}
	t.l.Operator().Audit(t.owner, session.EventLearn, &c, c.Status, c.Evidence, c.Actor)
	return t.ownerStore.WriteClaim(ctx, c)
}

// trustsUser reports whether statements of the session's user may become rules. id is the session.
func (t auditedStore) trustsUser(ctx context.Context, id string) bool {
	k := &t.l.cfg.Knowledge
	if k.TrustUser != nil && !*k.TrustUser || t.l.distrusts.Load() || t.owner != k.Owner {
		return false
	}
	if k.TrustsAnyTurn() || id == "" {
		return k.TrustsUser()
	}
	info, err := t.l.Operator().Journal(t.owner).Info(ctx, id)
	if err != nil {
		t.l.o.Log.Warn("read whether a session's user is trusted", "session", id, "cause", err)
	}
	return err == nil && !info.DistrustUser && (k.TrustsUser() || info.TrustUser)
}

// saidByUser reports whether all of a claim's evidence are statements of the session's user.
func saidByUser(c *ken.Claim) bool {
	return len(c.Evidence) > 0 && !slices.ContainsFunc(c.Evidence, func(e ken.Evidence) bool {
		return e.Kind != ken.EvidenceMessage && e.Kind != ken.EvidenceUserStatement || e.Speaker() != ken.TrustOperator
	})
}

// trustRule turns a candidate into a rule if its text states a rule explicitly and names the thing
// that the rule applies to.
func (l *Layer) trustRule(ctx context.Context, t ownerStore, c *ken.Claim) {
	err := t.use(ctx, func(s store.Engine) error {
		said := *c
		said.Entities = nil                 // only the names in its own text count
		if c.Status == ken.StatusInferred { // a model wrote the text: judge the user's own words instead
			said.Text = c.Evidence[0].Detail
		}
		r, bare := reading.Read(&said, s), reading.Read(&said, nil) // bare is read without known names: a rule about the agent's behaviour names nothing
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
	t.l.Operator().Audit(t.owner, event, &ken.Claim{ID: tr.ID}, tr.To, tr.Evidence, tr.Actor)
	return t.ownerStore.Transition(ctx, tr)
}

// SupersedeFor implements consolidate.Superseder.
func (t auditedStore) SupersedeFor(ctx context.Context, oldID, newID, reason string, actor ken.Actor) error {
	t.l.Operator().Audit(t.owner, session.EventSupersede, &ken.Claim{ID: oldID}, ken.StatusSuperseded, nil, actor)
	return t.ownerStore.SupersedeFor(ctx, oldID, newID, reason, actor)
}
