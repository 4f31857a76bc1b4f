package outline

import (
	"encoding/binary"
	"errors"
	"math"
	"strings"

	"github.com/google/uuid"

	"github.com/kenlayer/ken"
	"github.com/kenlayer/ken/internal/analysis"
	"github.com/kenlayer/ken/store"
)

// About holds what the index needs from a claim. A store can keep it next to the claim,
// so that opening the store need not read the claims.
type About struct {
	Names    []string // as analysis.Entity spells them, without duplicates, the primary one first
	Aspect   string   // as written, without surrounding space
	Strength float64  // the claim's importance
	// Said holds the first 400 words of a rule's heading and text, with case, accents
	// and plural folded. Names are searched in them. It is nil for a claim that is not
	// a rule.
	Said []string
}

// Of returns what a claim is about. It returns false if the index doesn't hold the
// claim: a chunk of the repository, or a claim that has no names and is not a rule.
func Of(c *ken.Claim) (About, bool) {
	if c.Kind == ken.KindDocument || len(c.Entities) == 0 && !c.Constraint {
		return About{}, false
	}
	a := About{Names: analysis.Entities(c.Entities), Aspect: strings.TrimSpace(c.Aspect), Strength: c.Importance}
	rule := c.Constraint && !c.Kind.Structural()
	if rule {
		a.Said = spokenWords(c.Heading + "\n" + c.Text)
	}
	return a, len(a.Names) > 0 || rule
}

// Record is a claim in the index.
type Record struct {
	Ref        store.Ref
	ID         uuid.UUID
	Kind       ken.Kind
	Tier       ken.Tier
	Created    int64 // unix milliseconds
	Constraint bool  // a rule; ignored for structural kinds
	Candidate  bool  // may become a rule; ignored for structural kinds
	About
}

// Version bytes at the start of an encoded About.
const (
	withoutSaid = 1
	withSaid    = 2
)

var errAbout = errors.New("what a record is about makes no sense")

// Append appends the encoding to b:
//
//	version 1 | strength 8 (bits of the float, big endian) | aspect | how many names | each
//
// For a rule, the version is 2, and Said follows at the end: the number of words, and
// each word. A text is its length and its bytes; lengths and counts are varints.
func (a *About) Append(b []byte) []byte {
	version := byte(withoutSaid)
	if a.Said != nil {
		version = withSaid
	}
	b = append(b, version)
	b = binary.BigEndian.AppendUint64(b, math.Float64bits(a.Strength))
	b = appendText(b, a.Aspect)
	b = appendTexts(b, a.Names)
	if a.Said != nil {
		b = appendTexts(b, a.Said)
	}
	return b
}

func appendTexts(b []byte, list []string) []byte {
	b = binary.AppendUvarint(b, uint64(len(list)))
	for _, s := range list {
		b = appendText(b, s)
	}
	return b
}

// Decode reads what Append wrote. The result shares no memory with b.
func Decode(b []byte) (a About, err error) {
	if len(b) < 9 || b[0] != withoutSaid && b[0] != withSaid {
		return a, errAbout
	}
	if a.Strength = math.Float64frombits(binary.BigEndian.Uint64(b[1:])); !(a.Strength >= 0 && a.Strength <= 1) {
		return a, errAbout
	}
	r := reader{b: b[9:]}
	a.Aspect = r.text()
	a.Names = r.texts()
	if b[0] == withSaid {
		if a.Said = r.texts(); a.Said == nil {
			a.Said = []string{}
		}
	}
	if r.bad || len(r.b) > 0 {
		return About{}, errAbout
	}
	return a, nil
}

func appendText(b []byte, s string) []byte {
	return append(binary.AppendUvarint(b, uint64(len(s))), s...)
}

// reader decodes values. After the first invalid value, it returns zero values.
type reader struct {
	b   []byte
	bad bool
}

func (r *reader) number() uint64 {
	n, size := binary.Uvarint(r.b)
	if r.bad || size <= 0 {
		r.bad = true
		return 0
	}
	r.b = r.b[size:]
	return n
}

func (r *reader) text() string {
	n := r.number()
	if n > uint64(len(r.b)) {
		r.bad = true
		return ""
	}
	s := string(r.b[:n])
	r.b = r.b[n:]
	return s
}

// texts returns nil if there are none.
func (r *reader) texts() []string {
	n := r.number()
	if n > uint64(len(r.b)) { // each text takes at least a byte
		r.bad = true
	}
	if r.bad || n == 0 {
		return nil
	}
	out := make([]string, n)
	for i := range out {
		out[i] = r.text()
	}
	return out
}
