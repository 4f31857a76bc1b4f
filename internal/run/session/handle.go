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
	trail *hookRunner  // of all branches
	loose *unjournaled // of all branches, without a journal
	hooks handleHooks
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
	return &Session{o: o, trail: newHookRunner(o.LogWait, o.Log), loose: &unjournaled{}}
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

// OnMessage registers a hook that is called for each message that this handle's
// Add keeps, in their order: the place to learn from a tool's result as it comes.
// Hooks are called one after another in the order in which they were registered,
// and may use the handle. A panic costs that call, and Log is told.
//
// When Add returns, its hooks have run, unless another Add of this handle is
// running hooks at the time, or it was called by a hook: then that other one runs
// them after its own.
func (s *Session) OnMessage(fn func(ctx context.Context, s *Session, e Entry)) {
	s.hooks.mu.Lock()
	defer s.hooks.mu.Unlock()
	s.hooks.fns = append(s.hooks.fns, fn)
}

// Add takes messages as said now, in this order, keeps them in the journal and
// runs the hooks. Unlike Journal.Append it never takes one for a repetition, so
// what a layer in front of the model journals already does not belong here.
// Messages that no journal keeps (a system's, a block, nothing but reasoning) are
// left out. It returns what was kept; without a journal, what would have been,
// numbered from 1. Errors: as of Journal.Append; no hook runs then.
func (s *Session) Add(ctx context.Context, msgs ...ken.Message) ([]Entry, error) {
	entries, err := s.add(ctx, msgs)
	if err != nil {
		return nil, err
	}
	s.hooks.run(s, s.o.Log)
	return entries, nil
}

// add keeps the messages and has them wait for the hooks.
func (s *Session) add(ctx context.Context, msgs []ken.Message) (entries []Entry, err error) {
	// Held over both, so that hooks see messages in the journal's order.
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
	mu   sync.Mutex // guards the rest
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

// handleHooks are a handle's, with the messages that wait for them.
type handleHooks struct {
	order sync.Mutex // held while messages are kept and begin to wait

	mu      sync.Mutex // guards the rest; not held while a hook runs
	fns     []func(context.Context, *Session, Entry)
	waiting []hookedMessage
	running bool
}

// hookedMessage is a message with the context of the Add that brought it.
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

// run calls the hooks for what waits, unless somebody is at it.
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
		h.tell(s, log, next, fns)
	}
}

func (h *handleHooks) tell(s *Session, log *slog.Logger, m hookedMessage, fns []func(context.Context, *Session, Entry)) {
	defer func() { // also when a hook ends its goroutine
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
		s.o.Log.Debug("a claim was known under another id", "logged", c.ID, "claim_id", id, "key", c.Key)
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
