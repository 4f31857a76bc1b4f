package session

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"fmt"
	"hash/maphash"
	"log/slog"
	"net/url"
	"sync"
	"time"

	"github.com/kenlayer/ken"
	"github.com/kenlayer/ken/internal/lru"
	"github.com/kenlayer/ken/internal/store/clean"
	"github.com/kenlayer/ken/store"
)

// Options configures a journal; the zero value works.
type Options struct {
	// Process identifies this process by a random value that is new at each start, so
	// that other processes can recognise the sessions it left behind. If empty, no
	// session counts as left behind.
	Process string
	// Alive reports whether another process that uses this shelf is running. It is
	// called within transactions and must be fast. If nil, only this process counts
	// as running.
	Alive func(process string) bool
	Now   func() time.Time // default time.Now

	// MaxMessageBytes limits the text of an entry, and the arguments of each of its
	// tool calls. Of a longer text the beginning and the end are kept. 0 or less
	// means 16,384; the minimum is 256.
	MaxMessageBytes int

	// Annotate is called for each new entry before it is stored, outside of any
	// transaction. It may set e.Files; other changes to e are ignored. For a tool's
	// message, call is the call that it answers, or nil if the journal has no such
	// call; otherwise call is nil. If it panics, the entry is stored without
	// annotation. Nil annotates nothing.
	Annotate func(ctx context.Context, e *Entry, call *ken.ToolCall)

	Log *slog.Logger // default: nothing is logged
}

// Limits of a message, in bytes.
const (
	defaultMessageBytes = 16 << 10
	minMessageBytes     = 256
)

// Limits of the cache: the number of sessions, and the number of messages of all of
// them, at some hundred bytes each. An evicted session is read again when needed.
const (
	maxCaches         = 1024
	maxCachedMessages = 256 << 10
)

// Journal keeps one owner's sessions on a shelf. It is safe for concurrent use. Calls
// for one session run one after another; calls for different sessions run in
// parallel. Several journals, in several processes, may share one shelf.
type Journal struct {
	shelf store.Shelf
	o     Options
	seed  maphash.Seed
	texts lru.Map[uint64, string] // cleaned texts of injections by the hash of the text

	mu     sync.Mutex                      // guards the fields below
	caches lru.List[string, *sessionCache] // by session
	cached int                             // messages cached in all sessions
	pruned time.Time                       // when pruneOpenings last ran
}

// NewJournal returns a journal on a shelf. It reads nothing.
func NewJournal(shelf store.Shelf, o Options) *Journal {
	if o.Now == nil {
		o.Now = time.Now
	}
	o.MaxMessageBytes = cmp.Or(max(o.MaxMessageBytes, 0), defaultMessageBytes)
	o.MaxMessageBytes = max(o.MaxMessageBytes, minMessageBytes)
	o.Log = cmp.Or(o.Log, slog.New(slog.DiscardHandler))
	return &Journal{shelf: shelf, o: o, seed: maphash.MakeSeed(), texts: lru.Map[uint64, string]{Max: maxTexts}}
}

// now returns the current time in the form in which it is stored: UTC, without a
// monotonic reading.
func (j *Journal) now() time.Time { return j.o.Now().Round(0).UTC() }

// cacheOf returns the cache of a session, creating an empty one if needed.
func (j *Journal) cacheOf(id string) *sessionCache {
	j.mu.Lock()
	defer j.mu.Unlock()
	m, ok := j.caches.Get(id)
	if !ok {
		m = newSessionCache(id, j.seed)
		j.caches.Put(id, m)
		j.evict()
	}
	return m
}

// evict removes the least recently used caches while the cache exceeds its limits. A
// goroutine that holds an evicted cache continues with it. If another one creates a
// new cache of the session meanwhile, the session's version makes one of the two read
// again.
func (j *Journal) evict() {
	for j.caches.Len() > maxCaches || j.cached > maxCachedMessages && j.caches.Len() > 1 {
		_, m := j.caches.TakeOldest()
		j.cached -= m.weight
	}
}

// weigh updates the cached message count after the caller released m.
func (j *Journal) weigh(m *sessionCache) {
	j.mu.Lock()
	defer j.mu.Unlock()
	if now, _ := j.caches.Peek(m.id); now == m {
		w := int(m.size.Load())
		j.cached += w - m.weight
		m.weight = w
		j.evict()
	}
}

// Release empties the cache, except for sessions with messages that must not be
// stored: only the cache knows those.
func (j *Journal) Release() {
	j.mu.Lock()
	defer j.mu.Unlock()
	for id, m := range j.caches.All() {
		select {
		case <-m.turn:
		default: // in use
			continue
		}
		if len(m.ignored) == 0 {
			j.remove(id)
		}
		m.turn <- struct{}{}
	}
}

