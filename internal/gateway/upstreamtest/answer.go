package upstreamtest

import (
	"bytes"
	"cmp"
	"compress/gzip"
	"io"
	"net/http"
	"slices"
	"strconv"
	"strings"
)

// Framing says how an answer marks the end of its body.
type Framing uint8

// Framings.
const (
	Length  Framing = iota // by Content-Length
	Chunked                // in chunks, one per piece
	ToClose                // by closing the connection
)

// Ending says how the connection ends after an answer's pieces.
type Ending uint8

// Endings.
const (
	Keep  Ending = iota // the body ends as its framing says, and the connection stays open
	Close               // the same, and the connection is closed
	Drop                // the connection is closed after the pieces, without the body's end
	Reset               // the same, with a reset, which may discard bytes that the client has not read
	Stall               // nothing more is sent until the client leaves
)

// Interim is a response with a 1xx status before the answer.
type Interim struct {
	Status int
	Header []Field
}

// Answer is a server's answer to a request. The zero value is an empty answer with status 200.
// Header is written in this order and spelling. The headers of the framing are added at its end,
// unless Header has them.
type Answer struct {
	Interim []Interim
	Status  int    // 0 means 200
	Reason  string // the reason phrase; "" means the usual one
	Header  []Field
	Pieces  [][]byte // the body; each piece is written separately
	Framing Framing
	Trailer []Field // after a chunked body
	Ending  Ending

	// If Head is not nil, the answer is sent only after a value was received from Head or it was
	// closed. Pace does the same for each piece. The wait ends if the client leaves.
	Head, Pace <-chan struct{}

	// Nothing suppresses the whole answer, including the status; only its Ending applies.
	Nothing bool
}

// Body returns the pieces as one slice.
func (a Answer) Body() []byte { return bytes.Join(a.Pieces, nil) }

// Get returns the value of the answer's first header with this name; "" if there is none.
func (a Answer) Get(name string) string { return cmp.Or(values(a.Header, name)...) }

// With returns the answer with one more header at the end.
func (a Answer) With(name, value string) Answer {
	a.Header = append(slices.Clone(a.Header), Field{name, value})
	return a
}

// Without returns the answer without the headers of this name.
func (a Answer) Without(name string) Answer {
	a.Header = slices.DeleteFunc(slices.Clone(a.Header), func(f Field) bool { return http.CanonicalHeaderKey(f.Name) == http.CanonicalHeaderKey(name) })
	return a
}

func (a Answer) status() int { return cmp.Or(a.Status, http.StatusOK) }

func (a Answer) reason() string { return cmp.Or(a.Reason, http.StatusText(a.status())) }

// head returns the answer up to its body, in the form of HTTP/1.1.
func (a Answer) head() []byte {
	var b bytes.Buffer
	b.WriteString("HTTP/1.1 " + strconv.Itoa(a.status()) + " " + a.reason() + "\r\n")
	writeFields(&b, a.Header)
	switch {
	case a.Framing == Chunked && a.Get("Transfer-Encoding") == "":
		writeFields(&b, []Field{{"Transfer-Encoding", "chunked"}})
	case a.Framing == Length && a.status() != http.StatusSwitchingProtocols && a.Get("Content-Length") == "":
		writeFields(&b, []Field{{"Content-Length", strconv.Itoa(len(a.Body()))}})
	}
	b.WriteString("\r\n")
	return b.Bytes()
}

func writeFields(b *bytes.Buffer, fields []Field) {
	for _, f := range fields {
		b.WriteString(f.Name + ": " + f.Value + "\r\n")
	}
}

// framed returns a piece in the form in which it is sent.
func (a Answer) framed(piece []byte) []byte {
	if a.Framing != Chunked {
		return piece
	}
	if len(piece) == 0 {
		return nil // an empty chunk would end the body
	}
	out := append([]byte(strconv.FormatInt(int64(len(piece)), 16)), "\r\n"...)
	return append(append(out, piece...), "\r\n"...)
}

// tail returns the bytes that mark the end of a body.
func (a Answer) tail() []byte {
	if a.Framing != Chunked {
		return nil
	}
	var b bytes.Buffer
	b.WriteString("0\r\n")
	writeFields(&b, a.Trailer)
	b.WriteString("\r\n")
	return b.Bytes()
}

// Hang returns an answer that never comes: the server waits until the client leaves.
func Hang() Answer { return Answer{Nothing: true, Ending: Stall} }

// HangUp returns an answer that closes the connection at once.
func HangUp() Answer { return Answer{Nothing: true, Ending: Drop} }

// Stalled returns a with a stop after its first n pieces, until the client leaves.
func Stalled(a Answer, n int) Answer {
	a.Pieces, a.Ending = a.Pieces[:n], Stall
	return a
}

// CutAt returns a with the connection closed after the first n bytes of its body, which still
// arrive. It panics if the body is shorter.
func CutAt(a Answer, n int) Answer {
	var pieces [][]byte
	rest := a.Body()[:n]
	for _, p := range a.Pieces {
		if p = p[:min(len(p), len(rest))]; len(p) == 0 {
			break
		}
		pieces, rest = append(pieces, p), rest[len(p):]
	}
	if a.Framing == Length { // the length of the complete body
		a = a.With("Content-Length", strconv.Itoa(len(a.Body())))
	}
	a.Pieces, a.Ending = pieces, Drop
	return a
}

// HalfEvent returns a stream that ends properly, but in the middle of its last event.
func HalfEvent(a Answer) Answer {
	a.Pieces = slices.Clone(a.Pieces)
	last := &a.Pieces[len(a.Pieces)-1]
	*last = (*last)[:len(*last)/2]
	return a
}

// Gzipped returns a with its body compressed, whatever the client accepts.
func Gzipped(a Answer) Answer {
	var b bytes.Buffer
	z := gzip.NewWriter(&b)
	for _, p := range a.Pieces {
		_, _ = z.Write(p) // writing to a buffer never fails
		_ = z.Flush()
	}
	_ = z.Close()
	a = a.With("Content-Encoding", "gzip").With("Vary", "Accept-Encoding")
	a.Pieces = [][]byte{b.Bytes()}
	return a
}

// gunzip decompresses the body of Gzipped. If the body is incomplete, it returns what it can.
func gunzip(b []byte) []byte {
	z, err := gzip.NewReader(bytes.NewReader(b))
	if err != nil {
		return nil
	}
	out, _ := io.ReadAll(z) // an error means that the body is incomplete
	return out
}

// HugeLine returns a chat stream with one event of n bytes among the others.
func HugeLine(n int) Answer {
	a := Recording("chat_stream")
	const before, after = `data: {"id":"chatcmpl-huge","object":"chat.completion.chunk","choices":[{"index":0,"delta":{"content":"`, `"}}]}` + "\n\n"
	line := before + strings.Repeat("x", n-len(before)-len(after)) + after
	pieces := [][]byte{a.Pieces[0], []byte(line)}
	a.Pieces = append(pieces, a.Pieces[1:]...)
	return a
}
