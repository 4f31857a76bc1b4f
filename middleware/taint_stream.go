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

// Guard looks for tool calls in the answer that repeat what an external claim said,
// before the client has them, and does what action says about them. Call it once,
// before Listen, and before resp's headers are passed on. In a session whose model has
// read no external claim it looks at nothing.
//
// What is found goes to the turn's receipt, unless the turn is incognito, to the
// session's events, to found (nil is nobody; it is called on the goroutine that reads
// the body), and to the client as [TaintHeader] says. With flag, every byte of the
// body stays; an answer that is not streamed is awaited first, and a stream gets a
// trailer. With block, the client gets an error of the API's shape instead: the
// status 403, which clients do not try again, or in a stream an error event and the
// end. A stream's events pass as they come, whole ones at a time, but for those of a
// tool call, which are held until it is complete; one that is compressed is awaited
// whole.
//
// Not looked at are answers in an encoding other than gzip and deflate, what is beyond
// 4 MiB, and all choices of an answer but the first.
func (x *Exchange) Guard(resp *http.Response, action config.TaintAction, found func([]ken.Taint)) {
	if action != config.TaintFlag && action != config.TaintBlock {
		return
	}
	resp.Header.Del(TaintHeader) // it is no word of the upstream's
	if x.suspects == nil {
		return
	}
	for _, f := range x.suspects.settle() {
		resp.Header.Add(TaintHeader, taintValue("flagged", f.taints)+"; turn="+headerToken(f.turn))
	}
	if resp.StatusCode != http.StatusOK || resp.Body == nil || resp.Body == http.NoBody {
		return
	}
	g := &guard{x: x, resp: resp, action: action, found: found, encoding: encodingOf(resp)}
	if !readable(g.encoding) {
		resp.Header.Add(TaintHeader, "unchecked")
		return
	}
	media := strings.ToLower(strings.TrimSpace(resp.Header.Get("Content-Type")))
	stream := strings.HasPrefix(media, "text/event-stream") || x.dialect == wire.Ollama && strings.HasPrefix(media, "application/x-ndjson")
	switch {
	case stream && action == config.TaintFlag:
		g.announce()
		resp.Body = &streamWatcher{g: g, body: resp.Body}
	case stream && !compressed(g.encoding):
		g.announce()
		resp.Body = &gate{g: g, body: resp.Body, calls: openCalls{dialect: x.dialect}}
	default:
		g.await()
	}
}

// guard judges one answer.
type guard struct {
	x        *Exchange
	resp     *http.Response
	action   config.TaintAction
	found    func([]ken.Taint)
	encoding string
	trailer  bool
}

// judge returns what is wrong with the calls in a part of an answer, and tells
// everybody who hears of it but the client.
func (g *guard) judge(part []byte) []ken.Taint {
	if !mayCall(part) {
		return nil
	}
	a, _ := wire.ParseAnswer(g.x.dialect, part)
	if len(a.Message.ToolCalls) == 0 {
		return nil
	}
	l := g.x.layer
	taints := g.x.suspects.judge(a.Message.ToolCalls, l.trusted(&g.x.Turn, g.x.placed))
	if len(taints) == 0 {
		return nil
	}
	l.o.Log.Warn("a tool call repeats an external claim", "action", string(g.action), "tool", headerToken(taints[0].Tool), "claim", taints[0].Claim,
		"turn", g.x.Turn.ID)
	l.accuse(&g.x.Turn, g.action, taints)
	if g.found != nil {
		g.found(taints)
	}
	return taints
}

// mayCall reports whether there can be a call in a part of an answer: most have none,
// and need not be parsed.
func mayCall(part []byte) bool {
	for _, s := range [...]string{`tool_calls`, `function_call`, `tool_use`, `_call"`, `\u`} {
		if bytes.Contains(part, []byte(s)) {
			return true
		}
	}
	return false
}

// await reads an answer to its end, and judges it before a byte goes on. One that is
// longer than is kept goes on unjudged.
func (g *guard) await() {
	resp := g.resp
	var b bytes.Buffer
	_, err := b.ReadFrom(io.LimitReader(resp.Body, maxAnswerBytes+1))
	rest := resp.Body
	if b.Len() > maxAnswerBytes {
		resp.Header.Add(TaintHeader, "unchecked")
		resp.Body = rejoined{io.MultiReader(&b, rest), rest}
		return
	}
	taints := g.judge(decoded(b.Bytes(), g.encoding))
	if len(taints) > 0 && g.action == config.TaintBlock {
		_ = rest.Close() // what it says about its end does not matter any more
		g.refuse(taints)
		return
	}
	if len(taints) > 0 {
		resp.Header.Add(TaintHeader, taintValue("flagged", taints))
	}
	var tail io.Reader = rest // at its end already, with its trailers
	if err != nil {
		tail = broken{err}
	}
	resp.Body = rejoined{io.MultiReader(&b, tail), rest}
}

// rejoined is a body that was begun to be read.
type rejoined struct {
	io.Reader
	io.Closer
}

// broken is where a body broke off.
type broken struct{ err error }

// Read implements io.Reader.
func (b broken) Read([]byte) (int, error) { return 0, b.err }

// announce promises a trailer, where there can be one.
func (g *guard) announce() {
	if g.resp.ContentLength >= 0 {
		return
	}
	if g.resp.Trailer == nil {
		g.resp.Trailer = http.Header{}
	}
	g.resp.Trailer[TaintHeader] = nil
	g.trailer = true
}

// tell keeps the promise.
func (g *guard) tell(word string, taints []ken.Taint) {
	if g.trailer {
		g.resp.Trailer.Set(TaintHeader, taintValue(word, taints))
	}
}

