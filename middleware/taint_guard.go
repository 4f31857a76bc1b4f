package middleware

import (
	"bytes"
	"io"
	"net/http"
	"strings"

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
		resp.Body = &witness{g: g, body: resp.Body}
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
