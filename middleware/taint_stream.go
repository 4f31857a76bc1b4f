package middleware

import (
	"bytes"
	"errors"
	"io"
	"net/http"
	"strings"

	"github.com/kenlayer/ken"
	"github.com/kenlayer/ken/config"
	"github.com/kenlayer/ken/internal/middleware/wire"
)

// Guard looks for tool calls in the answer that repeat the text of an external claim, before the
// client gets them, and handles them as action says. Call it once, before Listen and before resp's
// headers are forwarded. If the session's model has read no external claim, Guard does nothing.
//
// Taints go to the turn's receipt (unless the turn is incognito), to the session's event log, to
// found (which may be nil and is called in the goroutine that reads the body), and to the client in
// [TaintHeader].
//
// With flag, the body is not changed. An answer that is not streamed is read completely first; a
// stream gets a trailer. With block, the client gets an error in the API's form instead: status
// 403, which clients do not retry, or an error event and the end of the stream. Events of a stream
// are forwarded one by one as they arrive, but those of a tool call are held until the call is
// complete. A compressed stream is read completely first.
//
// Guard does not check answers in an encoding other than gzip and deflate, nor anything after the
// first 4 MiB, nor choices of an answer other than the first.
func (x *Exchange) Guard(resp *http.Response, action config.TaintAction, found func([]ken.Taint)) {
	if action != config.TaintFlag && action != config.TaintBlock {
		return
	}
	resp.Header.Del(TaintHeader) // only this layer sets the header
	if x.taints == nil {
		return
	}
	for _, f := range x.taints.takeUnreported() {
		resp.Header.Add(TaintHeader, taintValue("flagged", f.taints)+"; turn="+headerToken(f.turn))
	}
	if resp.StatusCode != http.StatusOK || resp.Body == nil || resp.Body == http.NoBody {
		return
	}
	g := &taintGuard{x: x, resp: resp, action: action, found: found, encoding: wire.ContentEncoding(resp.Header)}
	if !wire.CanDecode(g.encoding) {
		resp.Header.Add(TaintHeader, "unchecked")
		return
	}
	media := strings.ToLower(strings.TrimSpace(resp.Header.Get("Content-Type")))
	stream := strings.HasPrefix(media, "text/event-stream") || x.dialect == wire.Ollama && strings.HasPrefix(media, "application/x-ndjson")
	switch {
	case stream && action == config.TaintFlag:
		g.announceTrailer()
		resp.Body = &bodyTee{body: resp.Body, keepsBeginning: true, onDone: g.checkStream}
	case stream && !wire.IsEncoded(g.encoding):
		g.announceTrailer()
		resp.Body = &callGate{g: g, body: resp.Body, calls: wire.OpenCalls{Dialect: x.dialect}}
	default:
		g.checkWhole()
	}
}

// taintGuard checks one answer.
type taintGuard struct {
	x        *Exchange
	resp     *http.Response
	action   config.TaintAction
	found    func([]ken.Taint)
	encoding string
	trailer  bool
}

// check returns the taints of the calls in a part of an answer, and reports them everywhere except
// to the client.
func (g *taintGuard) check(part []byte) []ken.Taint {
	if !wire.MayHoldCall(part) {
		return nil
	}
	a, _ := wire.ParseAnswer(g.x.dialect, part)
	if len(a.Message.ToolCalls) == 0 {
		return nil
	}
	l := g.x.layer
	taints := g.x.taints.check(a.Message.ToolCalls, l.trustedTexts(&g.x.Turn, g.x.placed))
	if len(taints) == 0 {
		return nil
	}
	l.o.Log.Warn("a tool call repeats an external claim", "action", string(g.action), "tool", headerToken(taints[0].Tool), "claim", taints[0].Claim,
		"turn", g.x.Turn.ID)
	l.recordTaints(&g.x.Turn, g.action, taints)
	if g.found != nil {
		g.found(taints)
	}
	return taints
}

// checkWhole reads the complete answer and checks it before any byte is forwarded. An answer that
// is longer than the limit is forwarded unchecked.
func (g *taintGuard) checkWhole() {
	resp := g.resp
	body := readBeginning(resp, wire.MaxAnswerBytes+1)
	if len(body) > wire.MaxAnswerBytes {
		resp.Header.Add(TaintHeader, "unchecked")
		return
	}
	switch taints := g.check(wire.Decode(body, g.encoding)); {
	case len(taints) == 0:
	case g.action == config.TaintBlock:
		_ = resp.Body.Close() // its error no longer matters
		g.refuse(taints)
	default:
		resp.Header.Add(TaintHeader, taintValue("flagged", taints))
	}
}

