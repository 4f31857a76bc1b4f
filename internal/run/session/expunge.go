package session

import (
	"context"
	"fmt"
	"slices"

	"github.com/kenlayer/ken"
	"github.com/kenlayer/ken/internal/store/forgotten"
	"github.com/kenlayer/ken/store"
)

// Traces recognises what must be forgotten. Its functions may be called in any
// order, and must not use the journal.
type Traces struct {
	// Message reports a message that holds it.
	Message func(session string, e *Entry) bool
	// Text reports a text that holds it: of an injection, or a line of a checkpoint.
	Text func(text string) bool
	// Claims are the ids of claims whose injections go, whatever they say.
	Claims []string
}

// Expunged is what Expunge took out.
type Expunged struct {
	Messages int      // that went
	Sessions []string // ids of those that messages were taken out of, sorted
}

// Expunge takes out of every session what holds something that must be forgotten,
// and returns what went. Of a session that was harvested all messages
// go, as with Sweep: nobody needs them any more. Of any other those alone that hold
// it; should the client send them again, they are known, and not kept. Injections
// and blocks go one by one, and a checkpoint whole. It goes on past a session that it can't
// do, and may be repeated.
//
// What is deleted is gone from the disk once the store's file is compacted.
func (j *Journal) Expunge(ctx context.Context, t Traces) (Expunged, error) {
	j.texts.forget()
	recs, first := j.records(ctx, func(*record) bool { return true })
	var out Expunged
	for i := range recs {
		n, err := j.expunge(ctx, recs[i].ID, &t)
		if out.Messages += n; n > 0 {
			out.Sessions = append(out.Sessions, recs[i].ID)
		}
		if err != nil && first == nil {
			first = fmt.Errorf("expunge session %s: %w", recs[i].ID, err)
		}
	}
	slices.Sort(out.Sessions)
	return out, first
}

// erasedPart is what of one session must go.
type erasedPart struct {
	messages   []uint64
	injections []string // keys
	blocks     []string // keys
	checkpoint bool
}

func (h *erasedPart) nothing() bool {
	return len(h.messages)+len(h.injections)+len(h.blocks) == 0 && !h.checkpoint
}

// whole reports whether all of the session's messages go.
func (h *erasedPart) whole(rec *record) bool {
	return rec.State == Harvested && len(h.messages) > 0 && rec.Swept != rec.Part
}

// Holding is what of a journal holds something that must be forgotten.
type Holding struct {
	Expunged            // what Expunge would take out
	Injected   []string // ids of the sessions with an injection or a block that holds it, sorted
	Checkpoint []string // and with a checkpoint that does
}

// Holds looks for what Expunge would take out, and changes nothing. It goes on past a
// session that it can't read.
func (j *Journal) Holds(ctx context.Context, t Traces) (Holding, error) {
	recs, first := j.records(ctx, func(*record) bool { return true })
	var out Holding
	for i := range recs {
		rec := &recs[i]
		h, err := j.holds(ctx, rec.ID, &t)
		if err != nil {
			if ctx.Err() != nil {
				return out, ctx.Err()
			}
			if first == nil {
				first = fmt.Errorf("look through session %s: %w", rec.ID, err)
			}
			continue
		}
		n := len(h.messages)
		if h.whole(rec) {
			n = rec.Messages
		}
		if out.Messages += n; n > 0 {
			out.Sessions = append(out.Sessions, rec.ID)
		}
		if len(h.injections)+len(h.blocks) > 0 {
			out.Injected = append(out.Injected, rec.ID)
		}
		if h.checkpoint {
			out.Checkpoint = append(out.Checkpoint, rec.ID)
		}
	}
	for _, ids := range [][]string{out.Sessions, out.Injected, out.Checkpoint} {
		slices.Sort(ids)
	}
	return out, first
}

