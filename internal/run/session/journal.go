package session

import (
	"container/list"
	"context"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"fmt"
	"hash/maphash"
	"log/slog"
	"net/url"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/kenlayer/ken"
	"github.com/kenlayer/ken/internal/store/clean"
	"github.com/kenlayer/ken/store"
)

// Options configures a journal; the zero value works.
type Options struct {
	// Process names this process, so that another can tell that the sessions it
	// left behind have no one any more: a nonce, made anew at each start. Empty
	// means that no session is ever taken for left behind.
	Process string
	// Alive reports whether another process that keeps sessions on this shelf lives.
	// It is asked within transactions, and must not take long. Nil: this process is
	// the only one that lives.
	Alive func(process string) bool
	Now   func() time.Time // default time.Now

	// MaxMessageBytes bounds the text of an entry, and the arguments of each of its
	// tool calls; of a longer one the beginning and the end are kept. 0 and less mean
	// 16,384, and 256 is the least.
	MaxMessageBytes int

	// Annotate is called for each new entry before it is kept, outside of any
	// transaction, and may set e.Files; other changes to e are ignored. For a tool's
	// message, call is the one that it answers, as the journal keeps it; nil
	// otherwise, and when the journal has no such call. A panic costs the annotation,
	// not the entry. Nil annotates nothing.
	Annotate func(ctx context.Context, e *Entry, call *ken.ToolCall)

	Log *slog.Logger // default: nothing is logged
}

// Bounds of a message, in bytes.
const (
	defaultMessageBytes = 16 << 10
	minMessageBytes     = 256
)

// Bounds of what is remembered beside the shelf: sessions, and messages of them all,
// at some hundred bytes each. A session that was forgotten is read again.
const (
	maxMemos      = 1024
	maxRemembered = 256 << 10
)

// Journal keeps one owner's sessions on a shelf. It is safe for concurrent use;
// calls about one session wait for each other, those about different ones do not.
// Several journals on one shelf, as several processes have, do no harm.
type Journal struct {
	shelf store.Shelf
	o     Options
	seed  maphash.Seed
	texts texts // of injections

	mu     sync.Mutex // guards the rest
	memos  map[string]*list.Element
	used   *list.List // of *memo, the last used first
	held   int        // messages that they remember
	pruned time.Time  // when openings were looked through last
}

// NewJournal returns the journal on a shelf. It reads nothing.
func NewJournal(shelf store.Shelf, o Options) *Journal {
	if o.Now == nil {
		o.Now = time.Now
	}
	if o.MaxMessageBytes <= 0 {
		o.MaxMessageBytes = defaultMessageBytes
	}
	o.MaxMessageBytes = max(o.MaxMessageBytes, minMessageBytes)
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	return &Journal{shelf: shelf, o: o, seed: maphash.MakeSeed(), texts: texts{seed: maphash.MakeSeed()}, memos: map[string]*list.Element{}, used: list.New()}
}

// now is the time without what can't be kept.
func (j *Journal) now() time.Time { return j.o.Now().Round(0).UTC() }

// cacheOf returns what is remembered of a session, empty when it is nothing.
func (j *Journal) cacheOf(id string) *sessionCache {
	j.mu.Lock()
	defer j.mu.Unlock()
	if el, ok := j.memos[id]; ok {
		j.used.MoveToFront(el)
		return el.Value.(*sessionCache)
	}
	m := newSessionCache(id, j.seed)
	j.memos[id] = j.used.PushFront(m)
	j.evict()
	return m
}

// evict forgets what was used least recently while there is too much. Whoever is at
// it goes on with what it has; should somebody else start anew meanwhile, the stamps
// tell one of the two to look again.
func (j *Journal) evict() {
	for j.used.Len() > maxMemos || j.held > maxRemembered && j.used.Len() > 1 {
		m := j.used.Remove(j.used.Back()).(*sessionCache)
		delete(j.memos, m.id)
		j.held -= m.weight
	}
}

// weigh counts what is remembered of a session. The caller has just released it.
func (j *Journal) weigh(m *sessionCache) {
	j.mu.Lock()
	defer j.mu.Unlock()
	if el, ok := j.memos[m.id]; ok && el.Value.(*sessionCache) == m {
		w := int(m.size.Load())
		j.held += w - m.weight
		m.weight = w
		j.evict()
	}
}

