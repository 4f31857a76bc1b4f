package store

import (
	"context"
	"crypto/sha256"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/google/uuid"

	"github.com/kenlayer/ken"
)

// Event is one entry of an owner's log. Its hash covers the previous hash, its own
// header, and a salted hash of its payload. So the chain still verifies after a payload
// is erased. The salt is erased with the payload, so that the remaining hash can't
// confirm a guess of the payload.
type Event struct {
	Seq     uint64 // from 1, without gaps
	At      time.Time
	Type    ken.EventType
	Claim   uuid.UUID // the claim that it is about
	Payload []byte    // JSON of a Payload; nil once erased
	Salt    [16]byte  // zero once erased

	PayloadHash [sha256.Size]byte
	Hash        [sha256.Size]byte
}

// Payload is the content of an event. Its type decides which fields are set.
type Payload struct {
	Claim    json.RawMessage  `json:"claim,omitempty"` // written, revised: the whole claim
	Prior    []ken.ClaimEvent `json:"prior,omitempty"` // written by an import: its earlier history
	From     ken.Status       `json:"from,omitempty"`
	To       ken.Status       `json:"to,omitempty"`
	Reason   string           `json:"reason,omitempty"`
	Evidence []ken.Evidence   `json:"evidence,omitempty"`
	Other    string           `json:"other,omitempty"` // superseded: the successor
	Actor    ken.Actor        `json:"actor,omitzero"`

	Assignment *Assigned `json:"assignment,omitempty"` // assigned
}

// Erased reports whether the payload was erased.
func (e *Event) Erased() bool { return e.Payload == nil }

// Decode returns the payload. An erased one is empty.
func (e *Event) Decode() (Payload, error) {
	var p Payload
	if e.Erased() {
		return p, nil
	}
	if err := json.Unmarshal(e.Payload, &p); err != nil {
		return p, &ken.Error{Code: ken.CodeCorrupt, Msg: fmt.Sprintf("read payload of event %d", e.Seq), Err: err}
	}
	return p, nil
}

// Seal computes the payload's hash and the chain hash after prev.
func (e *Event) Seal(prev [sha256.Size]byte) {
	h := sha256.New()
	h.Write(e.Salt[:])
	h.Write(e.Payload)
	h.Sum(e.PayloadHash[:0])
	e.Hash = e.chain(prev)
}

// Follow links the event to another predecessor, given by its hash. The hash of the
// payload stays the same.
func (e *Event) Follow(prev [sha256.Size]byte) { e.Hash = e.chain(prev) }

// Erase removes payload and salt. The chain stays valid.
func (e *Event) Erase() {
	e.Payload, e.Salt = nil, [16]byte{}
}

// Verify returns an error if the event does not follow prev in the chain, or if its
// payload, unless erased, was changed.
func (e *Event) Verify(prev [sha256.Size]byte) error {
	if !e.Erased() {
		again := *e
		again.Seal(prev)
		if again.PayloadHash != e.PayloadHash {
			return fmt.Errorf("event %d: the payload was changed", e.Seq)
		}
	}
	if e.chain(prev) != e.Hash {
		return fmt.Errorf("event %d: the chain is broken: the header was changed, or an event before it is missing", e.Seq)
	}
	return nil
}

func (e *Event) chain(prev [sha256.Size]byte) (sum [sha256.Size]byte) {
	h := sha256.New()
	h.Write(prev[:])
	var n [8]byte
	binary.BigEndian.PutUint64(n[:], e.Seq)
	h.Write(n[:])
	binary.BigEndian.PutUint64(n[:], uint64(e.At.UnixNano()))
	h.Write(n[:])
	h.Write([]byte(e.Type))
	h.Write([]byte{0})
	h.Write(e.Claim[:])
	h.Write(e.PayloadHash[:])
	h.Sum(sum[:0])
	return sum
}

// eventVersion is the first byte of every encoded event.
const eventVersion = 1

var errEventShort = errors.New("event is cut short")

