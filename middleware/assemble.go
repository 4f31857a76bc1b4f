package middleware

import (
	"context"
	"time"

	"github.com/kenlayer/ken"
	"github.com/kenlayer/ken/budgeter"
	"github.com/kenlayer/ken/config"
	"github.com/kenlayer/ken/store"
)

// Insertion is a block and its place in the conversation.
type Insertion struct {
	// Before is the index, in the messages as the client sent them, of the
	// message that the block goes before, or into.
	Before int
	// Text is the block.
	Text string
	// Merge puts the block at the head of message Before, followed by an empty
	// line; otherwise it is a user message of its own.
	Merge bool
}

// Assembly is what the layer made of a turn.
type Assembly struct {
	Insertions []Insertion // by rising Before
	Receipt    ken.Receipt
}

// Assemble prepares one model call: it returns what to insert into t.Messages,
// and the receipt. It never fails and never changes t.Messages; the receipt says
// what was lost. It returns at ctx's end at the latest, with what it has.
//
// An empty t.Owner is the configured owner; an empty t.ID gets an id, which the
// later requests of the same turn share.
func (l *Layer) Assemble(ctx context.Context, t ken.Turn) Assembly {
	start := time.Now()
	named := t.ID != ""
	if !named {
		t.ID = l.newID()
	}
	if t.Owner == "" {
		t.Owner = l.cfg.Knowledge.Owner
	}
	if t.Weight == ken.WeightDefault {
		t.Weight = l.cfg.Retrieval.Weight
	}
	if t.Scopes == nil {
		t.Scopes = l.cfg.Retrieval.Scopes
	}
	at, sizes := prints(seed(&t), t.Messages)
	a := Assembly{}
	block := &composed{}
	last := lastUser(t.Messages)
	switch {
	case !l.cfg.Middleware.Knowledge:
		a.Receipt = l.blank(&t, "switched off: middleware.knowledge is false")
	case t.Weight == ken.WeightNone:
		a.Receipt = l.blank(&t, "the agent's weight is none")
	case last < 0:
		a.Receipt = l.blank(&t, "there is no user message")
	default:
		earlier := l.earlier(ctx, t.Owner, t.Messages[:last], at)
		block = l.compose(ctx, &t, named, at[last], last, earlier, start)
		a.Receipt = block.receipt
		if l.cfg.Middleware.Inject {
			for _, e := range earlier {
				a.Insertions = append(a.Insertions, l.insertion(e.index, e.composed))
			}
			if block.text != "" {
				a.Insertions = append(a.Insertions, l.insertion(last, block))
			}
		}
	}
	l.traffic.count(&t, at, sizes, &a)
	a.Receipt.MS = with(a.Receipt.MS, "total", since(start))
	l.report(ctx, &t, &a, block)
	l.observe(&t, &a)
	return a
}

func (l *Layer) insertion(before int, c *composed) Insertion {
	return Insertion{Before: before, Text: c.text, Merge: l.cfg.Injection.As == config.AsMerge}
}

// placed is a block that an earlier turn of this conversation composed.
type placed struct {
	index int
	*composed
}

// earlier finds the blocks that the conversation carried before this turn.
func (l *Layer) earlier(ctx context.Context, owner string, msgs []ken.Message, at []fingerprint) []placed {
	if !l.cfg.Injection.Sticky {
		return nil
	}
	var out []placed
	for i := range msgs {
		if msgs[i].Role != "user" {
			continue
		}
		if c := l.recall(ctx, owner, at[i]); c != nil && c.text != "" {
			out = append(out, placed{i, c})
		}
	}
	return out
}

// recall returns what was composed at a place, unless a claim in it was forgotten
// since: then the block goes too, whatever the prompt cache loses.
func (l *Layer) recall(ctx context.Context, owner string, at fingerprint) *composed {
	c := l.blocks.get(at)
	if c == nil || len(c.claims) == 0 {
		return c
	}
	p, release, err := l.projections(ctx, owner)
	if err != nil {
		return c // nothing can be forgotten where nothing can be opened
	}
	defer release()
	for _, id := range c.claims {
		if !p.Has(id) {
			return nil
		}
	}
	return c
}

