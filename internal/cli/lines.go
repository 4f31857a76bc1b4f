package cli

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"unicode"
	"unicode/utf8"

	"golang.org/x/term"

	"github.com/kenlayer/ken/guardrail"
	"github.com/kenlayer/ken/internal/durable"
)

// historyLimit is the largest number of messages kept between chats.
const historyLimit = 1000

// history holds earlier messages for the arrow keys, each on one line as the editor shows
// it. It implements term.History.
type history struct {
	path    string
	entries []string // oldest first
	changed bool
	broken  bool // the file can't be read and must not be overwritten
}

// loadHistory reads a history. With an error it still returns a usable one.
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

// Add adds an entry unless it is empty or repeats the one before.
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

// Len returns the number of entries.
func (h *history) Len() int { return len(h.entries) }

// At returns an entry; 0 is the newest.
func (h *history) At(i int) string { return h.entries[len(h.entries)-1-i] }

// save writes the history to a file that only the user can read, without secrets.
func (h *history) save() error {
	if !h.changed || h.broken {
		return nil
	}
	var b strings.Builder
	for _, e := range h.entries {
		safe, _ := guardrail.Redact(strings.ReplaceAll(e, lineBreakSign, "\n")) // secrets such as keys may span lines
		b.WriteString(strings.ReplaceAll(safe, "\n", lineBreakSign) + "\n")
	}
	err := os.MkdirAll(filepath.Dir(h.path), 0o700)
	if err == nil {
		err = durable.WriteFile(h.path, []byte(b.String()), 0o600) // only the user can read it
	}
	if err != nil {
		return fmt.Errorf("save chat history: %w", err)
	}
	return nil
}

// LineReader reads the input message by message.
type LineReader interface {
	// Read returns the next message, io.EOF at the end, or ctx's error. After ctx's error
	// it must not be called again.
	Read(ctx context.Context) (string, error)
	// Close saves the history, if there is one.
	Close() error
}

// LineReader returns a reader of the input. On a terminal it has editing and a history, which
// is stored in historyFile. person reports whether the input is a terminal.
func (a *App) LineReader(historyFile string) (r LineReader, person bool) {
	f, ok := a.In.(*os.File)
	if !ok || !IsTerminal(a.In) || !IsTerminal(a.Out) {
		return newPlainLines(a.In), false
	}
	h, err := loadHistory(historyFile)
	if err != nil {
		a.Report(err)
	}
	return newEditor(f, a.Out, h), true
}

// Stoppable is a reader whose reads end with Ctx. After that a read of R may still be
// running, so R must not be used any more.
type Stoppable struct {
	Ctx context.Context
	R   io.Reader
}

// Read implements io.Reader.
func (s *Stoppable) Read(p []byte) (int, error) {
	type result struct {
		n   int
		err error
	}
	buf := make([]byte, len(p)) // a separate buffer, because the caller may reuse p once Ctx has ended
	got := make(chan result, 1)
	go func() {
		n, err := s.R.Read(buf)
		got <- result{n, err}
	}()
	select {
	case r := <-got:
		return copy(p, buf[:r.n]), r.err
	case <-s.Ctx.Done():
		return 0, s.Ctx.Err()
	}
}

// Input returns standard input as a reader whose reads end with ctx. A command must read it by
// this, because a signal doesn't end a read.
func (a *App) Input(ctx context.Context) io.Reader { return &Stoppable{Ctx: ctx, R: a.In} }

// maxLine is the length of the longest line read from a file or a pipe, in bytes.
const maxLine = 16 << 20

// plainLines reads lines from a file or a pipe.
type plainLines struct {
	in *Stoppable
	s  *bufio.Scanner
}

func newPlainLines(r io.Reader) *plainLines {
	in := &Stoppable{R: r}
	s := bufio.NewScanner(in)
	s.Buffer(nil, maxLine)
	return &plainLines{in, s}
}

// Read implements LineReader.
func (p *plainLines) Read(ctx context.Context) (string, error) {
	p.in.Ctx = ctx
	if p.s.Scan() {
		return p.s.Text(), nil
	}
	switch err := p.s.Err(); {
	case ctx.Err() != nil:
		return "", ctx.Err()
	case err != nil:
		return "", fmt.Errorf("read standard input: %w", err)
	}
	return "", io.EOF
}

// Close implements LineReader.
func (p *plainLines) Close() error { return nil }

