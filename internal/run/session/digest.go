package session

import (
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"hash/maphash"

	"github.com/kenlayer/ken"
)

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
