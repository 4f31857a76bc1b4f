package middleware

import (
	"bytes"
	"errors"
	"io"
	"net/http"
	"strconv"
	"strings"
	"sync"

	"github.com/tidwall/gjson"

	"github.com/kenlayer/ken"
	"github.com/kenlayer/ken/config"
	"github.com/kenlayer/ken/internal/middleware/wire"
)

// Guard looks for tool calls in the answer that repeat what an external claim said, before the
// client has them, and treats them as action says. Call it once, before Listen and before
// resp's headers are forwarded. In a session whose model has read no external claim it does
// nothing.
//
// Taints go to the turn's receipt (unless the turn is incognito), to the session's events, to
// found (which may be nil and is called on the goroutine that reads the body), and to the
// client as [TaintHeader] says.
//
// With flag, every byte of the body stays. An answer that is not streamed is read whole first;
// a stream gets a trailer. With block, the client gets an error in the API's form instead:
// status 403, which clients do not retry, or in a stream an error event and the end. Events of
// a stream are forwarded whole as they come, but those of a tool call are held until the call
// is complete. A compressed stream is read whole first.
//
// Guard does not check answers in an encoding other than gzip and deflate, what is beyond 4
// MiB, and all choices of an answer but the first.
func (x *Exchange) Guard(resp *http.Response, action config.TaintAction, found func([]ken.Taint)) {
	if action != config.TaintFlag && action != config.TaintBlock {
		return
	}
	resp.Header.Del(TaintHeader) // the upstream does not set it
	if x.taints == nil {
		return
	}
	for _, f := range x.taints.takeUnreported() {
		resp.Header.Add(TaintHeader, taintValue("flagged", f.taints)+"; turn="+headerToken(f.turn))
	}
	if resp.StatusCode != http.StatusOK || resp.Body == nil || resp.Body == http.NoBody {
		return
	}
	g := &taintGuard{x: x, resp: resp, action: action, found: found, encoding: encodingOf(resp)}
	if !canDecode(g.encoding) {
		resp.Header.Add(TaintHeader, "unchecked")
		return
	}
	media := strings.ToLower(strings.TrimSpace(resp.Header.Get("Content-Type")))
	stream := strings.HasPrefix(media, "text/event-stream") || x.dialect == wire.Ollama && strings.HasPrefix(media, "application/x-ndjson")
	switch {
	case stream && action == config.TaintFlag:
		g.announceTrailer()
		resp.Body = &streamWatcher{g: g, body: resp.Body}
	case stream && !isEncoded(g.encoding):
		g.announceTrailer()
		resp.Body = &callGate{g: g, body: resp.Body, calls: openCalls{dialect: x.dialect}}
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

// check returns the taints of the calls in a part of an answer, and reports them to all but the
// client.
func (g *taintGuard) check(part []byte) []ken.Taint {
	if !mayHoldCall(part) {
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

// mayHoldCall reports whether a part of an answer may contain a call. Most contain none and
// need not be parsed.
func mayHoldCall(part []byte) bool {
	for _, s := range [...]string{`tool_calls`, `function_call`, `tool_use`, `_call"`, `\u`} {
		if bytes.Contains(part, []byte(s)) {
			return true
		}
	}
	return false
}

// checkWhole reads an answer to its end and checks it before a byte is forwarded. A longer
// answer than is kept is forwarded unchecked.
func (g *taintGuard) checkWhole() {
	resp := g.resp
	var b bytes.Buffer
	_, err := b.ReadFrom(io.LimitReader(resp.Body, maxAnswerBytes+1))
	rest := resp.Body
	if b.Len() > maxAnswerBytes {
		resp.Header.Add(TaintHeader, "unchecked")
		resp.Body = rejoinedBody{io.MultiReader(&b, rest), rest}
		return
	}
	taints := g.check(decodeBody(b.Bytes(), g.encoding))
	if len(taints) > 0 && g.action == config.TaintBlock {
		_ = rest.Close() // its error does not matter any more
		g.refuse(taints)
		return
	}
	if len(taints) > 0 {
		resp.Header.Add(TaintHeader, taintValue("flagged", taints))
	}
	var tail io.Reader = rest // at its end, with its trailers
	if err != nil {
		tail = errReader{err}
	}
	resp.Body = rejoinedBody{io.MultiReader(&b, tail), rest}
}

// rejoinedBody is a body of which a part was read and put back.
type rejoinedBody struct {
	io.Reader
	io.Closer
}

// errReader is the end of a body that broke off.
type errReader struct{ err error }

// Read implements io.Reader.
func (b errReader) Read([]byte) (int, error) { return 0, b.err }

// announceTrailer announces a trailer, if the response can have one.
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

// setTrailer fills in the announced trailer.
func (g *taintGuard) setTrailer(word string, taints []ken.Taint) {
	if g.trailer {
		g.resp.Trailer.Set(TaintHeader, taintValue(word, taints))
	}
}

// openCalls follows a stream and knows which tool calls have begun and are not complete. The
// zero value with its dialect is ready.
type openCalls struct {
	dialect wire.Dialect
	begun   map[string]bool
}

// anyOpen reports whether a call is not complete.
func (o *openCalls) anyOpen() bool { return len(o.begun) > 0 }

func (o *openCalls) begin(key string) {
	if o.begun == nil {
		o.begun = map[string]bool{}
	}
	o.begun[key] = true
}

// event reads the next event and reports whether it has a part of a call. Servers sometimes
// leave out the empty line between events, so raw may hold several.
func (o *openCalls) event(raw []byte) (touched bool) {
	for line := range bytes.Lines(raw) {
		line = bytes.TrimSpace(line)
		if o.dialect == wire.Ollama { // a call is complete in its line
			touched = touched || gjson.GetBytes(line, "message.tool_calls.#").Int() > 0
			continue
		}
		data, ok := bytes.CutPrefix(line, []byte("data:"))
		if !ok {
			continue
		}
		data = bytes.TrimSpace(data)
		if string(data) == "[DONE]" {
			touched = touched || o.anyOpen()
			clear(o.begun)
			continue
		}
		root := gjson.ParseBytes(data)
		if !root.IsObject() {
			continue
		}
		switch o.dialect {
		case wire.Responses:
			touched = o.response(root) || touched
		case wire.Messages:
			touched = o.message(root) || touched
		default:
			touched = o.chat(root) || touched
		}
	}
	return touched
}

// chat reads a chunk. The calls of a choice are complete when its finish reason comes.
func (o *openCalls) chat(root gjson.Result) (touched bool) {
	root.Get("choices").ForEach(func(_, choice gjson.Result) bool {
		key := choice.Get("index").Raw
		for _, path := range []string{"delta.tool_calls", "delta.function_call", "message.tool_calls"} {
			if v := choice.Get(path); v.IsObject() || v.IsArray() && v.Get("#").Int() > 0 {
				o.begin(key)
				touched = true
			}
		}
		if choice.Get("finish_reason").Type == gjson.String {
			touched = touched || o.begun[key]
			delete(o.begun, key)
		}
		return true
	})
	return touched
}

// response reads an event of a response. A call is complete when its item is done; the
// response's last event repeats all calls.
func (o *openCalls) response(root gjson.Result) bool {
	key := root.Get("output_index").Raw
	switch root.Get("type").Str {
	case "response.output_item.added":
		if strings.HasSuffix(root.Get("item.type").Str, "_call") {
			o.begin(key)
			return true
		}
	case "response.output_item.done":
		delete(o.begun, key)
		return strings.HasSuffix(root.Get("item.type").Str, "_call")
	case "response.completed", "response.incomplete", "response.failed":
		clear(o.begun)
		called := false
		root.Get("response.output").ForEach(func(_, item gjson.Result) bool {
			called = called || strings.HasSuffix(item.Get("type").Str, "_call")
			return true
		})
		return called
	}
	return o.begun[key]
}

// message reads an event of Anthropic's API. A call is complete when its block stops.
func (o *openCalls) message(root gjson.Result) bool {
	key := strconv.Itoa(int(root.Get("index").Int()))
	switch root.Get("type").Str {
	case "content_block_start":
		if kind := root.Get("content_block.type").Str; kind == "tool_use" || strings.HasSuffix(kind, "_tool_use") {
			o.begin(key)
			return true
		}
	case "content_block_stop":
		is := o.begun[key]
		delete(o.begun, key)
		return is
	case "message_stop":
		is := o.anyOpen()
		clear(o.begun)
		return is
	case "content_block_delta":
		return o.begun[key]
	}
	return false
}

// streamWatcher forwards a stream as it comes and checks it at its end. Taints go to the
// trailer, and to the session's next response.
type streamWatcher struct {
	g    *taintGuard
	body io.ReadCloser

	mu         sync.Mutex // a client may close what another of its goroutines reads
	buf        bytes.Buffer
	overflowed bool
	done       bool
}

// Read implements io.Reader.
func (w *streamWatcher) Read(p []byte) (int, error) {
	n, err := w.body.Read(p)
	w.keep(p[:n], err != nil)
	return n, err
}

// Close implements io.Closer.
func (w *streamWatcher) Close() error {
	w.keep(nil, true)
	return w.body.Close()
}

func (w *streamWatcher) keep(p []byte, last bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.done {
		return
	}
	if w.overflowed = w.overflowed || w.buf.Len()+len(p) > maxAnswerBytes; !w.overflowed {
		w.buf.Write(p)
	}
	if !last {
		return
	}
	w.done = true
	taints := w.g.check(decodeBody(w.buf.Bytes(), w.g.encoding)) // of a longer stream, its beginning
	w.buf = bytes.Buffer{}
	if len(taints) > 0 {
		w.g.setTrailer("flagged", taints)
		w.g.x.taints.addUnreported(w.g.x.Turn.ID, taints)
	}
}

// callGate forwards a stream's events, and holds those of a tool call until it is complete and
// was checked.
type callGate struct {
	g     *taintGuard
	body  io.ReadCloser
	calls openCalls

	partial []byte // an event that is not whole yet
	scanned int    // how much of partial was searched for the event's end
	held    []byte // whole events of calls that are not complete
	out     []byte // what may be forwarded, from sent on
	sent    int
	err     error // how the body ended, once out is forwarded
	buf     [16 << 10]byte
}

// maxHeld bounds what is held of calls. Arguments are checked by their first 4 MiB, so more
// would add nothing.
const maxHeld = 2 * maxAnswerBytes

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

// feed takes the next bytes of the body.
func (t *callGate) feed(p []byte) {
	t.partial = append(t.partial, p...)
	for t.err == nil {
		from := max(t.scanned-maxEventEnd, 0)
		n := t.eventEnd(t.partial[from:])
		switch {
		case n > 0:
			n += from
		case len(t.partial) > maxHeld: // nothing that a client would read as one event
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

// event decides about one event.
func (t *callGate) event(raw []byte) {
	touched := t.calls.event(raw)
	if !touched && len(t.held) == 0 {
		t.out = append(t.out, raw...)
		return
	}
	t.held = append(t.held, raw...)
	if !t.calls.anyOpen() || len(t.held) > maxHeld {
		t.checkHeld()
	}
}

// checkHeld checks what is held, and forwards it or replaces it by an error.
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
	_ = t.body.Close() // the rest is not wanted
}

// finish handles the body's end. A call that broke off is checked as far as it came.
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

// maxEventEnd is the length of the longest end of an event: two line ends.
const maxEventEnd = 4

// eventEnd returns where the first event of b ends; 0 if it is not whole. Ollama's events are
// lines.
func (t *callGate) eventEnd(b []byte) int {
	if t.calls.dialect == wire.Ollama {
		return bytes.IndexByte(b, '\n') + 1
	}
	return eventEnd(b)
}

// eventEnd returns where the first event of b ends, after its empty line; 0 if it is not whole.
func eventEnd(b []byte) int {
	for i := 0; i < len(b); {
		n := bytes.IndexAny(b[i:], "\r\n")
		if n < 0 {
			return 0
		}
		i += n
		first := lineEnd(b[i:])
		if i+first == len(b) && b[i] == '\r' { // a \n may follow
			return 0
		}
		i += first
		if i < len(b) && (b[i] == '\r' || b[i] == '\n') {
			second := lineEnd(b[i:])
			if b[i] == '\r' && i+1 == len(b) && first == 2 { // half of the second \r\n
				return 0
			}
			return i + second
		}
	}
	return 0
}

// lineEnd returns the length of the line end at the beginning of b.
func lineEnd(b []byte) int {
	if b[0] == '\r' && len(b) > 1 && b[1] == '\n' {
		return 2
	}
	return 1
}
