package middleware

import (
	"container/list"
	"context"
	"slices"
	"strings"
	"sync"

	"github.com/kenlayer/ken"
	"github.com/kenlayer/ken/internal/knowledge/structure"
)

// lineage remembers which entities sessions were about, so that a turn that says
// "it" still has the rules of what was named before. Beyond maxConversations, the
// sessions that were quiet longest are forgotten.
type lineage struct {
	mu   sync.Mutex // guards the rest
	at   map[string]*list.Element
	used *list.List // of lineal
}

type lineal struct {
	session string
	names   []string // strongest first; never changed
}

func newLineage() *lineage { return &lineage{at: map[string]*list.Element{}, used: list.New()} }

// get returns what a session was about; false when nothing is known of it.
func (g *lineage) get(session string) ([]string, bool) {
	g.mu.Lock()
	defer g.mu.Unlock()
	el, ok := g.at[session]
	if !ok {
		return nil, false
	}
	g.used.MoveToFront(el)
	return el.Value.(lineal).names, true
}

// peek is get without taking the session for one that is in use.
func (g *lineage) peek(session string) ([]string, bool) {
	g.mu.Lock()
	defer g.mu.Unlock()
	el, ok := g.at[session]
	if !ok {
		return nil, false
	}
	return el.Value.(lineal).names, true
}

func (g *lineage) put(session string, names []string) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if el, ok := g.at[session]; ok {
		g.used.Remove(el)
	}
	g.at[session] = g.used.PushFront(lineal{session, names})
	if g.used.Len() > maxConversations {
		last := g.used.Back()
		g.used.Remove(last)
		delete(g.at, last.Value.(lineal).session)
	}
}

// forget drops an owner's sessions: what they were about may be what is forgotten.
func (g *lineage) forget(owner string) {
	g.mu.Lock()
	defer g.mu.Unlock()
	for session, el := range g.at {
		if strings.HasPrefix(session, owner+"\x00") {
			g.used.Remove(el)
			delete(g.at, session)
		}
	}
}

// carries returns the entities that a turn's session brings along: from its earlier
// turns, or, where this process has seen none, from what was kept of it.
func (l *Layer) carries(ctx context.Context, st *State) (names []string) {
	t := &st.Turn
	if t.Session == "" || t.Incognito {
		return nil
	}
	key := t.Owner + "\x00" + t.Session
	known := l.lineage.get
	if st.trial != nil {
		known = l.lineage.peek
	}
	if names, ok := known(key); ok {
		return names
	}
	if l.carried == nil {
		return nil
	}
	err := protect(ctx, st, func(ctx context.Context, _ *State) (err error) {
		names, err = l.carried(ctx, t)
		return err
	})
	if err != nil { // the next turn looks again
		st.degrade("lineage", err)
		return nil
	}
	if st.trial != nil {
		return names
	}
	l.lineage.put(key, names) // none is worth knowing too: nobody has to look again
	return names
}

// keptFocus names the entities that the checkpoint of a turn's session has in focus.
func (l *Layer) keptFocus(ctx context.Context, t *ken.Turn) ([]string, error) {
	if !l.remembers(t) {
		return nil, nil
	}
	cp, _, err := l.Journal(t.Owner).Checkpoint(ctx, t.Session)
	return cp.Focal, err
}

// carry keeps what a turn was about for the next ones of its session: what it named,
// then what it was carried.
func (l *Layer) carry(t *ken.Turn, focal []structure.Focus) {
	if t.Session == "" || t.Incognito || len(focal) == 0 {
		return
	}
	var names []string
	for _, named := range []bool{true, false} {
		for i := range focal {
			f := &focal[i]
			if f.From.Named() == named && (named || f.From == structure.FromSession) && len(names) < l.cfg.Structure.Focal {
				names = append(names, strings.Clone(f.Name))
			}
		}
	}
	if key := t.Owner + "\x00" + t.Session; len(names) > 0 {
		if before, _ := l.lineage.get(key); !slices.Equal(before, names) {
			l.lineage.put(key, names)
		}
	}
}