// Release forgets what is remembered of sessions and can be read again: not what messages of
// theirs are not to be kept.
func (j *Journal) Release() {
	j.mu.Lock()
	defer j.mu.Unlock()
	for id, el := range j.memos {
		m := el.Value.(*sessionCache)
		select {
		case <-m.turn:
		default: // somebody is at it
			continue
		}
		if len(m.ignored) == 0 {
			j.used.Remove(el)
			delete(j.memos, id)
			j.held -= m.weight
		}
		m.turn <- struct{}{}
	}
}

// drop forgets what is remembered of a session.
func (j *Journal) drop(id string) {
	j.mu.Lock()
	defer j.mu.Unlock()
	if el, ok := j.memos[id]; ok {
		j.used.Remove(el)
		delete(j.memos, id)
		j.held -= el.Value.(*sessionCache).weight
	}
}

// Append keeps those messages of a conversation that the journal does not have,
// as the package comment says, and returns them in their order. msgs may be the
// whole conversation, its end, or an edited or compacted form of it; it is not
// changed. A session that is not known begins; one that ended goes on, in another
// part when its messages were swept. Fields of about that are empty leave what was
// known.
//
// Errors: ErrInvalid for an id that is empty, longer than 256 bytes or unclean; what
// the shelf fails with. Nothing is kept of a call that fails.
func (j *Journal) Append(ctx context.Context, about About, msgs []ken.Message) ([]Entry, error) {
	return j.append(ctx, about, msgs, false)
}

// append is Append, or, with all, keeps every message as one that was said now.
func (j *Journal) append(ctx context.Context, about About, msgs []ken.Message, all bool) ([]Entry, error) {
	noted := j.Record(ctx, []Note{{About: about, Messages: msgs, all: all}}, nil)
	return noted[0].Entries, noted[0].Err
}

// begin is a session that nobody knew.
func begin(about About, now time.Time) *record {
	return &record{Info: Info{About: about, State: Open, Part: 1, Started: now, Active: now}}
}

// reopen opens a session in which something was said.
func (r *record) reopen() {
	if r.State == Open {
		return
	}
	r.State, r.Reason, r.Ended, r.With = Open, "", time.Time{}, nil
	if r.Swept == r.Part {
		r.Part++
		r.Said, r.Blocks = 0, 0
	}
}

// later returns a time that is not before last: within a session, time does not
// go backwards, whatever the clock does.
func later(now, last time.Time) time.Time {
	if now.Before(last) {
		return last
	}
	return now
}

// clean cleans everything but the id, which checkID has looked at.
func (a *About) clean() {
	for _, s := range []*string{&a.Parent, &a.Project, &a.Branch, &a.Agent, &a.Model, &a.Key, &a.Scope.ID} {
		*s = clean.Text(*s)
	}
	scopes := a.Scopes
	a.Scopes = nil
	for _, s := range scopes {
		s.ID = clean.Text(s.ID)
		a.Scopes = append(a.Scopes, s)
	}
}

// update takes over what b says.
func (a *About) update(b *About) {
	for _, s := range []struct{ to, from *string }{{&a.Parent, &b.Parent}, {&a.Project, &b.Project}, {&a.Branch, &b.Branch}, {&a.Agent, &b.Agent}, {&a.Model, &b.Model}} {
		if *s.from != "" {
			*s.to = *s.from
		}
	}
	if a.Key != b.Key { // who came second must not see what the first one said, nor the other way round
		a.Key = ""
	}
	a.DistrustUser = a.DistrustUser || b.DistrustUser
	if !b.Scope.IsZero() {
		a.Scope = b.Scope
	}
	if b.Scopes != nil {
		a.Scopes = b.Scopes
	}
}

// digest is what a message is known by, across requests and processes: the first
// 8 bytes of a hash. It is made of a message that was cleaned and not yet cut.
type digest uint64

// dropped stands for a message that the journal does not keep.
const dropped digest = 0

func digestOf(m *ken.Message) digest {
	fields := []string{"message", m.Role, m.Name, m.ToolCallID, m.Text}
	for _, c := range m.ToolCalls {
		fields = append(fields, c.ID, c.Name, canonical(c.Arguments))
	}
	if m.Text == "" && len(m.ToolCalls) == 0 {
		// Clients drop old images; only a message that is nothing else is known by them.
		for _, p := range m.Parts {
			fields = append(fields, p.Ref)
		}
	}
	return hashOf(fields...)
}

// callOf is what a tool call is known by beside its message's digest, and answerOf
// what its result is.
func callOf(id string) digest   { return hashOf("call", id) }
func answerOf(id string) digest { return hashOf("answer", id) }

