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

// record is an Info as it is stored, with fields that only the journal needs.
type record struct {
	Info
	Said   int       `json:"said"`           // messages of users and assistants in this part
	Swept  int       `json:"swept"`          // the last part whose messages were deleted
	Upto   uint64    `json:"upto,omitempty"` // the last message that a harvest covered, by Entry.Seq
	LastAt time.Time `json:"last_at,omitzero"`
	Blocks int       `json:"blocks,omitempty"` // stored in this part
	With   []string  `json:"with,omitempty"`   // processes besides Process that sent messages since the session was opened
}

// maxWith is the largest number of processes recorded in record.With.
const maxWith = 8

// missing reports whether the session is open and the process is not recorded as one of its
// processes.
func (r *record) missing(process string) bool {
	return r.State == Open && r.Process != process && !slices.Contains(r.With, process)
}

// addProcess records that a process wrote to the session.
func (r *record) addProcess(process string) {
	if r.Process == process {
		return
	}
	with := slices.DeleteFunc(append(slices.Clone(r.With), r.Process), func(p string) bool { return p == "" || p == process })
	r.With = with[max(0, len(with)-maxWith):]
	r.Process = process
}

// sessionVersion identifies a state of a session, to detect changes by other processes. It
// is the zero value for a session that does not exist.
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

// get decodes the value of a key. It returns nil if there is none.
func get[T any](r store.ShelfReader, key string) (*T, error) {
	b := r.Get(key)
	if b == nil {
		return nil, nil
	}
	v := new(T)
	return v, decodeValue(key, b, v)
}

// each decodes the values under a prefix, in the order of their keys.
func each[T any](r store.ShelfReader, prefix string, fn func(key string, v *T)) error {
	for key, b := range r.Scan(prefix) {
		v := new(T)
		if err := decodeValue(key, b, v); err != nil {
			return err
		}
		fn(key, v)
	}
	return nil
}

// deleteAll deletes keys.
func deleteAll(tx store.ShelfTx, keys ...string) error {
	for _, key := range keys {
		if err := tx.Delete(key); err != nil {
			return err
		}
	}
	return nil
}

// getRecord returns nil for a session that does not exist.
func getRecord(r store.ShelfReader, id string) (*record, error) { return get[record](r, keyInfo(id)) }

// keptRecord caches a session's record with its encoded bytes. The record is read before
// and within each transaction, and decoded only if the bytes changed.
type keptRecord struct {
	bytes []byte
	rec   record
}

// get returns a copy of the record, or nil if the session does not exist.
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
	rec := k.rec // a shallow copy: its slices are replaced, never changed in place
	return &rec, nil
}

// put stores a record.
func (k *keptRecord) put(tx store.ShelfTx, rec *record) error {
	if err := put(tx, keyInfo(rec.ID), rec); err != nil {
		return err
	}
	k.bytes, k.rec = append(k.bytes[:0], tx.Get(keyInfo(rec.ID))...), *rec
	return nil
}

// mustRecord is getRecord with ErrNotFound for a session that does not exist.
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

// encoded holds buffers for put. They can be reused because the shelf copies what it is
// given.
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

// decodeValue decodes what put wrote. It does not retain b.
func decodeValue(key string, b []byte, v any) error {
	if err := json.Unmarshal(b, v); err != nil {
		return &ken.Error{Code: ken.CodeCorrupt, Msg: "can't read " + key, Err: err, Try: "Forget that session, or restore the file."}
	}
	return nil
}

// message is an Entry as it is stored; its key has the number.
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

// seqOf returns the number at the end of a message's key.
func seqOf(key string) (seq uint64) {
	for _, c := range []byte(key[max(0, len(key)-20):]) {
		seq = seq*10 + uint64(c-'0')
	}
	return seq
}

