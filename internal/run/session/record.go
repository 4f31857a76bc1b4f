package session

import (
	"bytes"
	"context"
	"encoding/binary"
	"encoding/json"
	"hash/maphash"
	"maps"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/kenlayer/ken"
	"github.com/kenlayer/ken/internal/store/clean"
	"github.com/kenlayer/ken/store"
)

// record is an Info as it is kept, with what only the journal needs.
type record struct {
	Info
	Said   int       `json:"said"`           // messages of users and assistants in this part
	Swept  int       `json:"swept"`          // the last part whose messages were deleted
	Upto   uint64    `json:"upto,omitempty"` // as far as a harvest got
	LastAt time.Time `json:"last_at,omitzero"`
	Blocks int       `json:"blocks,omitempty"` // kept of this part
	With   []string  `json:"with,omitempty"`   // processes beside Process that had messages for it since it was opened
}

// maxWith bounds the processes that are remembered of a session.
const maxWith = 8

// lacks reports whether the session is open without the process being among those
// that have it.
func (r *record) lacks(process string) bool {
	return r.State == Open && r.Process != process && !slices.Contains(r.With, process)
}

// joined takes down that a process wrote to the session.
func (r *record) joined(process string) {
	if r.Process == process {
		return
	}
	with := slices.DeleteFunc(append(slices.Clone(r.With), r.Process), func(p string) bool { return p == "" || p == process })
	r.With = with[max(0, len(with)-maxWith):]
	r.Process = process
}

// sessionVersion says whether a session is as it was when somebody looked.
type sessionVersion struct {
	started time.Time
	last    uint64
	swept   int
}

func (r *record) stamp() sessionVersion {
	if r == nil {
		return sessionVersion{}
	}
	return sessionVersion{r.Started, r.Last, r.Swept}
}

// getRecord returns nil for a session that is not there.
func getRecord(r store.ShelfReader, id string) (*record, error) {
	b := r.Get(keyInfo(id))
	if b == nil {
		return nil, nil
	}
	rec := &record{}
	return rec, decodeValue(keyInfo(id), b, rec)
}

// keptRecord is a record that was read or written, with the bytes that it is kept as. A session
// is looked at before and within each transaction, mostly as it was left: it is not decoded
// again then.
type keptRecord struct {
	bytes []byte
	rec   record
}

// get is getRecord.
func (k *keptRecord) get(r store.ShelfReader, id string) (*record, error) {
	b := r.Get(keyInfo(id))
	if b == nil {
		return nil, nil
	}
	if !bytes.Equal(b, k.bytes) {
		k.bytes, k.rec = nil, record{}
		if err := decodeValue(keyInfo(id), b, &k.rec); err != nil {
			return nil, err
		}
		k.bytes = bytes.Clone(b)
	}
	rec := k.rec // its slices are replaced, and never changed
	return &rec, nil
}

// put keeps a record.
func (k *keptRecord) put(tx store.ShelfTx, rec *record) error {
	if err := put(tx, keyInfo(rec.ID), rec); err != nil {
		return err
	}
	k.bytes, k.rec = append(k.bytes[:0], tx.Get(keyInfo(rec.ID))...), *rec
	return nil
}

// mustRecord is getRecord for a session that has to be there.
func mustRecord(r store.ShelfReader, id string) (*record, error) {
	rec, err := getRecord(r, id)
	if err == nil && rec == nil {
		err = notFound(id)
	}
	return rec, err
}

func notFound(id string) error {
	return &ken.Error{Code: ken.CodeNotFound, Field: "session", Msg: "no session " + id, Try: "List them with ken sessions."}
}

// encoded holds buffers for put: the shelf copies what it is given.
var encoded = sync.Pool{New: func() any { return new(bytes.Buffer) }}

func put(tx store.ShelfTx, key string, v any) error {
	b := encoded.Get().(*bytes.Buffer)
	defer encoded.Put(b)
	b.Reset()
	if err := json.NewEncoder(b).Encode(v); err != nil {
		return err
	}
	return tx.Put(key, bytes.TrimSuffix(b.Bytes(), []byte{'\n'}))
}