// MarshalBinary encodes the event without its sequence number, which is its key:
//
//	version 1 | at 8 (unix ns, big endian) | claim 16 | salt 16 | payload hash 32 | hash 32
//	| type length 1, type | erased 1 | payload
func (e *Event) MarshalBinary() ([]byte, error) {
	b := make([]byte, 0, 108+len(e.Type)+len(e.Payload))
	b = append(b, eventVersion)
	b = binary.BigEndian.AppendUint64(b, uint64(e.At.UnixNano()))
	b = append(b, e.Claim[:]...)
	b = append(b, e.Salt[:]...)
	b = append(b, e.PayloadHash[:]...)
	b = append(b, e.Hash[:]...)
	b = append(b, byte(len(e.Type)))
	b = append(b, e.Type...)
	if e.Erased() {
		return append(b, 1), nil
	}
	b = append(b, 0)
	return append(b, e.Payload...), nil
}

// UnmarshalBinary decodes what MarshalBinary wrote; the result shares no memory
// with b. The caller sets Seq.
func (e *Event) UnmarshalBinary(b []byte) error {
	const head = 1 + 8 + 16 + 16 + 32 + 32 + 1
	if len(b) < head {
		return errEventShort
	}
	if b[0] != eventVersion {
		return fmt.Errorf("event has layout %d; this program reads %d", b[0], eventVersion)
	}
	e.At = time.Unix(0, int64(binary.BigEndian.Uint64(b[1:]))).UTC()
	copy(e.Claim[:], b[9:])
	copy(e.Salt[:], b[25:])
	copy(e.PayloadHash[:], b[41:])
	copy(e.Hash[:], b[73:])
	n := int(b[head-1])
	if len(b) < head+n+1 {
		return errEventShort
	}
	e.Type = ken.EventType(b[head : head+n])
	e.Payload = nil
	if b[head+n] == 0 {
		e.Payload = append([]byte{}, b[head+n+1:]...)
	}
	return nil
}

// CommitsKept is the minimum time for which a store keeps the id of a write, and thus
// how long a caller may repeat the write.
const CommitsKept = 15 * time.Minute

type commitKey struct{}

// WithCommit gives an id to the write that uses the context, to claims or to a shelf.
// A store on disk keeps the id with the change, in one transaction, for CommitsKept. A
// second write with the same id changes nothing and returns the first one's result, so
// a caller that lost the answer may repeat the call. The id is a UUID of version 7 and
// names one write.
func WithCommit(ctx context.Context, id uuid.UUID) context.Context {
	return context.WithValue(ctx, commitKey{}, id)
}

// CommitOf returns the id that WithCommit set; the nil UUID for none.
func CommitOf(ctx context.Context) uuid.UUID {
	id, _ := ctx.Value(commitKey{}).(uuid.UUID)
	return id
}

type eraseKey struct{}

// EraseLater makes a Forget with this context skip rewriting the files, which still
// contain the words afterwards. Readers no longer see the claims. The caller calls
// Compact once, after it has deleted everything.
func EraseLater(ctx context.Context) context.Context { return context.WithValue(ctx, eraseKey{}, true) }

// ErasesLater reports whether EraseLater was called on the context.
func ErasesLater(ctx context.Context) bool { return ctx.Value(eraseKey{}) != nil }

// Assigned records an assignment: the new values and the previous ones, so that the
// history shows the change.
type Assigned struct {
	Filed
	Was Filed `json:"was,omitzero"`
}

// Filed holds the fields of a claim that say what it is about.
type Filed struct {
	By         ken.Assigner `json:"by,omitempty"`
	Entities   []string     `json:"entities,omitempty"`
	Aspect     string       `json:"aspect,omitempty"`
	Constraint bool         `json:"constraint,omitempty"`
	Candidate  bool         `json:"rule_candidate,omitempty"`
}

// IsZero reports whether a claim is not filed at all.
func (f Filed) IsZero() bool {
	return f.By == "" && f.Aspect == "" && !f.Constraint && !f.Candidate && len(f.Entities) == 0
}

// String describes it in words, for the history.
func (f Filed) String() string {
	var parts []string
	if len(f.Entities) > 0 {
		parts = append(parts, "about "+strings.Join(f.Entities, ", "))
	}
	if f.Aspect != "" {
		parts = append(parts, "aspect "+f.Aspect)
	}
	if f.Constraint {
		parts = append(parts, "constraint")
	}
	if f.Candidate {
		parts = append(parts, "candidate rule")
	}
	if len(parts) == 0 {
		parts = append(parts, "about nothing")
	}
	return strings.Join(parts, ", ")
}
