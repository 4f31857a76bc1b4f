package gateway

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"sync"
	"time"

	"github.com/tidwall/gjson"

	"github.com/kenlayer/ken/internal/access"
	"github.com/kenlayer/ken/internal/websocket"
)

// socket is a WebSocket on which a client requests responses, as Codex does:
//
//	GET /v1/responses, Upgrade: websocket
//	client  {"type":"response.create", the fields of POST /v1/responses}
//	server  the events of a streamed response, each a text message
//
// Each response.create is a separate model call. httputil.ReverseProxy makes the handshake and
// copies bytes in both directions; socket is the upstream's end for it. One goroutine reads, one
// writes, and a third one closes.
type socket struct {
	c    *call
	conn io.ReadWriteCloser // to the upstream

	// Used by the goroutine that writes, which passes on the client's messages.
	up      messageFilter
	wire    *bufio.Writer // to the upstream
	err     error         // why nothing more is passed on; nil while it is
	limited bool          // the client has a time limit for completing a message

	// Used by the goroutine that reads, which passes on the upstream's messages.
	down    messageFilter
	out     bytes.Buffer // bytes for the client
	cut     error        // the error after out; nil while more may come
	refused bool         // see response.refused

	mu      sync.Mutex  // guards the rest
	waiting []*response // in the order of their requests
	held    int64       // bytes of bodyMemory held by the message that is being collected
	over    bool
}

// maxWaitingResponses is the maximum number of unfinished calls on one connection. Providers
// process one at a time.
const maxWaitingResponses = 64

// maxEvent is the maximum size of an event that is inspected: 4 MiB, as much as is kept of an
// answer.
const maxEvent = 4 << 20

// errEnded ends a connection on which Ken accepts no more requests. When the client reconnects, it
// gets a status with the reason.
var errEnded = errors.New("no more requests on this connection")

// policyViolation is a WebSocket close code.
const policyViolation = 1008

// prepareSocket prepares a request for a WebSocket on a path of model calls.
func (c *call) prepareSocket() *fault {
	if f := c.headers.parse(c.r.Header, c.g.scopes); f != nil {
		return f
	}
	if c.headers.off {
		return nil
	}
	if c.route == httpOnly {
		c.g.upgradeRefused.Do(func() {
			c.g.o.Log.Warn("a client asked for a WebSocket on a route that accepts only HTTP", "route", c.pattern)
		})
		c.w.Header().Set("Upgrade", "HTTP/1.1")
		c.w.Header().Set("Connection", "Upgrade")
		return &fault{status: http.StatusUpgradeRequired, code: "no_websocket", msg: "this path has no WebSocket",
			try: "Send a POST, or X-Ken: off to pass the request on untouched."}
	}
	c.socket = &socket{c: c}
	return nil
}

// open starts to inspect the messages of the connection. conn is the connection to the upstream.
func (s *socket) open(conn io.ReadWriteCloser) io.ReadWriteCloser {
	s.conn, s.wire = conn, bufio.NewWriterSize(conn, bufferSize)
	s.up = messageFilter{inspect: s.clientMessage, grow: s.reserve, skipped: s.clientSkipped, out: s.wire, maxText: min(maxInspected, s.c.settings.cfg.BodyBytes)}
	s.down = messageFilter{inspect: s.upstreamMessage, grow: func(int) bool { return true }, skipped: s.upstreamSkipped, out: &s.out, maxText: maxEvent}
	return s
}

// Write receives the bytes that the client sent.
func (s *socket) Write(p []byte) (int, error) {
	s.up.write(p)
	if s.up.collecting || s.limited { // the rest of a message must arrive in time; between messages a client may be silent
		var limit time.Time
		if s.limited = s.up.collecting; s.limited {
			limit = time.Now().Add(s.c.settings.cfg.Stall)
		}
		_ = s.c.w.conn.SetReadDeadline(limit) // after an error the next read fails too
	}
	if err := s.wire.Flush(); err != nil {
		return 0, err
	}
	if s.err != nil {
		return 0, s.err
	}
	return len(p), nil
}

// CloseWrite is called at the end of the client's bytes.
func (s *socket) CloseWrite() error {
	s.up.flush()
	if err := s.wire.Flush(); err != nil {
		return err
	}
	if c, ok := s.conn.(interface{ CloseWrite() error }); ok {
		return c.CloseWrite()
	}
	return http.ErrNotSupported
}

