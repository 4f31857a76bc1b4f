package middleware

import (
	"context"
	"net/http"
	"time"

	"github.com/kenlayer/ken"
	"github.com/kenlayer/ken/internal/middleware/wire"
)

// Exchange is one model call on its way through the layer: the request with its
// blocks, and the answer that the layer listens to. A Transport is made of it, and
// so is whatever else passes requests on.
type Exchange struct {
	// Turn is the turn as it was assembled: with its id, its owner and session, and
	// the whole conversation as far as the layer knows it, of which the request may
	// carry the end alone. It is not to be changed.
	Turn ken.Turn
	// Receipt is the turn's.
	Receipt ken.Receipt
	// Body is what to send: the slice that Begin was given when nothing was added.
	Body []byte

	// Busy is true when the turn got no block of its own because too many were composed
	// at once; see retrieval.at_once. Body has the blocks of earlier turns.
	Busy bool

	layer   *Layer
	dialect wire.Dialect
	thread  *thread            // what a later request may go on from; nil when none will
	opened  func(*ken.Message) // is told what a conversation's beginning was answered with; nil for nobody

	client   []byte           // the body as the client sent it
	request  wire.Request     // what was read of it
	inserted []wire.Insertion // what Body has more than it
	placed   []placed         // blocks in the request
	suspects *suspects        // see Guard
}

// Heard is what the model answered to an Exchange.
type Heard struct {
	Answer wire.Answer
	// OK is false when nothing was said or called, or nothing could be read: the
	// response is an error, is compressed in a way that is not listened to, is longer
	// than 4 MiB, or broke off before the first word. Answer may have its Err and
	// Usage all the same.
	OK bool
}

// Begin assembles the turn of a request in a dialect. who says whose it is, by
// what is known outside of it and, if it likes, by what is in it: owner, project,
// session, agent, branch, scopes, weight and the rest; ID, Model, Messages and Tools
// are not used. Nil is nobody in particular: the configured owner, no session. An
// owner must never come from the request's own fields. For the session, see
// wire.SessionOf: of conversations that it can't tell apart, Begin gives all but the
// first one a session with a number behind, and a request that goes on from a
// response that went through the layer gets that one's session.
//
// A turn without tools that has WeightNone and is Incognito takes no part in any session:
// the body stays, and nothing is kept in memory of it either.
//
// An error says that the body is no request of the dialect, and should be passed on
// as it is. Nothing else fails: the receipt says what was lost. Begin does not
// change body, and returns at ctx's end at the latest. Nobody may change it until the
// answer was heard: the turn's messages are parts of it.
func (l *Layer) Begin(ctx context.Context, d wire.Dialect, body []byte, who func(*wire.Request) ken.Turn) (*Exchange, error) {
	start := time.Now()
	r, err := wire.Parse(d, body)
	if err != nil {
		return nil, err
	}
	t := l.turnOf(&r, who)
	if t.Weight == ken.WeightNone && t.Incognito && t.Tools == 0 { // it gets nothing and leaves nothing
		t.Session, t.Parent = "", ""
		return &Exchange{Turn: t, Receipt: l.blank(&t, silent(&t, &l.cfg, lastUser(r.Messages))), Body: body, layer: l, dialect: d}, nil
	}
	up := l.upstream(ctx, &t, &r, start)
	opened := l.settleSession(ctx, &t, start)
	a := l.assemble(ctx, &t, up, start)
	x := &Exchange{Turn: t, Receipt: a.Receipt, Body: body, Busy: a.block.receipt.Cause == causeBusy, layer: l, dialect: d, opened: opened, placed: a.placed, suspects: a.suspects}
	x.Turn.ID = a.Receipt.Turn
	if len(a.Insertions) > 0 {
		ins := make([]wire.Insertion, len(a.Insertions))
		for i := range ins {
			ins[i] = wire.Insertion(a.Insertions[i])
			ins[i].Before -= up.skipped
		}
		x.client, x.request, x.inserted = body, r, ins
		if x.Body, err = wire.Splice(body, r, ins); err != nil { // a fault of ours
			l.o.Log.Error("the request goes on without knowledge", "cause", err)
			x.Body, x.inserted, a.placed = body, nil, nil
		}
	}
	x.follow(&r, up, &a)
	return x, nil
}

// turnOf is the turn of a request: whose it is, and what is in it but for its messages.
func (l *Layer) turnOf(r *wire.Request, who func(*wire.Request) ken.Turn) (t ken.Turn) {
	if who != nil {
		t = who(r)
	}
	t.Owner = l.owned(t.Owner)
	t.ID, t.Model, t.Tools = "", r.Model, r.Tools
	return t
}

// Listen has the layer hear the answer as the client reads it. It replaces
// resp.Body by one that gives the same bytes in the same reads, and keeps a copy in
// memory of up to 4 MiB. Once the client has read the body to its end or closed it,
// the answer goes to the session's journal, and then heard is called, once; nil is
// nobody. That happens on another goroutine, which nobody waits for but Close. Call
// Listen once, before the body is read.
//
// Only an answer with status 200 is journaled, none of an incognito turn, and none
// in an encoding other than gzip and deflate.
func (x *Exchange) Listen(resp *http.Response, heard func(Heard)) {
	good := resp.StatusCode == http.StatusOK
	e := ear{x: x, heard: heard, encoding: encodingOf(resp), journals: good && x.layer.remembers(&x.Turn)}
	if !good {
		x.thread, x.opened = nil, nil
	}
	if !e.journals && heard == nil && x.thread == nil && x.opened == nil {
		return
	}
	if resp.Body == nil || resp.Body == http.NoBody || !readable(e.encoding) {
		x.thread = nil
		e.after(nil)
		return
	}
	t := &tap{body: resp.Body, done: e.after}
	if x.thread != nil && !compressed(e.encoding) {
		t.whole = (&ending{length: resp.ContentLength}).reached
	}
	resp.Body = t
}
