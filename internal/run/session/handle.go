package session

import (
	"cmp"
	"context"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/google/uuid"

	"github.com/kenlayer/ken"
	"github.com/kenlayer/ken/internal/store/null"
)

// HandleOptions configures a Session. The zero value is valid; with it, nothing is
// stored.
type HandleOptions struct {
	About About // the origin of claims and log entries

	// Store holds the claims. Nil means internal/store/null, which stores nothing,
	// so that a program can be written before it opts in.
	Store ken.Store
	// Journal stores the messages that Add is given. Nil stores none.
	Journal *Journal
	// Actor is who acts through this handle. An empty type means agent, and an
	// empty id means About.Agent.
	Actor ken.Actor

	// Logger receives every action before the store is called: the audit trail. If
	// it fails, panics or takes longer than LogWait, the entry is written to Log
	// instead and the action goes on. Calls come one at a time.
	Logger  func(ctx context.Context, a Action) error
	LogWait time.Duration // default 1 s

	// Rejected is called for a claim that was refused for lack of evidence, with
	// its text and the error that Learn returns. The rules of Logger apply.
	Rejected func(ctx context.Context, a Action, text string, err error)

	Log   *slog.Logger     // default: nothing is logged
	Now   func() time.Time // default time.Now
	NewID func() string    // a UUID; default version 7
}

// Session is a handle of one session. Claims that a program learns, verifies or
// disputes through it carry the session, the branch and the actor. It is safe for
// concurrent use and needs no closing.
//
// It deliberately has no methods to supersede a claim or to read its history: an
// agent states what it finds, and a person decides which claim replaces which. The
// store has both methods.
type Session struct {
	o     HandleOptions
	trail *hookRunner  // shared by all branches
	loose *unjournaled // shared by all branches; used without a journal
	hooks handleHooks
}

// New returns a handle. It calls neither store nor journal.
func New(o HandleOptions) *Session {
	if o.Store == nil {
		o.Store = null.Store{}
	}
	o.Actor.Type = cmp.Or(o.Actor.Type, "agent")
	o.Actor.ID = cmp.Or(o.Actor.ID, o.About.Agent)
	o.LogWait = cmp.Or(max(o.LogWait, 0), time.Second)
	o.Log = cmp.Or(o.Log, slog.New(slog.DiscardHandler))
	if o.Now == nil {
		o.Now = time.Now
	}
	if o.NewID == nil {
		o.NewID = func() string { return uuid.Must(uuid.NewV7()).String() }
	}
	return &Session{o: o, trail: newHookRunner(o.LogWait, o.Log), loose: &unjournaled{}}
}

// BranchOptions says how a branch differs from the session. Unset fields are
// inherited.
type BranchOptions struct {
	Store ken.Store // such as internal/store/null for a branch that stores nothing
	Actor ken.Actor
}

// Branch returns a handle of the same session under another branch id. It shares
// the journal and the audit trail and copies the hooks. Hooks registered later on
// one handle do not apply to the other.
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

// About returns the origin that the handle's claims carry.
func (s *Session) About() About { return s.o.About }

// Info returns the stored information about the session. Without a journal, the
// session is open and has no messages. Errors: those of Journal.Info.
func (s *Session) Info(ctx context.Context) (Info, error) {
	if s.o.Journal == nil {
		return Info{About: s.o.About, State: Open, Part: 1}, nil
	}
	return s.o.Journal.Info(ctx, s.o.About.ID)
}

// End ends the session as Journal.End does. Without a journal it returns false. The
// handle may still be used: a message opens the session again.
func (s *Session) End(ctx context.Context, why Reason) (bool, error) {
	if s.o.Journal == nil {
		return false, nil
	}
	return s.o.Journal.End(ctx, s.o.About.ID, why)
}

func (s *Session) now() time.Time { return s.o.Now().Round(0).UTC() }