// Read returns the bytes for the client.
func (s *socket) Read(p []byte) (int, error) {
	for s.out.Len() == 0 && s.cut == nil {
		if s.out.Cap() > 2*bufferSize {
			s.out = bytes.Buffer{}
		}
		n, err := s.conn.Read(p)
		s.down.write(p[:n])
		switch {
		case s.refused:
			reason := []byte{policyViolation >> 8, policyViolation & 0xff}
			s.out.Write(websocket.AppendFrame(nil, websocket.Header{Fin: true, Opcode: websocket.Close}, reason))
			s.cut = errEnded
		case err != nil:
			s.down.flush()
			s.cut = err
			s.end(io.ErrUnexpectedEOF)
		}
	}
	if s.out.Len() == 0 {
		return 0, s.cut
	}
	return s.out.Read(p)
}

// Close closes the connection to the upstream.
func (s *socket) Close() error {
	s.end(context.Canceled)
	return s.conn.Close()
}

// end ends the waiting calls; why is the reason. Later calls of end do nothing.
func (s *socket) end(why error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.over {
		return
	}
	s.over = true
	if len(s.waiting) > 0 && !errors.Is(why, context.Canceled) {
		s.c.g.o.beside.Metrics.UpstreamError("cut")
	}
	for _, r := range s.waiting {
		r.end(why)
	}
	s.waiting = nil
	s.c.g.release(s.held)
	s.held = 0
}

// reserve reserves n more bytes for the message that is being collected. It reports whether there
// was room.
func (s *socket) reserve(n int) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.over || !s.c.g.bodyMemory.take(int64(n)) {
		return false
	}
	s.held += int64(n)
	return true
}

// takeReserved returns the number of bytes held for the collected message. The caller must release
// them.
func (s *socket) takeReserved() (n int64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	n, s.held = s.held, 0
	return n
}

// clientMessage handles a message of the client: see messageFilter.inspect.
func (s *socket) clientMessage(text []byte) (instead [][]byte, replace bool) {
	if !asksForResponse(text) {
		s.c.g.release(s.takeReserved())
		return nil, false
	}
	r := s.response()
	if s.err = s.authorize(r); s.err != nil {
		r.done()
		return nil, true
	}
	r.begin(text)
	s.enqueue(r)
	if r.exchange == nil || len(r.exchange.Body) == len(text) {
		return nil, false
	}
	return [][]byte{r.exchange.Body}, true
}

// clientSkipped handles a client's message that is passed on without inspection.
func (s *socket) clientSkipped(text []byte, why string) {
	asks := asksForResponse(text)
	if why != compressed && !asks {
		s.c.g.release(s.takeReserved())
		return
	}
	r := s.response()
	if r.untouched = why; !asks {
		r.done()
		return
	}
	if why == tooLarge && s.c.settings.cfg.BodyBytes <= maxInspected {
		s.err = errTooLong
	}
	s.enqueue(r)
}

// asksForResponse reports whether a message, or its beginning, requests a response.
func asksForResponse(text []byte) bool {
	return gjson.GetBytes(text, "type").Str == "response.create"
}

// authorize repeats the checks of the handshake for a message, because keys and limits may have
// changed.
func (s *socket) authorize(r *response) error {
	var f *fault
	if r.who, f = r.settings.identify(r.r.Header); f == nil {
		f = r.g.limits.spend(r.who.Name)
	}
	if f == nil && !r.who.Can(access.Chat) {
		f = missingRight(access.Chat)
	}
	if f == nil {
		f = r.spendBudget()
	}
	if f == nil {
		return nil
	}
	r.fault, r.w.status = f, f.status
	return errEnded
}

// enqueue adds a call to those that wait for events.
func (s *socket) enqueue(r *response) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.over || len(s.waiting) == maxWaitingResponses {
		r.end(context.Canceled)
		return
	}
	s.waiting = append(s.waiting, r)
}

// upstreamMessage handles a message of the upstream: see messageFilter.inspect.
func (s *socket) upstreamMessage(text []byte) (instead [][]byte, replace bool) {
	if s.refused {
		return nil, true
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.waiting) == 0 {
		return nil, false
	}
	r := s.waiting[0]
	instead, replace, last := r.event(text)
	s.refused = r.refused
	if last {
		s.waiting = s.waiting[1:]
		r.end(nil)
	}
	return instead, replace
}

// upstreamSkipped handles an upstream's message that is passed on without inspection.
func (s *socket) upstreamSkipped(text []byte, why string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if why == tooLarge && len(s.waiting) > 0 && lastEvent(text) {
		s.waiting[0].end(nil)
		s.waiting = s.waiting[1:]
	}
}

// lastEvent reports whether an event, given at least its beginning, ends a response.
func lastEvent(text []byte) bool {
	switch gjson.GetBytes(text, "type").Str {
	case "response.completed", "response.incomplete", "response.failed", "error":
		return true
	}
	return false
}

// Hijack supports http.ResponseController.
func (w *writer) Hijack() (net.Conn, *bufio.ReadWriter, error) {
	conn, rw, err := w.control.Hijack()
	w.conn = conn
	return conn, rw, err
}
