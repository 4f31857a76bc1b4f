package upstreamtest

import (
	"bytes"
	"compress/gzip"
	"io"
	"slices"
	"strconv"
	"strings"
)

// Hang takes a request and says nothing until the client leaves.
func Hang() Answer { return Answer{Nothing: true, Ending: Stall} }

// HangUp takes a request and closes the connection without a word.
func HangUp() Answer { return Answer{Nothing: true, Ending: Drop} }

// Stalled is a with nothing behind its first n pieces until the client leaves.
func Stalled(a Answer, n int) Answer {
	a.Pieces, a.Ending = a.Pieces[:n], Stall
	return a
}

// CutAt is a whose connection ends behind the first n bytes of its body. What was
// sent before arrives. It panics when the body is shorter.
func CutAt(a Answer, n int) Answer {
	var pieces [][]byte
	rest := a.Body()[:n]
	for _, p := range a.Pieces {
		if p = p[:min(len(p), len(rest))]; len(p) == 0 {
			break
		}
		pieces, rest = append(pieces, p), rest[len(p):]
	}
	if a.Framing == Length { // what it would have been
		a = a.With("Content-Length", strconv.Itoa(len(a.Body())))
	}
	a.Pieces, a.Ending = pieces, Drop
	return a
}

// HalfEvent is a stream that ends properly, but in the middle of its last event.
func HalfEvent(a Answer) Answer {
	a.Pieces = slices.Clone(a.Pieces)
	last := &a.Pieces[len(a.Pieces)-1]
	*last = (*last)[:len(*last)/2]
	return a
}

// Gzipped is a with its body compressed as one, whatever the client accepts.
func Gzipped(a Answer) Answer {
	var b bytes.Buffer
	z := gzip.NewWriter(&b)
	for _, p := range a.Pieces {
		_, _ = z.Write(p) // a buffer can't fail
		_ = z.Flush()
	}
	_ = z.Close()
	a = a.With("Content-Encoding", "gzip").With("Vary", "Accept-Encoding")
	a.Pieces = [][]byte{b.Bytes()}
	return a
}

// Gunzip takes the compression of Gzipped off again, as far as it goes.
func Gunzip(b []byte) []byte {
	z, err := gzip.NewReader(bytes.NewReader(b))
	if err != nil {
		return nil
	}
	out, _ := io.ReadAll(z) // an error: it broke off
	return out
}

// HugeLine is a chat stream with one event of n bytes between the others.
func HugeLine(n int) Answer {
	a := Recording("chat_stream")
	const before, after = `data: {"id":"chatcmpl-huge","object":"chat.completion.chunk","choices":[{"index":0,"delta":{"content":"`, `"}}]}` + "\n\n"
	line := before + strings.Repeat("x", n-len(before)-len(after)) + after
	pieces := [][]byte{a.Pieces[0], []byte(line)}
	a.Pieces = append(pieces, a.Pieces[1:]...)
	return a
}