// drop removes sessions from the cache.
func (j *Journal) drop(ids ...string) {
	j.mu.Lock()
	defer j.mu.Unlock()
	for _, id := range ids {
		j.remove(id)
	}
}

// remove removes the cache of a session, if there is one. The caller holds j.mu.
func (j *Journal) remove(id string) {
	if m, ok := j.caches.Take(id); ok {
		j.cached -= m.weight
	}
}

// Append stores the messages of a conversation that the journal does not have yet, as
// the package comment describes, and returns them in their order. msgs may be the
// whole conversation, its end, or an edited or compacted form of it; it is not
// changed. An unknown session is created. A session that ended is opened again, in a
// new part if its messages were swept. Empty fields of about leave the stored values
// unchanged.
//
// Errors: ErrInvalid for an id that is empty, longer than 256 bytes or unclean; those
// of the shelf. A call that fails stores nothing.
func (j *Journal) Append(ctx context.Context, about About, msgs []ken.Message) ([]Entry, error) {
	return j.append(ctx, about, msgs, false)
}

// append implements Append. If all is true, it stores every message as new.
func (j *Journal) append(ctx context.Context, about About, msgs []ken.Message, all bool) ([]Entry, error) {
	noted := j.Record(ctx, []Note{{About: about, Messages: msgs, all: all}}, nil)
	return noted[0].Entries, noted[0].Err
}

// begin returns the record of a new session.
func begin(about About, now time.Time) *record {
	return &record{Info: Info{About: about, State: Open, Part: 1, Started: now, Active: now}}
}

// reopen opens a session for a new message.
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

// later returns now, or last if that is later. Within a session, time never goes
// backwards, even if the clock does.
func later(now, last time.Time) time.Time {
	if now.Before(last) {
		return last
	}
	return now
}

// clean cleans all fields except ID, which checkID validates.
func (a *About) clean() {
	for _, s := range []*string{&a.Parent, &a.Project, &a.Branch, &a.Agent, &a.Model, &a.Key, &a.Scope.ID} {
		*s = clean.Text(*s)
	}
	a.Scopes = append([]ken.Scope(nil), a.Scopes...) // nil if empty
	for i := range a.Scopes {
		a.Scopes[i].ID = clean.Text(a.Scopes[i].ID)
	}
}

// update overwrites the fields that b sets.
func (a *About) update(b *About) {
	a.Parent, a.Project, a.Branch = cmp.Or(b.Parent, a.Parent), cmp.Or(b.Project, a.Project), cmp.Or(b.Branch, a.Branch)
	a.Agent, a.Model = cmp.Or(b.Agent, a.Agent), cmp.Or(b.Model, a.Model)
	if a.Key != b.Key { // neither key's caller may read what the other one said
		a.Key = ""
	}
	a.DistrustUser, a.TrustUser = a.DistrustUser || b.DistrustUser, a.TrustUser && b.TrustUser
	if !b.Scope.IsZero() {
		a.Scope = b.Scope
	}
	if b.Scopes != nil {
		a.Scopes = b.Scopes
	}
}

// digest identifies a message across requests and processes: the first 8 bytes of a
// hash of the message, cleaned and not yet cut.
type digest uint64

// dropped is the digest of a message that the journal does not store.
const dropped digest = 0

func digestOf(m *ken.Message) digest {
	fields := []string{"message", m.Role, m.Name, m.ToolCallID, m.Text}
	for _, c := range m.ToolCalls {
		fields = append(fields, c.ID, c.Name, canonical(c.Arguments))
	}
	if m.Text == "" && len(m.ToolCalls) == 0 {
		// Clients drop old images, so images identify only a message that has nothing
		// else.
		for _, p := range m.Parts {
			fields = append(fields, p.Ref)
		}
	}
	return hashOf(fields...)
}

// callOf returns the key under which sessionCache counts the tool calls of an id, and
// answerOf the key for their results.
func callOf(id string) digest   { return hashOf("call", id) }
func answerOf(id string) digest { return hashOf("answer", id) }

func hashOf(fields ...string) digest {
	h := sha256.New()
	var size [8]byte
	for _, f := range fields { // with length prefixes, so that different lists have different hashes
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

// rawHash hashes messages before cleaning. It identifies a message within this
// process, so that a message seen before need not be cleaned again.
type rawHash struct {
	seed maphash.Seed
	buf  []byte // hashes of the fields
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
//	session/response/HASH    response: the session that a response belongs to
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

// checkID rejects an invalid session id.
func checkID(id string) error { return clean.CheckID("session", id) }
