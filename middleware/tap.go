package middleware

import (
	"bytes"
	"compress/flate"
	"compress/gzip"
	"compress/zlib"
	"io"
	"net/http"
	"strings"
	"sync"
)

// maxAnswerBytes bounds the answers that a tap keeps, compressed or not: a longer
// one is journaled when it comes back in the next request, or not at all.
const maxAnswerBytes = 4 << 20

// tap keeps what a client reads of an answer, and hands it on once, when the
// client has read it to its end or closed it. It adds nothing to the time of a
// read but a copy in memory.
type tap struct {
	body io.ReadCloser
	// whole reports that the answer is whole, although the body goes on: of what was
	// kept, added bytes are new. Nil never does.
	whole func(kept []byte, added int) bool

	mu   sync.Mutex // a client may close what another of its goroutines reads
	kept bytes.Buffer
	full bool              // there was more than it may keep
	done func(body []byte) // nil once it was called; it is given nil for a body that was too long
}

func encodingOf(resp *http.Response) string {
	return strings.ToLower(strings.TrimSpace(resp.Header.Get("Content-Encoding")))
}

func compressed(encoding string) bool { return encoding != "" && encoding != "identity" }

// readable reports the encodings that a tap can take off. http.Transport takes
// gzip off by itself unless the client asked for it.
func readable(encoding string) bool {
	switch encoding {
	case "gzip", "x-gzip", "deflate":
		return true
	}
	return !compressed(encoding)
}

// decoded takes the encoding off a body, as far as it goes: of one that broke off,
// what came is returned. One that grows beyond all bounds is nothing.
func decoded(body []byte, encoding string) []byte {
	out := unpacked(body, encoding, maxAnswerBytes+1)
	if len(out) > maxAnswerBytes {
		return nil
	}
	return out
}

// beginning is decoded for as much of a body as says whose it is.
func beginning(body []byte, encoding string) []byte { return unpacked(body, encoding, 64<<10) }

// unpacked takes the encoding off as much of a body as makes limit bytes. One that
// has none is returned as it is.
func unpacked(body []byte, encoding string, limit int64) []byte {
	if !compressed(encoding) {
		return body
	}
	var z io.Reader
	var err error
	if encoding == "deflate" {
		// The header that the name stands for is missing as often as not.
		if z, err = zlib.NewReader(bytes.NewReader(body)); err != nil {
			z, err = flate.NewReader(bytes.NewReader(body)), nil
		}
	} else {
		z, err = gzip.NewReader(bytes.NewReader(body))
	}
	if err != nil {
		return nil
	}
	out, _ := io.ReadAll(io.LimitReader(z, limit)) // an error: it broke off
	return out
}

// Read implements io.Reader.
func (t *tap) Read(p []byte) (int, error) {
	n, err := t.body.Read(p)
	t.keep(p[:n], err != nil)
	return n, err
}

// Close implements io.Closer.
func (t *tap) Close() error {
	t.keep(nil, true)
	return t.body.Close()
}

func (t *tap) keep(p []byte, last bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.done == nil {
		return
	}
	if t.kept.Len()+len(p) > maxAnswerBytes {
		t.full, t.kept = true, bytes.Buffer{}
	}
	if !t.full {
		t.kept.Write(p)
		last = last || t.whole != nil && t.whole(t.kept.Bytes(), len(p))
	}
	if !last {
		return
	}
	var body []byte
	if !t.full {
		body = t.kept.Bytes()
	}
	t.done(body)
	t.done, t.kept = nil, bytes.Buffer{}
}