// expunge looks through a session without holding up those who write, and deletes
// then. A message never changes once it is there.
func (j *Journal) expunge(ctx context.Context, id string, t *Traces) (gone int, err error) {
	h, err := j.holds(ctx, id, t)
	if err != nil || h.nothing() {
		return 0, err
	}
	err = j.shelf.Update(ctx, func(tx store.ShelfTx) error {
		gone = 0
		rec, err := getRecord(tx, id)
		if err != nil || rec == nil {
			return err
		}
		if h.whole(rec) {
			gone = rec.Messages
			return sweep(tx, rec)
		}
		for _, key := range h.blocks {
			if err := t.keepOthers(tx, id, key); err != nil {
				return err
			}
		}
		keys := slices.Concat(h.injections, h.blocks)
		if h.checkpoint {
			keys = append(keys, keyCheckpoint(id))
		}
		for _, key := range keys {
			if err := tx.Delete(key); err != nil {
				return err
			}
		}
		gone, err = cutOut(tx, rec, h.messages)
		return err
	})
	if err != nil {
		return 0, err
	}
	j.drop(id)
	return gone, nil
}

// keepOthers keeps what else the turn was told by a block that goes.
func (t *Traces) keepOthers(tx store.ShelfTx, id, key string) error {
	b := tx.Get(key)
	if b == nil {
		return nil
	}
	var block keptBlock
	if err := decodeValue(key, b, &block); err != nil {
		return err
	}
	return keepInjections(tx, id, slices.DeleteFunc(block.injections(), t.matchesInjection), nil)
}

// holds finds what must go.
func (j *Journal) holds(ctx context.Context, id string, t *Traces) (h erasedPart, err error) {
	err = j.shelf.View(ctx, func(r store.ShelfReader) error {
		h = erasedPart{}
		for key, b := range r.Scan(allMessages(id)) {
			var row message
			if err := decodeValue(key, b, &row); err != nil {
				return err
			}
			if e := row.entry(seqOf(key)); t.Message(id, &e) {
				h.messages = append(h.messages, e.Seq)
			}
		}
		for key, b := range r.Scan(allInjected(id)) {
			var in Injection
			if err := decodeValue(key, b, &in); err != nil {
				return err
			}
			if t.matchesInjection(in) {
				h.injections = append(h.injections, key)
			}
		}
		for key, b := range r.Scan(allBlocks(id)) {
			var block keptBlock
			if err := decodeValue(key, b, &block); err != nil {
				return err
			}
			if t.matchesBlock(&block) {
				h.blocks = append(h.blocks, key)
			}
		}
		cp, err := getCheckpoint(r, id)
		if err == nil && cp != nil {
			h.checkpoint = slices.ContainsFunc(slices.Concat([]string{cp.Goal, cp.LastStep}, cp.Open, cp.Constraints, cp.Entities, cp.Files, cp.Focal, cp.Aspects), t.Text)
		}
		return err
	})
	return h, err
}

// cutOut deletes messages of a session and remembers them as known.
func cutOut(tx store.ShelfTx, rec *record, seqs []uint64) (gone int, err error) {
	known := sessionCache{id: rec.ID, counts: seen(tx, rec.ID), calls: map[string]uint64{}}
	for _, seq := range seqs {
		key := keyMessage(rec.ID, seq)
		b := tx.Get(key)
		if b == nil {
			continue
		}
		var row message
		if err := decodeValue(key, b, &row); err != nil {
			return gone, err
		}
		e := row.entry(seq)
		known.note(&e, row.Digest)
		if err := tx.Delete(key); err != nil {
			return gone, err
		}
		gone++
		rec.Messages--
		if row.Role == "user" || row.Role == "assistant" {
			rec.Said--
		}
	}
	if gone == 0 {
		return 0, nil
	}
	if err := writeSeen(tx, rec.ID, known.counts); err != nil {
		return gone, err
	}
	return gone, put(tx, keyInfo(rec.ID), rec)
}

// SaveCheckpoint keeps where a session stands, in place of the last one. One of
// fewer messages than that is ignored, as that of a turn which took longer.
// Errors: ErrNotFound.
func (j *Journal) SaveCheckpoint(ctx context.Context, id string, c Checkpoint) error {
	c = c.cleaned(&Checkpoint{})
	return j.shelf.Update(ctx, func(tx store.ShelfTx) error {
		rec, err := mustRecord(tx, id)
		if err != nil {
			return err
		}
		have, err := getCheckpoint(tx, id)
		if err != nil || have != nil && have.Seq > c.Seq {
			return err
		}
		gone, err := forgotten.In(tx)
		if err != nil {
			return err
		}
		kept := c
		kept.forget(func(text string) bool { return reveals(gone, rec, text) })
		return put(tx, keyCheckpoint(id), &kept)
	})
}