// decodeValue reads what put wrote. It keeps nothing of b.
func decodeValue(key string, b []byte, v any) error {
	if err := json.Unmarshal(b, v); err != nil {
		return &ken.Error{Code: ken.CodeCorrupt, Msg: "can't read " + key, Err: err, Try: "Forget that session, or restore the file."}
	}
	return nil
}

// message is an Entry as it is kept; its key has the number.
type message struct {
	Digest digest            `json:"d"`
	At     time.Time         `json:"at"`
	Role   string            `json:"role"`
	Name   string            `json:"name,omitempty"`
	Text   string            `json:"text,omitempty"`
	Parts  []ken.Part        `json:"parts,omitempty"`
	Calls  []ken.ToolCall    `json:"calls,omitempty"`
	CallID string            `json:"call_id,omitempty"`
	Cut    int               `json:"cut,omitempty"`
	Files  map[string]string `json:"files,omitempty"`
}

func messageOf(e *Entry, d digest) message {
	m := &e.Message
	return message{d, e.At, m.Role, m.Name, m.Text, m.Parts, m.ToolCalls, m.ToolCallID, e.Cut, e.Files}
}

func (m *message) entry(seq uint64) Entry {
	return Entry{Seq: seq, At: m.At, Cut: m.Cut, Files: m.Files, Message: ken.Message{
		Role: m.Role, Name: m.Name, Text: m.Text, Parts: m.Parts, ToolCalls: m.Calls, ToolCallID: m.CallID}}
}

// seqOf reads the number at the end of a message's key.
func seqOf(key string) (seq uint64) {
	for _, c := range []byte(key[max(0, len(key)-20):]) {
		seq = seq*10 + uint64(c-'0')
	}
	return seq
}

// sessionCache is what this process remembers of a session, so that a conversation of
// thousands that comes in again need not be read, cleaned and compared again.
type sessionCache struct {
	id   string
	turn chan struct{} // holds a token while nobody is at it
	raw  rawHash       // guarded by turn, as is the rest

	digests map[uint64]digest // by raw; a pure function, so it is never wrong

	loaded bool // what follows is of the session as stamp has it
	stamp  sessionVersion
	info   keptRecord
	counts map[digest]int      // how often the journal had a message, a call of an id, an answer to it
	order  []digest            // of the messages, the last one is number stamp.last
	seqs   []uint64            // their numbers
	calls  map[string]uint64   // by id, the number of the message that made the call last
	lines  []knownConversation // what came in, the last first

	ignored map[digest]struct{} // what is not to be kept; nobody else knows of it
	size    atomic.Int64        // messages that it remembers, as of the last release
	weight  int                 // guarded by the journal's lock: size, as it counts it
}

// cacheSnapshot is a memo as it was.
type cacheSnapshot struct {
	stamp sessionVersion
	lines []knownConversation
}

func (m *sessionCache) before() cacheSnapshot { return cacheSnapshot{m.stamp, slices.Clone(m.lines)} }

// restore takes back what was not kept after all. What the journal has is read
// again.
func (m *sessionCache) restore(p cacheSnapshot) { m.loaded, m.stamp, m.lines = false, p.stamp, p.lines }

// ignore has messages never be new, without counting them as kept.
func (m *sessionCache) ignore(fresh []incoming) {
	if m.ignored == nil {
		m.ignored = map[digest]struct{}{}
	}
	for _, x := range fresh {
		m.ignored[x.digest] = struct{}{}
	}
}

// knownConversation is a conversation as a request had it: the digests of what is kept.
type knownConversation struct {
	digests []digest
	last    uint64         // the journal's last message when it had come
	ahead   map[digest]int // what the journal had by then that may follow on the line
}

// maxLines is how many conversations of one session are told apart: the main one,
// and those of helpers that run beside it under the same id.
const maxLines = 4

func newSessionCache(id string, seed maphash.Seed) *sessionCache {
	m := &sessionCache{id: id, turn: make(chan struct{}, 1), raw: rawHash{seed: seed}, digests: map[uint64]digest{}}
	m.turn <- struct{}{}
	return m
}

