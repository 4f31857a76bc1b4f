package middleware

import (
	"context"
	"errors"
	"slices"

	"github.com/kenlayer/ken"
	"github.com/kenlayer/ken/budgeter"
	"github.com/kenlayer/ken/session"
)

// keepRecord writes a record to the journal. It runs on the recorder's goroutine,
// and what fails costs knowledge of this session, never a turn.
func (l *Layer) keepRecord(r record) {
	defer func() {
		if p := recover(); p != nil {
			l.o.Log.Error("journal a turn", "panic", p)
		}
	}()
	ctx := context.WithValue(context.Background(), inRecorder{}, true)
	if r.answer != nil {
		m, ok := r.answer()
		if !ok {
			return
		}
		m.Role = "assistant"
		r.messages = []ken.Message{m}
	}
	l.tend(r.owner)
	j := l.Journal(r.owner)
	entries, err := j.Append(ctx, r.about, r.messages)
	if err != nil {
		l.o.Log.Warn("journal a turn", "cause", err, "try", ken.Hint(err))
		return
	}
	if r.turn {
		if err := j.Injected(ctx, r.about.ID, knowledge(r.items)); err != nil {
			l.o.Log.Warn("journal what was injected", "cause", err)
		}
	}
	// A session in which nothing was ever said has no record, and no point to stand at.
	if err := l.takeDown(ctx, j, &r, entries); err != nil && !errors.Is(err, ken.ErrNotFound) {
		l.o.Log.Warn("keep a checkpoint", "cause", err)
	}
	if l.o.OnMessage != nil && len(entries) > 0 {
		s := l.handle(r.owner, r.about)
		for _, e := range entries {
			l.hear(ctx, s, e)
		}
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

// takeDown brings the session's checkpoint up to date.
func (l *Layer) takeDown(ctx context.Context, j *session.Journal, r *record, entries []session.Entry) error {
	if !r.turn && len(entries) == 0 {
		return nil
	}
	var prev *session.Checkpoint
	have, ok, err := j.Checkpoint(ctx, r.about.ID)
	if err != nil {
		return err
	}
	if ok {
		prev = &have
	}
	var constraints []string
	for _, it := range r.items {
		if it.Constraint {
			constraints = append(constraints, it.Text)
		}
	}
	c := session.Digest(prev, entries, r.signals, constraints, l.now())
	if ok && len(entries) == 0 && same(&c, prev) {
		return nil // a request of the same turn: no transaction for a time alone
	}
	return j.SaveCheckpoint(ctx, r.about.ID, c)
}

// same reports whether two checkpoints say the same.
func same(a, b *session.Checkpoint) bool {
	return a.Seq == b.Seq && a.Goal == b.Goal && a.LastStep == b.LastStep && slices.Equal(a.Entities, b.Entities) &&
		slices.Equal(a.Files, b.Files) && slices.Equal(a.Open, b.Open) && slices.Equal(a.Constraints, b.Constraints)
}