// compose returns the turn's block: the one that an earlier request of the turn
// got, or a new one. A request that ends with the user message opens a turn; in
// a conversation without a session it is composed anew, because the same opening
// may belong to another conversation.
// named says that the caller gave the turn its id.
func (l *Layer) compose(ctx context.Context, t *ken.Turn, named bool, key fingerprint, last int, earlier []placed, start time.Time) *composed {
	opens := last == len(t.Messages)-1
	sticky := l.cfg.Injection.Sticky
	if sticky && !(opens && t.Session == "") {
		if c := l.recall(ctx, t.Owner, key); c != nil {
			again := *c
			again.receipt.Reused, again.receipt.At = true, l.now().UTC()
			if named {
				again.receipt.Turn = t.ID
			}
			return &again
		}
	}
	stale := l.blocks.get(key)
	held := map[string]string{}
	for _, e := range earlier {
		for id, text := range e.held {
			held[id] = text
		}
	}
	c := l.run(ctx, t, held)
	c.receipt.MS = with(c.receipt.MS, "assemble", since(start))
	if !sticky || ctx.Err() != nil { // what was cut short is not sent, and must not stick
		return c
	}
	return l.blocks.put(key, c, stale)
}

// run sends the turn through the chain.
func (l *Layer) run(ctx context.Context, t *ken.Turn, held map[string]string) *composed {
	r := l.blank(t, "")
	st := &State{Turn: *t, Read: t.Messages, Receipt: &r, late: l.takeLate(t),
		seen: func(id, text string) bool { have, ok := held[id]; return ok && have == text }}
	p, release, err := l.projections(ctx, t.Owner)
	if err != nil {
		st.degrade("store", err)
	} else {
		defer release()
		st.p = p
		err := protect(ctx, st, l.handler)
		st.Receipt = &r // whatever a middleware made of it
		if err != nil {
			st.degrade("middleware", err)
		}
	}
	l.keepLate(t, st.Found.Late)
	r.Block, r.Chars, r.Tokens = st.Block.Text, st.Block.Chars, st.Block.Tokens
	c := &composed{text: st.Block.Text, held: make(map[string]string, len(r.Items)), receipt: r,
		retrieved: st.Found.Retrieved - st.Found.Sessions, memory: st.Found.Memory}
	for _, it := range r.Items {
		c.held[it.ID] = it.Text
		// Files change; their old text in a conversation does no harm. A checkpoint is no
		// record that could be forgotten.
		if it.Kind != ken.KindDocument && it.Kind != budgeter.KindCheckpoint {
			c.claims = append(c.claims, it.ID)
		}
	}
	return c
}

// blank is the receipt of a turn that gets no block, for the reason given.
func (l *Layer) blank(t *ken.Turn, cause string) ken.Receipt {
	return ken.Receipt{Turn: t.ID, At: l.now().UTC(), Owner: t.Owner, Session: t.Session, Mode: ken.ModeNone, Cause: cause,
		Signals: ken.Signals{Keywords: []string{}, Symbols: []string{}, Failures: []string{}, Entities: []string{}},
		Items:   []ken.Item{}, Cut: []ken.Cut{}, MS: map[string]float64{}}
}

// with returns a copy of m with one more entry: a receipt that others hold must
// not change.
func with(m map[string]float64, key string, v float64) map[string]float64 {
	out := make(map[string]float64, len(m)+1)
	for k, x := range m {
		out[k] = x
	}
	out[key] = v
	return out
}

// takeLate returns what the session's last turn was still waiting for.
func (l *Layer) takeLate(t *ken.Turn) <-chan store.Result {
	if t.Session == "" {
		return nil
	}
	return l.late.take(t.Owner + "\x00" + t.Session)
}

func (l *Layer) keepLate(t *ken.Turn, ch <-chan store.Result) {
	if ch != nil && t.Session != "" {
		l.late.keep(t.Owner+"\x00"+t.Session, ch)
	}
}
