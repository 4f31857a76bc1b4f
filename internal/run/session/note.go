package session

import (
	"cmp"
	"context"
	"maps"
	"slices"

	"github.com/kenlayer/ken"
	"github.com/kenlayer/ken/internal/caught"
	"github.com/kenlayer/ken/internal/store/clean"
	"github.com/kenlayer/ken/internal/store/overlay"
	"github.com/kenlayer/ken/store"
)

// Note is what one turn, or one answer, leaves to a journal.
type Note struct {
	About About
	// Messages are the conversation, or its end, as for Append.
	Messages []ken.Message
	// Injected is what was put before the model, as for Injected.
	Injected []ken.Item
	// Block is the block that the turn was given, composed just now; nil keeps none.
	Block *Block
	// Step brings the session's checkpoint up to date; nil leaves it alone.
	Step *Step
	// Unkept messages are not kept, nor when they come again in a later request that
	// may be kept, as long as this process remembers the session: nothing on the shelf
	// tells of them. The rest of the note is ignored.
	Unkept bool

	all bool // every message is one that was said now
}

// Step is what a turn adds to a checkpoint beside its messages: see Digest.
type Step struct {
	Signals     ken.Signals // what the user's message is about
	Constraints []string    // the rules that surfaced, as injected
	Focal       []string    // the entities in focus, as analysis.Entity spells them
	Aspects     []string    // "entity: aspect" of what was injected
}

// Noted is what came of a note.
type Noted struct {
	Entries []Entry // the messages that were new, in their order
	// Through is the Seq under which the journal has the last of the note's messages
	// that it keeps; 0 when it has none of them, or has it no longer.
	Through uint64
	// Standing is the block that another process kept at the place of the note's before;
	// nil when the note's own stands there.
	Standing *Block
	Err      error // as of Append
}

// Record keeps several notes in one transaction, those of a session in their order,
// and returns what came of each. A session that fails does so alone. also, if it is
// not nil, writes in the same transaction, once, whatever becomes of the sessions;
// it may be run again from its start, as store.Shelf says, and what it returns is
// the error of every note that was in it. It is given what came of the notes so far,
// which it must not keep.
func (j *Journal) Record(ctx context.Context, notes []Note, also func(store.ShelfTx, []Noted) error) []Noted {
	out := make([]Noted, len(notes))
	var todo []int
	for i := range notes {
		n := &notes[i]
		if out[i].Err = checkID(n.About.ID); out[i].Err == nil && (len(n.Messages) > 0 || len(n.Injected) > 0 || n.Block != nil || n.Step != nil) {
			todo = append(todo, i)
		}
	}
	if len(todo) > 0 || also != nil {
		j.record(ctx, notes, todo, also, out)
	}
	return out
}

// record keeps the notes of todo, and says in out what came of them. What is new is
// decided, cleaned and annotated before the transaction, so that it is short. Of a
// session that another process wrote to meanwhile it is decided once more, in it.
func (j *Journal) record(ctx context.Context, notes []Note, todo []int, also func(store.ShelfTx, []Noted) error, out []Noted) {
	parts := partsOf(j, notes, todo)
	taken, err := take(ctx, parts)
	defer func() {
		for _, p := range taken {
			p.m.release()
			j.weigh(p.m)
			if p.stale {
				j.drop(p.m.id)
			}
		}
	}()
	if err == nil {
		err = j.look(ctx, parts)
	}
	now := j.now()
	if err == nil {
		for _, p := range parts {
			if fault := caught.Run(func() error { p.prepare(now, func(at int) { p.annotate(ctx, at) }); return nil }); fault != nil {
				p.err = fault
				j.o.Log.Error("messages of a session can't be kept", "session", p.m.id, "cause", fault, "stack", caught.Stack(fault))
			}
		}
		err = j.write(ctx, parts, also, out)
	}
	for _, p := range parts {
		if p.err = cmp.Or(err, p.err); p.err != nil && p.looked {
			p.m.restore(p.was)
		}
		p.tell(out)
	}
}

// tell says what came of the part's notes.
func (p *recordPart) tell(out []Noted) {
	for _, n := range p.notes {
		if out[n.i] = (Noted{Entries: n.entries, Through: n.through, Standing: n.standing}); p.err != nil {
			out[n.i] = Noted{Err: p.err}
		}
	}
}

// take waits until nobody else is at the sessions. All take in one order, so that
// no two wait for each other.
func take(ctx context.Context, parts []*recordPart) (taken []*recordPart, err error) {
	inOrder := slices.SortedFunc(slices.Values(parts), func(a, b *recordPart) int { return cmp.Compare(a.m.id, b.m.id) })
	for _, p := range inOrder {
		if err := p.m.take(ctx); err != nil {
			return taken, err
		}
		taken = append(taken, p)
	}
	return taken, nil
}

