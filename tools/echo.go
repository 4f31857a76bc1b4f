package tools

import (
	"context"
	"errors"
	"sync"

	"github.com/kenlayer/ken"
	"github.com/kenlayer/ken/internal/harvest/consolidate"
	"github.com/kenlayer/ken/internal/run/session"
)

// Bounds of what a registry remembers of what it showed.
const (
	maxShownSessions = 512
	maxShown         = 1000 // claims of one session
)

// shownHistory remembers what tools showed, by session. Most sessions of agents that call
// tools have no journal to ask.
type shownHistory struct {
	mu       sync.Mutex // guards the rest
	sessions map[string]map[string]session.Injection
	order    []string // of sessions, the one that was shown something last at the end
}

func newShownHistory() *shownHistory {
	return &shownHistory{sessions: map[string]map[string]session.Injection{}}
}

func (m *shownHistory) add(name string, shows []claimView) {
	m.mu.Lock()
	defer m.mu.Unlock()
	seen := m.sessions[name]
	if seen == nil {
		seen = map[string]session.Injection{}
		m.sessions[name] = seen
	}
	for i, s := range m.order {
		if s == name {
			m.order = append(m.order[:i], m.order[i+1:]...)
			break
		}
	}
	if m.order = append(m.order, name); len(m.order) > maxShownSessions {
		delete(m.sessions, m.order[0])
		m.order = m.order[1:]
	}
	for i := range shows {
		if s := &shows[i]; len(seen) < maxShown {
			seen[s.ID] = session.Injection{ID: s.ID, Kind: ken.Kind(s.Kind), Text: s.Text}
		}
	}
}

func (m *shownHistory) get(name string) (out []session.Injection) {
	m.mu.Lock()
	defer m.mu.Unlock()
	for _, in := range m.sessions[name] {
		out = append(out, in)
	}
	return out
}

// sessionKey is the key of the caller's session in shownHistory. Without a session it covers
// all that its agent does.
func (c *Call) sessionKey() string { return c.Owner + "\x00" + c.Session + "\x00" + c.Agent }

// rememberShown records what an answer shows, here and in the session's journal if it has
// one. It is not learned again from this session.
func (r *Registry) rememberShown(ctx context.Context, c *Call) {
	r.shown.add(c.sessionKey(), c.shown)
	if c.Session == "" {
		return
	}
	items := make([]ken.Item, len(c.shown))
	for i := range c.shown {
		s := &c.shown[i]
		items[i] = ken.Item{ID: s.ID, Kind: ken.Kind(s.Kind), Text: s.Text}
	}
	if err := r.layer.Operator().Showed(ctx, c.Owner, c.Session, items); err != nil && ctx.Err() == nil {
		r.o.Log.Warn("journal what a tool showed", "cause", err)
	}
}

// echo returns the claim or chunk that text repeats, if Ken itself showed it to the model in
// this session.
func (c *Call) echo(ctx context.Context, text string) (id string, is bool, err error) {
	injected := c.r.shown.get(c.sessionKey())
	if c.Session != "" {
		more, err := c.r.layer.Operator().Injected(ctx, c.Owner, c.Session)
		if err != nil && !errors.Is(err, ken.ErrNotFound) {
			return "", false, err
		}
		injected = append(injected, more...)
	}
	id, is = consolidate.NewEcho(injected).Repeats(text)
	return id, is, nil
}