// sessionCache caches in this process what is known of a session, so that the messages of a
// long conversation need not be read, cleaned and compared again with each request.
type sessionCache struct {
	id   string
	turn chan struct{} // a lock: holds a token while the cache is free
	raw  rawHash       // guarded by turn, as are the fields below

	digests map[uint64]digest // by rawHash; never stale, because the digest depends on the message alone

	loaded bool // the fields below reflect the session at version stamp
	stamp  sessionVersion
	info   keptRecord
	counts map[digest]int      // number of stored messages by digest, of calls by callOf, of results by answerOf
	order  []digest            // digests of the messages; the last one is number stamp.last
	seqs   []uint64            // numbers of the messages in order
	calls  map[string]uint64   // by call id: number of the last message that made the call
	lines  []knownConversation // conversations of recent requests, latest first

	ignored map[digest]struct{} // messages that must not be stored; recorded nowhere else
	size    atomic.Int64        // cached messages, as of the last release
	weight  int                 // size as counted in Journal.held; guarded by Journal.mu
}

// cacheSnapshot is a saved state of a sessionCache.
type cacheSnapshot struct {
	stamp sessionVersion
	lines []knownConversation
}

func (m *sessionCache) before() cacheSnapshot { return cacheSnapshot{m.stamp, slices.Clone(m.lines)} }

// restore undoes the changes since the snapshot. The stored messages are read again at the
// next load.
func (m *sessionCache) restore(p cacheSnapshot) { m.loaded, m.stamp, m.lines = false, p.stamp, p.lines }

// ignore makes messages count as known, without recording them as stored.
func (m *sessionCache) ignore(fresh []incoming) {
	if m.ignored == nil {
		m.ignored = map[digest]struct{}{}
	}
	for _, x := range fresh {
		m.ignored[x.digest] = struct{}{}
	}
}

// knownConversation is the conversation of an earlier request: the digests of its stored
// messages.
type knownConversation struct {
	digests []digest
	last    uint64         // the journal's last message after the request
	ahead   map[digest]int // messages the journal had by then that may still follow in the conversation, with counts
}

// maxLines is how many conversations of one session are told apart: the main one, and those
// of sub-agents that run beside it under the same id.
const maxLines = 4

func newSessionCache(id string, seed maphash.Seed) *sessionCache {
	m := &sessionCache{id: id, turn: make(chan struct{}, 1), raw: rawHash{seed: seed}, digests: map[uint64]digest{}}
	m.turn <- struct{}{}
	return m
}

// take locks the cache.
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

// load reads the session again unless the cache is up to date.
func (m *sessionCache) load(r store.ShelfReader, rec *record) error {
	if m.loaded && m.stamp == rec.stamp() {
		return nil
	}
	if now := rec.stamp(); now.started != m.stamp.started || now.swept != m.stamp.swept {
		m.lines = nil // otherwise another process only added messages, and the known conversations stay valid
	}
	if m.loaded && m.follow(r, rec) {
		return nil
	}
	m.loaded, m.stamp, m.order, m.seqs = false, rec.stamp(), nil, nil
	m.counts, m.calls = seen(r, m.id), map[string]uint64{}
	err := each(r, allMessages(m.id), func(key string, row *message) {
		e := row.entry(seqOf(key))
		m.note(&e, row.Digest)
	})
	m.loaded = err == nil
	return err
}

// maxFollowed is the largest number of new messages that follow reads one by one.
const maxFollowed = 64

// follow adds the messages that another process wrote since the last load, and reports
// whether that was possible. It spares processes that share a session a full read at every
// turn.
func (m *sessionCache) follow(r store.ShelfReader, rec *record) bool {
	now := rec.stamp()
	if now.started != m.stamp.started || now.swept != m.stamp.swept || now.last <= m.stamp.last || now.last-m.stamp.last > maxFollowed {
		return false
	}
	var rows []*message
	for seq := m.stamp.last + 1; seq <= now.last; seq++ {
		row, err := get[message](r, keyMessage(m.id, seq))
		if row == nil || err != nil {
			return false
		}
		rows = append(rows, row)
	}
	for _, row := range rows {
		m.stamp.last++
		e := row.entry(m.stamp.last)
		m.note(&e, row.Digest)
	}
	return true
}