// look makes sure that what is remembered of the sessions is of them as they are.
func (j *Journal) look(ctx context.Context, parts []*recordPart) error {
	if len(parts) == 0 {
		return ctx.Err()
	}
	return j.shelf.View(ctx, func(r store.ShelfReader) error {
		for _, p := range parts {
			p.look(r)
		}
		return ctx.Err()
	})
}

// write keeps what was prepared. What a session fails with is its part's error.
func (j *Journal) write(ctx context.Context, parts []*recordPart, also func(store.ShelfTx, []Noted) error, out []Noted) error {
	var todo []*recordPart
	for _, p := range parts {
		if p.err == nil && p.writes() {
			todo = append(todo, p)
		}
	}
	if len(todo) == 0 && also == nil {
		return nil
	}
	return j.shelf.Update(ctx, func(tx store.ShelfTx) error {
		for _, p := range todo {
			o := overlay.New(tx)
			if p.err = p.write(o); p.err != nil {
				continue
			}
			if err := o.Apply(tx); err != nil {
				return err
			}
		}
		if also == nil {
			return nil
		}
		for _, p := range parts {
			p.tell(out)
		}
		return also(tx, out)
	})
}

// call finds the call that an entry answers: the last one of that id before it.
func (p *recordPart) call(ctx context.Context, at, i int) *ken.ToolCall {
	m := &p.notes[at].entries[i].Message
	id := m.ToolCallID
	if m.Role != "tool" || id == "" {
		return nil
	}
	for ; at >= 0; at-- { // what comes in with it is not on the shelf yet
		entries := p.notes[at].entries
		for i = min(i, len(entries)) - 1; i >= 0; i-- {
			if c := callIn(&entries[i].Message, id); c != nil {
				return c
			}
		}
		if at > 0 {
			i = len(p.notes[at-1].entries)
		}
	}
	seq, ok := p.m.calls[id]
	if !ok {
		return nil
	}
	var found *ken.ToolCall
	err := p.j.shelf.View(ctx, func(r store.ShelfReader) error {
		found = nil
		key := keyMessage(p.m.id, seq)
		b := r.Get(key)
		if b == nil { // swept
			return nil
		}
		var row message
		if err := decodeValue(key, b, &row); err != nil {
			return err
		}
		e := row.entry(seq)
		found = callIn(&e.Message, id)
		return nil
	})
	if err != nil {
		p.j.o.Log.Warn("find the call of a tool's result", "session", p.m.id, "cause", err)
	}
	return found
}

// callIn returns a copy of the message's last call of that id, nil for none.
func callIn(m *ken.Message, id string) *ken.ToolCall {
	for i := len(m.ToolCalls) - 1; i >= 0; i-- {
		if c := m.ToolCalls[i]; c.ID == id {
			return &c
		}
	}
	return nil
}

// cleanFiles leaves out what may not be kept as it is: a path is no path once it
// was cleaned.
func cleanFiles(files map[string]string) map[string]string {
	files = maps.Clone(files)
	maps.DeleteFunc(files, func(path, hash string) bool { return clean.Text(path) != path || clean.Text(hash) != hash })
	if len(files) == 0 {
		return nil
	}
	return files
}

// Injected keeps what was put before the model in a session, so that its harvest
// does not learn it again: each id and text once, as of its first time. A session
// that is not known yet begins. Errors: as of Append.
func (j *Journal) Injected(ctx context.Context, id string, items []ken.Item) error {
	return j.Record(ctx, []Note{{About: About{ID: id}, Injected: items}}, nil)[0].Err
}

// injections reads what was injected, first things first.
func injections(r store.ShelfReader, id string) ([]Injection, error) {
	var out []Injection
	for key, b := range r.Scan(allInjected(id)) {
		var in Injection
		if err := decodeValue(key, b, &in); err != nil {
			return nil, err
		}
		out = append(out, in)
	}
	for key, b := range r.Scan(allBlocks(id)) {
		var block keptBlock
		if err := decodeValue(key, b, &block); err != nil {
			return nil, err
		}
		out = append(out, block.injections()...)
	}
	slices.SortStableFunc(out, func(a, b Injection) int { return cmp.Or(a.At.Compare(b.At), cmp.Compare(a.ID, b.ID)) })
	met := make(map[[2]string]bool, len(out))
	return slices.DeleteFunc(out, func(in Injection) bool {
		again := met[[2]string{in.ID, in.Text}]
		met[[2]string{in.ID, in.Text}] = true
		return again
	}), nil
}
