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

// Note holds what one turn, or one answer, adds to a journal.
type Note struct {
	About About
	// Messages are the conversation, or its end, as in Append.
	Messages []ken.Message
	// Injected are the items that were put before the model, as in Injected.
	Injected []ken.Item
	// Block is the block just composed for the turn; nil stores none.
	Block *Block
	// Step updates the session's checkpoint; nil leaves it unchanged.
	Step *Step
	// Unkept says that the messages must not be stored, now or in a later request.
	// Only the memory of this process records them; nothing on the shelf does. The
	// rest of the note is ignored.
	Unkept bool

	all bool // store every message as new
}

// Step holds what a turn adds to a checkpoint besides its messages: see Digest.
type Step struct {
	Signals     ken.Signals // what the user's message is about
	Constraints []string    // the rules that were injected, as injected
	Focal       []string    // the entities in focus, as analysis.Entity spells them
	Aspects     []string    // "entity: aspect" of what was injected
}

// Noted is the result of a note.
type Noted struct {
	Entries []Entry // the messages that were new, in their order
	// Through is the Seq of the last of the note's messages that the journal has; 0 if
	// it has none of them.
	Through uint64
	// Standing is the block that another process stored at the same place before, and
	// that is used instead of the note's; nil if the note's block was stored.
	Standing *Block
	Err      error // those of Append
}

// Record stores several notes in one transaction, those of one session in their order,
// and returns the result of each. If one session fails, the others are still stored.
// also, unless nil, is called once in the same transaction, whether or not sessions
// failed. The transaction may run again from its start, as store.Shelf says. An error
// of also becomes the error of every note. also must not retain the results that it is
// given.
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

// record stores the notes with the indices todo, and sets their results in out. New
// messages are determined, cleaned and annotated before the transaction, to keep it
// short. If another process wrote to a session meanwhile, they are determined again
// within the transaction.
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
		p.setResults(out)
	}
}

// setResults sets the results of the part's notes.
func (p *recordPart) setResults(out []Noted) {
	for _, n := range p.notes {
		if out[n.i] = (Noted{Entries: n.entries, Through: n.through, Standing: n.standing}); p.err != nil {
			out[n.i] = Noted{Err: p.err}
		}
	}
}

// take locks the sessions of all parts. It locks them in the order of their ids, so
// that callers can't deadlock. On an error it returns the parts locked so far.
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

// look brings the caches of the sessions up to date.
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

// write stores what was prepared. An error of one session is stored in its part.
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
			p.setResults(out)
		}
		return also(tx, out)
	})
}

// call returns the tool call that an entry answers: the last call of that id before
// it.
func (p *recordPart) call(ctx context.Context, at, i int) *ken.ToolCall {
	m := &p.notes[at].entries[i].Message
	id := m.ToolCallID
	if m.Role != "tool" || id == "" {
		return nil
	}
	for ; at >= 0; at-- { // calls of the same Record are not on the shelf yet
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
		e, err := entryAt(r, p.m.id, seq)
		if err == nil && e != nil { // nil when it was swept
			found = callIn(&e.Message, id)
		}
		return err
	})
	if err != nil {
		p.j.o.Log.Warn("find the call of a tool's result", "session", p.m.id, "cause", err)
	}
	return found
}

// callIn returns a copy of the message's last call of that id, or nil.
func callIn(m *ken.Message, id string) *ken.ToolCall {
	for _, c := range slices.Backward(m.ToolCalls) {
		if c.ID == id {
			return &c
		}
	}
	return nil
}

// cleanFiles removes the entries that would change by cleaning, because a cleaned path
// is no longer the path.
func cleanFiles(files map[string]string) map[string]string {
	files = maps.Clone(files)
	maps.DeleteFunc(files, func(path, hash string) bool { return clean.Text(path) != path || clean.Text(hash) != hash })
	if len(files) == 0 {
		return nil
	}
	return files
}

// Injected stores what was put before the model in a session, so that its harvest does
// not learn it again. Each id and text is stored once, with the time of its first
// injection. An unknown session is created. Errors: those of Append.
func (j *Journal) Injected(ctx context.Context, id string, items []ken.Item) error {
	return j.Record(ctx, []Note{{About: About{ID: id}, Injected: items}}, nil)[0].Err
}

// injections reads a session's injections, oldest first.
func injections(r store.ShelfReader, id string) ([]Injection, error) {
	var out []Injection
	err := cmp.Or(
		each(r, allInjected(id), func(_ string, in *Injection) { out = append(out, *in) }),
		each(r, allBlocks(id), func(_ string, block *keptBlock) { out = append(out, block.injections()...) }))
	if err != nil {
		return nil, err
	}
	slices.SortStableFunc(out, func(a, b Injection) int { return cmp.Or(a.At.Compare(b.At), cmp.Compare(a.ID, b.ID)) })
	met := make(map[[2]string]bool, len(out))
	return slices.DeleteFunc(out, func(in Injection) bool {
		again := met[[2]string{in.ID, in.Text}]
		met[[2]string{in.ID, in.Text}] = true
		return again
	}), nil
}
