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
	"github.com/kenlayer/ken/internal/lru"
	"github.com/kenlayer/ken/internal/middleware/wire"
	"github.com/kenlayer/ken/internal/run/session"
	"github.com/kenlayer/ken/store"
)

// openings distinguishes conversations that begin with the same words and have no session name of
// their own. The first one keeps the session's guessed name; later ones get a number appended. A
// request that begins again after the first answer starts a new conversation. Later requests are
// recognized by the model's first answer. Two conversations that begin before either has an answer
// share their first turn.
//
// Memory holds what this process knows. The journal holds what all processes know, and survives a
// restart. The zero value is ready.
type openings struct {
	mu sync.Mutex // guards m and its values
	m  lru.List[sessionKey, *session.Opening]
}

// sessionKey identifies a session, or the conversations with the same beginning.
type sessionKey struct{ owner, session string }

func keyOf(t *ken.Turn) sessionKey { return sessionKey{t.Owner, t.Session} }

// maxConversations is the maximum number of beginnings in openings.
const maxConversations = 1024

// reply is the model's first answer in a conversation that may have a number. The journal stores
// it.
type reply struct {
	sessionKey
	number    int
	first     session.First
	continued bool // the conversation continued after that answer
}

// resolveSession replaces the guessed session of a turn by the session of its conversation. If the
// request begins a conversation, it returns a function. The caller must pass it the answer, or nil
// if the answer can't be read. For other requests the function is nil.
//
// If memory does not decide, it asks the journal, until retrieval.deadline after start at most.
// start is when the turn began.
func (l *Layer) resolveSession(ctx context.Context, t *ken.Turn, start time.Time) (answered func(*ken.Message)) {
	if !wire.Guessed(t.Session) {
		return nil
	}
	key := sessionKey{t.Owner, t.Session}
	i := slices.IndexFunc(t.Messages, func(m ken.Message) bool { return m.Role == "assistant" })
	var first session.First
	if i >= 0 {
		first = answerFingerprints(&t.Messages[i])
	}
	if i < 0 || !l.openings.knows(key, first) {
		ctx, cancel := context.WithDeadline(ctx, start.Add(l.cfg.Retrieval.Deadline))
		l.loadOpening(ctx, t, key)
		cancel()
	}
	var n int
	if i >= 0 {
		var news bool
		if n, news = l.openings.goOn(key, first); news {
			l.recordReply(t, reply{key, n, first, true})
		}
	} else {
		n = l.openings.begin(key)
		began, turn := n, *t
		turn.Messages = nil
		answered = func(m *ken.Message) {
			if m == nil {
				l.openings.answer(key, began, session.First{})
				return
			}
			first := answerFingerprints(m)
			l.recordReply(&turn, reply{key, l.openings.answer(key, began, first), first, false})
		}
	}
	if n > 0 {
		t.Session += "." + strconv.Itoa(n)
	}
	return answered
}

// GuessSession sets the session of a turn that names none, from the beginning of its conversation. The
// result is that of resolveSession.
func (l operator) GuessSession(ctx context.Context, t *ken.Turn) (answered func(*ken.Message)) {
	l.setOwner(t)
	if t.Session != "" || t.Incognito {
		return nil
	}
	t.Session = wire.SessionOf(t.Owner, "", &wire.Request{Messages: t.Messages})
	return l.resolveSession(ctx, t, time.Now())
}

// previewSession sets the session that resolveSession would set, and changes nothing else.
func (l *Layer) previewSession(ctx context.Context, t *ken.Turn, start time.Time) {
	if !wire.Guessed(t.Session) {
		return
	}
	key := sessionKey{t.Owner, t.Session}
	ctx, cancel := context.WithDeadline(ctx, start.Add(l.cfg.Retrieval.Deadline))
	defer cancel()
	l.loadOpening(ctx, t, key)
	n := 0
	if i := slices.IndexFunc(t.Messages, func(m ken.Message) bool { return m.Role == "assistant" }); i >= 0 {
		n = l.openings.snapshot(key).Continue(answerFingerprints(&t.Messages[i]))
	} else {
		n = l.openings.snapshot(key).Begin()
	}
	if n > 0 {
		t.Session += "." + strconv.Itoa(n)
	}
}

// snapshot returns a copy of what is known about the conversations with the same beginning.
func (o *openings) snapshot(key sessionKey) *session.Opening {
	o.mu.Lock()
	defer o.mu.Unlock()
	out := &session.Opening{}
	if op, ok := o.m.Peek(key); ok {
		*out = *op
		out.Replies = make(map[string]*session.Reply, len(op.Replies))
		for first, r := range op.Replies {
			reply := *r
			out.Replies[first] = &reply
		}
	}
	return out
}

// loadOpening adds what other processes know about the conversations with the same beginning. After
// an error this process uses what it knows itself.
func (l *Layer) loadOpening(ctx context.Context, t *ken.Turn, key sessionKey) {
	if !l.usesSession(t) {
		return
	}
	if o, err := l.Operator().Journal(key.owner).Opening(ctx, key.session); err == nil {
		l.openings.merge(key, &o)
	}
}

// recordReply stores a reply in the journal, unless the turn's messages are not kept.
func (l *Layer) recordReply(t *ken.Turn, r reply) {
	if l.keepsMessages(t) {
		l.recorder.add(record{owner: t.Owner, reply: &r})
	}
}

