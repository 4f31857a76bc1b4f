package session

import (
	"context"
	"maps"

	"github.com/kenlayer/ken"
	"github.com/kenlayer/ken/store"
)

// call finds the call that an entry answers: the last one of that id before it.
func (p *part) call(ctx context.Context, at, i int) *ken.ToolCall {
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
	maps.DeleteFunc(files, func(path, hash string) bool { return store.Clean(path) != path || store.Clean(hash) != hash })
	if len(files) == 0 {
		return nil
	}
	return files
}
