package session

import (
	"cmp"
	"context"
	"fmt"
	"slices"

	"github.com/kenlayer/ken"
	"github.com/kenlayer/ken/internal/store/forgotten"
	"github.com/kenlayer/ken/store"
)

// Traces describes what must be forgotten. Its functions may be called in any order, and
// must not use the journal.
type Traces struct {
	// Message reports whether a message contains forgotten content.
	Message func(session string, e *Entry) bool
	// Text reports whether a text does: an injection, or a line of a checkpoint.
	Text func(text string) bool
	// Claims are the ids of claims whose injections are deleted, whatever their text.
	Claims []string
	// Session is the session whose checkpoint is deleted, whatever its text; "" for none.
	Session string
}

// Expunged says what Expunge deleted.
type Expunged struct {
	Messages int      // messages deleted
	Sessions []string // sorted ids of the sessions that lost messages
}

// Expunge deletes the content that must be forgotten from every session, and returns what
// it deleted. A harvested session that contains such content loses all its messages, as
// with Sweep, because they are no longer needed. Any other session loses only the matching
// messages; if the client sends them again, they are recognised and not stored. Injections
// and blocks are deleted one by one, and a checkpoint as a whole. If a session fails, it
// continues with the others and returns the first error. It may be repeated.
//
// Deleted data leaves the disk when the store's file is compacted.
func (j *Journal) Expunge(ctx context.Context, t Traces) (Expunged, error) {
	j.texts.Drop(func(uint64) bool { return true })
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

// erasedPart lists what must be deleted of one session.
type erasedPart struct {
	messages   []uint64
	injections []string // keys
	blocks     []string // keys
	checkpoint bool
}

func (h *erasedPart) nothing() bool {
	return len(h.messages)+len(h.injections)+len(h.blocks) == 0 && !h.checkpoint
}

// whole reports whether all of the session's messages must be deleted.
func (h *erasedPart) whole(rec *record) bool {
	return rec.State == Harvested && len(h.messages) > 0 && rec.Swept != rec.Part
}

// Holding says where a journal contains something that must be forgotten.
type Holding struct {
	Expunged            // what Expunge would delete
	Injected   []string // sorted ids of the sessions with a matching injection or block
	Checkpoint []string // sorted ids of the sessions with a matching checkpoint
}

// Holds returns what Expunge would delete, and changes nothing. If a session can't be
// read, it continues with the others and returns the first error.
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

// expunge searches a session in a read transaction, which does not block writers, then
// deletes what it found. Stored messages never change, so the result stays valid.
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
		if err := deleteAll(tx, keys...); err != nil {
			return err
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

// keepOthers stores the other injections of a block that is deleted.
func (t *Traces) keepOthers(tx store.ShelfTx, id, key string) error {
	block, err := get[keptBlock](tx, key)
	if err != nil || block == nil {
		return err
	}
	return keepInjections(tx, id, slices.DeleteFunc(block.injections(), t.matchesInjection), nil)
}

// holds finds what must be deleted of a session.
func (j *Journal) holds(ctx context.Context, id string, t *Traces) (h erasedPart, err error) {
	err = j.shelf.View(ctx, func(r store.ShelfReader) error {
		h = erasedPart{}
		err := cmp.Or(
			each(r, allMessages(id), func(key string, row *message) {
				if e := row.entry(seqOf(key)); t.Message(id, &e) {
					h.messages = append(h.messages, e.Seq)
				}
			}),
			each(r, allInjected(id), func(key string, in *Injection) {
				if t.matchesInjection(*in) {
					h.injections = append(h.injections, key)
				}
			}),
			each(r, allBlocks(id), func(key string, block *keptBlock) {
				if t.matchesBlock(block) {
					h.blocks = append(h.blocks, key)
				}
			}))
		if err != nil {
			return err
		}
		cp, err := getCheckpoint(r, id)
		if err == nil && cp != nil {
			h.checkpoint = t.Session != "" && id == t.Session || slices.ContainsFunc(slices.Concat([]string{cp.Goal, cp.LastStep}, cp.Open, cp.Constraints, cp.Entities, cp.Files, cp.Focal, cp.Aspects), t.Text)
		}
		return err
	})
	return h, err
}

// cutOut deletes messages of a session and records them as seen, so that they are not
// stored again. It returns how many it deleted.
func cutOut(tx store.ShelfTx, rec *record, seqs []uint64) (gone int, err error) {
	known := sessionCache{id: rec.ID, counts: seen(tx, rec.ID), calls: map[string]uint64{}}
	for _, seq := range seqs {
		key := keyMessage(rec.ID, seq)
		row, err := get[message](tx, key)
		if err == nil && row == nil {
			continue
		}
		if err == nil {
			err = tx.Delete(key)
		}
		if err != nil {
			return gone, err
		}
		e := row.entry(seq)
		known.note(&e, row.Digest)
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

// Checkpoint returns the checkpoint of a session, and false if the session has none or is
// unknown.
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
	return get[Checkpoint](r, keyCheckpoint(id))
}

// cleaned returns a checkpoint that may be stored. Texts that prev has are clean already:
// cleaning is slow, and little changes in a turn.
func (c Checkpoint) cleaned(prev *Checkpoint) Checkpoint {
	// Most texts come from a user; the others were stripped of reasoning before.
	one := func(s string, known ...string) string {
		if slices.Contains(known, s) {
			return s
		}
		return cleanSaid(s)
	}
	c.Goal, c.LastStep = one(c.Goal, prev.Goal), one(c.LastStep, prev.LastStep)
	for i, list := range c.lists() {
		var out []string
		for _, s := range *list {
			if s = one(s, *prev.lists()[i]...); s != "" {
				out = append(out, s)
			}
		}
		*list = out
	}
	return c
}

// lists returns the lists of a checkpoint.
func (c *Checkpoint) lists() []*[]string {
	return []*[]string{&c.Open, &c.Constraints, &c.Entities, &c.Files, &c.Focal, &c.Aspects}
}

// reveals reports whether a text of a session would bring back forgotten content. It does
// if it contains the content. In a session that began before the forgetting, it also does
// if it names something that only the forgotten content named.
func reveals(gone *forgotten.Set, rec *record, text string) bool {
	return gone.Says(text) || !gone.After(rec.Started) && gone.Names(text)
}

// refuse deletes those of the part's messages that would bring back forgotten content, in
// the transaction that stored them. They are recorded as seen, so they are not stored when
// they come again. In a session that began after the forgetting, the user's own messages
// stay, because the user said them anew.
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

// forget removes the lines for which says returns true.
func (c *Checkpoint) forget(says func(string) bool) {
	for _, line := range []*string{&c.Goal, &c.LastStep} {
		if says(*line) {
			*line = ""
		}
	}
	for _, list := range c.lists() {
		if slices.ContainsFunc(*list, says) {
			*list = slices.DeleteFunc(slices.Clone(*list), says)
		}
	}
}
