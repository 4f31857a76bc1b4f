package upstreamtest

import (
	"bufio"
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"
)

// maxHead and maxBody limit a request's head and body in bytes. Tests send less.
const (
	maxHead = 1 << 20
	maxBody = 256 << 20
)

// Field is one header line, in its original spelling.
type Field struct {
	Name  string `json:"name"`
	Value string `json:"value"`
}

// Request is one received request. It is complete when the server returns it, and immutable.
type Request struct {
	Method  string  `json:"method"`
	Target  string  `json:"target"` // path and query, as in the request line
	Proto   string  `json:"proto"`  // such as HTTP/1.1
	Header  []Field `json:"header"` // in order; over HTTP/2, where the order is unknown, sorted
	Body    []byte  `json:"body"`   // without chunk framing
	Trailer []Field `json:"trailer,omitempty"`

	// Raw is the head and the body exactly as they arrived, including chunk framing; nil over
	// HTTP/2.
	Raw []byte `json:"raw,omitempty"`
	// Conn is the number of the connection, counted from 1 in the order of arrival.
	Conn int `json:"conn"`

	gone chan struct{}
}

// Gone is closed when the client closes the connection or resets the stream, during the answer or
// after it.
func (r *Request) Gone() <-chan struct{} { return r.gone }

// Path returns the target without its query.
func (r *Request) Path() string {
	path, _, _ := strings.Cut(r.Target, "?")
	return path
}

// Get returns the value of the first header with this name, in any spelling; "" if there is none.
func (r *Request) Get(name string) string {
	return cmp.Or(r.Values(name)...)
}

// Values returns the values of all headers with this name, in order.
func (r *Request) Values(name string) []string { return values(r.Header, name) }

func values(fields []Field, name string) (out []string) {
	for _, f := range fields {
		if strings.EqualFold(f.Name, name) {
			out = append(out, f.Value)
		}
	}
	return out
}

var errMalformed = errors.New("not a request")

// readRequest reads one request from a connection. interim is called when the client waits for
// permission to send its body.
func readRequest(r *bufio.Reader, interim func() error) (*Request, error) {
	var raw bytes.Buffer
	lines, err := readHead(r, &raw)
	if err != nil {
		return nil, err
	}
	first := strings.SplitN(lines[0], " ", 3)
	if len(first) != 3 {
		return nil, fmt.Errorf("%w: %q", errMalformed, lines[0])
	}
	req := &Request{Method: first[0], Target: first[1], Proto: first[2], gone: make(chan struct{})}
	if req.Header, err = fields(lines[1:]); err != nil {
		return nil, err
	}
	if strings.EqualFold(req.Get("Expect"), "100-continue") {
		if err := interim(); err != nil {
			return nil, err
		}
	}
	if strings.EqualFold(req.Get("Transfer-Encoding"), "chunked") {
		if err := req.readChunks(r, &raw); err != nil {
			return nil, err
		}
	} else if length := req.Get("Content-Length"); length != "" {
		n, err := strconv.ParseUint(length, 10, 63)
		if err != nil || n > maxBody {
			return nil, fmt.Errorf("%w: length %q", errMalformed, length)
		}
		req.Body = make([]byte, n)
		if _, err := io.ReadFull(r, req.Body); err != nil {
			return nil, fmt.Errorf("read body: %w", err)
		}
		raw.Write(req.Body)
	}
	req.Raw = raw.Bytes()
	return req, nil
}

// readHead reads lines up to the empty one, without their line endings, and copies every byte to
// raw.
func readHead(r *bufio.Reader, raw *bytes.Buffer) ([]string, error) {
	var lines []string
	for size := 0; ; {
		line, err := r.ReadString('\n')
		if err != nil {
			return nil, fmt.Errorf("read head: %w", err)
		}
		raw.WriteString(line)
		if size += len(line); size > maxHead {
			return nil, fmt.Errorf("%w: its head is longer than %d bytes", errMalformed, maxHead)
		}
		if line = strings.TrimRight(line, "\r\n"); line != "" {
			lines = append(lines, line)
		} else if len(lines) > 0 {
			return lines, nil
		}
	}
}

func fields(lines []string) ([]Field, error) {
	out := make([]Field, 0, len(lines))
	for _, line := range lines {
		name, value, ok := strings.Cut(line, ":")
		if !ok || name == "" {
			return nil, fmt.Errorf("%w: header %q", errMalformed, line)
		}
		out = append(out, Field{name, strings.TrimSpace(value)})
	}
	return out, nil
}

// readChunks reads a chunked body and its trailer.
func (req *Request) readChunks(r *bufio.Reader, raw *bytes.Buffer) error {
	var body bytes.Buffer
	for {
		line, err := r.ReadString('\n')
		if err != nil {
			return fmt.Errorf("read chunk: %w", err)
		}
		raw.WriteString(line)
		size, _, _ := strings.Cut(strings.TrimSpace(line), ";")
		n, err := strconv.ParseUint(size, 16, 63)
		if err != nil || n > maxBody {
			return fmt.Errorf("%w: chunk of %q bytes", errMalformed, size)
		}
		if n == 0 {
			break
		}
		chunk := make([]byte, n+2) // includes the line ending
		if _, err := io.ReadFull(r, chunk); err != nil {
			return fmt.Errorf("read chunk: %w", err)
		}
		raw.Write(chunk)
		body.Write(chunk[:n])
	}
	req.Body = body.Bytes()
	for {
		line, err := r.ReadString('\n')
		if err != nil {
			return fmt.Errorf("read trailer: %w", err)
		}
		raw.WriteString(line)
		if line = strings.TrimRight(line, "\r\n"); line == "" {
			return nil
		}
		trailer, err := fields([]string{line})
		if err != nil {
			return err
		}
		req.Trailer = append(req.Trailer, trailer...)
	}
}

// anchor is the number of equal bytes needed to find the sent text again. It is longer than the
// common beginning of two messages.
const anchor = 48

// Added returns the spans that got has in addition to sent. ok reports whether got consists of sent
// and these spans, that is, whether no byte of sent is missing, changed or moved. If a span begins
// like the text after it, the common beginning counts as sent.
func Added(sent, got []byte) (spans []string, ok bool) {
	for len(sent) > 0 {
		n := commonPrefix(sent, got)
		sent, got = sent[n:], got[n:]
		if len(sent) == 0 {
			break
		}
		next := bytes.Index(got, sent[:min(anchor, len(sent))])
		if len(sent) < anchor && bytes.HasSuffix(got, sent) {
			next = len(got) - len(sent) // a short rest may occur in the span too
		}
		if next <= 0 {
			return spans, false
		}
		spans = append(spans, string(got[:next]))
		got = got[next:]
	}
	if len(got) > 0 {
		spans = append(spans, string(got))
	}
	return spans, true
}

// commonPrefix returns the length of the longest common prefix.
func commonPrefix(a, b []byte) (n int) {
	for n < len(a) && n < len(b) && a[n] == b[n] {
		n++
	}
	return n
}
