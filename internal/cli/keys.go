package cli

import (
	"bytes"
	"io"
	"unicode"
	"unicode/utf8"
)

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
