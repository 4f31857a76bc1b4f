package session

import (
	"context"
	"maps"

	"github.com/kenlayer/ken"
	"github.com/kenlayer/ken/store"
)

// annotate has the program look at each entry before it is kept.
func (a *appending) annotate(ctx context.Context) {
	if a.j.o.Annotate == nil {
		return
	}
	for i := range a.entries {
		e := a.entries[i]
		a.ask(ctx, &e, a.call(ctx, i))
		a.entries[i].Files = cleanFiles(e.Files)
	}
}

// ask calls the program, which may panic.
func (a *appending) ask(ctx context.Context, e *Entry, call *ken.ToolCall) {
	defer func() {
		if p := recover(); p != nil {
			e.Files = nil
			a.j.o.Log.Error("annotate a message", "session", a.m.id, "message", e.ID(), "panic", p)
		}
	}()
	a.j.o.Annotate(ctx, e, call)
}

// call finds the call that an entry answers: the last one of that id before it.
func (a *appending) call(ctx context.Context, i int) *ken.ToolCall {
	id := a.entries[i].Message.ToolCallID
	if a.entries[i].Message.Role != "tool" || id == "" {
		return nil
	}
	for i--; i >= 0; i-- {
		if c := callIn(&a.entries[i].Message, id); c != nil {
			return c
		}
	}
	seq, ok := a.m.calls[id]
	if !ok {
		return nil
	}
	var found *ken.ToolCall
	err := a.j.shelf.View(ctx, func(r store.ShelfReader) error {
		key := keyMessage(a.m.id, seq)
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
		a.j.o.Log.Warn("find the call of a tool's result", "session", a.m.id, "cause", err)
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
	maps.DeleteFunc(files, func(path, hash string) bool { return store.Clean(path) != path || store.Clean(hash) != hash })
	if len(files) == 0 {
		return nil
	}
	return files
}
