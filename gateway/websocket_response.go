package gateway

import (
	"bytes"
	"encoding/json"
	"io"
	"iter"
	"net/http"
	"slices"

	"github.com/tidwall/gjson"

	"github.com/kenlayer/ken"
	"github.com/kenlayer/ken/internal/caught"
	"github.com/kenlayer/ken/internal/middleware/wire"
)

// response is a model call on a WebSocket. Each has its own log line, turn and answer.
type response struct {
	*call
	stream    *eventStream // nil if the answer is not observed
	refused   bool         // the answer was refused because of a tainted call; the connection then ends
	endStream func()       // ends the count of open streams; nil before the first event
}

// response creates a call. The call takes over the memory that was reserved for the collected
// message.
func (s *socket) response() *response {
	c := s.c
	return &response{call: &call{g: c.g, settings: c.g.settings.Load(), w: &writer{}, r: c.r, start: c.g.o.Now(), raw: c.raw, route: model,
		dialect: wire.Responses, pattern: "/v1/responses", who: c.who, headers: c.headers, up: c.up, reserved: s.takeReserved(),
		meter: &meter{answer: wire.NewMeter(wire.Responses)}}}
}

// begin passes the request to the layer and starts to observe its answer.
func (r *response) begin(text []byte) {
	r.whole = text
	if !r.reserveForMessages() {
		return
	}
	r.beginExchange(func(req *wire.Request, t *ken.Turn) {
		req.Unstored = false // a connection can continue its last response even if that is not stored
		// A request that only fills the provider's cache is no turn, unless it has a user message.
		if gjson.GetBytes(text, "generate").Type == gjson.False &&
			!slices.ContainsFunc(req.Messages, func(m ken.Message) bool { return m.Role == "user" }) {
			t.Incognito = true
		}
	})
	if r.exchange == nil {
		return
	}
	r.stream = &eventStream{}
	resp := &http.Response{StatusCode: http.StatusOK, Header: http.Header{"Content-Type": {"text/event-stream"}}, Body: r.stream, ContentLength: -1}
	r.exchange.Guard(resp, r.settings.cfg.Taint, r.g.countTaint)
	var onAnswer func(wire.Observed)
	if r.client != nil {
		onAnswer = spanEnder(r.client, resp.StatusCode)
	}
	r.exchange.Listen(resp, onAnswer)
	r.stream.start(resp.Body)
}

// event handles one event of the response. If replace is true, the client gets the events in
// instead. last reports whether the response has ended.
func (r *response) event(text []byte) (instead [][]byte, replace, last bool) {
	if r.endStream == nil {
		r.w.status, r.w.first = http.StatusOK, r.g.o.Now()
		r.endStream = r.g.o.beside.Metrics.Stream()
		r.client.FirstByte()
	}
	sent := serverSent(text)
	r.meter.add(sent)
	if last = lastEvent(text); last {
		if status := int(gjson.GetBytes(text, "status").Int()); status >= http.StatusBadRequest && status <= 599 { // of an error event
			r.w.status = status
			r.g.countStatus(status)
		}
	}
	if r.stream == nil {
		return nil, false, last
	}
	err := caught.Run(func() error {
		instead, replace = r.filterEvent(sent, last)
		return nil
	})
	if err != nil {
		r.g.o.Log.Error("the rest of a response is forwarded unchecked", "cause", err, "stack", caught.Stack(err))
		r.stream, instead, replace = nil, nil, false
	}
	return instead, replace, last || r.refused
}

// serverSent converts an event to the form that it has in a stream over HTTP.
func serverSent(text []byte) []byte {
	out := make([]byte, 0, len(text)+8)
	out = append(out, "data: "...)
	for _, b := range text {
		if b == '\n' || b == '\r' { // JSON strings contain none
			b = ' '
		}
		out = append(out, b)
	}
	return append(out, "\n\n"...)
}

// filterEvent passes an event to the layer, which may hold or refuse it.
func (r *response) filterEvent(sent []byte, last bool) (instead [][]byte, replace bool) {
	got := r.stream.feed(sent, false)
	if r.refused = r.stream.ended; last && !r.refused {
		got = append(got, r.stream.feed(nil, true)...)
	}
	if bytes.Equal(got, sent) {
		return nil, false
	}
	for line := range bytes.Lines(got) {
		if data, ok := bytes.CutPrefix(bytes.TrimSpace(line), []byte("data:")); ok {
			instead = append(instead, bytes.TrimSpace(data))
		}
	}
	if n := len(instead); r.refused && n > 0 {
		instead[n-1] = refusal(instead[n-1])
	}
	return instead, true
}

// refusal converts a stream's final error event to the form that WebSocket clients expect.
func refusal(event []byte) []byte {
	e := gjson.ParseBytes(event)
	b, _ := json.Marshal(map[string]any{"type": "error", "status": http.StatusForbidden, "error": map[string]any{
		"type": openAIType(http.StatusForbidden), "code": e.Get("code").Str, "message": e.Get("message").Str, "param": nil}}) // strings and a number
	return b
}

// end ends the response. why is nil if its last event arrived.
func (r *response) end(why error) {
	if r.err = why; r.endStream != nil {
		r.endStream()
	}
	if r.stream != nil {
		if err := caught.Run(func() error { r.stream.stop(); return nil }); err != nil {
			r.g.o.Log.Error("the end of a response was not observed", "cause", err, "stack", caught.Stack(err))
		}
	}
	r.done()
}

// eventStream is a response body that gets its events one by one through feed. It passes each event
// to the body's reader and returns what the reader produced. It is not safe for concurrent use.
type eventStream struct {
	in    []byte
	eof   bool
	yield func([]byte) bool // nil asks for more input
	next  func() ([]byte, bool)
	stop  func() // aborts the body, unless it has ended
	ended bool
}

// start begins to read body until it needs input. body must read from s.
func (s *eventStream) start(body io.ReadCloser) {
	s.next, s.stop = iter.Pull(func(yield func([]byte) bool) {
		on := true
		s.yield = func(b []byte) bool {
			on = on && yield(b)
			return on
		}
		defer body.Close()
		buf := make([]byte, bufferSize)
		for {
			n, err := body.Read(buf)
			if n > 0 && !s.yield(buf[:n]) || err != nil {
				return
			}
		}
	})
	_, s.ended = s.next()
	s.ended = !s.ended
}

// feed adds bytes to the body, or its end, and returns what the reader produced.
func (s *eventStream) feed(p []byte, eof bool) (out []byte) {
	s.in, s.eof = p, eof
	for !s.ended {
		b, ok := s.next()
		if !ok {
			s.ended = true
			break
		}
		if b == nil {
			break
		}
		out = append(out, b...)
	}
	return out
}

// Read implements io.Reader.
func (s *eventStream) Read(p []byte) (int, error) {
	for len(s.in) == 0 {
		if s.eof {
			return 0, io.EOF
		}
		if !s.yield(nil) {
			return 0, io.ErrUnexpectedEOF
		}
	}
	n := copy(p, s.in)
	s.in = s.in[n:]
	return n, nil
}

// Close implements io.Closer.
func (s *eventStream) Close() error { return nil }
