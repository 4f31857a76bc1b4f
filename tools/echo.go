package tools

import (
	"context"
	"errors"
	"maps"
	"slices"
	"sync"

	"github.com/kenlayer/ken"
	"github.com/kenlayer/ken/internal/harvest/consolidate"
	"github.com/kenlayer/ken/internal/lru"
	"github.com/kenlayer/ken/internal/run/session"
)

// Bounds of shownHistory.
const (
	maxShownSessions = 512
	maxShown         = 1000 // claims per session
)

// shownHistory remembers which items tools showed, by session. Most sessions of agents that call
// tools have no journal with this information.
type shownHistory struct {
	mu       sync.Mutex // guards sessions
	sessions lru.List[string, map[string]session.Injection]
}

func (m *shownHistory) add(name string, shows []claimView) {
	m.mu.Lock()
	defer m.mu.Unlock()
	seen, ok := m.sessions.Get(name)
	if !ok {
		seen = map[string]session.Injection{}
		if m.sessions.Put(name, seen); m.sessions.Len() > maxShownSessions {
			m.sessions.TakeOldest()
		}
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
	shown, _ := m.sessions.Peek(name)
	return slices.Collect(maps.Values(shown))
}

// sessionKey returns the key of the caller's session in shownHistory. Callers of one agent without
// a session share a key.
func (c *Call) sessionKey() string { return c.Owner + "\x00" + c.Session + "\x00" + c.Agent }

// rememberShown records the items that an answer shows, in shownHistory and in the session's
// journal if it has one. So this session does not learn them.
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
		r.o.Log.Warn("record the items that a tool showed", "cause", err)
	}
}

// echo returns the id of the claim or piece of a file that text repeats, if Ken showed it to the
// model in this session.
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
