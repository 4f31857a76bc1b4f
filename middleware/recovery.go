package middleware

import (
	"context"
	"hash/maphash"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/kenlayer/ken"
	"github.com/kenlayer/ken/budgeter"
	"github.com/kenlayer/ken/config"
	"github.com/kenlayer/ken/internal/run/session"
	"github.com/kenlayer/ken/internal/store/clean"
)

// Settings of recovery.
const (
	// minMissing is how many messages of its session's journal a conversation must lack to count
	// as cut. Asking once more for an answer does not cut it.
	minMissing = 4
	// recoveryChars bounds a checkpoint's part of the memory part, in characters.
	recoveryChars = 1500
	// positionSlack is by how much a message's number may differ between a request and the
	// journal, which keeps no reasoning.
	positionSlack = 2
)

// conversationStart is how a conversation starts now. The first text is hashed, since it may be
// megabytes of a file.
type conversationStart struct {
	owner, session, role string
	text                 uint64
}

var startSeed = maphash.MakeSeed()

func startOf(t *ken.Turn, first *ken.Message) conversationStart {
	return conversationStart{t.Owner, t.Session, first.Role, maphash.String(startSeed, first.Text)}
}

// recovery is the decision about a conversation's recovery.
type recovery struct {
	text string // what it was given; its later turns get the same, so that it is not repeated
	at   time.Time
	// the conversation was cut, and text was decided
	given          bool
	allowedMissing int // messages that it may lack without being cut, since it was wound back
}

// byConversation keeps a value for each conversation, by its start. Beyond maxConversations, any
// is dropped. The zero value is ready.
type byConversation[V any] struct {
	mu sync.Mutex // guards m
	m  map[conversationStart]V
}

func (b *byConversation[V]) get(key conversationStart) (v V, ok bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	v, ok = b.m[key]
	return v, ok
}

func (b *byConversation[V]) put(key conversationStart, v V) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.m == nil {
		b.m = map[conversationStart]V{}
	}
	if _, known := b.m[key]; !known {
		makeRoom(b.m, maxConversations)
	}
	b.m[key] = v
}

// forget drops an owner's conversations.
func (b *byConversation[V]) forget(owner string) {
	b.mu.Lock()
	defer b.mu.Unlock()
	for key := range b.m {
		if key.owner == owner {
			delete(b.m, key)
		}
	}
}

// recoverSession returns the last checkpoint of the session for a conversation that was
// compacted, or resumed without its past. It returns nothing for a conversation that has its
// messages, that was wound back to go another way, or that took back questions without an
// answer.
func (l *Layer) recoverSession(ctx context.Context, t *ken.Turn) (string, time.Time, bool) {
	r, key := l.findRecovery(ctx, t, &l.cfg)
	if r != (recovery{}) {
		l.recoveries.put(key, r)
	}
	return r.result()
}

// findRecovery returns what recoverSession gives under a configuration, and the conversation's
// start. It keeps nothing.
func (l *Layer) findRecovery(ctx context.Context, t *ken.Turn, c *config.Config) (r recovery, key conversationStart) {
	if !l.usesSession(t) {
		return r, key
	}
	said := dialogueOf(t.Messages)
	if len(said) == 0 {
		return r, key
	}
	key = startOf(t, said[0])
	if r, _ = l.recoveries.get(key); r.given {
		return r, key
	}
	return l.decideRecovery(ctx, t, said, r, c), key
}

// result returns the text for a turn; false for none.
func (r recovery) result() (string, time.Time, bool) { return r.text, r.at, r.given && r.text != "" }

// decideRecovery decides about a conversation that was given nothing yet.
func (l *Layer) decideRecovery(ctx context.Context, t *ken.Turn, said []*ken.Message, r recovery, c *config.Config) recovery {
	if l.o.Brief && len(said) > 1 { // the process of the first message gave it
		return r
	}
	j := l.Operator().Journal(t.Owner)
	info, err := j.Info(ctx, t.Session)
	missing := info.Messages - len(said)
	if err != nil || missing-r.allowedMissing < minMissing { // a session that is not there yet has nothing to recover
		return r
	}
	if l.recorder.flush(ctx) != nil { // an answer that is not journaled yet would look like a question without one
		return r
	}
	if tr, err := j.Read(ctx, t.Session); err != nil || matchesBeginning(tr.Entries, said) || matchesBeginning(answeredEntries(tr.Entries), said) {
		r.allowedMissing = missing
		return r
	}
	cp, ok, err := j.Checkpoint(ctx, t.Session)
	if err != nil || !ok {
		return r
	}
	if c.Structure.Enabled { // constraints that still hold come by themselves: see checkpointFocus
		cp.Constraints = nil
	}
	return recovery{text: cp.Text(recoveryChars), at: cp.At, given: true}
}

// dialogueOf returns the messages that a journal may have.
func dialogueOf(msgs []ken.Message) (out []*ken.Message) {
	for i := range msgs {
		m := &msgs[i]
		if m.Role != "system" && m.Role != "developer" && !budgeter.IsBlock(m.Text) {
			out = append(out, m)
		}
	}
	return out
}

// matchesBeginning reports whether a conversation is the beginning of a session with another
// end: its first message is the session's, and the message before the user's last is at the
// same position. The middle is not compared: a client that cuts it moves what follows.
func matchesBeginning(entries []session.Entry, said []*ken.Message) bool {
	last := len(said) - 1
	for last > 0 && said[last].Role != "user" {
		last--
	}
	if last == 0 { // the first message once more, or the beginning of something else
		return hasAt(entries, said[0], 0)
	}
	return hasAt(entries, said[0], 0) && hasAt(entries, said[last-1], last-1)
}

// answeredEntries returns the entries without questions that another question follows. A model
// that can't be reached answers nothing, and a client takes such questions out of its
// conversation.
func answeredEntries(entries []session.Entry) []session.Entry {
	out := make([]session.Entry, 0, len(entries))
	for i := range entries {
		if next := i + 1; next < len(entries) && entries[i].Message.Role == "user" && entries[next].Message.Role == "user" {
			continue
		}
		out = append(out, entries[i])
	}
	return out
}

// hasAt reports whether a message is in the journal at about that position.
func hasAt(entries []session.Entry, m *ken.Message, at int) bool {
	from, to := max(0, at-positionSlack), min(len(entries), at+positionSlack+1)
	return from < to && hasMessage(entries[from:to], m)
}

// hasMessage reports whether a message is one of the entries.
func hasMessage(entries []session.Entry, m *ken.Message) bool {
	written := clean.Text
	if m.Role == "user" {
		written = clean.Said
	}
	text := strings.TrimSpace(written(m.Text))
	return slices.ContainsFunc(entries, func(e session.Entry) bool {
		return e.Message.Role == m.Role && e.Message.ToolCallID == m.ToolCallID && len(e.Message.ToolCalls) == len(m.ToolCalls) &&
			(e.Cut > 0 || e.Message.Text == text)
	})
}
