package middleware

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"maps"
	"slices"
	"strings"

	"github.com/kenlayer/ken"
	"github.com/kenlayer/ken/budgeter"
	"github.com/kenlayer/ken/guardrail"
	"github.com/kenlayer/ken/internal/knowledge/structure"
	"github.com/kenlayer/ken/internal/run/session"
	"github.com/kenlayer/ken/store"
)

// maxChanges is the maximum number of log events between two turns that are examined one by one.
// With more, every claim in the conversation is looked up.
const maxChanges = 1000

// injectionHistory holds what the earlier blocks of a conversation contain.
type injectionHistory struct {
	itemHashes map[string]uint64 // by item id, hashOf of the text
	sharedBy   map[string]string // by item id, the owner who shares the item; the turn owner's items are not in it
	lastEvent  uint64            // the store's last event when the newest of the blocks was composed
}

// historyOf collects the items of blocks. It leaves out claims that a later block reported as
// disputed or superseded: if such a claim becomes valid again, it may be injected again.
func historyOf(earlier []placedBlock) injectionHistory {
	t := injectionHistory{itemHashes: map[string]uint64{}, sharedBy: map[string]string{}}
	for _, e := range earlier {
		maps.Copy(t.itemHashes, e.itemHashes)
		for i := range e.receipt.Items {
			it := &e.receipt.Items[i]
			if it.Owner != "" && it.Kind != ken.KindDocument {
				t.sharedBy[it.ID] = it.Owner
			}
			if it.NewStatus != "" {
				delete(t.itemHashes, it.ID)
				delete(t.sharedBy, it.ID)
			}
		}
		t.lastEvent = max(t.lastEvent, e.lastEvent)
	}
	return t
}

// contains reports whether the conversation contains an item with exactly this text.
func (t *injectionHistory) contains(id, text string) bool {
	have, ok := t.itemHashes[id]
	return ok && have == hashOf(text)
}

// fallenClaims returns the claims of earlier blocks that were disputed or superseded since. Those
// blocks are not changed, so this turn's block reports it.
func (l *Layer) fallenClaims(ctx context.Context, st *State) []budgeter.Candidate {
	var out []budgeter.Candidate
	check := func(s store.Engine, id, owner string) {
		c, err := s.Get(ctx, id)
		if err != nil || c.Status != ken.StatusDisputed && c.Status != ken.StatusSuperseded {
			return
		}
		sup := c.Support(nil)
		c = withOwnerSource(owner, c)
		out = append(out, budgeter.Candidate{Distance: -1, Item: ken.Item{ID: c.ID, Owner: owner, Kind: c.Kind, Tier: sup.At(l.now(), l.cfg.Knowledge.DecayDays),
			Trust: sup.Trust, CreatedAt: c.CreatedAt, NewStatus: c.Status, Source: c.Source, Text: c.Text}})
	}
	if s, ok := st.proj.(store.Engine); ok && len(st.history.itemHashes) > 0 && st.lastEvent > st.history.lastEvent {
		for _, id := range changedClaims(ctx, s, &st.history) {
			check(s, id, "")
		}
	}
	for _, id := range slices.Sorted(maps.Keys(st.history.sharedBy)) { // the logs of other owners are not read, so each claim is looked up
		if s := st.shareOf(st.history.sharedBy[id]); s != nil {
			check(s.engine, id, s.owner)
		}
	}
	return out
}

// changedClaims returns the ids of the conversation's claims that have new events in the log, in
// the order of the events. After an error, or more than maxChanges events, it returns all claims.
func changedClaims(ctx context.Context, s store.Engine, t *injectionHistory) (ids []string) {
	n := 0
	for ev, err := range s.Events(ctx, t.lastEvent+1) {
		if n++; err != nil || n > maxChanges {
			return slices.Sorted(maps.Keys(t.itemHashes))
		}
		id := ev.Claim.String()
		if _, ok := t.itemHashes[id]; ok && !slices.Contains(ids, id) {
			ids = append(ids, id)
		}
	}
	return ids
}

