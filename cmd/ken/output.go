package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"sync"
	"time"
	"unicode"

	"golang.org/x/term"
	"golang.org/x/text/width"

	"github.com/kenlayer/ken"
	"github.com/kenlayer/ken/middleware"
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

// progress tells a person what takes long: on a terminal one line that rewrites
// itself and goes away, else one line when a stage starts and one when it ends.
// A stage with nothing to do is not mentioned. Safe for concurrent use.
type progress struct {
	w   io.Writer
	tty bool
	now func() time.Time

	mu     sync.Mutex // guards the rest
	stages []*stage   // since the last done, in the order of their start
	last   *stage     // on the screen
	drawn  time.Time
}

type stage struct {
	name         string
	count, total int
	begun, ended bool // told so
}

// progress returns where a command reports; --quiet reports nowhere.
func (a *app) progress() *progress {
	p := &progress{w: a.err, tty: isTerminal(a.err), now: time.Now}
	if a.quiet {
		p.w, p.tty = io.Discard, false
	}
	return p
}

const redrawEvery = 80 * time.Millisecond

// update reports how far a stage is; a total of 0 is unknown.
func (p *progress) update(name string, done, total int) {
	p.mu.Lock()
	defer p.mu.Unlock()
	s := p.stage(name)
	s.count, s.total = done, total
	complete := total > 0 && done >= total
	if !s.begun {
		if complete || done == 0 && total == 0 {
			return
		}
		s.begun = true
		if !p.tty {
			fmt.Fprintf(p.w, "%s …\n", name)
		}
	}
	switch {
	case p.tty:
		p.draw(s)
	case complete:
		p.end(s)
	}
}

func (p *progress) stage(name string) *stage {
	for _, s := range p.stages {
		if s.name == name {
			return s
		}
	}
	s := &stage{name: name}
	p.stages = append(p.stages, s)
	return s
}

// draw rewrites the line, not too often.
func (p *progress) draw(s *stage) {
	now := p.now()
	if p.last == s && now.Sub(p.drawn) < redrawEvery {
		return
	}
	p.last, p.drawn = s, now
	fmt.Fprintf(p.w, "\r\x1b[K%s %s", s.name, s.amount())
}

func (p *progress) end(s *stage) {
	if !s.ended {
		s.ended = true
		fmt.Fprintf(p.w, "%s: %s\n", s.name, s.amount())
	}
}

func (s *stage) amount() string {
	if s.total > 0 {
		return fmt.Sprintf("%d of %d", s.count, s.total)
	}
	return fmt.Sprint(s.count)
}

// done ends what is still running, and takes the line off the screen. Work that
// goes on is reported anew.
func (p *progress) done() {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.last != nil {
		fmt.Fprint(p.w, "\r\x1b[K")
	}
	for _, s := range p.stages {
		if s.begun && !p.tty {
			p.end(s)
		}
	}
	p.stages, p.last = nil, nil
}

// claimView is a claim as it is printed: with what is computed from it.
type claimView = middleware.ClaimView

// headline is a claim in one line.
func headline(c *ken.Claim) string {
	if c.Heading == "" {
		return c.Text
	}
	return c.Heading + ": " + c.Text
}

// shortID is an id as tables show it: short for people, whole for programs.
func (a *app) shortID(id string) string {
	if isTerminal(a.out) {
		return tail(id)
	}
	return id
}

// printTable writes rows for people when the output is a terminal: aligned under
// their heads, the last column cut at the edge. Otherwise it writes them for
// programs: cells whole, separated by tabs, without heads.
func (a *app) printTable(head []string, rows [][]string) {
	for _, row := range rows {
		for i := range row {
			row[i] = cell(row[i])
		}
	}
	if !isTerminal(a.out) {
		for _, row := range rows {
			fmt.Fprintln(a.out, strings.Join(row, "\t"))
		}
		return
	}
	for _, line := range align(head, rows, a.edge()) {
		fmt.Fprintln(a.out, line)
	}
}

// edge is how many columns the output has: the terminal's, or those of a wide
// page.
func (a *app) edge() int {
	if f, ok := a.out.(*os.File); ok {
		if w, _, err := term.GetSize(int(f.Fd())); err == nil {
			return w
		}
	}
	return 120
}

// align lays a table out in columns, in lines of at most edge columns as long as
// the last column has room for some letters.
func align(head []string, rows [][]string, edge int) []string {
	const gap, least = 2, 20
	last := len(head) - 1
	rows = append([][]string{head}, rows...)
	widths := make([]int, last)
	left := edge
	for i := range widths {
		for _, row := range rows {
			widths[i] = max(widths[i], columns(row[i]))
		}
		left -= widths[i] + gap
	}
	lines := make([]string, len(rows))
	for n, row := range rows {
		var b strings.Builder
		for i, w := range widths {
			b.WriteString(row[i] + strings.Repeat(" ", w-columns(row[i])+gap))
		}
		b.WriteString(fit(row[last], max(left, least)))
		lines[n] = strings.TrimRight(b.String(), " ")
	}
	return lines
}

// cell makes a text fit for a table: one line, nothing that a terminal obeys.
func cell(s string) string {
	s = strings.Map(func(r rune) rune {
		if unicode.IsControl(r) {
			return ' '
		}
		return r
	}, s)
	return strings.Join(strings.Fields(s), " ")
}

// columns is how many columns of a terminal a text takes: two for the wide
// letters of East Asia and emoji, none for marks on the letter before.
func columns(s string) (n int) {
	for _, r := range s {
		n += columnsOf(r)
	}
	return n
}

func columnsOf(r rune) int {
	if unicode.In(r, unicode.Mn, unicode.Me, unicode.Cf) {
		return 0
	}
	switch width.LookupRune(r).Kind() {
	case width.EastAsianWide, width.EastAsianFullwidth:
		return 2
	}
	return 1
}

// fit cuts a text to at most n columns.
func fit(s string, n int) string {
	if columns(s) <= n {
		return s
	}
	n-- // for the ellipsis
	for i, r := range s {
		if n -= columnsOf(r); n < 0 {
			return strings.TrimRight(s[:i], " ") + "…"
		}
	}
	return s
}
