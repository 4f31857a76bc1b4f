package gateway

import (
	"encoding/json"
	"errors"
	"io"
	"net"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/kenlayer/ken"
)

// answer is the upstream's body on its way to the client. It notes how it ended.
type answer struct {
	io.ReadCloser
	c      *gatewayCall
	stream func() // ends the count of streams; nil before the first byte
	ended  sync.Once
}

// Read implements io.Reader.
func (a *answer) Read(p []byte) (int, error) {
	n, err := a.ReadCloser.Read(p)
	if n > 0 && a.stream == nil {
		a.stream = a.c.g.o.Metrics.Stream()
		a.c.client.FirstByte()
	}
	if a.c.meter != nil {
		a.c.meter.take(p[:n])
	}
	if err != nil {
		a.end(err)
	}
	return n, err
}

// Close implements io.Closer.
func (a *answer) Close() error {
	a.end(io.EOF)
	return a.ReadCloser.Close()
}

func (a *answer) end(err error) {
	a.ended.Do(func() {
		if a.stream != nil {
			a.stream()
		}
		if errors.Is(err, io.EOF) {
			err = nil
		}
		if err != nil {
			a.c.err = err
			if a.c.r.Context().Err() == nil {
				a.c.g.o.Metrics.UpstreamError("cut")
			}
		}
	})
}

// dialect is whose errors a client can read.
type dialect uint8

const (
	openAI dialect = iota
	anthropic
	ollama
	problem // RFC 9457, for Ken's own paths
)

// spoken is the dialect that a request's client speaks.
func spoken(r route, path string, h http.Header) dialect {
	switch {
	case r.own():
		return problem
	case strings.HasPrefix(path, "/api/"):
		return ollama
	case h.Get("Anthropic-Version") != "", strings.HasPrefix(path, "/v1/messages"):
		return anthropic
	}
	return openAI
}

// fault is an answer of the gateway's own to a request that it can't serve.
type fault struct {
	status int
	code   string // a word for programs: the header X-Ken-Error
	msg    string
	try    string
	retry  int // seconds; 0 says nothing about when to come back
}

// faultOf makes a fault of an error; the message of one that is not a ken.Error
// stays in the log.
func faultOf(err error) *fault {
	f := &fault{status: http.StatusInternalServerError, code: string(ken.CodeInternal), msg: "the gateway failed", try: ken.Hint(err)}
	var e *ken.Error
	if !errors.As(err, &e) {
		return f
	}
	f.code, f.msg = string(e.Code), e.Msg
	if e.Field != "" {
		f.msg = e.Field + ": " + e.Msg
	}
	switch e.Code {
	case ken.CodeInvalid:
		f.status = http.StatusBadRequest
	case ken.CodeNotFound:
		f.status = http.StatusNotFound
	case ken.CodeRefused:
		f.status = http.StatusForbidden
	case ken.CodeExists:
		f.status = http.StatusConflict
	case ken.CodeUnavailable, ken.CodeHeld:
		f.status = http.StatusServiceUnavailable
	}
	return f
}

// write answers with the fault in the shape of d.
func (f *fault) write(w http.ResponseWriter, d dialect) {
	h := w.Header()
	h.Set("X-Ken-Error", f.code)
	h.Set("Content-Type", "application/json")
	if f.retry > 0 {
		h.Set("Retry-After", strconv.Itoa(f.retry))
	}
	if f.status == http.StatusUnauthorized {
		h.Set("WWW-Authenticate", "Bearer")
	}
	text := f.msg
	if f.try != "" {
		text += ". " + f.try
	}
	var body any
	switch d {
	case anthropic:
		body = map[string]any{"type": "error", "error": map[string]string{"type": anthropicType(f.status), "message": "ken: " + text}}
	case ollama:
		body = map[string]string{"error": "ken: " + text}
	case problem:
		h.Set("Content-Type", "application/problem+json")
		p := map[string]any{"type": "about:blank", "title": http.StatusText(f.status), "status": f.status, "detail": f.msg, "code": f.code}
		if f.try != "" {
			p["try"] = f.try
		}
		body = p
	default:
		body = map[string]any{"error": map[string]any{"message": "ken: " + text, "type": openAIType(f.status), "param": nil, "code": f.code}}
	}
	b, _ := json.Marshal(body) // strings and numbers alone
	h.Set("Content-Length", strconv.Itoa(len(b)))
	w.WriteHeader(f.status)
	_, _ = w.Write(b) // a client that is gone is no concern of ours
}

func openAIType(status int) string {
	switch {
	case status == http.StatusTooManyRequests:
		return "rate_limit_error"
	case status == http.StatusUnauthorized:
		return "authentication_error"
	case status == http.StatusForbidden:
		return "permission_error"
	case status >= http.StatusInternalServerError:
		return "server_error"
	}
	return "invalid_request_error"
}

