package middleware

import (
	"context"
	"hash/maphash"
	"slices"
	"strings"
	"time"

	"github.com/kenlayer/ken"
	"github.com/kenlayer/ken/budgeter"
	"github.com/kenlayer/ken/config"
	"github.com/kenlayer/ken/internal/run/session"
	"github.com/kenlayer/ken/internal/store/clean"
)

// Settings for restoring the state of a session in a conversation that lost it.
const (
	// minMissing is how many messages of its session's journal a conversation must lack to count as
	// compacted. A client that asks for an answer again does not reach it.
	minMissing = 4
	// recoveryChars is the maximum number of characters of a checkpoint in the memory part.
	recoveryChars = 1500
	// positionSlack is the maximum difference between the positions of a message in a request and
	// in the journal, which has no reasoning messages.
	positionSlack = 2
)

// conversationStart identifies a conversation by its session and its first message. The text is
// hashed, because it may be megabytes long.
type conversationStart struct {
	sessionKey
	role string
	text uint64
}

var startSeed = maphash.MakeSeed()

func startOf(t *ken.Turn, first *ken.Message) conversationStart {
	return conversationStart{keyOf(t), first.Role, maphash.String(startSeed, first.Text)}
}

// recovery is the decision whether a conversation gets the checkpoint of its session.
type recovery struct {
	text string // the checkpoint's text; later turns get the same, so that it is not repeated
	at   time.Time
	// given is set once the conversation was found to be compacted and text was decided.
	given          bool
	allowedMissing int // messages that it may lack without counting as compacted, because it was rewound
}

// recoverSession returns the last checkpoint of the session for a conversation that was compacted,
// or resumed without its past. It returns nothing for a conversation that has its messages, that
// was rewound to continue differently, or that dropped questions which had no answer.
func (l *Layer) recoverSession(ctx context.Context, t *ken.Turn) (string, time.Time, bool) {
	r, key := l.findRecovery(ctx, t, &l.cfg)
	if r != (recovery{}) {
		l.recoveries.Put(key, r)
	}
	return r.result()
}

// findRecovery returns the decision under a configuration, and the conversation's key. It stores
// nothing.
func (l *Layer) findRecovery(ctx context.Context, t *ken.Turn, c *config.Config) (r recovery, key conversationStart) {
	if !l.usesSession(t) {
		return r, key
	}
	dialogue := dialogueOf(t.Messages)
	if len(dialogue) == 0 {
		return r, key
	}
	key = startOf(t, dialogue[0])
	if r, _ = l.recoveries.Get(key); r.given {
		return r, key
	}
	return l.decideRecovery(ctx, t, dialogue, r, c), key
}

// result returns the text for a turn; false if there is none.
func (r recovery) result() (string, time.Time, bool) { return r.text, r.at, r.given && r.text != "" }

// decideRecovery decides about a conversation that got no checkpoint yet.
func (l *Layer) decideRecovery(ctx context.Context, t *ken.Turn, dialogue []*ken.Message, r recovery, c *config.Config) recovery {
	if l.o.Brief && len(dialogue) > 1 { // the process that served the first message did this
		return r
	}
	j := l.Operator().Journal(t.Owner)
	info, err := j.Info(ctx, t.Session)
	missing := info.Messages - len(dialogue)
	if err != nil || missing-r.allowedMissing < minMissing { // a session without a journal has nothing to restore
		return r
	}
	if l.recorder.flush(ctx) != nil { // a question whose answer is not journaled yet would look unanswered
		return r
	}
	if tr, err := j.Read(ctx, t.Session); err != nil || matchesBeginning(tr.Entries, dialogue) || matchesBeginning(answeredEntries(tr.Entries), dialogue) {
		r.allowedMissing = missing
		return r
	}
	cp, ok, err := j.Checkpoint(ctx, t.Session)
	if err != nil || !ok {
		return r
	}
	if c.Structure.Enabled { // constraints that still hold are found through checkpointFocus
		cp.Constraints = nil
	}
	return recovery{text: cp.Text(recoveryChars), at: cp.At, given: true}
}

// dialogueOf returns the messages that a journal may contain.
func dialogueOf(msgs []ken.Message) (out []*ken.Message) {
	for i := range msgs {
		m := &msgs[i]
		if m.Role != "system" && m.Role != "developer" && !budgeter.IsBlock(m.Text) {
			out = append(out, m)
		}
	}
	return out
}

// matchesBeginning reports whether a conversation is a beginning of the session that then continues
// differently. Its first message is the session's, and the message before the last user message is
// at the same position. The middle is not compared, because compacting it moves the messages after
// it.
func matchesBeginning(entries []session.Entry, dialogue []*ken.Message) bool {
	last := len(dialogue) - 1
	for last > 0 && dialogue[last].Role != "user" {
		last--
	}
	if last == 0 { // the first message was sent again, or something else begins
		return hasAt(entries, dialogue[0], 0)
	}
	return hasAt(entries, dialogue[0], 0) && hasAt(entries, dialogue[last-1], last-1)
}

// answeredEntries returns the entries without questions that are followed by another question. If a
// model can't be reached there is no answer, and clients remove such questions from the
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

// hasAt reports whether a message is in the journal at about the position at.
func hasAt(entries []session.Entry, m *ken.Message, at int) bool {
	from, to := max(0, at-positionSlack), min(len(entries), at+positionSlack+1)
	return from < to && hasMessage(entries[from:to], m)
}

func hasMessage(entries []session.Entry, m *ken.Message) bool {
	written := clean.Text
	if m.Role == "user" {
		written = clean.PersonText
	}
	text := strings.TrimSpace(written(m.Text))
	return slices.ContainsFunc(entries, func(e session.Entry) bool {
		return e.Message.Role == m.Role && e.Message.ToolCallID == m.ToolCallID && len(e.Message.ToolCalls) == len(m.ToolCalls) &&
			(e.Cut > 0 || e.Message.Text == text)
	})
}