// markPastes and dontMarkPastes switch bracketed paste: the terminal marks pasted text.
const markPastes, dontMarkPastes = "\x1b[?2004h", "\x1b[?2004l"

// editor edits lines on a terminal. The terminal is raw only while a line is read, so that
// Ctrl-C is a signal while an answer streams.
type editor struct {
	fd      int
	in      *Stoppable
	out     io.Writer
	term    *term.Terminal
	history *history
}

func newEditor(in *os.File, out io.Writer, h *history) *editor {
	e := &editor{fd: int(in.Fd()), in: &Stoppable{R: in}, out: out, history: h}
	e.term = term.NewTerminal(struct {
		io.Reader
		io.Writer
	}{&keys{in: e.in}, out}, "› ")
	e.term.History = h
	return e
}

// Read implements LineReader.
func (e *editor) Read(ctx context.Context) (string, error) {
	e.in.Ctx = ctx
	old, err := term.MakeRaw(e.fd)
	if err != nil {
		return "", fmt.Errorf("prepare terminal: %w", err)
	}
	if w, h, err := term.GetSize(e.fd); err == nil {
		_ = e.term.SetSize(w, h) // a wrong width only affects line breaks
	}
	fmt.Fprint(e.out, markPastes)
	line, err := e.term.ReadLine()
	fmt.Fprint(e.out, dontMarkPastes)
	if err != nil {
		fmt.Fprint(e.out, "\r\n") // start a new line for the next output
	}
	line = strings.ReplaceAll(line, lineBreakSign, "\n")
	if restored := term.Restore(e.fd, old); restored != nil {
		return "", errors.Join(err, fmt.Errorf("restore terminal: %w", restored))
	}
	return line, err
}

// Close implements LineReader.
func (e *editor) Close() error { return e.history.save() }

// lineBreakSign replaces a line break in a message, because the editor supports only
// single lines.
const lineBreakSign = "␤"

var pasteStart, pasteEnd = []byte("\x1b[200~"), []byte("\x1b[201~")

// keys translates a terminal's input for the line editor of package term. The editor
// treats Ctrl-C as the end of the input, and each pasted line as entered.
type keys struct {
	in      io.Reader
	raw     []byte // read, but not a complete key yet
	out     []byte // translated
	pasting bool
}

// Read implements io.Reader.
func (k *keys) Read(p []byte) (int, error) {
	for len(k.out) == 0 {
		buf := make([]byte, 256)
		n, err := k.in.Read(buf)
		k.raw = append(k.raw, buf[:n]...)
		for k.translate() {
		}
		if err != nil && len(k.out) == 0 {
			return 0, err
		}
	}
	n := copy(p, k.out)
	k.out = k.out[n:]
	return n, nil
}

// killLine ends an unfinished escape sequence, moves to the end of the line, clears it and
// enters the empty line, which has no effect.
const killLine = "~\x05\x15\r"

// translate takes one key from raw. It returns false if raw holds no complete key.
func (k *keys) translate() bool {
	const ctrlC = 3
	mark := pasteStart
	if k.pasting {
		mark = pasteEnd
	}
	switch {
	case len(k.raw) == 0:
		return false
	case bytes.HasPrefix(k.raw, mark):
		k.pasting = !k.pasting
		return k.emit(len(mark), string(mark))
	case bytes.HasPrefix(mark, k.raw) || !utf8.FullRune(k.raw):
		return false
	}
	r, size := utf8.DecodeRune(k.raw)
	switch {
	case r == utf8.RuneError: // the editor would stop at it
		return k.emit(size, "")
	case !k.pasting && r == ctrlC:
		return k.emit(size, killLine)
	case !k.pasting || !unicode.IsControl(r):
		return k.emit(size, string(r))
	case r == '\t':
		return k.emit(size, "    ")
	case r == '\r' && len(k.raw) == 1: // may be the start of \r\n
		return false
	case r == '\r' && k.raw[1] == '\n':
		return k.emit(2, lineBreakSign)
	case r == '\r' || r == '\n':
		return k.emit(size, lineBreakSign)
	}
	return k.emit(size, "")
}

// emit adds s to the output in place of the first bytes of raw.
func (k *keys) emit(taken int, s string) bool {
	k.raw = k.raw[taken:]
	k.out = append(k.out, s...)
	return true
}
