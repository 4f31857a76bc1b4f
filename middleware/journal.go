package middleware

import (
	"context"
	"slices"

	"github.com/kenlayer/ken"
	"github.com/kenlayer/ken/budgeter"
	"github.com/kenlayer/ken/internal/analysis"
	"github.com/kenlayer/ken/internal/run/session"
	"github.com/kenlayer/ken/store"
)

// keepRecords writes an owner's records in one transaction. It runs on the recorder's
// goroutine, and what fails costs knowledge of a session, never a turn.
func (l *Layer) keepRecords(owner string, recs []record) {
	defer func() {
		if p := recover(); p != nil {
			l.o.Log.Error("journal turns", "panic", p)
		}
	}()
	ctx := context.WithValue(context.Background(), inRecorder{}, true)
	var notes []session.Note
	var kept []*record // those of notes
	for i := range recs {
		r := &recs[i]
		if r.note && l.hearAnswer(r) {
			notes, kept = append(notes, noteOf(r)), append(kept, r)
			r.place = len(notes)
		}
	}
	if slices.ContainsFunc(kept, func(r *record) bool { return !r.unkept }) {
		l.tend(owner)
	}
	also, settled := l.bookUse(ctx, l.heed(owner, recs), l.bookReceipts(owner, recs))
	also, corrected := l.bookReplies(owner, recs, also)
	noted := l.Journal(owner).Record(ctx, notes, also)
	settled()
	corrected()
	var failed error
	lost := 0
	for i := range noted {
		if b := noted[i].Standing; b != nil {
			l.adopt(owner, kept[i].about.ID, kept[i].mine, b)
		}
		if err := noted[i].Err; err != nil {
			failed, lost = err, lost+1
		}
	}
	if failed != nil {
		l.o.Log.Warn("journal turns", "lost", lost, "cause", failed, "try", ken.Hint(failed))
	}
	for i := range noted {
		l.statements.tookUp(owner, kept[i].about.ID, noted[i].Entries)
	}
	if l.o.OnMessage == nil {
		return
	}
	for i := range noted {
		if len(noted[i].Entries) == 0 {
			continue
		}
		s := l.handle(owner, kept[i].about)
		for _, e := range noted[i].Entries {
			l.hear(ctx, s, e)
		}
	}
}

// hearAnswer reads what is still to be read, false when there is nothing.
func (l *Layer) hearAnswer(r *record) (ok bool) {
	if r.answer == nil {
		return true
	}
	defer func() {
		if p := recover(); p != nil {
			l.o.Log.Error("read an answer", "panic", p)
			ok = false
		}
	}()
	m, ok := r.answer()
	m.Role = "assistant"
	r.messages = []ken.Message{m}
	return ok
}

// noteOf is a record as the journal takes it.
func noteOf(r *record) session.Note {
	n := session.Note{About: r.about, Messages: r.messages, Injected: append(knowledge(r.items), shownIn(r.messages)...), Unkept: r.unkept, Block: r.block,
		Step: &session.Step{Signals: r.signals, Focal: r.focal, Aspects: aspects(r.items, r.focal)}}
	for _, it := range r.items {
		if it.Constraint {
			n.Step.Constraints = append(n.Step.Constraints, it.Text)
		}
	}
	return n
}

// aspects names those of the entities in focus that the items are about.
func aspects(items []ken.Item, focal []string) (out []string) {
	for i := range items {
		it := &items[i]
		if len(it.Entities) == 0 || it.Aspect == "" {
			continue
		}
		entity := analysis.Entity(it.Entities[0])
		if name := entity + ": " + it.Aspect; slices.Contains(focal, entity) && !slices.Contains(out, name) {
			out = append(out, name)
		}
	}
	return out
}

// bookReceipts returns what writes the records' receipts; nil when there are none.
// One that is refused, over an id that can't be a key, costs no other.
func (l *Layer) bookReceipts(owner string, recs []record) func(store.ShelfTx, []session.Noted) error {
	if !slices.ContainsFunc(recs, func(r record) bool { return r.receipt != nil || r.marks != nil }) {
		return nil
	}
	book := l.Receipts(owner)
	return func(tx store.ShelfTx, noted []session.Noted) error {
		for i := range recs {
			if recs[i].receipt == nil && recs[i].marks == nil {
				continue
			}
			if at := recs[i].place; at > 0 && recs[i].receipt != nil {
				recs[i].receipt.Through = noted[at-1].Through
			}
			o := store.NewOverlay(tx)
			if err := recs[i].book(o, book); err != nil {
				l.o.Log.Warn("keep a receipt", "cause", err, "try", ken.Hint(err))
				continue
			}
			if err := o.Apply(tx); err != nil {
				return err
			}
		}
		return nil
	}
}

// knowledge are the items without checkpoints. Those are made of what was said in
// the session itself, which may well be learned.
func knowledge(items []ken.Item) []ken.Item {
	return slices.DeleteFunc(slices.Clone(items), func(it ken.Item) bool { return it.Kind == budgeter.KindCheckpoint })
}

// hear tells the program's hook of a message. Its panic must not cost the rest.
func (l *Layer) hear(ctx context.Context, s *session.Session, e session.Entry) {
	defer func() {
		if p := recover(); p != nil {
			l.o.Log.Error("the message hook failed", "panic", p)
		}
	}()
	l.o.OnMessage(ctx, s, e)
}
