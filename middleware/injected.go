package middleware

import (
	"cmp"
	"container/list"
	"context"
	"encoding/json"
	"errors"
	"maps"
	"slices"
	"strings"
	"sync"

	"github.com/kenlayer/ken"
	"github.com/kenlayer/ken/budgeter"
	"github.com/kenlayer/ken/guardrail"
	"github.com/kenlayer/ken/internal/knowledge/structure"
	"github.com/kenlayer/ken/internal/run/session"
	"github.com/kenlayer/ken/store"
)

// maxChanges bounds the events between two turns of a conversation that are looked through
// one by one; beyond them every claim that it was told is looked up.
const maxChanges = 1000

// injectionHistory is what a conversation was told by its earlier blocks.
type injectionHistory struct {
	held map[string]uint64 // by id, hashOf the text
	from map[string]string // by id, the owner who shares it; of own claims none
	seq  uint64            // the store's last event when the last of the blocks was composed
}

// pastOf gathers what blocks told. What one of them announced as fallen is not told any
// more: should it stand again, it may be shown again.
func pastOf(earlier []placedBlock) injectionHistory {
	t := injectionHistory{held: map[string]uint64{}, from: map[string]string{}}
	for _, e := range earlier {
		for id, hash := range e.held {
			t.held[id] = hash
		}
		for i := range e.receipt.Items {
			it := &e.receipt.Items[i]
			if it.Owner != "" && it.Kind != ken.KindDocument {
				t.from[it.ID] = it.Owner
			}
			if it.Fallen != "" {
				delete(t.held, it.ID)
				delete(t.from, it.ID)
			}
		}
		t.seq = max(t.seq, e.seq)
	}
	return t
}

// seen reports what the context holds already with exactly this text.
func (t *injectionHistory) seen(id, text string) bool {
	have, ok := t.held[id]
	return ok && have == hashOf(text)
}

// fallen are the claims that earlier blocks of the conversation told, and that were
// disputed or superseded since. Those blocks stay as they are, so this one says it.
func (l *Layer) fallen(ctx context.Context, st *State) []budgeter.Candidate {
	var out []budgeter.Candidate
	look := func(s store.Engine, id, owner string) {
		c, err := s.Get(ctx, id)
		if err != nil || c.Status != ken.StatusDisputed && c.Status != ken.StatusSuperseded {
			return
		}
		sup := c.Support(nil)
		c = from(owner, c)
		out = append(out, budgeter.Candidate{Distance: -1, Item: ken.Item{ID: c.ID, Owner: owner, Kind: c.Kind, Tier: sup.At(l.now(), l.cfg.Knowledge.DecayDays),
			Trust: sup.Trust, CreatedAt: c.CreatedAt, Fallen: c.Status, Source: c.Source, Text: c.Text}})
	}
	if s, ok := st.p.(store.Engine); ok && len(st.past.held) > 0 && st.seq > st.past.seq {
		for _, id := range changed(ctx, s, &st.past) {
			look(s, id, "")
		}
	}
	for _, id := range slices.Sorted(maps.Keys(st.past.from)) { // it was shared when it was told
		if s := st.shared(st.past.from[id]); s != nil {
			look(s.engine, id, s.owner)
		}
	}
	return out
}

// changed are the claims of which the log says something new, in order.
func changed(ctx context.Context, s store.Engine, t *injectionHistory) (ids []string) {
	n := 0
	for ev, err := range s.Events(ctx, t.seq+1) {
		if n++; err != nil || n > maxChanges {
			ids = ids[:0]
			for id := range t.held {
				ids = append(ids, id)
			}
			slices.Sort(ids)
			return ids
		}
		id := ev.Claim.String()
		if _, ok := t.held[id]; ok && !slices.Contains(ids, id) {
			ids = append(ids, id)
		}
	}
	return ids
}

// sessionFocus remembers which entities sessions were about, so that a turn that says
// "it" still has the rules of what was named before. Beyond maxConversations, the
// sessions that were quiet longest are forgotten.
type sessionFocus struct {
	mu   sync.Mutex // guards the rest
	at   map[string]*list.Element
	used *list.List // of lineal
}

type focusEntry struct {
	session string
	names   []string // strongest first; never changed
}

func newLineage() *sessionFocus {
	return &sessionFocus{at: map[string]*list.Element{}, used: list.New()}
}

// get returns what a session was about; false when nothing is known of it.
func (g *sessionFocus) get(session string) ([]string, bool) {
	g.mu.Lock()
	defer g.mu.Unlock()
	el, ok := g.at[session]
	if !ok {
		return nil, false
	}
	g.used.MoveToFront(el)
	return el.Value.(focusEntry).names, true
}

