package main

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/kenlayer/ken/guardrail"
)

// historyLimit bounds the messages that are kept between chats.
const historyLimit = 1000

// history is what was typed, for the arrow keys. It holds messages as the editor
// shows them: on one line each. It implements term.History.
type history struct {
	path    string
	entries []string // oldest first
	changed bool
	broken  bool // the file couldn't be read, and must not be written over
}

// loadHistory returns a history that works, also with an error.
func loadHistory(path string) (*history, error) {
	b, err := os.ReadFile(path)
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		return &history{path: path, broken: true}, fmt.Errorf("read chat history: %w", err)
	}
	h := &history{path: path}
	for line := range strings.Lines(string(b)) {
		h.Add(strings.TrimRight(line, "\r\n"))
	}
	h.changed = false
	return h, nil
}

// Add keeps an entry unless it repeats the one before.
func (h *history) Add(line string) {
	if strings.TrimSpace(line) == "" || len(h.entries) > 0 && h.entries[len(h.entries)-1] == line {
		return
	}
	h.changed = true
	h.entries = append(h.entries, line)
	if len(h.entries) > historyLimit {
		h.entries = h.entries[1:]
	}
}

// Len is how many entries there are.
func (h *history) Len() int { return len(h.entries) }

// At returns an entry; 0 is the newest.
func (h *history) At(i int) string { return h.entries[len(h.entries)-1-i] }

// save writes the history for its owner alone, without what looks like a secret.
func (h *history) save() error {
	if !h.changed || h.broken {
		return nil
	}
	var b strings.Builder
	for _, e := range h.entries {
		safe, _ := guardrail.Redact(strings.ReplaceAll(e, lineSign, "\n")) // keys span lines
		b.WriteString(strings.ReplaceAll(safe, "\n", lineSign) + "\n")
	}
	if err := writePrivate(h.path, b.String()); err != nil {
		return fmt.Errorf("save chat history: %w", err)
	}
	return nil
}

// writePrivate replaces a file as a whole, readable by nobody else.
func writePrivate(path, text string) error {
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return err
	}
	f, err := os.CreateTemp(filepath.Dir(path), filepath.Base(path)+".*") // of mode 0600
	if err != nil {
		return err
	}
	_, err = f.WriteString(text)
	if err = errors.Join(err, f.Close()); err == nil {
		err = os.Rename(f.Name(), path)
	}
	if err != nil {
		return errors.Join(err, os.Remove(f.Name()))
	}
	return nil
}
