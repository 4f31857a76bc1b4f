package middleware

import (
	"bytes"
	"context"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/kenlayer/ken"
	"github.com/kenlayer/ken/config"
	"github.com/kenlayer/ken/internal/lazyregexp"
	"github.com/kenlayer/ken/internal/middleware/wire"
)

// Exchange is one model call that passes through the layer: the request with its blocks, and the
// answer, which the layer observes. It is for Ken's own gateway, and may change with any version: another
// program uses a Transport, or Assemble and Answered.
type Exchange struct {
	// Turn is the assembled turn, with its id, owner and session. Its messages are the conversation
	// as far as the layer knows it; the request may carry only the end of that. Do not change it.
	Turn ken.Turn
	// Receipt is the turn's receipt.
	Receipt ken.Receipt
	// Body is the request to send. If nothing was inserted, it is the slice that was passed to
	// Begin.
	Body []byte

	// Untouched says why the call has no new knowledge: "turns" if too many turns were composed at
	// once, see retrieval.at_once, where Body still has the blocks of earlier turns; "refused" if
	// the server refused the blocks, see Send. It is "" otherwise.
	Untouched string

	layer         *Layer
	dialect       wire.Dialect
	thread        *thread            // the state that a later request may continue; nil for none
	onFirstAnswer func(*ken.Message) // receives the first answer of a conversation; nil if it is not needed

	clientBody []byte           // the body as the client sent it
	request    wire.Request     // what was parsed from it
	inserted   []wire.Insertion // what Body has in addition to clientBody
	placed     []placedBlock    // the blocks in the request
	taints     *sessionTaints   // see Guard
	assembly   *Assembly        // its receipt changes if the server refuses the blocks
}

// Begin assembles the turn of a request. turnOf returns the turn's owner, project, session, agent,
// branch, scopes, weight and so on, from what the caller knows and, if wanted, from the request.
// The returned ID, Model, Messages and Tools are ignored. A nil turnOf means the configured owner
// and no session. Never take the owner from fields of the request.
//
// The session is determined as in wire.SessionOf. If several conversations look the same to it,
// Begin appends a number to the session of all but the first. A request that continues a response
// of this layer gets that response's session.
//
// A turn without tools that is Incognito and has WeightNone belongs to no session: its body is not
// changed, and nothing is kept of it, not even in memory.
//
// Begin returns an error if body is not a request of the dialect; the caller should then forward it
// unchanged. Other failures only appear in the receipt. If ctx ends, Begin returns at once. Begin
// does not change body. Nobody else may change it until the answer was observed, because the turn's
// messages refer to it.
func (l operator) Begin(ctx context.Context, d wire.Dialect, body []byte, turnOf func(*wire.Request) ken.Turn) (*Exchange, error) {
	start := time.Now()
	r, err := wire.Parse(d, body)
	if err != nil {
		return nil, err
	}
	t := l.requestTurn(&r, turnOf)
	if t.Weight == ken.WeightNone && t.Incognito && t.Tools == 0 { // it gets no block and leaves no trace
		t.Session, t.Parent = "", ""
		return &Exchange{Turn: t, Receipt: l.emptyReceipt(&t, skipReason(&t, &l.cfg, lastUser(r.Messages))), Body: body, layer: l.Layer, dialect: d}, nil
	}
	up := l.loadUpstream(ctx, &t, &r, start)
	opened := l.resolveSession(ctx, &t, start)
	a := l.assemble(ctx, &t, up, start)
	x := &Exchange{Turn: t, Receipt: a.Receipt, Body: body, layer: l.Layer, dialect: d, onFirstAnswer: opened, placed: a.placed, taints: a.taints, assembly: &a}
	x.Turn.ID = a.Receipt.Turn
	if a.decision.receipt.Cause == causeBusy {
		x.Untouched = "turns"
	}
	if len(a.Insertions) > 0 {
		ins := make([]wire.Insertion, len(a.Insertions))
		for i := range ins {
			ins[i] = wire.Insertion(a.Insertions[i])
			ins[i].Before -= up.skipped
		}
		x.clientBody, x.request, x.inserted = body, r, ins
		if x.Body, err = wire.Splice(body, r, ins); err != nil { // a bug in this package
			l.o.Log.Error("the request goes on without knowledge", "cause", err)
			x.Body, x.inserted, a.placed = body, nil, nil
		}
	}
	x.prepareThread(&r, up, &a)
	return x, nil
}

// requestTurn returns the turn of a request, without its messages.
func (l *Layer) requestTurn(r *wire.Request, turnOf func(*wire.Request) ken.Turn) (t ken.Turn) {
	if turnOf != nil {
		t = turnOf(r)
	}
	l.setOwner(&t)
	t.ID, t.Model, t.Tools = "", r.Model, r.Tools
	return t
}

