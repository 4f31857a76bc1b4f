package middleware

import (
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"hash"

	"github.com/kenlayer/ken"
)

// fingerprint names a conversation up to and including one message. Two
// requests that begin with the same messages have the same fingerprints that far.
type fingerprint [16]byte

func (f fingerprint) String() string { return hex.EncodeToString(f[:]) }

// fingerprints are those of a conversation after each of its messages.
type fingerprints struct {
	whole []fingerprint // of all messages
	// said leaves the instructions out: clients write the time, the branch or the open
	// files into them, and what was said stays what it was.
	said  []fingerprint
	sizes []int64 // of each message, in bytes, as far as the layer sees it
}

// visible returns the limits of what a turn may see, as text. They are part of each
// fingerprint, so that a block never appears where its items may not be seen.
func visible(t *ken.Turn) string {
	s := t.Owner + "\x00" + t.Weight.String()
	if t.Scopes != nil { // nil sees every scope, an empty list none
		s += "\x00"
	}
	for _, scope := range t.Scopes {
		s += "\x00" + scope.String()
	}
	return s
}

// fingerprintsOf returns the fingerprints of a turn's messages. Each message is read once.
func fingerprintsOf(t *ken.Turn) fingerprints {
	n := len(t.Messages)
	both := make([]fingerprint, 2*n)
	p := fingerprints{whole: both[:n:n], said: both[n:], sizes: make([]int64, n)}
	of, chain := sha256.New(), sha256.New()
	whole := sha256.Sum256([]byte(visible(t)))
	said := whole
	var sum [sha256.Size]byte
	add := func(to *[sha256.Size]byte) {
		chain.Reset()
		chain.Write(to[:])
		chain.Write(sum[:])
		chain.Sum(to[:0])
	}
	for i := range t.Messages {
		m := &t.Messages[i]
		of.Reset()
		p.sizes[i] = digest(of, m)
		of.Sum(sum[:0])
		add(&whole)
		if m.Role != "system" && m.Role != "developer" {
			add(&said)
		}
		copy(p.whole[i][:], whole[:])
		copy(p.said[i][:], said[:])
	}
	if t.Session == "" { // nothing else tells two programs apart
		p.said = p.whole
	}
	return p
}

// digestPart is the most bytes of a text that are hashed at once.
const digestPart = 32 << 10

// digest feeds a message to h, each field led by its length, so that no two
// messages feed the same bytes.
func digest(h hash.Hash, m *ken.Message) (n int64) {
	var size [8]byte
	var part []byte
	field := func(s string) {
		binary.LittleEndian.PutUint64(size[:], uint64(len(s)))
		h.Write(size[:])
		n += int64(len(s))
		if len(s) > digestPart { // a copy of it all would be another request's worth of memory
			if part == nil {
				part = make([]byte, digestPart)
			}
			for len(s) > len(part) {
				h.Write(part[:copy(part, s)])
				s = s[len(part):]
			}
		}
		h.Write([]byte(s))
	}
	field(m.Role)
	field(m.Name)
	field(m.ToolCallID)
	switch {
	case len(m.Parts) == 0:
		field(m.Text)
	case len(m.Parts) == 1 && m.Parts[0].Type == "text":
		// The same said otherwise: clients turn a string into a part to mark it for the
		// provider's cache, and back when the mark moves on.
		field(m.Parts[0].Text)
	default:
		for _, p := range m.Parts {
			field(p.Type)
			field(p.Text)
			field(p.Ref)
		}
	}
	for _, c := range m.ToolCalls {
		field(c.ID)
		field(c.Name)
		field(c.Arguments)
	}
	return n
}
