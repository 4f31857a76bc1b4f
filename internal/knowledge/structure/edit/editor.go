package edit

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/google/uuid"

	"github.com/kenlayer/ken"
	"github.com/kenlayer/ken/guardrail"
	"github.com/kenlayer/ken/internal/knowledge/structure"
	"github.com/kenlayer/ken/internal/knowledge/structure/entity"
	"github.com/kenlayer/ken/store"
)

// Options says who edits, and for whom. Evidence is required; other fields may be zero.
type Options struct {
	Now   func() time.Time // default time.Now
	NewID func() string    // returns ids of claims and locks; default a UUID of version 7

	Actor    ken.Actor
	Evidence []ken.Evidence // evidence of claims that have none of their own
	// By is the assigner of the changes. The default is the operator if all of the
	// evidence is the operator's, and the model otherwise. An agent that calls a tool is
	// a model.
	By ken.Assigner

	// Scope is the scope of the changes; zero means everywhere.
	Scope ken.Scope
	// Scopes are the scopes that are visible besides unscoped claims; nil means all.
	Scopes  []ken.Scope
	Project string
	Session string
	Branch  string

	Source, SourceType string
}

// DefaultRetention is how long a task that is done or cancelled is kept, unless the task says otherwise.
const DefaultRetention = 30 * 24 * time.Hour

// Editor changes one owner's structure. It is safe for concurrent use, and several
// editors in several processes may work on one store.
type Editor struct {
	s store.Engine
	o Options
}

// New returns an editor of a store. The caller must close the store.
func New(s store.Engine, o Options) *Editor {
	if o.Now == nil {
		o.Now = time.Now
	}
	if o.NewID == nil {
		o.NewID = func() string { return uuid.Must(uuid.NewV7()).String() }
	}
	return &Editor{s, o}
}

func (e *Editor) now() time.Time { return e.o.Now().Round(0).UTC() }

// filter returns a filter for valid claims in visible scopes.
func (e *Editor) filter() *ken.Filter {
	return &ken.Filter{Scopes: e.o.Scopes, Unscoped: true, Now: e.now()}
}

func (e *Editor) isVisible(c *ken.Claim) bool {
	return len(e.o.Scopes) == 0 || c.Scope.IsZero() || slices.Contains(e.o.Scopes, c.Scope)
}

// evidence returns the given evidence, or the editor's own if there is none.
func (e *Editor) evidence(given []ken.Evidence) []ken.Evidence {
	if len(given) > 0 {
		return slices.Clone(given)
	}
	return slices.Clone(e.o.Evidence)
}

// assigner returns who counts as the author of a change with this evidence.
func (e *Editor) assigner(evidence []ken.Evidence) ken.Assigner {
	if e.o.By != "" {
		return e.o.By
	}
	if (&ken.Claim{Evidence: evidence}).Support(nil).Trust == ken.TrustOperator {
		return ken.AssignedByOperator
	}
	return ken.AssignedByModel
}

// newClaim returns a claim with the editor's scope, actor and source.
func (e *Editor) newClaim(kind ken.Kind, key, text string, evidence []ken.Evidence) ken.Claim {
	return ken.Claim{Kind: kind, Key: key, Text: text, Evidence: evidence, Status: ken.StatusObserved, Confidence: 1, Importance: 0.5,
		Scope: e.o.Scope, Project: e.o.Project, Session: e.o.Session, Branch: e.o.Branch, Actor: e.o.Actor,
		Source: e.o.Source, SourceType: e.o.SourceType, CreatedAt: e.now(), AssignedBy: e.assigner(evidence)}
}

// key returns a key within the editor's scope.
func (e *Editor) key(key string) string { return structure.Scoped(key, e.o.Scope) }

// claimByKey returns the claim with a key, whatever its status; nil if there is none.
func (e *Editor) claimByKey(ctx context.Context, key string) (*ken.Claim, error) {
	c, err := e.s.ByKey(ctx, key)
	if errors.Is(err, ken.ErrNotFound) {
		return nil, nil
	}
	return &c, err
}

