package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"unicode"
	"unicode/utf8"

	"golang.org/x/term"
)

// Keys that a raw terminal hands on instead of obeying them.
const (
	ctrlC  = 3
	ctrlD  = 4
	escape = 0x1b
)

// noKey is a key that means nothing, such as an arrow.
const noKey = unicode.ReplacementChar

// keyReader reads single keys from a terminal, and from anything else the first
// letter of each line.
type keyReader struct {
	in     *stoppable
	buf    *bufio.Reader
	fd     int // of the terminal; -1 without one
	escape escapes
}

func (a *app) keyReader() *keyReader {
	k := &keyReader{in: &stoppable{r: a.in}, fd: -1}
	k.buf = bufio.NewReader(k.in)
	if f, ok := a.in.(*os.File); ok && isTerminal(a.in) {
		k.fd = int(f.Fd())
	}
	return k
}

// person reports whether somebody presses the keys.
func (k *keyReader) person() bool { return k.fd >= 0 }

// key asks, and returns a letter in lower case, '\n' for an empty line, noKey for
// what means nothing, and io.EOF at the end. The terminal is raw before anybody is
// asked: it would keep a key that is pressed earlier for a line.
func (k *keyReader) key(ctx context.Context, ask func()) (rune, error) {
	if !k.person() {
		ask()
		line, err := k.line(ctx)
		if err != nil {
			return 0, err
		}
		r, _ := utf8.DecodeRuneInString(strings.TrimSpace(line) + "\n")
		return unicode.ToLower(r), nil
	}
	k.in.ctx = ctx
	old, err := term.MakeRaw(k.fd)
	if err != nil {
		return 0, fmt.Errorf("prepare terminal: %w", err)
	}
	ask()
	r, _, err := k.buf.ReadRune()
	if restored := term.Restore(k.fd, old); restored != nil {
		return 0, errors.Join(err, fmt.Errorf("restore terminal: %w", restored))
	}
	return unicode.ToLower(k.escape.next(r)), err
}

// line returns a whole line, without its end.
func (k *keyReader) line(ctx context.Context) (string, error) {
	k.in.ctx = ctx
	s, err := k.buf.ReadString('\n')
	if errors.Is(err, io.EOF) && s != "" {
		err = nil
	}
	return strings.TrimRight(s, "\r\n"), err
}

// escapes follows the sequences that arrows and other keys send, which end in
// letters: an arrow must not approve anything.
type escapes int

const (
	plain    escapes = iota
	begun            // Escape
	control          // Escape [
	function         // Escape O
)

// next returns r when it was pressed by itself, and else noKey.
func (e *escapes) next(r rune) rune {
	was := *e
	*e = plain
	switch {
	case was == plain && r != escape, r == ctrlC:
		return r
	case r == escape:
		*e = begun
	case was == begun && r == '[':
		*e = control
	case was == begun && r == 'O':
		*e = function
	case was == control && (r < '@' || r > '~'):
		*e = control // not its end
	}
	return noKey
}