// Checkpoint returns the last one of a session, and false for a session that has
// none or is not known.
func (j *Journal) Checkpoint(ctx context.Context, id string) (Checkpoint, bool, error) {
	var c *Checkpoint
	err := j.shelf.View(ctx, func(r store.ShelfReader) (err error) {
		c, err = getCheckpoint(r, id)
		return err
	})
	if err != nil || c == nil {
		return Checkpoint{}, false, err
	}
	return *c, true, nil
}

func getCheckpoint(r store.ShelfReader, id string) (*Checkpoint, error) {
	b := r.Get(keyCheckpoint(id))
	if b == nil {
		return nil, nil
	}
	c := &Checkpoint{}
	return c, decodeValue(keyCheckpoint(id), b, c)
}

// cleaned returns a checkpoint that may be kept. What prev says, which was kept
// before, is clean: cleaning is what takes the time, and little changes in a turn.
func (c Checkpoint) cleaned(prev *Checkpoint) Checkpoint {
	// Most of it is from what a person said, and what was not was stripped before.
	one := func(s string, known ...string) string {
		if slices.Contains(known, s) {
			return s
		}
		return cleanSaid(s)
	}
	list := func(in, known []string) []string {
		var out []string
		for _, s := range in {
			if s = one(s, known...); s != "" {
				out = append(out, s)
			}
		}
		return out
	}
	c.Goal, c.LastStep = one(c.Goal, prev.Goal), one(c.LastStep, prev.LastStep)
	c.Entities, c.Files = list(c.Entities, prev.Entities), list(c.Files, prev.Files)
	c.Open, c.Constraints = list(c.Open, prev.Open), list(c.Constraints, prev.Constraints)
	c.Focal, c.Aspects = list(c.Focal, prev.Focal), list(c.Aspects, prev.Aspects)
	return c
}

// reveals reports whether a text of a session would bring back what was forgotten: it says
// it, or, in a session that began before, names what nothing else named.
func reveals(gone *forgotten.Set, rec *record, text string) bool {
	return gone.Says(text) || !gone.After(rec.Started) && gone.Names(text)
}

// refuse takes out of the session those of the part's messages that would bring back what
// was forgotten, in the transaction that put them there. They are known, so that they are
// not taken up when they come again. What a person says in a session that began after
// the forgetting is said anew, and stays.
func (p *recordPart) refuse(tx store.ShelfTx, rec *record, gone *forgotten.Set) error {
	p.stale = false
	if gone == nil || rec == nil {
		return nil
	}
	anew := gone.After(rec.Started)
	var seqs []uint64
	for _, n := range p.notes {
		for i := range n.entries {
			m := &n.entries[i].Message
			if n.Unkept || anew && m.Role == "user" {
				continue
			}
			if reveals(gone, rec, m.Text) || slices.ContainsFunc(m.ToolCalls, func(c ken.ToolCall) bool { return reveals(gone, rec, c.Arguments) }) {
				seqs = append(seqs, n.entries[i].Seq)
			}
		}
	}
	if len(seqs) == 0 {
		return nil
	}
	p.stale = true
	_, err := cutOut(tx, rec, seqs)
	return err
}

// forget takes out of a checkpoint the lines of which says is true.
func (c *Checkpoint) forget(says func(string) bool) {
	for _, line := range []*string{&c.Goal, &c.LastStep} {
		if says(*line) {
			*line = ""
		}
	}
	for _, list := range []*[]string{&c.Open, &c.Constraints, &c.Entities, &c.Files, &c.Focal, &c.Aspects} {
		if slices.ContainsFunc(*list, says) {
			*list = slices.DeleteFunc(slices.Clone(*list), says)
		}
	}
}