// Listen observes the answer while the client reads it. It replaces resp.Body by a reader that
// returns the same bytes in the same reads and keeps a copy of up to 4 MiB in memory. After the
// client has read the body to its end or closed it, the answer is written to the session's journal.
// Then observed, if not nil, is called once, in another goroutine, which Close waits for. Call
// Listen once, before the body is read.
//
// An answer is journaled only if its status is 200, its turn is not incognito, and its encoding is
// none, gzip or deflate.
func (x *Exchange) Listen(resp *http.Response, observed func(wire.Observed)) {
	good := resp.StatusCode == http.StatusOK
	e := responseObserver{x: x, onAnswer: observed, encoding: wire.ContentEncoding(resp.Header), journals: good && x.layer.usesSession(&x.Turn)}
	if !good {
		x.thread, x.onFirstAnswer = nil, nil
	}
	if !e.journals && observed == nil && x.thread == nil && x.onFirstAnswer == nil {
		return
	}
	if resp.Body == nil || resp.Body == http.NoBody || !wire.CanDecode(e.encoding) {
		x.thread = nil
		e.observe(nil)
		return
	}
	t := &bodyTee{body: resp.Body, onDone: e.observe}
	if x.thread != nil && !wire.IsEncoded(e.encoding) {
		t.isComplete = (&wire.EndDetector{Length: resp.ContentLength}).Reached
	}
	resp.Body = t
}

// Insertions returns the blocks of a chat request and their positions in the request's array of
// messages. It is for callers that do not send Body.
func (x *Exchange) Insertions() []Insertion {
	out := make([]Insertion, len(x.inserted))
	for i, in := range x.inserted {
		out[i] = Insertion{Before: x.request.Element(in.Before), Text: in.Text, Merge: in.Merge}
	}
	return out
}

// Answer returns a function that receives the model's answer as a message. It is for callers
// without an HTTP response to pass to Listen. Call the function once, at any time. It keeps no
// reference to the request.
func (x *Exchange) Answer() func(ken.Message) {
	l, t, first := x.layer, x.Turn, x.onFirstAnswer
	t.Messages, t.Model = nil, strings.Clone(t.Model)
	return func(m ken.Message) {
		m.Role = "assistant"
		if first != nil {
			first(&m)
		}
		l.Answered(t, m)
	}
}

// Preview returns body with the blocks that a model call with the same messages would carry. It is
// for requests that only count tokens: see wire.CountOf. The parameters and the error are those of
// Begin.
//
// Blocks that the conversation has already stay as they were sent. The block of a new turn is
// composed without leaving a trace, as in Operator.DryRun. The model call that follows composes its
// own block, which is the same unless something was learned in between. If composing takes longer
// than allowed for a turn, the new block is left out.
func (l operator) Preview(ctx context.Context, d wire.Dialect, body []byte, turnOf func(*wire.Request) ken.Turn) ([]byte, error) {
	start := time.Now()
	r, err := wire.Parse(d, body)
	if err != nil {
		return nil, err
	}
	t := l.requestTurn(&r, turnOf)
	up := l.loadUpstream(ctx, &t, &r, start)
	l.previewSession(ctx, &t, start)
	var ins []wire.Insertion
	for _, in := range l.previewInsertions(ctx, &t, &up) {
		in.Before -= up.skipped
		ins = append(ins, wire.Insertion(in))
	}
	if len(ins) == 0 {
		return body, nil
	}
	out, err := wire.Splice(body, r, ins)
	if err != nil { // a bug in this package
		l.o.Log.Error("the request is counted without knowledge", "cause", err)
		return body, nil
	}
	return out, nil
}

// previewInsertions returns the insertions of a turn, by rising Before, and leaves no trace.
func (l *Layer) previewInsertions(ctx context.Context, t *ken.Turn, up *upstreamHistory) []Insertion {
	l.activeTurns.begin()
	defer l.activeTurns.end()
	l.fillDefaults(t)
	c := modelCall{turn: t, last: lastUser(t.Messages), up: up}
	if skipReason(t, &l.cfg, c.last) != "" || c.last < up.firstSent || !l.cfg.Middleware.Inject {
		return nil
	}
	c.at = fingerprintsOf(t)
	if l.overdue.Load() < maxOverdue {
		all, ok := runWithin(ctx, l, l.cfg.Retrieval.Deadline+l.slack, func(ctx context.Context) []placedBlock {
			_ = l.restoreBlocks(ctx, &c) // after an error the model call lacks the same blocks
			earlier := l.earlierBlocks(ctx, &c, l.findBlock)
			return append(earlier, placedBlock{c.last, l.previewBlock(ctx, &c, slices.Concat(up.blocks, earlier))})
		})
		if ok {
			return l.insertions(t.Model, all)
		}
	}
	return l.insertions(t.Model, l.earlierBlocks(ctx, &c, l.findBlockInMemory))
}

