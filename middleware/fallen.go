package middleware

import (
	"context"
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
	seq  uint64            // the store's last event when the last of the blocks was composed
}

// pastOf gathers what blocks told. What one of them announced as fallen is not told any
// more: should it stand again, it may be shown again.
func pastOf(earlier []placed) past {
	t := past{held: map[string]uint64{}}
	for _, e := range earlier {
		for id, hash := range e.held {
			t.held[id] = hash
		}
		for i := range e.receipt.Items {
			if it := &e.receipt.Items[i]; it.Fallen != "" {
				delete(t.held, it.ID)
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
	s, ok := st.p.(store.Engine)
	if !ok || len(st.past.held) == 0 || st.seq <= st.past.seq {
		return nil
	}
	var out []budgeter.Candidate
	for _, id := range changed(ctx, s, &st.past) {
		c, err := s.Get(ctx, id)
		if err != nil || c.Status != ken.StatusDisputed && c.Status != ken.StatusSuperseded {
			continue
		}
		sup := c.Support(nil)
		out = append(out, budgeter.Candidate{Distance: -1, Item: ken.Item{ID: c.ID, Kind: c.Kind, Tier: sup.At(l.now(), l.cfg.Knowledge.DecayDays),
			Trust: sup.Trust, CreatedAt: c.CreatedAt, Fallen: c.Status, Source: c.Source, Text: c.Text}})
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