// note adds a stored message to the cache.
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

// place returns the number of the last message with that digest, or 0 if none is stored. It
// searches from the end, because a request's last message is mostly the journal's last one.
func (m *sessionCache) place(d digest) uint64 {
	for i, o := range slices.Backward(m.order) {
		if o == d {
			return m.seqs[i]
		}
	}
	return 0
}

// since returns the digests of the messages stored after message number seq.
func (m *sessionCache) since(seq uint64) []digest {
	n := int(min(m.stamp.last-min(seq, m.stamp.last), uint64(len(m.order))))
	return m.order[len(m.order)-n:]
}

// incoming is a message of a request with its digest.
type incoming struct {
	raw    *ken.Message
	digest digest
	clean  *ken.Message // nil if the digest was known
}

// read returns the messages that may be stored, with their digests.
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

// fresh returns the messages that the journal does not have yet, and the request as a
// knownConversation that a later request may continue; nil if none may.
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
	// All messages of the known conversation are stored. The rest is new, except messages
	// stored since by another way, such as the model's answer.
	have := maps.Clone(from.ahead)
	if have == nil {
		have = map[digest]int{}
	}
	for _, d := range m.since(from.last) {
		have[d]++
	}
	var out []incoming
	last := false // the last message is new, so no stored message can follow it
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

// compare is fresh for a request that does not continue a known conversation. A message is
// new if the request holds it more often than the journal.
func (m *sessionCache) compare(in []incoming) (out []incoming, l *knownConversation) {
	met, took := map[digest]int{}, map[digest]int{} // counts in this request: all messages, and new ones
	for _, x := range in {
		met[x.digest]++
		isNew := met[x.digest] > m.counts[x.digest]
		answer := dropped
		if id := clean.Text(x.raw.ToolCallID); id != "" {
			// If a call already has a result, another result with other text is the
			// client's edit, for example when it clears old results. Some models use the
			// same call id in several turns, so the number of calls counts.
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
	// If the last message is known, stored messages may follow it, so the conversation
	// can't be used.
	return out, l
}

// begins reports whether a request begins with these digests.
func begins(in []incoming, digests []digest) bool {
	return len(digests) <= len(in) && slices.EqualFunc(in[:len(digests)], digests, func(x incoming, d digest) bool { return x.digest == d })
}

// remember stores the request as a known conversation, in place of those that it continues.
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
			return // an earlier state of a known conversation
		}
	}
	m.lines = slices.DeleteFunc(m.lines, func(o knownConversation) bool { return begins(in, o.digests) })
	m.lines = slices.Insert(m.lines, 0, *l)
	m.lines = m.lines[:min(len(m.lines), maxLines)]
}

// seen reads the counts of the messages that were swept, by digest.
func seen(r store.ShelfReader, id string) map[digest]int {
	counts := map[digest]int{}
	b := r.Get(keySeen(id))
	for ; len(b) >= seenSize; b = b[seenSize:] {
		counts[digest(binary.LittleEndian.Uint64(b))] = int(binary.LittleEndian.Uint32(b[8:]))
	}
	return counts
}

const seenSize = 8 + 4

// writeSeen stores the counts of a session whose messages are swept.
func writeSeen(tx store.ShelfTx, id string, counts map[digest]int) error {
	b := make([]byte, 0, len(counts)*seenSize)
	for _, d := range slices.Sorted(maps.Keys(counts)) {
		b = binary.LittleEndian.AppendUint64(b, uint64(d))
		b = binary.LittleEndian.AppendUint32(b, uint32(counts[d]))
	}
	return tx.Put(keySeen(id), b)
}