// OnMessage registers a hook that is called for each message that this handle's Add
// stores, in their order. Use it, for example, to learn from a tool's result. Hooks
// run one after another in the order of registration, and may use the handle. If a
// hook panics, the call is abandoned and the panic goes to Log.
//
// When Add returns, its hooks have run. The exceptions are an Add called by a hook
// and an Add while another Add of this handle runs hooks: the other call runs their
// hooks after its own.
func (s *Session) OnMessage(fn func(ctx context.Context, s *Session, e Entry)) {
	s.hooks.mu.Lock()
	defer s.hooks.mu.Unlock()
	s.hooks.fns = append(s.hooks.fns, fn)
}

// Add stores messages as said now, in this order, and runs the hooks. Unlike
// Journal.Append it stores repeated messages too, so do not pass it what a layer in
// front of the model journals already. Messages that no journal stores (a system's,
// a block, nothing but reasoning) are left out. It returns the stored entries;
// without a journal, it returns what would be stored, numbered from 1. Errors:
// those of Journal.Append; then no hook runs.
func (s *Session) Add(ctx context.Context, msgs ...ken.Message) ([]Entry, error) {
	entries, err := s.add(ctx, msgs)
	if err != nil {
		return nil, err
	}
	s.hooks.run(s, s.o.Log)
	return entries, nil
}

// add stores the messages and queues them for the hooks.
func (s *Session) add(ctx context.Context, msgs []ken.Message) (entries []Entry, err error) {
	// Held while storing and queueing, so that hooks see messages in the journal's
	// order.
	s.hooks.order.Lock()
	defer s.hooks.order.Unlock()
	if s.o.Journal == nil {
		entries = s.loose.add(msgs, s.now())
	} else if entries, err = s.o.Journal.append(ctx, s.o.About, msgs, true); err != nil {
		return nil, err
	}
	s.hooks.wait(ctx, entries)
	return entries, nil
}

// unjournaled numbers the messages of a session that has no journal.
type unjournaled struct {
	mu   sync.Mutex // guards the fields below
	last uint64
	at   time.Time
}

func (l *unjournaled) add(msgs []ken.Message, now time.Time) []Entry {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.at = later(now, l.at)
	var out []Entry
	for i := range msgs {
		m, ok := kept(&msgs[i])
		if !ok {
			continue
		}
		l.last++
		e := Entry{Seq: l.last, At: l.at, Message: m}
		e.cut(defaultMessageBytes)
		out = append(out, e)
	}
	return out
}

// handleHooks holds a handle's hooks and the messages that wait for them.
type handleHooks struct {
	order sync.Mutex // held while messages are stored and queued

	mu      sync.Mutex // guards the fields below; not held while a hook runs
	fns     []func(context.Context, *Session, Entry)
	waiting []hookedMessage
	running bool
}

// hookedMessage is a queued message with the context of the Add that brought it.
type hookedMessage struct {
	ctx   context.Context
	entry Entry
}

func (h *handleHooks) list() []func(context.Context, *Session, Entry) {
	h.mu.Lock()
	defer h.mu.Unlock()
	return slices.Clone(h.fns)
}

func (h *handleHooks) wait(ctx context.Context, entries []Entry) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if len(h.fns) == 0 {
		return
	}
	for _, e := range entries {
		h.waiting = append(h.waiting, hookedMessage{ctx, e})
	}
}

// run calls the hooks for the queued messages, unless another call is running them.
func (h *handleHooks) run(s *Session, log *slog.Logger) {
	for {
		h.mu.Lock()
		if h.running || len(h.waiting) == 0 {
			h.mu.Unlock()
			return
		}
		h.running = true
		next, fns := h.waiting[0], slices.Clone(h.fns)
		h.waiting = h.waiting[1:]
		h.mu.Unlock()
		h.callHooks(s, log, next, fns)
	}
}