// readBeginning returns at most limit bytes of a response's body. The body, with its error and its
// trailers, can be read from its beginning afterwards.
func readBeginning(resp *http.Response, limit int64) []byte {
	var b bytes.Buffer
	rest := resp.Body
	_, err := b.ReadFrom(io.LimitReader(rest, limit))
	var tail io.Reader = rest
	if err != nil {
		tail = errReader{err}
	}
	head := b.Bytes()
	resp.Body = rejoinedBody{io.MultiReader(&b, tail), rest}
	return head
}

// rejoinedBody is a body whose beginning was read and put back.
type rejoinedBody struct {
	io.Reader
	io.Closer
}

// errReader returns the error with which a body broke off.
type errReader struct{ err error }

// Read implements io.Reader.
func (b errReader) Read([]byte) (int, error) { return 0, b.err }

// announceTrailer announces the trailer, if the response can have one.
func (g *taintGuard) announceTrailer() {
	if g.resp.ContentLength >= 0 {
		return
	}
	if g.resp.Trailer == nil {
		g.resp.Trailer = http.Header{}
	}
	g.resp.Trailer[TaintHeader] = nil
	g.trailer = true
}

func (g *taintGuard) setTrailer(word string, taints []ken.Taint) {
	if g.trailer {
		g.resp.Trailer.Set(TaintHeader, taintValue(word, taints))
	}
}

// checkStream checks the beginning of a stream that the client has read, and flags its taints in a
// trailer and in the headers of the session's next answer.
func (g *taintGuard) checkStream(beginning []byte) {
	if taints := g.check(wire.Decode(beginning, g.encoding)); len(taints) > 0 {
		g.setTrailer("flagged", taints)
		g.x.taints.addUnreported(g.x.Turn.ID, taints)
	}
}

// callGate forwards a stream's events, but holds those of a tool call until the call is complete
// and checked.
type callGate struct {
	g     *taintGuard
	body  io.ReadCloser
	calls wire.OpenCalls

	partial []byte // an incomplete event
	scanned int    // bytes of partial that were searched for the event's end
	held    []byte // complete events of calls that are incomplete
	out     []byte // what may be forwarded; out[:sent] already was
	sent    int
	err     error // how the body ended; returned after out was forwarded
	buf     [16 << 10]byte
}

// maxHeld is the maximum number of bytes of calls that are held. Only the first 4 MiB of arguments
// are checked, so holding more would add nothing.
const maxHeld = 2 * wire.MaxAnswerBytes

// Read implements io.Reader.
func (t *callGate) Read(p []byte) (int, error) {
	for t.sent == len(t.out) && t.err == nil {
		t.out, t.sent = t.out[:0], 0
		n, err := t.body.Read(t.buf[:])
		t.feed(t.buf[:n])
		if err != nil && t.err == nil {
			t.finish(err)
		}
	}
	if t.sent == len(t.out) {
		return 0, t.err
	}
	n := copy(p, t.out[t.sent:])
	t.sent += n
	return n, nil
}

// Close implements io.Closer.
func (t *callGate) Close() error { return t.body.Close() }

// feed processes the next bytes of the body.
func (t *callGate) feed(p []byte) {
	t.partial = append(t.partial, p...)
	for t.err == nil {
		from := max(t.scanned-wire.MaxEventEnd, 0)
		n := wire.EventEnd(t.calls.Dialect, t.partial[from:])
		switch {
		case n > 0:
			n += from
		case len(t.partial) > maxHeld: // no client would read this as one event
			n = len(t.partial)
		default:
			t.scanned = len(t.partial)
			return
		}
		raw := t.partial[:n]
		t.partial, t.scanned = t.partial[n:], 0
		t.event(raw)
	}
}

// event forwards or holds one event.
func (t *callGate) event(raw []byte) {
	touched := t.calls.Read(raw)
	if !touched && len(t.held) == 0 {
		t.out = append(t.out, raw...)
		return
	}
	t.held = append(t.held, raw...)
	if !t.calls.Any() || len(t.held) > maxHeld {
		t.checkHeld()
	}
}

// checkHeld checks the held events, and forwards them or replaces them by an error.
func (t *callGate) checkHeld() {
	held := t.held
	t.held = nil
	taints := t.g.check(held)
	if len(taints) == 0 {
		t.out = append(t.out, held...)
		return
	}
	t.refuse(taints)
}

func (t *callGate) refuse(taints []ken.Taint) {
	t.out = append(t.out, errorEvents(t.g.x.dialect, taints)...)
	t.partial, t.err = nil, io.EOF
	t.g.setTrailer("refused", taints)
	_ = t.body.Close() // the rest is not needed
}

// finish handles the body's end. A call that broke off is checked as far as it arrived.
func (t *callGate) finish(err error) {
	t.held = append(t.held, t.partial...)
	t.partial, t.err = nil, err
	if len(t.held) > 0 {
		t.checkHeld()
	}
	if errors.Is(t.err, io.EOF) {
		t.err = io.EOF
	}
}