func hashOf(fields ...string) digest {
	h := sha256.New()
	var size [8]byte
	for _, f := range fields { // each led by its length, so that no two lists are one
		binary.LittleEndian.PutUint64(size[:], uint64(len(f)))
		h.Write(size[:])
		h.Write([]byte(f))
	}
	return max(digest(binary.LittleEndian.Uint64(h.Sum(nil))), dropped+1)
}

func hexOf(s string) string {
	sum := sha256.Sum256([]byte(s))
	return "sha256:" + hex.EncodeToString(sum[:])
}

// rawHash finds what a message is known by within this process before it is
// cleaned, which is what takes the time in a conversation of thousands.
type rawHash struct {
	seed maphash.Seed
	buf  []byte // of the fields' hashes
}

func (h *rawHash) of(m *ken.Message) uint64 {
	h.buf = h.buf[:0]
	h.add(m.Role, m.Name, m.ToolCallID, m.Text)
	for i := range m.Parts {
		h.add(m.Parts[i].Type, m.Parts[i].Text, m.Parts[i].Ref)
	}
	h.buf = append(h.buf, '/')
	for i := range m.ToolCalls {
		h.add(m.ToolCalls[i].ID, m.ToolCalls[i].Name, m.ToolCalls[i].Arguments)
	}
	return maphash.Bytes(h.seed, h.buf)
}

func (h *rawHash) add(fields ...string) {
	for _, f := range fields {
		h.buf = binary.LittleEndian.AppendUint64(h.buf, maphash.String(h.seed, f))
	}
}

// Keys on the shelf. The id is escaped, so that none reaches into another's keys,
// and numbers have as many digits as the greatest, so that they sort.
//
//	session/info/ID          record
//	session/message/ID/SEQ   message
//	session/injected/ID/HASH Injection that no block has
//	session/checkpoint/ID    Checkpoint
//	session/block/ID/PLACE   keptBlock
//	session/opening/ID       Opening of the conversations whose first one has that id
//	session/response/HASH    responded: the session that a response belongs to
//	session/seen/ID          counts of the digests of messages that were swept
const (
	prefixInfo       = "session/info/"
	prefixMessage    = "session/message/"
	prefixInjected   = "session/injected/"
	prefixCheckpoint = "session/checkpoint/"
	prefixSeen       = "session/seen/"
	prefixBlock      = "session/block/"
	prefixOpening    = "session/opening/"
	prefixResponse   = "session/response/"
)

func keyInfo(id string) string       { return prefixInfo + url.PathEscape(id) }
func keyCheckpoint(id string) string { return prefixCheckpoint + url.PathEscape(id) }
func keySeen(id string) string       { return prefixSeen + url.PathEscape(id) }
func allMessages(id string) string   { return prefixMessage + url.PathEscape(id) + "/" }
func allInjected(id string) string   { return prefixInjected + url.PathEscape(id) + "/" }
func allBlocks(id string) string     { return prefixBlock + url.PathEscape(id) + "/" }
func keyOpening(id string) string    { return prefixOpening + url.PathEscape(id) }

func keyBlock(id, place string) string { return allBlocks(id) + url.PathEscape(place) }

func keyMessage(id string, seq uint64) string { return fmt.Sprintf("%s%020d", allMessages(id), seq) }

func keyInjected(id string, in *Injection) string {
	return fmt.Sprintf("%s%016x", allInjected(id), hashOf("injection", in.ID, in.Text))
}

// maxID bounds a session's id in bytes: escaped, it takes three times as many, and
// a key on the shelf has 1,024.
const maxID = 256

// checkID refuses what can't name a session. The id comes from outside and is
// kept as it is, so it must not be something that would have to be cleaned.
func checkID(id string) error {
	fault := ""
	switch {
	case strings.TrimSpace(id) == "":
		fault = "empty"
	case len(id) > maxID:
		fault = fmt.Sprintf("%d bytes; at most %d", len(id), maxID)
	case clean.Text(id) != id || strings.ContainsAny(id, "\n\t"):
		fault = "it holds control characters, markup of a model or a credential"
	}
	if fault == "" {
		return nil
	}
	return &ken.Error{Code: ken.CodeInvalid, Field: "session", Msg: fault, Try: "Name the session by an opaque id, such as a UUID."}
}

// messageID is how evidence names a message of a session.
func messageID(seq uint64) string { return "m" + strconv.FormatUint(seq, 10) }

// ParseMessageID reads what Entry.ID wrote.
func ParseMessageID(id string) (seq uint64, ok bool) {
	n, ok := strings.CutPrefix(id, "m")
	if !ok {
		return 0, false
	}
	seq, err := strconv.ParseUint(n, 10, 64)
	return seq, err == nil && seq > 0
}
