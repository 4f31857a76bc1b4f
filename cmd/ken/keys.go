package main

import (
	"bytes"
	"io"
	"unicode"
	"unicode/utf8"
)

// lineSign stands for a line break inside a line: the editor knows single lines
// only.
const lineSign = "␤"

var pasteStart, pasteEnd = []byte("\x1b[200~"), []byte("\x1b[201~")

// keys is a terminal's input on its way to the line editor of package term, which
// would take Ctrl-C for the end of the input, and each line of a paste for a line
// that was entered.
type keys struct {
	in      io.Reader
	raw     []byte // read, but not whole yet
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

// dropLine ends an escape sequence that was begun, goes to the end of the line,
// clears it, and enters it: an empty line, which nothing comes of.
const dropLine = "~\x05\x15\r"

// translate takes one key from raw, and reports false when none is whole.
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
	case r == utf8.RuneError: // at which the editor would get stuck
		return k.emit(size, "")
	case !k.pasting && r == ctrlC:
		return k.emit(size, dropLine)
	case !k.pasting || !unicode.IsControl(r):
		return k.emit(size, string(r))
	case r == '\t':
		return k.emit(size, "    ")
	case r == '\r' && len(k.raw) == 1: // perhaps \r\n
		return false
	case r == '\r' && k.raw[1] == '\n':
		return k.emit(2, lineSign)
	case r == '\r' || r == '\n':
		return k.emit(size, lineSign)
	}
	return k.emit(size, "")
}

func (k *keys) emit(taken int, s string) bool {
	k.raw = k.raw[taken:]
	k.out = append(k.out, s...)
	return true
}