func anthropicType(status int) string {
	switch {
	case status == http.StatusUnauthorized:
		return "authentication_error"
	case status == http.StatusForbidden:
		return "permission_error"
	case status == http.StatusNotFound:
		return "not_found_error"
	case status == http.StatusRequestEntityTooLarge:
		return "request_too_large"
	case status == http.StatusTooManyRequests:
		return "rate_limit_error"
	case status == http.StatusServiceUnavailable:
		return "overloaded_error"
	case status == http.StatusGatewayTimeout:
		return "timeout_error"
	case status >= http.StatusInternalServerError:
		return "api_error"
	}
	return "invalid_request_error"
}

// writer is a response on its way to the client. It gives each write a time limit
// of its own, so that a client that takes nothing is let go, and a stream may go on
// as long as it flows. It notes what the log wants to know.
type writer struct {
	http.ResponseWriter
	control *http.ResponseController
	stall   time.Duration
	now     func() time.Time

	early  bool        // the headers are sent at once, because it is not known when the body comes
	unread func() bool // whether some of the request may be unread; nil: it is none of the writer's concern
	status int
	first  time.Time // when the answer began
	conn   net.Conn  // once it was taken over

	written int64 // bytes of the answer's body
}

func newWriter(w http.ResponseWriter, stall time.Duration, now func() time.Time) *writer {
	rw := &writer{ResponseWriter: w, control: http.NewResponseController(w), stall: stall, now: now}
	// The connection may have the last request's limit.
	_ = rw.control.SetWriteDeadline(time.Time{}) // a writer that has no such limit doesn't need it lifted
	return rw
}

// expect gives a body that may never be read a time limit all the same: net/http
// reads what is left of it.
func (w *writer) expect(r *http.Request) {
	if r.ContentLength != 0 {
		_ = w.control.SetReadDeadline(time.Now().Add(w.stall))
	}
}

// Unwrap is for http.ResponseController.
func (w *writer) Unwrap() http.ResponseWriter { return w.ResponseWriter }

func (w *writer) limit() {
	_ = w.control.SetWriteDeadline(time.Now().Add(w.stall))
}

// WriteHeader implements http.ResponseWriter.
func (w *writer) WriteHeader(status int) {
	if status >= 200 && w.status == 0 {
		w.status, w.first = status, w.now()
	}
	w.limit()
	if status >= 200 && w.unread != nil && w.unread() {
		// net/http throws away what is left of a request that is read in full duplex, and
		// then fails to read the next one: it has to know that there is none.
		w.Header().Set("Connection", "close")
	}
	w.ResponseWriter.WriteHeader(status)
	if w.early && status >= 200 {
		_ = w.control.Flush() // the next write finds out what is wrong
	}
}

// Write implements io.Writer.
func (w *writer) Write(p []byte) (int, error) {
	if w.status == 0 {
		w.status, w.first = http.StatusOK, w.now()
	}
	w.limit()
	n, err := w.ResponseWriter.Write(p)
	w.written += int64(n)
	return n, err
}

// FlushError is for http.ResponseController. It sends the header, if nothing has before.
func (w *writer) FlushError() error {
	if w.status == 0 {
		w.status, w.first = http.StatusOK, w.now()
	}
	return w.control.Flush()
}

// body is a request's body on its way in. It gives each read a time limit, notes
// the error that ended it, and refuses to grow beyond max bytes. http.Transport may
// still read it when the upstream's answer, or the lack of one, is known.
type body struct {
	io.ReadCloser
	control *http.ResponseController
	stall   time.Duration
	left    int64
	broken  atomic.Pointer[error] // what ended it, other than io.EOF
	ended   atomic.Bool
}

// err is what ended the body before its end, nil if nothing did.
func (b *body) err() error {
	if err := b.broken.Load(); err != nil {
		return *err
	}
	return nil
}

// errTooLong ends the reading of a body that is beyond gateway.body_bytes.
var errTooLong = errors.New("the request's body is too long")

// Read implements io.Reader.
func (b *body) Read(p []byte) (int, error) {
	if err := b.err(); err != nil {
		return 0, err
	}
	_ = b.control.SetReadDeadline(time.Now().Add(b.stall))
	n, err := b.ReadCloser.Read(p)
	if b.left -= int64(n); b.left < 0 {
		err = errTooLong
	}
	switch {
	case err == io.EOF:
		// What net/http reads from here on is waiting for the client to go away, which
		// may take as long as it likes.
		_ = b.control.SetReadDeadline(time.Time{})
		b.ended.Store(true)
	case err != nil: // what net/http reads from here on is the rest, to throw it away
		broken := err // the pointer to err would cost every read an allocation
		b.broken.Store(&broken)
	}
	return n, err
}