// replyWriter returns a function that runs write, and then, in the same transaction, writes the
// records' replies and response ids. settled corrects this process's numbers where another process
// stored a number first.
func (l *Layer) replyWriter(owner string, recs []record, write func(store.ShelfTx, []session.Noted) error) (also func(store.ShelfTx, []session.Noted) error, settled func()) {
	if !slices.ContainsFunc(recs, func(r record) bool { return r.reply != nil || r.responseID != "" }) {
		return write, func() {}
	}
	journal := l.Operator().Journal(owner)
	var numbers map[*reply]int
	return func(tx store.ShelfTx, noted []session.Noted) error {
			if write != nil {
				if err := write(tx, noted); err != nil {
					return err
				}
			}
			numbers = map[*reply]int{}
			for i := range recs {
				if id := recs[i].responseID; id != "" {
					if err := journal.KeepResponse(tx, id, recs[i].about.ID); err != nil {
						return err
					}
				}
				r := recs[i].reply
				if r == nil {
					continue
				}
				err := journal.ChangeOpening(tx, r.session, func(o *session.Opening) {
					if r.continued {
						o.GoOn(r.number, r.first)
						return
					}
					numbers[r] = o.Answer(r.number, r.first)
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

// get returns what is known about the conversations with the same beginning. The caller holds o.mu.
func (o *openings) get(key sessionKey) *session.Opening {
	op, ok := o.m.Get(key)
	if !ok {
		op = &session.Opening{}
		if o.m.Put(key, op); o.m.Len() > maxConversations {
			o.m.TakeOldest()
		}
	}
	return op
}

// knows reports whether it is recorded that a conversation continued after this first answer.
func (o *openings) knows(key sessionKey, first session.First) bool {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.get(key).Knows(first)
}

// merge adds what the journal knows.
func (o *openings) merge(key sessionKey, kept *session.Opening) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.get(key).Merge(kept)
}

// begin returns the number of a conversation that begins. The number 0 means the name without a
// number.
func (o *openings) begin(key sessionKey) int {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.get(key).Begin()
}

// answer records the first answer of a conversation and returns the conversation's number.
func (o *openings) answer(key sessionKey, n int, first session.First) int {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.get(key).Answer(n, first)
}

// goOn returns the number of a conversation that continues after its first answer. news reports
// whether the journal does not know this yet.
func (o *openings) goOn(key sessionKey, first session.First) (n int, news bool) {
	o.mu.Lock()
	defer o.mu.Unlock()
	op := o.get(key)
	news = !op.Knows(first)
	return op.Continue(first), news
}

// correct sets the number that the journal assigned to a conversation.
func (o *openings) correct(r *reply, n int) {
	o.mu.Lock()
	defer o.mu.Unlock()
	op := o.get(r.sessionKey)
	if known := op.Replies[r.first.Exact]; known != nil && known.N != n {
		known.N = n
		op.Last = max(op.Last, n)
	}
}

// answerFingerprints returns the fingerprints of an answer. Clients may send it back without the
// white space around it, or with other ids of its calls.
func answerFingerprints(m *ken.Message) session.First {
	dialogue := ken.Message{Role: "assistant", Text: strings.TrimSpace(m.Text), ToolCalls: slices.Clone(m.ToolCalls)}
	print := func() string {
		h := sha256.New()
		hashMessage(h, &dialogue)
		return hex.EncodeToString(h.Sum(nil)[:16])
	}
	first := session.First{Exact: print()}
	if len(dialogue.ToolCalls) > 0 {
		for i := range dialogue.ToolCalls {
			dialogue.ToolCalls[i].ID = ""
		}
		first.Loose = print()
	}
	return first
}

// restartTime returns when the turn's conversation began, if it lacks the past of its session. Then
// the knowledge from before that time is new to the conversation. The time is zero if the
// conversation contains the session's past, or if there is none. The journal is asked once per
// conversation.
func (l *Layer) restartTime(ctx context.Context, st *State) time.Time {
	t := &st.Turn
	dialogue := dialogueOf(t.Messages)
	if !l.cfg.Middleware.Knowledge || t.Session == "" || l.storeErr != nil || len(dialogue) == 0 {
		return time.Time{}
	}
	key := startOf(t, dialogue[0])
	at, known := l.conversationStarts.Get(key)
	if known {
		return at
	}
	restarted, err := l.lacksPast(ctx, t, dialogue)
	if err != nil { // treated like a conversation that has its past; the next turn asks again
		return at
	}
	if restarted {
		at = l.now()
	}
	if st.dryRun == nil && !t.Incognito {
		l.conversationStarts.Put(key, at)
	}
	return at
}

// lacksPast reports whether the harvest of the turn's session read messages that the conversation
// does not contain.
func (l *Layer) lacksPast(ctx context.Context, t *ken.Turn, dialogue []*ken.Message) (bool, error) {
	j := l.Operator().Journal(t.Owner)
	info, err := j.Info(ctx, t.Session)
	switch {
	case errors.Is(err, ken.ErrNotFound):
		return false, nil
	case err != nil:
		return false, err
	case info.Harvested.IsZero():
		return false, nil
	case len(dialogue) == 1: // no message precedes the question
		return true, nil
	}
	tr, err := j.Read(ctx, t.Session)
	if err != nil || len(tr.Entries) == 0 { // without the messages it can't be decided
		return false, err
	}
	past := slices.DeleteFunc(tr.Entries, func(e session.Entry) bool { return e.At.After(info.Harvested) })
	return !hasMessage(past, dialogue[0]), nil
}
