package middleware

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/kenlayer/ken"
	"github.com/kenlayer/ken/internal/middleware/wire"
	"github.com/kenlayer/ken/internal/run/session"
	"github.com/kenlayer/ken/store"
)

// openings tells apart conversations that begin with the same words, where nothing
// but their beginning names their session. The first one has the name as it is, the
// next ones a number behind it. One that begins again after it was answered is
// another one; later requests are told by the first thing that the model said. Two that
// begin at the same time, before either is answered, share their first turn.
//
// What is in memory is of this process; the journal has what all processes know, also
// after a restart. The zero value is ready.
type openings struct {
	mu sync.Mutex // guards m and what is in it
	m  map[sessionKey]*session.Opening
}

// sessionKey names conversations that begin alike.
type sessionKey struct{ owner, session string }

// reply is the model's first answer in a conversation that began under a number. The journal
// keeps it.
type reply struct {
	sessionKey
	n     int
	first session.First
	on    bool // the conversation went on with that answer
}

// settleSession gives a turn of a guessed session the session that it is. It returns
// a function that is told what the conversation's beginning was answered with, nil for a
// message that can't be read; nil for a turn that is no beginning.
//
// If memory does not decide, the journal is asked, at most until the deadline of the turn's
// search. start is the time at which the turn began.
func (l *Layer) settleSession(ctx context.Context, t *ken.Turn, start time.Time) (answered func(*ken.Message)) {
	if !wire.Guessed(t.Session) {
		return nil
	}
	key := sessionKey{t.Owner, t.Session}
	i := slices.IndexFunc(t.Messages, func(m ken.Message) bool { return m.Role == "assistant" })
	var first session.First
	if i >= 0 {
		first = saidFirst(&t.Messages[i])
	}
	if i < 0 || !l.openings.knows(key, first) {
		ctx, cancel := context.WithDeadline(ctx, start.Add(l.cfg.Retrieval.Deadline))
		l.loadOpening(ctx, t, key)
		cancel()
	}
	var n int
	if i >= 0 {
		var news bool
		if n, news = l.openings.goesOn(key, first); news {
			l.keepReply(t, reply{key, n, first, true})
		}
	} else {
		n = l.openings.begins(key)
		began, turn := n, *t
		turn.Messages = nil
		answered = func(m *ken.Message) {
			if m == nil {
				l.openings.hears(key, began, session.First{})
				return
			}
			first := saidFirst(m)
			l.keepReply(&turn, reply{key, l.openings.hears(key, began, first), first, false})
		}
	}
	if n > 0 {
		t.Session += "." + strconv.Itoa(n)
	}
	return answered
}

// peekSession gives a turn of a guessed session the session that settleSession would
// give it, and notes nothing.
func (l *Layer) peekSession(ctx context.Context, t *ken.Turn, start time.Time) {
	if !wire.Guessed(t.Session) {
		return
	}
	key := sessionKey{t.Owner, t.Session}
	ctx, cancel := context.WithDeadline(ctx, start.Add(l.cfg.Retrieval.Deadline))
	defer cancel()
	l.loadOpening(ctx, t, key)
	n := 0
	if i := slices.IndexFunc(t.Messages, func(m ken.Message) bool { return m.Role == "assistant" }); i >= 0 {
		n = l.openings.copyOf(key).Continue(saidFirst(&t.Messages[i]))
	} else {
		n = l.openings.copyOf(key).Begin()
	}
	if n > 0 {
		t.Session += "." + strconv.Itoa(n)
	}
}

// copyOf is a copy of what is known of conversations that begin alike.
func (o *openings) copyOf(key sessionKey) *session.Opening {
	o.mu.Lock()
	defer o.mu.Unlock()
	out := &session.Opening{}
	if op := o.m[key]; op != nil {
		*out = *op
		out.Replies = make(map[string]*session.Reply, len(op.Replies))
		for first, r := range op.Replies {
			reply := *r
			out.Replies[first] = &reply
		}
	}
	return out
}

// loadOpening takes up what other processes know of conversations that begin alike. What
// can't be read leaves this process with what it knows by itself.
func (l *Layer) loadOpening(ctx context.Context, t *ken.Turn, key sessionKey) {
	if !l.remembers(t) {
		return
	}
	if o, err := l.Journal(key.owner).Opening(ctx, key.session); err == nil {
		l.openings.merge(key, &o)
	}
}

// keepReply has the journal keep a reply, unless the turn leaves nothing behind.
func (l *Layer) keepReply(t *ken.Turn, r reply) {
	if l.journals(t) {
		l.recorder.add(record{owner: t.Owner, reply: &r})
	}
}

// bookReplies returns what keeps the records' replies and responses, behind what write
// keeps. settled corrects what this process knows by what other processes kept before it.
func (l *Layer) bookReplies(owner string, recs []record, write func(store.ShelfTx, []session.Noted) error) (also func(store.ShelfTx, []session.Noted) error, settled func()) {
	if !slices.ContainsFunc(recs, func(r record) bool { return r.reply != nil || r.response != "" }) {
		return write, func() {}
	}
	journal := l.Journal(owner)
	var numbers map[*reply]int
	return func(tx store.ShelfTx, noted []session.Noted) error {
			if write != nil {
				if err := write(tx, noted); err != nil {
					return err
				}
			}
			numbers = map[*reply]int{}
			for i := range recs {
				if id := recs[i].response; id != "" {
					if err := journal.KeepResponse(tx, id, recs[i].about.ID); err != nil {
						return err
					}
				}
				r := recs[i].reply
				if r == nil {
					continue
				}
				err := journal.ChangeOpening(tx, r.session, func(o *session.Opening) {
					if r.on {
						o.GoOn(r.n, r.first)
						return
					}
					numbers[r] = o.Answer(r.n, r.first)
				})
				if err != nil {
					return err
				}
			}
			return nil
		}, func() {
			for r, n := range numbers {
				l.openings.correct(r, n)
			}
		}
}

