package middleware

import (
	"bytes"
	"compress/gzip"
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

	mu   sync.Mutex // a client may close what another of its goroutines reads
	kept bytes.Buffer
	full bool              // there was more than it may keep
	done func(body []byte) // nil once it was called
}

// tapped reports whether a response is an answer that can be read.
func tapped(resp *http.Response) bool {
	return resp.StatusCode == http.StatusOK && resp.Body != nil && resp.Body != http.NoBody && readable(encodingOf(resp))
}

func encodingOf(resp *http.Response) string {
	return strings.ToLower(strings.TrimSpace(resp.Header.Get("Content-Encoding")))
}

// readable reports the encodings that a tap can take off. http.Transport takes
// gzip off by itself unless the client asked for it.
func readable(encoding string) bool {
	return encoding == "" || encoding == "identity" || encoding == "gzip" || encoding == "x-gzip"
}

// decoded takes the encoding off a body, as far as it goes: of one that broke off,
// what came is returned. One that grows beyond all bounds is nothing.
func decoded(body []byte, encoding string) []byte {
	if encoding != "gzip" && encoding != "x-gzip" {
		return body
	}
	z, err := gzip.NewReader(bytes.NewReader(body))
	if err != nil {
		return nil
	}
	out, _ := io.ReadAll(io.LimitReader(z, maxAnswerBytes+1)) // an error: it broke off
	if len(out) > maxAnswerBytes {
		return nil
	}
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
	}
	if !last {
		return
	}
	if done := t.done; !t.full {
		done(t.kept.Bytes())
	}
	t.done, t.kept = nil, bytes.Buffer{}
}