// openCalls follows a stream to know which tool calls in it are begun and not
// complete. The zero value with its dialect is ready.
type openCalls struct {
	dialect wire.Dialect
	begun   map[string]bool
}

// open reports whether a call is not complete.
func (o *openCalls) open() bool { return len(o.begun) > 0 }

func (o *openCalls) begin(key string) {
	if o.begun == nil {
		o.begun = map[string]bool{}
	}
	o.begun[key] = true
}

// event takes up the next event and reports whether something of a call is in it.
// Servers leave out the empty line between events at times, so it may be several.
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
			touched = touched || o.open()
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

// chat reads a chunk. The calls of a choice are complete when it says why it ended.
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

// response reads an event of a response. A call is complete when its item is done;
// the response's last event repeats them all.
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

// message reads an event of Anthropic's. A call is complete when its block stops.
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
		is := o.open()
		clear(o.begun)
		return is
	case "content_block_delta":
		return o.begun[key]
	}
	return false
}

// streamWatcher passes a stream on as it comes, and judges it at its end: what is found is
// told in the trailer, and in the session's next response.
type streamWatcher struct {
	g    *guard
	body io.ReadCloser

	mu   sync.Mutex // a client may close what another of its goroutines reads
	kept bytes.Buffer
	full bool
	over bool
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
	if w.over {
		return
	}
	if w.full = w.full || w.kept.Len()+len(p) > maxAnswerBytes; !w.full {
		w.kept.Write(p)
	}
	if !last {
		return
	}
	w.over = true
	taints := w.g.judge(decoded(w.kept.Bytes(), w.g.encoding)) // of a longer one, what was kept
	w.kept = bytes.Buffer{}
	if len(taints) > 0 {
		w.g.tell("flagged", taints)
		w.g.x.suspects.owe(w.g.x.Turn.ID, taints)
	}
}

// gate passes a stream's events on, and holds those of a tool call until it is
// complete and was judged.
type gate struct {
	g     *guard
	body  io.ReadCloser
	calls openCalls

	in     []byte // an event that is not whole yet
	seen   int    // how much of it was looked at for its end
	held   []byte // whole events of calls that are not complete
	out    []byte // what may go on, from passed on
	passed int
	err    error // how the body ended, once out is gone
	buf    [16 << 10]byte
}

// maxHeld bounds what is held of calls. Arguments are judged by their first 4 MiB,
// so what is beyond would say nothing new.
const maxHeld = 2 * maxAnswerBytes

// Read implements io.Reader.
func (t *gate) Read(p []byte) (int, error) {
	for t.passed == len(t.out) && t.err == nil {
		t.out, t.passed = t.out[:0], 0
		n, err := t.body.Read(t.buf[:])
		t.take(t.buf[:n])
		if err != nil && t.err == nil {
			t.end(err)
		}
	}
	if t.passed == len(t.out) {
		return 0, t.err
	}
	n := copy(p, t.out[t.passed:])
	t.passed += n
	return n, nil
}

// Close implements io.Closer.
func (t *gate) Close() error { return t.body.Close() }

// take reads on.
func (t *gate) take(p []byte) {
	t.in = append(t.in, p...)
	for t.err == nil {
		from := max(t.seen-maxEnd, 0)
		n := t.eventEnd(t.in[from:])
		switch {
		case n > 0:
			n += from
		case len(t.in) > maxHeld: // nothing that a client would read as one event
			n = len(t.in)
		default:
			t.seen = len(t.in)
			return
		}
		raw := t.in[:n]
		t.in, t.seen = t.in[n:], 0
		t.event(raw)
	}
}

// event decides about one event.
func (t *gate) event(raw []byte) {
	touched := t.calls.event(raw)
	if !touched && len(t.held) == 0 {
		t.out = append(t.out, raw...)
		return
	}
	t.held = append(t.held, raw...)
	if !t.calls.open() || len(t.held) > maxHeld {
		t.decide()
	}
}

// decide judges what is held, and lets it go or puts an error in its place.
func (t *gate) decide() {
	held := t.held
	t.held = nil
	taints := t.g.judge(held)
	if len(taints) == 0 {
		t.out = append(t.out, held...)
		return
	}
	t.refuse(taints)
}

func (t *gate) refuse(taints []ken.Taint) {
	t.out = append(t.out, errorEvents(t.g.x.dialect, taints)...)
	t.in, t.err = nil, io.EOF
	t.g.tell("refused", taints)
	_ = t.body.Close() // the rest is not wanted
}

// end is told how the body ended. Where it broke off within a call, what came of it
// is judged all the same.
func (t *gate) end(err error) {
	t.held = append(t.held, t.in...)
	t.in, t.err = nil, err
	if len(t.held) > 0 {
		t.decide()
	}
	if errors.Is(t.err, io.EOF) {
		t.err = io.EOF
	}
}

// maxEnd is how long an event's end is at most: two line ends.
const maxEnd = 4

// eventEnd returns where the first event of b ends; 0 when it is not whole. Ollama's
// events are lines.
func (t *gate) eventEnd(b []byte) int {
	if t.calls.dialect == wire.Ollama {
		return bytes.IndexByte(b, '\n') + 1
	}
	return eventEnd(b)
}

// eventEnd returns where the first event of b ends, behind its empty line; 0 when it
// is not whole.
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

// lineEnd is the length of the line end at the head of b.
func lineEnd(b []byte) int {
	if b[0] == '\r' && len(b) > 1 && b[1] == '\n' {
		return 2
	}
	return 1
}
