package edit

import (
	"context"
	"errors"
	"slices"
	"time"

	"github.com/google/uuid"

	"github.com/kenlayer/ken"
	"github.com/kenlayer/ken/internal/knowledge/structure"
	"github.com/kenlayer/ken/store"
)

// Options says who edits, and for whom. Evidence must be there; all else may be zero.
type Options struct {
	Now   func() time.Time // default time.Now
	NewID func() string    // of claims, and of locks; default a UUID of version 7

	Actor    ken.Actor
	Evidence []ken.Evidence // of what is written without evidence of its own
	// By is whose assignments they are; the default is the operator's where all of the
	// evidence is, and the model's elsewhere. An agent that calls a tool is a model.
	By ken.Assigner

	// Scope is what a change applies to; zero is everywhere.
	Scope ken.Scope
	// Scopes are what is seen besides what has no scope; nil sees all.
	Scopes  []ken.Scope
	Project string
	Session string
	Branch  string

	Source, SourceType string

	// Retention is how long a task is kept once it is over; default DefaultRetention,
	// < 0 for ever.
	Retention time.Duration
}

// DefaultRetention is how long a task that is done or cancelled is kept.
const DefaultRetention = 30 * 24 * time.Hour

// Editor changes one owner's structure. It is safe for concurrent use, and so are any
// number of them, in any number of processes.
type Editor struct {
	s store.Engine
	o Options
}

// New returns an editor of a store, which stays the caller's to close.
func New(s store.Engine, o Options) *Editor {
	if o.Now == nil {
		o.Now = time.Now
	}
	if o.NewID == nil {
		o.NewID = func() string { return uuid.Must(uuid.NewV7()).String() }
	}
	if o.Retention == 0 {
		o.Retention = DefaultRetention
	}
	return &Editor{s, o}
}

func (e *Editor) now() time.Time { return e.o.Now().Round(0).UTC() }

// filter admits what stands and is seen.
func (e *Editor) filter() *ken.Filter {
	return &ken.Filter{Scopes: e.o.Scopes, Unscoped: true, Now: e.now()}
}

func (e *Editor) sees(c *ken.Claim) bool {
	return len(e.o.Scopes) == 0 || c.Scope.IsZero() || slices.Contains(e.o.Scopes, c.Scope)
}

// evidence is what backs a change: the given, or the editor's own.
func (e *Editor) evidence(given []ken.Evidence) []ken.Evidence {
	if len(given) > 0 {
		return slices.Clone(given)
	}
	return slices.Clone(e.o.Evidence)
}

// by is whose assignment a change with this evidence is.
func (e *Editor) by(evidence []ken.Evidence) ken.Assigner {
	if e.o.By != "" {
		return e.o.By
	}
	if (&ken.Claim{Evidence: evidence}).Support(nil).Trust == ken.TrustOperator {
		return ken.AssignedByOperator
	}
	return ken.AssignedByModel
}

// claim is a new one of the editor's.
func (e *Editor) claim(kind ken.Kind, key, text string, evidence []ken.Evidence) ken.Claim {
	return ken.Claim{Kind: kind, Key: key, Text: text, Evidence: evidence, Status: ken.StatusObserved, Confidence: 1, Importance: 0.5,
		Scope: e.o.Scope, Project: e.o.Project, Session: e.o.Session, Branch: e.o.Branch, Actor: e.o.Actor,
		Source: e.o.Source, SourceType: e.o.SourceType, CreatedAt: e.now(), AssignedBy: e.by(evidence)}
}

// key is a key within the editor's scope.
func (e *Editor) key(key string) string { return structure.Scoped(key, e.o.Scope) }

// held returns the claim that holds a key, whatever its status; nil when none does.
func (e *Editor) held(ctx context.Context, key string) (*ken.Claim, error) {
	c, err := e.s.ByKey(ctx, key)
	if errors.Is(err, ken.ErrNotFound) {
		return nil, nil
	}
	return &c, err
}

// write writes claims in one transaction and returns them as they are now, in order.
func (e *Editor) write(ctx context.Context, claims ...ken.Claim) ([]ken.Claim, []bool, error) {
	in := make([]store.Incoming, len(claims))
	for i := range claims {
		in[i].Claim = claims[i]
		if claims[i].ID == "" && claims[i].Key == "" {
			in[i].Claim.ID = e.o.NewID()
		}
	}
	out, changed := make([]ken.Claim, len(claims)), make([]bool, len(claims))
	for i, res := range e.s.Import(ctx, in) {
		if res.Err != nil {
			return nil, nil, res.Err
		}
		c, err := e.s.Get(ctx, res.ID)
		if err != nil {
			return nil, nil, err
		}
		out[i], changed[i] = c, res.Changed
	}
	return out, changed, nil
}

func stands(c *ken.Claim) bool { return slices.Contains(ken.RecallStatuses(), c.Status) }

// back adds evidence to a claim that stands: what it has not yet, is more than words,
// and does not make it less trusted. Told again is not surer.
func (e *Editor) back(ctx context.Context, c ken.Claim, evidence []ken.Evidence) (ken.Claim, error) {
	trust := c.Support(nil).Trust
	more := slices.DeleteFunc(slices.Clone(evidence), func(p ken.Evidence) bool {
		return p.Speaker() < trust || !p.Hard() && !p.Backed() || slices.ContainsFunc(c.Evidence, func(have ken.Evidence) bool {
			return have.Kind == p.Kind && have.Reference() == p.Reference()
		})
	})
	if len(more) == 0 {
		return c, nil
	}
	if err := e.s.Reinforce(ctx, c.ID, more, e.o.Actor); err != nil {
		return c, err
	}
	return e.s.Get(ctx, c.ID)
}

// revive makes a disputed claim stand again.
func (e *Editor) revive(ctx context.Context, c ken.Claim, reason string, evidence []ken.Evidence) (ken.Claim, error) {
	err := e.s.Transition(ctx, ken.Transition{ID: c.ID, To: ken.StatusVerified, Reason: reason, Evidence: evidence, Actor: e.o.Actor})
	if err != nil {
		return c, err
	}
	return e.s.Get(ctx, c.ID)
}

// dispute makes a claim stand no more.
func (e *Editor) dispute(ctx context.Context, c ken.Claim, reason string) (ken.Claim, error) {
	err := e.s.Transition(ctx, ken.Transition{ID: c.ID, To: ken.StatusDisputed, Reason: reason, Actor: e.o.Actor})
	if err != nil {
		return c, err
	}
	return e.s.Get(ctx, c.ID)
}

// source is the store as views read it.
func (e *Editor) source() store.Projections { return e.s }

func invalid(field, msg, try string) error {
	return &ken.Error{Code: ken.CodeInvalid, Field: field, Msg: msg, Try: try}
}

func refused(field, msg, try string) error {
	return &ken.Error{Code: ken.CodeRefused, Field: field, Msg: msg, Try: try}
}