// take waits until nobody else is at the session.
func (m *sessionCache) take(ctx context.Context) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	select {
	case <-m.turn:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

func (m *sessionCache) release() {
	m.size.Store(int64(len(m.digests) + len(m.counts)))
	m.turn <- struct{}{}
}

// load reads the session anew unless it is as it was.
func (m *sessionCache) load(r store.ShelfReader, rec *record) error {
	if m.loaded && m.stamp == rec.stamp() {
		return nil
	}
	if now := rec.stamp(); now.started != m.stamp.started || now.swept != m.stamp.swept {
		m.lines = nil // otherwise another process took up more, and what came is still there
	}
	if m.loaded && m.follow(r, rec) {
		return nil
	}
	m.loaded, m.stamp, m.order, m.seqs = false, rec.stamp(), nil, nil
	m.counts, m.calls = seen(r, m.id), map[string]uint64{}
	for key, b := range r.Scan(allMessages(m.id)) {
		var row message
		if err := decodeValue(key, b, &row); err != nil {
			return err
		}
		e := row.entry(seqOf(key))
		m.note(&e, row.Digest)
	}
	m.loaded = true
	return nil
}

// maxFollowed bounds how many messages are read one by one.
const maxFollowed = 64

// follow takes up what another process wrote since, if that is all that changed:
// two processes that share a session need not read it whole at every turn.
func (m *sessionCache) follow(r store.ShelfReader, rec *record) bool {
	now := rec.stamp()
	if now.started != m.stamp.started || now.swept != m.stamp.swept || now.last <= m.stamp.last || now.last-m.stamp.last > maxFollowed {
		return false
	}
	var rows []message
	for seq := m.stamp.last + 1; seq <= now.last; seq++ {
		var row message
		key := keyMessage(m.id, seq)
		b := r.Get(key)
		if b == nil || decodeValue(key, b, &row) != nil {
			return false
		}
		rows = append(rows, row)
	}
	for i := range rows {
		e := rows[i].entry(m.stamp.last + 1)
		m.note(&e, rows[i].Digest)
		m.stamp.last++
	}
	return true
}

// note takes up a message that the journal has.
func (m *sessionCache) note(e *Entry, d digest) {
	m.counts[d]++
	m.order, m.seqs = append(m.order, d), append(m.seqs, e.Seq)
	if id := e.Message.ToolCallID; id != "" {
		m.counts[answerOf(id)]++
	}
	for i := range e.Message.ToolCalls {
		if id := e.Message.ToolCalls[i].ID; id != "" {
			m.calls[id] = e.Seq
			m.counts[callOf(id)]++
		}
	}
}

// place returns the number of the last message of that digest, 0 for none that is still
// there. A request's last message is mostly the journal's.
func (m *sessionCache) place(d digest) uint64 {
	for i := len(m.order) - 1; i >= 0; i-- {
		if m.order[i] == d {
			return m.seqs[i]
		}
	}
	return 0
}

// since returns the digests of what the journal took up after a message.
func (m *sessionCache) since(seq uint64) []digest {
	n := int(min(m.stamp.last-min(seq, m.stamp.last), uint64(len(m.order))))
	return m.order[len(m.order)-n:]
}

// incoming is a message of a request with what it is known by.
type incoming struct {
	raw    *ken.Message
	digest digest
	clean  *ken.Message // nil when its digest was known
}

// read finds what each message is known by, leaving out what is not kept.
func (m *sessionCache) read(msgs []ken.Message) []incoming {
	in := make([]incoming, 0, len(msgs))
	for i := range msgs {
		key := m.raw.of(&msgs[i])
		d, known := m.digests[key]
		var c *ken.Message
		if !known {
			if got, ok := kept(&msgs[i]); ok {
				d, c = digestOf(&got), &got
			}
			m.digests[key] = d
		}
		if _, ignored := m.ignored[d]; d != dropped && !ignored {
			in = append(in, incoming{&msgs[i], d, c})
		}
	}
	return in
}

// fresh returns the messages that the journal does not have yet, and the request as
// a line that a later one may go on from; nil when it may not.
func (m *sessionCache) fresh(in []incoming) ([]incoming, *knownConversation) {
	var from *knownConversation
	for i := range m.lines {
		l := &m.lines[i]
		if begins(in, l.digests) && (from == nil || len(l.digests) > len(from.digests)) {
			from = l
		}
	}
	if from == nil {
		return m.compare(in)
	}
	// All that the line had is kept. What follows is new, but for what came since by
	// another way, such as the answer that was seen when it was given.
	have := maps.Clone(from.ahead)
	if have == nil {
		have = map[digest]int{}
	}
	for _, d := range m.since(from.last) {
		have[d]++
	}
	var out []incoming
	last := false // the newest is new, so nothing that the journal has follows on it
	for _, x := range in[len(from.digests):] {
		if last = have[x.digest] == 0; last {
			out = append(out, x)
		} else {
			have[x.digest]--
		}
	}
	if last {
		have = nil
	}
	return out, &knownConversation{ahead: have}
}

// compare is fresh for a request that does not begin like an earlier one: new is
// what it holds more often than the journal.
func (m *sessionCache) compare(in []incoming) (out []incoming, l *knownConversation) {
	met, took := map[digest]int{}, map[digest]int{} // in this request; and of it, what is new
	for _, x := range in {
		met[x.digest]++
		isNew := met[x.digest] > m.counts[x.digest]
		answer := dropped
		if id := clean.Text(x.raw.ToolCallID); id != "" {
			// A result in other words of a call that has one is the client's doing, not
			// news: they clear old ones. Some models use an id each turn anew, so the
			// calls count.
			answer = answerOf(id)
			met[answer]++
			call := callOf(id)
			isNew = isNew && (met[answer] > m.counts[answer] || m.counts[answer]+took[answer] < m.counts[call]+took[call])
		}
		if l = nil; !isNew {
			continue
		}
		out, l = append(out, x), &knownConversation{}
		took[answer]++
		for i := range x.raw.ToolCalls {
			took[callOf(clean.Text(x.raw.ToolCalls[i].ID))]++
		}
	}
	// When the newest is known, so may be what follows on it: such a line says nothing.
	return out, l
}

// begins reports whether a request begins with a line.
func begins(in []incoming, digests []digest) bool {
	if len(digests) > len(in) {
		return false
	}
	for i, d := range digests {
		if in[i].digest != d {
			return false
		}
	}
	return true
}

// remember remembers a request whose messages the journal now has, in place of those
// that it goes on from.
func (m *sessionCache) remember(in []incoming, l *knownConversation) {
	if len(in) == 0 || l == nil {
		return
	}
	l.digests, l.last = make([]digest, len(in)), m.stamp.last
	for i := range in {
		l.digests[i] = in[i].digest
	}
	for _, o := range m.lines {
		if len(o.digests) >= len(l.digests) && slices.Equal(o.digests[:len(l.digests)], l.digests) {
			return // an earlier state of what is known
		}
	}
	m.lines = slices.DeleteFunc(m.lines, func(o knownConversation) bool { return begins(in, o.digests) })
	m.lines = slices.Insert(m.lines, 0, *l)
	m.lines = m.lines[:min(len(m.lines), maxLines)]
}

// seen reads how often a session had the messages that were swept.
func seen(r store.ShelfReader, id string) map[digest]int {
	counts := map[digest]int{}
	b := r.Get(keySeen(id))
	for ; len(b) >= seenSize; b = b[seenSize:] {
		counts[digest(binary.LittleEndian.Uint64(b))] = int(binary.LittleEndian.Uint32(b[8:]))
	}
	return counts
}

const seenSize = 8 + 4

// writeSeen keeps the counts of a session whose messages go.
func writeSeen(tx store.ShelfTx, id string, counts map[digest]int) error {
	b := make([]byte, 0, len(counts)*seenSize)
	for _, d := range slices.Sorted(maps.Keys(counts)) {
		b = binary.LittleEndian.AppendUint64(b, uint64(d))
		b = binary.LittleEndian.AppendUint32(b, uint32(counts[d]))
	}
	return tx.Put(keySeen(id), b)
}