// previewBlock is compose without leaving a trace.
func (l *Layer) previewBlock(ctx context.Context, c *modelCall, earlier []placedBlock) *turnDecision {
	if d := l.reusableBlock(ctx, c); d != nil {
		return d
	}
	if !l.beginComposing() {
		return &turnDecision{}
	}
	defer l.endComposing()
	dry, err := l.newDryRun(&l.cfg)
	if err != nil { // impossible: the configuration was validated when the layer was opened
		return &turnDecision{}
	}
	read := *c.turn
	read.Messages = l.cleanCache.clean(c.at.full, c.turn.Messages)
	r := l.emptyReceipt(c.turn, "")
	st := &State{Turn: read, Read: read.Messages, Receipt: &r, dryRun: dry, history: historyOf(earlier)}
	l.runHandler(ctx, st, dry.handler)
	return &turnDecision{text: st.Block.Text}
}

// rolesMustAlternate matches the error texts of servers that refuse two user messages in a row:
//   - the chat templates of Llama 2, Gemma and Mistral in vLLM, llama.cpp, LM Studio and TGI
//     ("Conversation roles must alternate user/assistant/user/assistant/...", "After the
//     optional system message, conversation roles must alternate user and assistant roles
//     except for tool calls and results.")
//   - Anthropic, formerly ("roles must alternate between "user" and "assistant"")
//   - Bedrock ("A conversation must alternate between user and assistant roles.")
//   - Perplexity ("user and assistant roles should be alternating", "user or tool message(s)
//     should alternate with assistant message(s)")
//   - DeepSeek ("does not support successive user or assistant messages")
var rolesMustAlternate = lazyregexp.New(`(?i)roles? (must|should) (alternate|be alternating)|(must|should) alternate (between user|with assistant)|successive user or assistant messages`)

// maxRefusal is the maximum number of bytes of an error message that are examined.
const maxRefusal = 64 << 10

// merges reports whether a model's blocks are merged into user messages.
func (l *Layer) merges(model string) bool {
	refuses, _ := l.mergeModels.Get(model)
	return refuses || l.cfg.Injection.As == config.AsMerge
}

// Send sends req, whose body is x.Body, over base. If the server refuses two user messages in a
// row, Send tries again with each block merged into the message after it, as injection.as: merge
// does. If that succeeds, later requests of the model are merged at once. A request with blocks
// that is refused for any other reason is sent again as the client sent it, because a block may be
// what makes it too long, and an error may name messages by their numbers. The caller sees only the
// last response. Call Send before Guard and Listen.
func (x *Exchange) Send(base http.RoundTripper, req *http.Request) (*http.Response, error) {
	resp, err := base.RoundTrip(req)
	if err != nil || len(x.inserted) == 0 {
		return resp, err
	}
	if refusesRepeatedRoles(resp) {
		if body := x.mergedBody(); body != nil {
			resp = x.resend(base, req, resp, body)
		}
		if resp.StatusCode < http.StatusBadRequest {
			if _, known := x.layer.mergeModels.Put(x.Turn.Model, true); !known {
				x.layer.o.Log.Info("the model refuses two user messages in a row: its blocks are merged into the user's messages", "model", headerToken(x.Turn.Model))
			}
		}
	}
	switch resp.StatusCode {
	case http.StatusBadRequest, http.StatusRequestEntityTooLarge, http.StatusUnprocessableEntity:
		if resp = x.resend(base, req, resp, x.clientBody); resp.StatusCode < http.StatusBadRequest {
			x.Untouched = "refused"
			x.layer.recordRefusal(x)
		}
	}
	return resp, nil
}

// resend sends req again with another body, and returns the response to it. If there is none, it
// returns refused, the response to the request before.
func (x *Exchange) resend(base http.RoundTripper, req *http.Request, refused *http.Response, body []byte) *http.Response {
	again := req.Clone(req.Context())
	again.TransferEncoding = nil
	setLength(again, len(body))
	setBody(again, body)
	resp, err := base.RoundTrip(again)
	if err != nil {
		return refused
	}
	_ = refused.Body.Close()
	x.Body = body
	return resp
}

// mergedBody returns the body with the blocks merged; nil if it would be the same.
func (x *Exchange) mergedBody() []byte {
	ins := make([]wire.Insertion, len(x.inserted))
	for i, in := range x.inserted {
		in.Merge = true
		ins[i] = in
	}
	body, err := wire.Splice(x.clientBody, x.request, ins)
	if err != nil || bytes.Equal(body, x.Body) {
		return nil
	}
	return body
}

// refusesRepeatedRoles reports whether a response refuses two user messages in a row. The
// response's body can be read from its beginning afterwards.
func refusesRepeatedRoles(resp *http.Response) bool {
	switch resp.StatusCode {
	case http.StatusBadRequest, http.StatusUnprocessableEntity, http.StatusInternalServerError:
	default:
		return false
	}
	encoding := wire.ContentEncoding(resp.Header)
	if resp.Body == nil || resp.ContentLength > maxRefusal || !wire.CanDecode(encoding) {
		return false
	}
	return rolesMustAlternate.MatchString(string(wire.DecodeBeginning(readBeginning(resp, maxRefusal), encoding)))
}