// of returns what is known of conversations that begin alike. o.mu is held.
func (o *openings) of(key sessionKey) *session.Opening {
	if o.m == nil {
		o.m = map[sessionKey]*session.Opening{}
	}
	op := o.m[key]
	if op == nil {
		makeRoom(o.m, maxConversations)
		op = &session.Opening{}
		o.m[key] = op
	}
	return op
}

// knows reports whether a conversation is known to go on after its first answer.
func (o *openings) knows(key sessionKey, first session.First) bool {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.of(key).Knows(first)
}

// merge takes up what the journal has.
func (o *openings) merge(key sessionKey, kept *session.Opening) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.of(key).Merge(kept)
}

func (o *openings) begins(key sessionKey) int {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.of(key).Begin()
}

func (o *openings) hears(key sessionKey, n int, first session.First) int {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.of(key).Answer(n, first)
}

// goesOn also reports whether the journal does not know yet that the conversation goes on.
func (o *openings) goesOn(key sessionKey, first session.First) (n int, news bool) {
	o.mu.Lock()
	defer o.mu.Unlock()
	op := o.of(key)
	news = !op.Knows(first)
	return op.Continue(first), news
}

// correct has a conversation go on under the number that the journal gave it.
func (o *openings) correct(r *reply, n int) {
	o.mu.Lock()
	defer o.mu.Unlock()
	op := o.of(r.sessionKey)
	if known := op.Replies[r.first.Exact]; known != nil && known.N != n {
		known.N = n
		op.Last = max(op.Last, n)
	}
}

// saidFirst returns the fingerprints of an answer. White space around it is not always
// sent back, nor are the ids of its calls.
func saidFirst(m *ken.Message) session.First {
	said := ken.Message{Role: "assistant", Text: strings.TrimSpace(m.Text), ToolCalls: slices.Clone(m.ToolCalls)}
	print := func() string {
		h := sha256.New()
		digest(h, &said)
		return hex.EncodeToString(h.Sum(nil)[:16])
	}
	first := session.First{Exact: print()}
	if len(said.ToolCalls) > 0 {
		for i := range said.ToolCalls {
			said.ToolCalls[i].ID = ""
		}
		first.Loose = print()
	}
	return first
}

// conversationStarts is when conversations began that go on under the name of a session that was
// harvested before, without what was said in it: a program that names its session once
// and for all begins one at every start. Those beyond maxConversations are forgotten.
// The zero value is ready.
type conversationStarts struct {
	mu sync.Mutex // guards m
	m  map[conversationStart]time.Time
}

func (b *conversationStarts) get(key conversationStart) (at time.Time, ok bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	at, ok = b.m[key]
	return at, ok
}

func (b *conversationStarts) put(key conversationStart, at time.Time) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.m == nil {
		b.m = map[conversationStart]time.Time{}
	}
	if _, known := b.m[key]; !known {
		makeRoom(b.m, maxConversations)
	}
	b.m[key] = at
}

// forget drops what is known of an owner's conversations.
func (b *conversationStarts) forget(owner string) {
	b.mu.Lock()
	defer b.mu.Unlock()
	for key := range b.m {
		if key.owner == owner {
			delete(b.m, key)
		}
	}
}

// beganAnew is when the turn's conversation began, if its session has a past that the
// conversation does not hold: what was kept of the session before then is news to it.
// It is zero for a conversation that holds its session's past, or has none. The journal
// is asked once for a conversation.
func (l *Layer) beganAnew(ctx context.Context, st *State) time.Time {
	t := &st.Turn
	said := spoken(t.Messages)
	if !l.cfg.Middleware.Knowledge || t.Session == "" || l.storeErr != nil || len(said) == 0 {
		return time.Time{}
	}
	key := startOf(t, said[0])
	at, known := l.begun.get(key)
	if known {
		return at
	}
	anew, err := l.lacksPast(ctx, t, said)
	if err != nil { // the digest is as for a conversation that holds everything; the next turn asks again
		return at
	}
	if anew {
		at = l.now()
	}
	if st.trial == nil && !t.Incognito {
		l.begun.put(key, at)
	}
	return at
}

// lacksPast reports whether something of the turn's session was harvested that is not
// in what is said in the conversation.
func (l *Layer) lacksPast(ctx context.Context, t *ken.Turn, said []*ken.Message) (bool, error) {
	j := l.Journal(t.Owner)
	info, err := j.Info(ctx, t.Session)
	switch {
	case errors.Is(err, ken.ErrNotFound):
		return false, nil
	case err != nil:
		return false, err
	case info.Harvested.IsZero():
		return false, nil
	case len(said) == 1: // there is nothing before it
		return true, nil
	}
	tr, err := j.Read(ctx, t.Session)
	if err != nil || len(tr.Entries) == 0 { // swept: nobody knows
		return false, err
	}
	past := slices.DeleteFunc(tr.Entries, func(e session.Entry) bool { return e.At.After(info.Harvested) })
	return !has(past, said[0]), nil
}