// carriedFocus returns the entities that a turn's session was about: in earlier turns or, if this
// process has seen none, in the session's checkpoint.
func (l *Layer) carriedFocus(ctx context.Context, st *State) (names []string) {
	t := &st.Turn
	if t.Session == "" || t.Incognito {
		return nil
	}
	key := keyOf(t)
	known := l.sessionFocus.Get
	if st.dryRun != nil {
		known = l.sessionFocus.Peek
	}
	if names, ok := known(key); ok {
		return names
	}
	if l.findStoredFocus == nil {
		return nil
	}
	err := protect(ctx, st, func(ctx context.Context, _ *State) (err error) {
		names, err = l.findStoredFocus(ctx, t)
		return err
	})
	if err != nil { // the next turn tries again
		st.degrade("lineage", err)
		return nil
	}
	if st.dryRun != nil {
		return names
	}
	l.sessionFocus.Put(key, names) // an empty list too, which saves the next lookup
	return names
}

// checkpointFocus returns the entities in focus in the checkpoint of a turn's session.
func (l *Layer) checkpointFocus(ctx context.Context, t *ken.Turn) ([]string, error) {
	if !l.usesSession(t) {
		return nil, nil
	}
	cp, _, err := l.Operator().Journal(t.Owner).Checkpoint(ctx, t.Session)
	return cp.Focal, err
}

// saveFocus stores the entities of a turn for the session's next turns: first those that the turn
// named, then those that its session was about before.
func (l *Layer) saveFocus(t *ken.Turn, focal []structure.Focus) {
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
	if key := keyOf(t); len(names) > 0 {
		if before, _ := l.sessionFocus.Get(key); !slices.Equal(before, names) {
			l.sessionFocus.Put(key, names)
		}
	}
}

// Injected returns what the layer injected into a session, as far as the session's journal holds
// it, including the last turns. It returns ErrNotFound for a session without a journal, and the
// errors of Journal.Read.
func (l operator) Injected(ctx context.Context, owner, id string) ([]session.Injection, error) {
	tr, err := l.Transcript(ctx, owner, id)
	return tr.Injected, err
}

// Transcript returns the content of a session's journal, including the last messages. It returns
// the errors of Journal.Read.
func (l operator) Transcript(ctx context.Context, owner, id string) (session.Transcript, error) {
	if err := l.recorder.flush(ctx); err != nil {
		return session.Transcript{}, err
	}
	return l.Journal(owner).Read(ctx, id)
}

// Showed records in a session's journal that the model saw items other than through a block, for
// example in the answer of a tool. So the harvest does not learn them again. It creates no journal
// for a session that has none. It returns the errors of Journal.Injected.
func (l operator) Showed(ctx context.Context, owner, id string, items []ken.Item) error {
	l.observeItems(cmp.Or(owner, l.cfg.Knowledge.Owner), id, items)
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

// Handle is Layer.Session for a program that only acts on claims. What it learns, verifies and
// disputes carries the session and is written to the session's event log, but no journal is
// created.
func (l operator) Handle(t ken.Turn) *session.Session {
	t.Owner = l.ownerOrDefault(t.Owner)
	return l.sessionHandle(t.Owner, l.sessionAbout(&t))
}

// toolResultWindow is the number of a request's last messages that are searched for answers of
// Ken's tools. Older messages were in an earlier request.
const toolResultWindow = 64

// itemsInToolResults returns the items that answers of Ken's own tools contain, for example of an
// MCP server that does not know the conversation. The model saw them as it sees a block, so the
// harvest must not learn them.
func itemsInToolResults(msgs []ken.Message) (out []ken.Item) {
	for i := range msgs[max(0, len(msgs)-toolResultWindow):] {
		m := &msgs[max(0, len(msgs)-toolResultWindow)+i]
		if m.Role != "tool" && m.Role != "function" {
			continue
		}
		texts := []string{m.Text}
		for _, p := range m.Parts {
			texts = append(texts, p.Text)
		}
		for _, text := range texts {
			if strings.Contains(text, guardrail.Reference) {
				out = append(out, itemsInText(text)...)
			}
		}
	}
	return out
}

// itemsInText returns the items of a block, or the claims of a JSON answer.
func itemsInText(text string) (out []ken.Item) {
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
	for _, item := range strings.Split(text, "\n"+guardrail.ItemMark)[1:] { // no line within an item begins with this mark
		id, rest, _ := strings.Cut(item, "]")
		_, said, _ := strings.Cut(rest, "\n")
		if said = strings.TrimSpace(said); said != "" {
			out = append(out, ken.Item{ID: id, Text: said})
		}
	}
	return out
}