func (h *handleHooks) callHooks(s *Session, log *slog.Logger, m hookedMessage, fns []func(context.Context, *Session, Entry)) {
	defer func() { // runs also when a hook calls runtime.Goexit
		h.mu.Lock()
		defer h.mu.Unlock()
		h.running = false
	}()
	for _, fn := range fns {
		func() {
			defer func() {
				if p := recover(); p != nil {
					log.Error("a message hook failed", "session", s.o.About.ID, "message", m.entry.ID(), "panic", p)
				}
			}()
			fn(m.ctx, s, m.entry)
		}()
	}
}

// LearnOption sets a field of a claim that Learn stores. Its status is observed, inferred
// or hypothesis; Verify and Dispute change it later.
type LearnOption func(*ken.Claim)

// WithKind sets the claim's kind; the default is a fact.
func WithKind(k ken.Kind) LearnOption { return func(c *ken.Claim) { c.Kind = k } }

// WithKey sets the claim's key. Learning again under the same key revises the
// claim. The audit trail then has a new id that is not used; Log records both ids.
func WithKey(key string) LearnOption { return func(c *ken.Claim) { c.Key = key } }

// Learn stores a claim with its evidence and returns the claim's id, or "" from a
// store that stores nothing. evidence must not be empty: if there is none, use the
// status hypothesis with ken.FromModelInference. The caller's slices are not
// retained.
//
// Errors: ErrInvalid, and then Rejected is called if evidence is missing;
// ErrRefused for a status that a new claim can't have; and those of the store.
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
		s.o.Log.Debug("a claim was known under another id", "logged", c.ID, "claim_id", id, "key", c.Key)
	}
	return id, err
}

// RecallOptions narrows a recall; the zero value is the default.
type RecallOptions struct {
	Limit    int          // largest number of claims; <= 0 means 5
	Statuses []ken.Status // nil means ken.RecallStatuses, which excludes disputed
	Kinds    []ken.Kind   // nil means every kind
	Scopes   []ken.Scope  // nil means About.Scopes; unscoped claims are always included
}

// defaultRecall is the default of RecallOptions.Limit.
const defaultRecall = 5

// Recall returns the claims that match a question, best first. An empty question
// returns the newest. The audit trail does not record recalls.
func (s *Session) Recall(ctx context.Context, question string, o RecallOptions) ([]ken.Claim, error) {
	o.Limit = cmp.Or(max(o.Limit, 0), defaultRecall)
	if o.Scopes == nil {
		o.Scopes = s.o.About.Scopes
	}
	return s.o.Store.Query(ctx, ken.Query{Question: question, Limit: o.Limit,
		Filter: ken.Filter{Scopes: o.Scopes, Unscoped: true, Statuses: o.Statuses, Kinds: o.Kinds}})
}

// Verify sets a claim's status to verified; evidence is optional. Errors:
// ErrNotFound; ErrRefused if the claim's status does not allow it.
func (s *Session) Verify(ctx context.Context, id string, evidence ...ken.Evidence) error {
	s.log(ctx, s.action(EventVerify, id, ken.StatusVerified, evidence))
	return s.o.Store.Transition(ctx, ken.Transition{ID: id, To: ken.StatusVerified, Evidence: slices.Clone(evidence), Actor: s.o.Actor})
}

// Dispute sets a claim's status to disputed, for a reason that a person can check.
// Errors: ErrInvalid without a reason; ErrNotFound; ErrRefused if the claim's
// status does not allow it.
func (s *Session) Dispute(ctx context.Context, id, reason string, evidence ...ken.Evidence) error {
	if strings.TrimSpace(reason) == "" {
		return &ken.Error{Code: ken.CodeInvalid, Field: "reason", Msg: "empty", Try: "Give a reason against the claim."}
	}
	s.log(ctx, s.action(EventDispute, id, ken.StatusDisputed, evidence))
	return s.o.Store.Transition(ctx, ken.Transition{ID: id, To: ken.StatusDisputed, Reason: reason, Evidence: slices.Clone(evidence), Actor: s.o.Actor})
}
