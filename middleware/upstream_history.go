package middleware

import (
	"context"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/kenlayer/ken"
	"github.com/kenlayer/ken/internal/lru"
	"github.com/kenlayer/ken/internal/middleware/wire"
)

// upstreamHistory is the part of a conversation that the provider holds and the request does not
// carry. It is the zero value if the request carries everything.
type upstreamHistory struct {
	parent    *thread
	firstSent int           // index of the first message that the request carries, without its instructions
	skipped   int           // number of the turn's messages that are not in the request
	blocks    []placedBlock // blocks among those messages, one per turn, even if it is empty
	missing   string        // for the receipt: what the provider holds and the layer does not know
}

// decisionAt returns the decision for the turn of a message that the provider holds; nil if it is
// not known.
func (up *upstreamHistory) decisionAt(message int) *turnDecision {
	for _, b := range slices.Backward(up.blocks) {
		if b.index == message {
			return b.turnDecision
		}
	}
	return nil
}

// loadUpstream sets the turn's messages: those that the provider holds, as far as they passed
// through this layer, and then the request's. A request that has no other session gets the session
// of the response that it continues.
func (l *Layer) loadUpstream(ctx context.Context, t *ken.Turn, r *wire.Request, start time.Time) (up upstreamHistory) {
	t.Messages = r.Messages
	if r.Previous == "" && r.Hints.Conversation == "" {
		return up
	}
	switch {
	case r.Previous != "":
		up.parent = l.threads.find(responseKey(t.Owner, r.Previous))
		if up.parent == nil {
			up.missing = "conversation: the response that the request continues is not known here, so only the new messages were read"
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
	default: // new conversations are not known either
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
		up.blocks = append(up.blocks, placedBlock{b.index + head, b.turnDecision})
	}
	up.skipped, up.firstSent = len(before), head+len(before)
	return up
}

// sessionOfResponse returns the session of a response that passed through another process, or
// through this one before a restart; "" if it is unknown. start is when the turn began.
func (l *Layer) sessionOfResponse(ctx context.Context, t *ken.Turn, id string, start time.Time) string {
	if !l.usesSession(t) {
		return ""
	}
	ctx, cancel := context.WithDeadline(ctx, start.Add(l.cfg.Retrieval.Deadline))
	defer cancel()
	s, err := l.Operator().Journal(t.Owner).SessionOfResponse(ctx, id)
	if err != nil {
		return "" // the turn then has a session of its own
	}
	return s
}

// prepareThread prepares the state that a later request may continue. Only requests of the Responses
// API can be continued, and only if the provider stores them.
func (x *Exchange) prepareThread(r *wire.Request, up upstreamHistory, a *Assembly) {
	if r.Dialect != wire.Responses || r.Unstored {
		return
	}
	head := 0
	if r.Instructed {
		head = 1
	}
	t := &thread{parent: up.parent, owner: x.Turn.Owner, session: x.Turn.Session, messages: r.Messages[head:len(r.Messages):len(r.Messages)]}
	for _, p := range a.placed {
		t.blocks = append(t.blocks, placedBlock{p.index - max(head, up.firstSent), p.turnDecision})
	}
	if id := r.Hints.Conversation; id != "" && len(id) <= maxIDBytes {
		t.keys = []string{conversationKey(x.Turn.Owner, id)}
	}
	x.thread = t
}

// Bounds of the remembered conversations that the provider holds, for all owners together.
const (
	maxThreads     = 4096
	maxThreadBytes = 64 << 20
)

// thread is a response that a later request may continue. It has the messages that the response's
// request added to the conversation, the answer, and the blocks among them. parent is the thread
// before it. Once it is resolved, it shares no memory with the request's body.
type thread struct {
	parent   *thread
	owner    string
	session  string
	keys     []string // keys of the conversation, if the request named one
	messages []ken.Message
	blocks   []placedBlock // index refers to messages; the last turn's block is in it even if empty

	read   func() wire.Observed // reads the answer
	once   sync.Once
	usable bool // the answer was read and can be continued

	// refs counts what refers to this thread.
	refs int // names of this thread, and threads whose parent it is
	size int64
}

// resolved reads the answer, once, and reports whether the thread can be continued. It copies the
// messages only now, because earlier a client would have waited for it.
func (t *thread) resolved() bool {
	t.once.Do(func() {
		h := t.read()
		t.read = nil
		// A copy, because the turn's slice may still be in use.
		own := make([]ken.Message, len(t.messages), len(t.messages)+1)
		for i := range own {
			own[i] = detachedMessage(t.messages[i])
		}
		t.messages = own
		switch h.Answer.Finish {
		case "failed", "cancelled":
			return
		}
		if t.usable = h.Answer.Err == ""; t.usable && h.OK {
			t.messages = append(t.messages, detachedMessage(h.Answer.Message))
		}
	})
	return t.usable
}

// conversation returns all messages up to this thread, and the blocks among them.
func (t *thread) conversation() (msgs []ken.Message, blocks []placedBlock) {
	var chain []*thread
	for ; t != nil; t = t.parent {
		chain = append(chain, t)
	}
	for _, t := range slices.Backward(chain) {
		for _, b := range t.blocks {
			blocks = append(blocks, placedBlock{len(msgs) + b.index, b.turnDecision})
		}
		msgs = append(msgs, t.messages...)
	}
	return msgs, blocks
}

// threads holds threads by owner and the id of a response or conversation. The least recently used
// names are dropped. A thread stays as long as a name or a later thread refers to it.
type threads struct {
	mu    sync.Mutex // guards the rest
	names lru.List[string, *thread]
	bytes int64
}

// responseKey and conversationKey return keys for the ids of responses and of conversations.
func responseKey(owner, id string) string     { return owner + "\x00r" + id }
func conversationKey(owner, id string) string { return owner + "\x00c" + id }

// find returns the thread of a name; nil if there is none. It waits until the answer was read, some
// milliseconds at most.
func (ts *threads) find(key string) *thread {
	t := ts.get(key)
	switch {
	case t == nil || t.resolved():
		return t
	case slices.Contains(t.keys, key): // the conversation continues from the thread before
		return t.parent
	}
	return nil
}

func (ts *threads) get(key string) *thread {
	ts.mu.Lock()
	defer ts.mu.Unlock()
	t, _ := ts.names.Get(key)
	return t
}

// put adds a thread under the id of a response and under that of its conversation. read is called
// at most once, and may take a while.
func (ts *threads) put(t *thread, id string, read func() wire.Observed) {
	t.read = read
	ts.mu.Lock()
	defer ts.mu.Unlock()
	t.refs++ // until put returns
	if t.parent != nil {
		t.parent.refs++
	}
	if id != "" && len(id) <= maxIDBytes {
		ts.setName(responseKey(t.owner, id), t)
	}
	for _, key := range t.keys {
		ts.setName(key, t)
	}
	ts.release(t)
}

// maxIDBytes is the maximum length of the remembered ids of responses and conversations.
const maxIDBytes = 512

// resolve reads a thread's answer and counts its size. A thread that can't be continued is dropped;
// its conversation then continues from the thread before.
func (ts *threads) resolve(t *thread) {
	good := t.resolved()
	size := sizeOf(t)
	ts.mu.Lock()
	defer ts.mu.Unlock()
	if t.refs == 0 {
		return
	}
	if !good {
		ts.forget(t)
		return
	}
	t.size = size
	for ts.bytes += size; ts.bytes > maxThreadBytes && ts.names.Len() > 0; {
		ts.removeOldest()
	}
}

// forget removes a thread from all names.
func (ts *threads) forget(t *thread) {
	t.refs++
	for key, named := range ts.names.All() {
		if named != t {
			continue
		}
		ts.remove(key)
		if t.parent != nil && slices.Contains(t.keys, key) {
			ts.setName(key, t.parent)
		}
	}
	ts.release(t)
}

// setName makes a name refer to a thread. The caller holds ts.mu.
func (ts *threads) setName(key string, t *thread) {
	ts.remove(key)
	t.refs++
	ts.names.Put(key, t)
	for ts.names.Len() > maxThreads {
		ts.removeOldest()
	}
}

func (ts *threads) remove(key string) {
	t, _ := ts.names.Take(key)
	ts.release(t)
}

func (ts *threads) removeOldest() {
	_, t := ts.names.TakeOldest()
	ts.release(t)
}

// release removes one reference, and drops threads that nothing refers to.
func (ts *threads) release(t *thread) {
	for ; t != nil; t = t.parent {
		if t.refs--; t.refs > 0 {
			return
		}
		ts.bytes -= t.size
		t.size = 0
	}
}

// sizeOf returns the approximate bytes that a thread holds itself, without its parent.
func sizeOf(t *thread) (n int64) {
	for i := range t.messages {
		m := &t.messages[i]
		n += int64(256 + 64*(len(m.Parts)+len(m.ToolCalls)) + textBytes(m))
	}
	for _, b := range t.blocks {
		n += 256 + int64(len(b.text))
	}
	return n + 512
}

// detachedMessage returns a copy of a message that shares no memory with the request's body.
func detachedMessage(m ken.Message) ken.Message {
	m.Role, m.Name, m.Text, m.ToolCallID = strings.Clone(m.Role), strings.Clone(m.Name), strings.Clone(m.Text), strings.Clone(m.ToolCallID)
	m.Parts, m.ToolCalls = slices.Clone(m.Parts), slices.Clone(m.ToolCalls)
	for i := range m.Parts {
		p := &m.Parts[i]
		p.Type, p.Text, p.Ref = strings.Clone(p.Type), strings.Clone(p.Text), strings.Clone(p.Ref)
	}
	for i := range m.ToolCalls {
		c := &m.ToolCalls[i]
		c.ID, c.Name, c.Arguments = strings.Clone(c.ID), strings.Clone(c.Name), strings.Clone(c.Arguments)
	}
	return m
}
