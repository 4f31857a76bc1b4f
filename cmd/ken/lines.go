package main

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"

	"golang.org/x/term"
)

// lineReader reads what a person types.
type lineReader interface {
	read() (string, error) // io.EOF at the end
	close() error
}

// lines reads from a terminal with editing and history, kept in historyFile,
// and from anything else line by line.
func (a *app) lines(historyFile string) (lineReader, error) {
	in, tty := a.in.(*os.File)
	if !tty || !isTerminal(a.in) || !isTerminal(a.out) {
		s := bufio.NewScanner(a.in)
		s.Buffer(nil, 16<<20)
		return &plainLines{s}, nil
	}
	h, err := loadHistory(historyFile)
	if err != nil {
		return nil, err
	}
	t := &terminalLines{fd: int(in.Fd()), history: h}
	t.term = term.NewTerminal(struct {
		io.Reader
		io.Writer
	}{&interruptible{r: in, hit: &t.interrupted}, a.out}, "› ")
	t.term.History = h
	return t, nil
}

type plainLines struct{ s *bufio.Scanner }

func (p *plainLines) read() (string, error) {
	if p.s.Scan() {
		return p.s.Text(), nil
	}
	if err := p.s.Err(); err != nil {
		return "", fmt.Errorf("read standard input: %w", err)
	}
	return "", io.EOF
}

func (p *plainLines) close() error { return nil }

// terminalLines edits lines on a terminal, which is raw only while a line is
// being read, so that Ctrl-C is a signal while an answer streams.
type terminalLines struct {
	fd          int
	term        *term.Terminal
	history     *history
	interrupted bool
}

func (t *terminalLines) read() (string, error) {
	for {
		line, err := t.readRaw()
		if t.interrupted { // Ctrl-C drops the line
			t.interrupted = false
			continue
		}
		return line, err
	}
}

func (t *terminalLines) readRaw() (string, error) {
	old, err := term.MakeRaw(t.fd)
	if err != nil {
		return "", fmt.Errorf("prepare terminal: %w", err)
	}
	if w, h, err := term.GetSize(t.fd); err == nil {
		_ = t.term.SetSize(w, h) // a wrong width only wraps badly
	}
	line, err := t.term.ReadLine()
	return line, errors.Join(err, term.Restore(t.fd, old))
}

func (t *terminalLines) close() error { return t.history.save() }

// interruptible turns Ctrl-C, which the terminal would take for the end, into
// the end of a line that is then dropped.
type interruptible struct {
	r   io.Reader
	hit *bool
}

func (i *interruptible) Read(p []byte) (int, error) {
	n, err := i.r.Read(p)
	const ctrlC, ctrlU = 3, 21
	for k := range n {
		if p[k] == ctrlC {
			*i.hit = true
			p[k] = ctrlU // clear the line …
			return copy(p[k+1:], "\r") + k + 1, err
		}
	}
	return n, err
}

// historyLimit bounds the lines kept between chats.
const historyLimit = 1000

// history is what was typed, newest last in the file and first for the terminal.
type history struct {
	path    string
	entries []string // oldest first
}

func loadHistory(path string) (*history, error) {
	h := &history{path: path}
	b, err := os.ReadFile(path)
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		return nil, fmt.Errorf("read chat history: %w", err)
	}
	for line := range strings.Lines(string(b)) {
		h.Add(strings.TrimRight(line, "\n"))
	}
	return h, nil
}

// Add implements term.History.
func (h *history) Add(line string) {
	if line == "" || len(h.entries) > 0 && h.entries[len(h.entries)-1] == line {
		return
	}
	h.entries = append(h.entries, line)
	if len(h.entries) > historyLimit {
		h.entries = h.entries[1:]
	}
}

// Len implements term.History.
func (h *history) Len() int { return len(h.entries) }

// At implements term.History: 0 is the newest.
func (h *history) At(i int) string { return h.entries[len(h.entries)-1-i] }

func (h *history) save() error {
	if len(h.entries) == 0 {
		return nil
	}
	if err := os.MkdirAll(filepath.Dir(h.path), 0o700); err != nil {
		return fmt.Errorf("save chat history: %w", err)
	}
	if err := os.WriteFile(h.path, []byte(strings.Join(h.entries, "\n")+"\n"), 0o600); err != nil {
		return fmt.Errorf("save chat history: %w", err)
	}
	return nil
}
