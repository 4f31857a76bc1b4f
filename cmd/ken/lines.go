package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"

	"golang.org/x/term"
)

// lineReader reads what is typed or sent, message by message.
type lineReader interface {
	// read returns io.EOF at the end, and ctx's error when that ends first; after
	// it, nothing may be read any more.
	read(ctx context.Context) (string, error)
	close() error
}

// lines reads from a terminal with editing and history, kept in historyFile, and
// from anything else line by line. It reports whether a person is at a terminal.
func (a *app) lines(historyFile string) (r lineReader, person bool) {
	f, ok := a.in.(*os.File)
	if !ok || !isTerminal(a.in) || !isTerminal(a.out) {
		return newPlainLines(a.in), false
	}
	h, err := loadHistory(historyFile)
	if err != nil {
		a.fail(err)
	}
	return newEditor(f, a.out, h), true
}

// stoppable is a reader whose reads end with ctx, although reading r may go on:
// nobody else should read it then.
type stoppable struct {
	ctx context.Context
	r   io.Reader
}

func (s *stoppable) Read(p []byte) (int, error) {
	type result struct {
		n   int
		err error
	}
	buf := make([]byte, len(p)) // p is not ours any more once ctx has ended
	got := make(chan result, 1)
	go func() {
		n, err := s.r.Read(buf)
		got <- result{n, err}
	}()
	select {
	case r := <-got:
		return copy(p, buf[:r.n]), r.err
	case <-s.ctx.Done():
		return 0, s.ctx.Err()
	}
}

// maxLine bounds a line that is not typed.
const maxLine = 16 << 20

type plainLines struct {
	in *stoppable
	s  *bufio.Scanner
}

func newPlainLines(r io.Reader) *plainLines {
	in := &stoppable{r: r}
	s := bufio.NewScanner(in)
	s.Buffer(nil, maxLine)
	return &plainLines{in, s}
}

func (p *plainLines) read(ctx context.Context) (string, error) {
	p.in.ctx = ctx
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

func (p *plainLines) close() error { return nil }

// Bracketed paste: the terminal marks what is pasted.
const markPastes, dontMarkPastes = "\x1b[?2004h", "\x1b[?2004l"

// editor edits lines on a terminal, which is raw only while a line is being read,
// so that Ctrl-C is a signal while an answer streams.
type editor struct {
	fd      int
	in      *stoppable
	out     io.Writer
	term    *term.Terminal
	history *history
}

func newEditor(in *os.File, out io.Writer, h *history) *editor {
	e := &editor{fd: int(in.Fd()), in: &stoppable{r: in}, out: out, history: h}
	e.term = term.NewTerminal(struct {
		io.Reader
		io.Writer
	}{&keys{in: e.in}, out}, "› ")
	e.term.History = h
	return e
}

func (e *editor) read(ctx context.Context) (string, error) {
	e.in.ctx = ctx
	old, err := term.MakeRaw(e.fd)
	if err != nil {
		return "", fmt.Errorf("prepare terminal: %w", err)
	}
	if w, h, err := term.GetSize(e.fd); err == nil {
		_ = e.term.SetSize(w, h) // a wrong width only wraps badly
	}
	fmt.Fprint(e.out, markPastes)
	line, err := e.term.ReadLine()
	fmt.Fprint(e.out, dontMarkPastes)
	if err != nil {
		fmt.Fprint(e.out, "\r\n") // what comes next starts a line
	}
	line = strings.ReplaceAll(line, lineSign, "\n")
	if restored := term.Restore(e.fd, old); restored != nil {
		return "", errors.Join(err, fmt.Errorf("restore terminal: %w", restored))
	}
	return line, err
}

func (e *editor) close() error { return e.history.save() }