// write writes claims in one transaction. It returns their state after it, in order, and
// which of them changed.
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

// writeOne writes a claim and returns its state after it.
func (e *Editor) writeOne(ctx context.Context, c ken.Claim) (ken.Claim, error) {
	out, _, err := e.write(ctx, c)
	if err != nil {
		return ken.Claim{}, err
	}
	return out[0], nil
}

func isRecalled(c *ken.Claim) bool { return slices.Contains(ken.RecallStatuses(), c.Status) }

// addEvidence adds evidence to a valid claim. It adds only evidence that is new, is more
// than a statement, and does not lower the claim's trust. A repeated statement does not
// make a claim more certain.
func (e *Editor) addEvidence(ctx context.Context, c ken.Claim, evidence []ken.Evidence) (ken.Claim, error) {
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

// revive makes a disputed claim valid again.
func (e *Editor) revive(ctx context.Context, c ken.Claim, reason string, evidence []ken.Evidence) (ken.Claim, error) {
	return e.transition(ctx, c, ken.StatusVerified, reason, evidence)
}

// dispute marks a claim as disputed.
func (e *Editor) dispute(ctx context.Context, c ken.Claim, reason string) (ken.Claim, error) {
	return e.transition(ctx, c, ken.StatusDisputed, reason, nil)
}

func (e *Editor) transition(ctx context.Context, c ken.Claim, to ken.Status, reason string, evidence []ken.Evidence) (ken.Claim, error) {
	err := e.s.Transition(ctx, ken.Transition{ID: c.ID, To: to, Reason: reason, Evidence: evidence, Actor: e.o.Actor})
	if err != nil {
		return c, err
	}
	return e.s.Get(ctx, c.ID)
}

// in returns an editor for another scope and project. Zero values leave those of e.
func (e *Editor) in(scope ken.Scope, project string) *Editor {
	at := *e
	at.o.Scope, at.o.Project = cmp.Or(scope, e.o.Scope), cmp.Or(project, e.o.Project)
	return &at
}

// source returns the store in the form in which views read it.
func (e *Editor) source() store.Projections { return e.s }

func invalid(field, msg, try string) error {
	return &ken.Error{Code: ken.CodeInvalid, Field: field, Msg: msg, Try: try}
}

func refused(field, msg, try string) error {
	return &ken.Error{Code: ken.CodeRefused, Field: field, Msg: msg, Try: try}
}

// Keys on the shelf.
const (
	shelfLock = "structure/edit/lock/" // followed by what is locked
	shelfTask = "structure/edit/task"  // the number of the newest task
)

// lease is how long a lock is valid, so that the lock of a process that died expires. A
// change under the lock must take at most half of it.
const lease = 20 * time.Second

type lock struct {
	By    string    `json:"by"`
	Until time.Time `json:"until"`
}

// exclusive runs fn while no other change to the same thing runs, in this process or
// another. Without it, one of two concurrent changes would be lost, since the store
// writes a claim whatever it was before.
func exclusive[T any](ctx context.Context, e *Editor, what string, fn func(ctx context.Context) (T, error)) (out T, err error) {
	key, me := shelfLock+what, e.o.NewID()
	if err := e.acquireLock(ctx, key, me); err != nil {
		return out, err
	}
	within, cancel := context.WithTimeout(ctx, lease/2)
	out, err = fn(within)
	cancel()
	done, cancel := context.WithTimeout(context.WithoutCancel(ctx), lease/4)
	defer cancel()
	mine := false
	if gone := e.s.Shelf().Update(done, func(tx store.ShelfTx) error {
		if mine = readLock(tx, key).By == me; !mine {
			return nil
		}
		return tx.Delete(key)
	}); err == nil && gone == nil && !mine {
		err = &ken.Error{Code: ken.CodeUnavailable, Msg: "the change took so long that somebody else may have made one meanwhile", Try: "Check the current state, and try again."}
	}
	return out, err
}

// acquireLock waits until the lock is free, and takes it.
func (e *Editor) acquireLock(ctx context.Context, key, me string) error {
	for wait := time.Millisecond; ; wait = min(2*wait, 50*time.Millisecond) {
		free := false
		if err := e.s.Shelf().View(ctx, func(r store.ShelfReader) error {
			free = e.lockIsFree(r, key)
			return nil
		}); err != nil {
			return err
		}
		if free {
			took := false
			if err := e.s.Shelf().Update(ctx, func(tx store.ShelfTx) error {
				if took = e.lockIsFree(tx, key); !took {
					return nil
				}
				b, err := json.Marshal(lock{me, e.now().Add(lease)})
				if err != nil {
					return err
				}
				return tx.Put(key, b)
			}); err != nil || took {
				return err
			}
		}
		timer := time.NewTimer(wait)
		select {
		case <-timer.C:
		case <-ctx.Done():
			timer.Stop()
			return ctx.Err()
		}
	}
}

// lockIsFree reports whether nobody holds the lock: its lease expired, or its expiry is implausible.
func (e *Editor) lockIsFree(r store.ShelfReader, key string) bool {
	until, now := readLock(r, key).Until, e.now()
	// An expiry that is more than a lease away was written by a wrong clock.
	return !now.Before(until) || until.Sub(now) > lease
}

func readLock(r store.ShelfReader, key string) (l lock) {
	if json.Unmarshal(r.Get(key), &l) != nil {
		return lock{}
	}
	return l
}

// allOutlines requests outlines with all links.
var allOutlines = store.OutlineOptions{Aspects: 1, Top: 1, Links: 1 << 20}

// oneLine returns a given name on one line, without unsafe characters.
func oneLine(s string) string { return strings.Join(strings.Fields(guardrail.Sanitize(s)), " ") }

func orElse(s, other string) string {
	if strings.TrimSpace(s) == "" {
		return other
	}
	return s
}

// Describe sets what an entity is: its type, which is one of entity.Types, and a text
// with its name and description, such as "Payments: moves the money". An empty argument
// leaves the value unchanged; the name need not be known yet. Errors: ErrInvalid;
// ErrRefused for an agent that changes a person's description; the store's.
func (e *Editor) Describe(ctx context.Context, name, typ, text string) (ken.Claim, error) {
	spelled, err := spell("name", name)
	if err != nil {
		return ken.Claim{}, err
	}
	typ = strings.ToLower(strings.TrimSpace(typ))
	switch {
	case typ == "task":
		return ken.Claim{}, invalid("type", "a task is not described but created", "Create a task instead.")
	case typ != "" && !entity.IsType(typ):
		return ken.Claim{}, invalid("type", "unknown type "+strconv.Quote(entity.Clip(typ)), "Use one of "+strings.Join(entity.Types(), ", ")+".")
	}
	return exclusive(ctx, e, "links", func(ctx context.Context) (ken.Claim, error) {
		return e.describe(ctx, spelled, oneLine(name), typ, strings.TrimSpace(text))
	})
}

func (e *Editor) describe(ctx context.Context, spelled, shown, typ, text string) (ken.Claim, error) {
	have, err := e.claimByKey(ctx, e.key("entity:"+spelled))
	if err != nil {
		return ken.Claim{}, err
	}
	evidence := e.evidence(nil)
	if have != nil && !e.outranks(have, evidence) {
		return ken.Claim{}, refused("", "a person has described "+strconv.Quote(entity.Clip(shown))+": claim "+have.ID, "Ask the operator to change it.")
	}
	c := e.newClaim(ken.KindEntity, e.key("entity:"+spelled), text, evidence)
	c.Entities, c.Aspect = []string{spelled}, typ
	if have != nil && isRecalled(have) {
		c.Text, c.Aspect = orElse(text, have.Text), orElse(typ, have.Aspect)
	}
	c.Text, c.Aspect = orElse(c.Text, shown), orElse(c.Aspect, entity.Unknown)
	if have != nil && have.Status == ken.StatusDisputed && have.Text == c.Text {
		if _, err := e.revive(ctx, *have, "described again", evidence); err != nil {
			return ken.Claim{}, err
		}
	}
	return e.writeOne(ctx, c)
}
