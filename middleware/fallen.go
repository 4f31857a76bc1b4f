package middleware

import (
	"context"
	"maps"
	"slices"

	"github.com/kenlayer/ken"
	"github.com/kenlayer/ken/budgeter"
	"github.com/kenlayer/ken/store"
)

// maxChanges bounds the events between two turns of a conversation that are looked through
// one by one; beyond them every claim that it was told is looked up.
const maxChanges = 1000

// past is what a conversation was told by its earlier blocks.
type past struct {
	held map[string]uint64 // by id, hashOf the text
	from map[string]string // by id, the owner who shares it; of own claims none
	seq  uint64            // the store's last event when the last of the blocks was composed
}

// pastOf gathers what blocks told. What one of them announced as fallen is not told any
// more: should it stand again, it may be shown again.
func pastOf(earlier []placed) past {
	t := past{held: map[string]uint64{}, from: map[string]string{}}
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
func (t *past) seen(id, text string) bool {
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
func changed(ctx context.Context, s store.Engine, t *past) (ids []string) {
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
