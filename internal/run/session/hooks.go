package session

import (
	"context"
	"log/slog"
	"slices"
	"sync"
	"time"

	"github.com/kenlayer/ken"
)

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

// loose numbers the messages of a session that has no journal.
type loose struct {
	mu   sync.Mutex // guards the rest
	last uint64
	at   time.Time
}

func (l *loose) add(msgs []ken.Message, now time.Time) []Entry {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.at = later(now, l.at)
	var out []Entry
	for i := range msgs {
		m, ok := clean(&msgs[i])
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

// hooks are a handle's, with the messages that wait for them.
type hooks struct {
	order sync.Mutex // held while messages are kept and begin to wait

	mu      sync.Mutex // guards the rest; not held while a hook runs
	fns     []func(context.Context, *Session, Entry)
	waiting []told
	running bool
}

// told is a message with the context of the Add that brought it.
type told struct {
	ctx   context.Context
	entry Entry
}

func (h *hooks) list() []func(context.Context, *Session, Entry) {
	h.mu.Lock()
	defer h.mu.Unlock()
	return slices.Clone(h.fns)
}

func (h *hooks) wait(ctx context.Context, entries []Entry) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if len(h.fns) == 0 {
		return
	}
	for _, e := range entries {
		h.waiting = append(h.waiting, told{ctx, e})
	}
}

// run calls the hooks for what waits, unless somebody is at it.
func (h *hooks) run(s *Session, log *slog.Logger) {
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

func (h *hooks) tell(s *Session, log *slog.Logger, m told, fns []func(context.Context, *Session, Entry)) {
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
