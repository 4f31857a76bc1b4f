package session

import (
	"cmp"
	"context"
	"log/slog"
	"time"

	"github.com/google/uuid"

	"github.com/kenlayer/ken"
	"github.com/kenlayer/ken/internal/store/null"
)

// HandleOptions configures a session; the zero value works, and learns nothing.
type HandleOptions struct {
	About About // what claims and log entries carry

	// Store holds the claims. Nil is internal/store/null: nothing is kept and nothing costs
	// anything, so that a program can be written before it opts in.
	Store ken.Store
	// Journal keeps the messages that Add is given. Nil keeps none.
	Journal *Journal
	// Actor is who acts through this handle; the type is agent when it is empty, and
	// the id About.Agent.
	Actor ken.Actor

	// Logger is told of every action before the store is asked: the audit trail. A
	// Logger that fails, panics or takes longer than LogWait costs the entry, which
	// goes to Log instead, never the action. Calls come one at a time.
	Logger  func(ctx context.Context, a Action) error
	LogWait time.Duration // default 1 s

	// Rejected is told of a claim that was refused because nothing backs it, with its
	// text and the error that Learn returns, under the rules of Logger.
	Rejected func(ctx context.Context, a Action, text string, err error)

	Log   *slog.Logger     // default: nothing is logged
	Now   func() time.Time // default time.Now
	NewID func() string    // a UUID; default version 7
}

// Session is a handle of one session: what a program learns, recalls, verifies and
// disputes through it carries the session, the branch and the actor. It is safe
// for concurrent use and needs no closing.
//
// Superseding a claim and reading its history are not here on purpose: an agent
// states what it finds, and a person decides which claim replaces which. Both are
// methods of the store.
type Session struct {
	o     HandleOptions
	trail *trail // of all branches
	loose *loose // of all branches, without a journal
	hooks hooks
}

// New returns a handle. It asks neither store nor journal anything.
func New(o HandleOptions) *Session {
	if o.Store == nil {
		o.Store = null.Store{}
	}
	o.Actor.Type = cmp.Or(o.Actor.Type, "agent")
	o.Actor.ID = cmp.Or(o.Actor.ID, o.About.Agent)
	if o.LogWait <= 0 {
		o.LogWait = time.Second
	}
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	if o.Now == nil {
		o.Now = time.Now
	}
	if o.NewID == nil {
		o.NewID = func() string { return uuid.Must(uuid.NewV7()).String() }
	}
	return &Session{o: o, trail: newTrail(o.LogWait, o.Log), loose: &loose{}}
}

// BranchOptions says how a branch differs from the session. What is not set stays.
type BranchOptions struct {
	Store ken.Store // such as internal/store/null for a branch that is to leave nothing behind
	Actor ken.Actor
}

// Branch returns a handle of the same session under another branch id. It shares
// the journal and the audit trail, and starts with the hooks that there are now;
// what is registered later on either is not the other's.
func (s *Session) Branch(id string, o BranchOptions) *Session {
	b := &Session{o: s.o, trail: s.trail, loose: s.loose}
	b.o.About.Branch = id
	if o.Store != nil {
		b.o.Store = o.Store
	}
	if o.Actor != (ken.Actor{}) {
		b.o.Actor = ken.Actor{Type: cmp.Or(o.Actor.Type, "agent"), ID: o.Actor.ID}
	}
	b.hooks.fns = s.hooks.list()
	return b
}

// About returns what the handle's claims carry.
func (s *Session) About() About { return s.o.About }

// Info returns what the journal knows of the session. Without a journal, the
// session is open and has no messages. Errors: as of Journal.Info.
func (s *Session) Info(ctx context.Context) (Info, error) {
	if s.o.Journal == nil {
		return Info{About: s.o.About, State: Open, Part: 1}, nil
	}
	return s.o.Journal.Info(ctx, s.o.About.ID)
}

// End retires the session as Journal.End does, and is false without a journal.
// The handle may be used afterwards: a message opens the session again.
func (s *Session) End(ctx context.Context, why Reason) (bool, error) {
	if s.o.Journal == nil {
		return false, nil
	}
	return s.o.Journal.End(ctx, s.o.About.ID, why)
}

func (s *Session) now() time.Time { return s.o.Now().Round(0).UTC() }
