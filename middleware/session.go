package middleware

import (
	"context"

	"github.com/kenlayer/ken"
	"github.com/kenlayer/ken/internal/run/session"
	"github.com/kenlayer/ken/internal/store/null"
)

// Session is a handle of one session. What a program learns, verifies or disputes through it carries
// the session, the branch and the actor, and is written to the session's event log before the store is
// asked. It is safe for concurrent use and needs no closing.
//
// An agent states what it finds, and a person decides which claim replaces which. So a Session has no
// method for that; the owner's store has.
type Session struct {
	layer *Layer
	turn  ken.Turn
	h     *session.Session
}

// Said is a message that the journal of a session keeps.
type Said struct {
	ID      string // names the message in evidence: see ken.FromMessage
	Message ken.Message
}

// BranchOptions says how a branch differs from its session. What is not set is inherited.
type BranchOptions struct {
	Store   ken.Store // keeps the branch's claims; the caller closes it
	Discard bool      // the branch keeps no claims, and finds none
	Actor   ken.Actor // who acts on the branch; an empty type means agent
}

// Session returns the handle of a turn's session. The turn's messages are ignored. Messages that a
// Transport or a wrapped client forwards are in the journal without Session.Add. The session of a turn
// that lacks its owner, where Options.RequireOwner is set, keeps nothing.
func (l *Layer) Session(t ken.Turn) *Session {
	t.ID, t.Messages, t.Tools = "", nil, 0
	lacks := l.lacksOwner(t.Owner)
	l.setOwner(&t)
	s := &Session{layer: l, turn: t, h: l.Operator().Session(t)}
	if lacks {
		return s.Branch(t.Branch, BranchOptions{Discard: true})
	}
	return s
}

// Turn returns the session's owner, project, session, branch, agent and scopes.
func (s *Session) Turn() ken.Turn { return s.turn }

// Learn keeps a claim with its evidence and returns the claim's id, or "" if the branch keeps none.
// evidence must not be empty: without any, set the status hypothesis with ken.FromModelInference.
// change may set the claim's other fields, of which the status is observed, inferred or hypothesis.
//
// Errors: ErrInvalid, ErrRefused for another status, and those of the store. A claim without evidence
// is put before a person in the attention queue.
func (s *Session) Learn(ctx context.Context, text string, evidence []ken.Evidence, change ...func(*ken.Claim)) (id string, err error) {
	return s.h.Learn(ctx, text, evidence, func(c *ken.Claim) {
		for _, fn := range change {
			fn(c)
		}
	})
}

// Recall returns up to limit claims of the session's or the branch's store that bear on a question, best
// first, without disputed ones; 0 means 5. Layer.Recall ranks as a turn does. Errors are those of the store.
func (s *Session) Recall(ctx context.Context, question string, limit int) ([]ken.Claim, error) {
	return s.h.Recall(ctx, question, session.RecallOptions{Limit: limit})
}

// Verify marks a claim as verified, with more evidence for it. Errors are those of the store, such as
// ErrNotFound.
func (s *Session) Verify(ctx context.Context, id string, evidence ...ken.Evidence) error {
	return s.h.Verify(ctx, id, evidence...)
}

// Dispute marks a claim as disputed, for a reason. Errors are those of the store, such as ErrNotFound.
func (s *Session) Dispute(ctx context.Context, id, reason string, evidence ...ken.Evidence) error {
	return s.h.Dispute(ctx, id, reason, evidence...)
}

// Add writes messages to the session's journal as said now, in this order, also where they repeat
// earlier ones. A system message, a block of Ken's and a message that only has reasoning are left out.
// It returns those that are kept. A branch that is Incognito keeps none of them.
func (s *Session) Add(ctx context.Context, msgs ...ken.Message) ([]Said, error) {
	entries, err := s.h.Add(ctx, msgs...)
	out := make([]Said, len(entries))
	for i := range entries {
		out[i] = said(&entries[i])
	}
	return out, err
}

// OnMessage registers a function that is called with each message that Add keeps, in their order, and
// before Add returns. It may use the session, for example to learn from a tool's result. If it panics,
// the other functions go on.
func (s *Session) OnMessage(fn func(ctx context.Context, s *Session, m Said)) {
	s.h.OnMessage(func(ctx context.Context, h *session.Session, e session.Entry) {
		fn(ctx, &Session{layer: s.layer, turn: s.turn, h: h}, said(&e))
	})
}

// Branch returns a handle of the same session under another branch id. It shares the journal and the
// event log, and has the functions of OnMessage that were registered before.
func (s *Session) Branch(id string, o BranchOptions) *Session {
	own := session.BranchOptions{Store: o.Store, Actor: o.Actor}
	if o.Discard {
		own.Store = null.Store{}
	}
	b := &Session{layer: s.layer, turn: s.turn, h: s.h.Branch(id, own)}
	b.turn.Branch = id
	return b
}

// End ends the session, as Layer.End does.
func (s *Session) End(ctx context.Context) error {
	return s.layer.End(ctx, s.turn.Owner, s.turn.Session)
}

func said(e *session.Entry) Said { return Said{ID: e.ID(), Message: e.Message} }