// peek is get without taking the session for one that is in use.
func (g *sessionFocus) peek(session string) ([]string, bool) {
	g.mu.Lock()
	defer g.mu.Unlock()
	el, ok := g.at[session]
	if !ok {
		return nil, false
	}
	return el.Value.(focusEntry).names, true
}

func (g *sessionFocus) put(session string, names []string) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if el, ok := g.at[session]; ok {
		g.used.Remove(el)
	}
	g.at[session] = g.used.PushFront(focusEntry{session, names})
	if g.used.Len() > maxConversations {
		last := g.used.Back()
		g.used.Remove(last)
		delete(g.at, last.Value.(focusEntry).session)
	}
}

// forget drops an owner's sessions: what they were about may be what is forgotten.
func (g *sessionFocus) forget(owner string) {
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

// Reference begins what tools say of their answers, as text and as JSON. A tool's
// message that has it is known for an answer of Ken's own, whoever ran the tool.
const Reference = guardrail.Reference

// Injected returns what the layer put before the model in a session, as far as its
// journal holds it; what the last turns were given is in it already. Errors:
// ErrNotFound for a session that has no journal, and as of Journal.Read.
func (l *Layer) Injected(ctx context.Context, owner, id string) ([]session.Injection, error) {
	tr, err := l.Transcript(ctx, owner, id)
	return tr.Injected, err
}

// Transcript returns what the journal holds of a session, with what was just said in
// it. Errors: as of Journal.Read.
func (l *Layer) Transcript(ctx context.Context, owner, id string) (session.Transcript, error) {
	if err := l.recorder.flush(ctx); err != nil {
		return session.Transcript{}, err
	}
	return l.Journal(owner).Read(ctx, id)
}

// Showed tells a session's journal that items were put before the model by another
// way than a block, such as the answer of a tool, so that its harvest does not learn
// them again. A session without a journal stays without one: a call of a tool is no
// conversation. Errors: as of Journal.Injected.
func (l *Layer) Showed(ctx context.Context, owner, id string, items []ken.Item) error {
	l.shown(cmp.Or(owner, l.cfg.Knowledge.Owner), id, items)
	if err := l.recorder.flush(ctx); err != nil {
		return err
	}
	j := l.Journal(owner)
	if _, err := j.Info(ctx, id); errors.Is(err, ken.ErrNotFound) {
		return nil
	} else if err != nil {
		return err
	}
	return j.Injected(ctx, id, items)
}

// Handle is Session for a program that only acts on claims: what it learns, verifies
// and disputes carries the session and is told to its event log, but no journal is
// begun, and none is looked after.
func (l *Layer) Handle(t ken.Turn) *session.Session {
	if t.Owner == "" {
		t.Owner = l.cfg.Knowledge.Owner
	}
	return l.handle(t.Owner, about(&t))
}

// shownWindow is how many of a request's last messages are looked at for answers of
// Ken's tools: those before it were in a request before.
const shownWindow = 64

// shownIn finds what Ken's own tools showed in a conversation, such as those of an MCP
// server that knows nothing of it: it was put before the model like a block, and is not
// to be learned from it.
func shownIn(msgs []ken.Message) (out []ken.Item) {
	for i := range msgs[max(0, len(msgs)-shownWindow):] {
		m := &msgs[max(0, len(msgs)-shownWindow)+i]
		if m.Role != "tool" && m.Role != "function" {
			continue
		}
		texts := []string{m.Text}
		for _, p := range m.Parts {
			texts = append(texts, p.Text)
		}
		for _, text := range texts {
			if strings.Contains(text, Reference) {
				out = append(out, shownInText(text)...)
			}
		}
	}
	return out
}

// shownInText reads the items of a block, or the claims of a structured answer.
func shownInText(text string) (out []ken.Item) {
	if strings.HasPrefix(strings.TrimSpace(text), "{") {
		var answer struct {
			Claims []struct{ ID, Kind, Text string }
			Claim  struct{ ID, Kind, Text string }
		}
		if json.Unmarshal([]byte(text), &answer) != nil {
			return nil
		}
		for _, c := range append(answer.Claims, answer.Claim) {
			if c.Text != "" {
				out = append(out, ken.Item{ID: c.ID, Kind: ken.Kind(c.Kind), Text: c.Text})
			}
		}
		return out
	}
	_, text, _ = strings.Cut(text, guardrail.FrameOpen+"\n")
	text, _, _ = strings.Cut(text, "\n"+guardrail.FrameClose)
	for _, item := range strings.Split(text, "\n"+guardrail.ItemMark)[1:] { // in an item no other line begins so
		id, rest, _ := strings.Cut(item, "]")
		_, said, _ := strings.Cut(rest, "\n")
		if said = strings.TrimSpace(said); said != "" {
			out = append(out, ken.Item{ID: id, Text: said})
		}
	}
	return out
}
