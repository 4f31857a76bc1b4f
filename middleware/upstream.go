package middleware

import (
	"context"
	"time"

	"github.com/kenlayer/ken"
	"github.com/kenlayer/ken/internal/middleware/wire"
)

// upstream is what of a conversation a request does not carry because the provider
// holds it: the zero value when it carries everything.
type upstream struct {
	parent  *thread
	until   int      // the first message of the turn that the request carries, its instructions apart
	skipped int      // how many messages of the turn are not in the request
	blocks  []placed // among them; of each turn, even an empty one
	lost    string   // what is upstream and not known, for the receipt
}

// turn returns what was composed for the turn of a message that is upstream, nil
// if that is not known.
func (up *upstream) turn(message int) *composed {
	for i := len(up.blocks) - 1; i >= 0; i-- {
		if up.blocks[i].index == message {
			return up.blocks[i].composed
		}
	}
	return nil
}

// upstream fills in the turn's messages: the request's, after those that the
// provider holds, as far as they went through this layer. A request that is told
// from others only by the response that it goes on from belongs to that response's
// session.
func (l *Layer) upstream(ctx context.Context, t *ken.Turn, r *wire.Request, start time.Time) (up upstream) {
	t.Messages = r.Messages
	if r.Previous == "" && r.Hints.Conversation == "" {
		return up
	}
	switch {
	case r.Previous != "":
		up.parent = l.threads.find(responseKey(t.Owner, r.Previous))
		if up.parent == nil {
			up.lost = "conversation: the response that it goes on from is not known here, so only what is new was read"
		}
		if t.Session != "" && t.Session == wire.SessionOf(t.Owner, "", &wire.Request{Previous: r.Previous}) {
			if up.parent != nil {
				t.Session = up.parent.session
			} else if s := l.sessionOfResponse(ctx, t, r.Previous, start); s != "" {
				t.Session = s
			}
		}
		if up.parent == nil {
			return up
		}
	default: // a new conversation is not known either
		if up.parent = l.threads.find(conversationKey(t.Owner, r.Hints.Conversation)); up.parent == nil {
			return up
		}
	}
	before, blocks := up.parent.conversation()
	head := 0
	if r.Instructed {
		head = 1
	}
	t.Messages = make([]ken.Message, 0, len(before)+len(r.Messages))
	t.Messages = append(append(append(t.Messages, r.Messages[:head]...), before...), r.Messages[head:]...)
	for _, b := range blocks {
		up.blocks = append(up.blocks, placed{b.index + head, b.composed})
	}
	up.skipped, up.until = len(before), head+len(before)
	return up
}

// sessionOfResponse is the session of a response that went through another process, or
// this one before a restart; "" when nobody knows. See settleSession for start.
func (l *Layer) sessionOfResponse(ctx context.Context, t *ken.Turn, id string, start time.Time) string {
	if !l.remembers(t) {
		return ""
	}
	ctx, cancel := context.WithDeadline(ctx, start.Add(l.cfg.Retrieval.Deadline))
	defer cancel()
	s, err := l.Journal(t.Owner).SessionOfResponse(ctx, id)
	if err != nil {
		return "" // the turn has a session of its own then
	}
	return s
}

// follow prepares what a later request may go on from. Only Responses are gone on
// from, and none that the provider was told not to store.
func (x *Exchange) follow(r *wire.Request, up upstream, a *Assembly) {
	if r.Dialect != wire.Responses || r.Unstored {
		return
	}
	head := 0
	if r.Instructed {
		head = 1
	}
	t := &thread{parent: up.parent, owner: x.Turn.Owner, session: x.Turn.Session, messages: r.Messages[head:len(r.Messages):len(r.Messages)]}
	for _, p := range a.placed {
		t.blocks = append(t.blocks, placed{p.index - max(head, up.until), p.composed})
	}
	if id := r.Hints.Conversation; id != "" && len(id) <= maxIDBytes {
		t.keys = []string{conversationKey(x.Turn.Owner, id)}
	}
	x.thread = t
}
