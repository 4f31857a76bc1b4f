package receipt

import (
	"encoding"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"fmt"
	"math"
	"math/bits"
	"slices"
	"time"

	"github.com/google/uuid"

	"github.com/kenlayer/ken"
)

// The long lists of a receipt, its items, cuts and ranked candidates, are nine tenths of it
// as JSON. They are kept in a form of a third of that size, which takes half the time to
// write and a quarter of the time to read:
//
//	number    a varint
//	float     the varint of its bits, the last byte first: round numbers are short
//	string    its length and its bytes
//	name      a string of which there are few different ones: 0 and the string, which gets
//	          the next number, or its number
//	id        0 and the 16 bytes of a UUID, or 1 more than its length and its bytes
//	list, map 0 for nil, or 1 more than its length and its elements
//
// coder writes or reads that form. A function for each type lists its fields, for both
// directions. Writing does not change the receipt, which may be read concurrently.
type coder struct {
	reads bool
	b     []byte // output when writing, remaining input when reading
	names []string
	err   error // the first one
}

// lists reads or writes the long lists of a receipt.
func (c *coder) lists(rec *Record) {
	list(c, &rec.Items, (*coder).item)
	list(c, &rec.Cut, (*coder).cut)
	if rec.Ranking != nil {
		list(c, &rec.Ranking.Candidates, (*coder).features)
	}
}

func (c *coder) item(it *ken.Item) {
	c.id(&it.ID)
	c.name(&it.Owner)
	c.string(&it.Key)
	c.name((*string)(&it.Kind))
	c.text(it.Tier, &it.Tier)
	c.text(it.Trust, &it.Trust)
	c.string(&it.Source)
	c.string(&it.Heading)
	c.string(&it.Text)
	c.int(&it.Chars)
	c.float(&it.Fused)
	dict(c, &it.Legs, (*coder).leg)
	dict(c, &it.Signals, (*coder).float)
	c.time(&it.CreatedAt)
	c.bool(&it.Constraint)
	c.bool(&it.Candidate)
	c.name((*string)(&it.NewStatus))
	list(c, &it.Entities, (*coder).string)
	c.string(&it.Aspect)
	c.bool(&it.Memory)
}

func (c *coder) leg(s *ken.LegScore) {
	c.int(&s.Rank)
	c.float(&s.Score)
}

func (c *coder) cut(x *ken.Cut) {
	c.id(&x.ID)
	c.name((*string)(&x.Reason))
	c.string(&x.Detail)
}

func (c *coder) features(f *ken.Features) {
	c.id(&f.ID)
	c.uint32(&f.Entity)
	c.uint32(&f.Aspect)
	c.int(&f.Rank)
	c.bool(&f.Constraint)
	c.int(&f.Distance)
	c.float(&f.Weight)
	c.int(&f.Keyword)
	c.int(&f.Vector)
	c.int(&f.Structure)
	c.float(&f.Score)
	c.text(f.Tier, &f.Tier)
	c.text(f.Trust, &f.Trust)
	c.bool(&f.Document)
	c.bool(&f.Episode)
	c.float(&f.AgeDays)
	c.float(&f.Shown)
	c.float(&f.Used)
	c.float(&f.SlotShown)
	c.float(&f.SlotUsed)
}

var errLists = errors.New("its lists are malformed")

// fail records the first error and stops reading.
func (c *coder) fail(err error) {
	if c.err == nil {
		c.err = err
	}
	c.b = nil
}

func (c *coder) uint(v *uint64) {
	if !c.reads {
		c.b = binary.AppendUvarint(c.b, *v)
		return
	}
	n, size := binary.Uvarint(c.b)
	if size <= 0 {
		c.fail(errLists)
		return
	}
	*v, c.b = n, c.b[size:]
}

func (c *coder) uint32(v *uint32) {
	n := uint64(*v)
	if c.uint(&n); n > math.MaxUint32 {
		c.fail(errLists)
	}
	if c.reads {
		*v = uint32(n)
	}
}

func (c *coder) int(v *int) {
	n := uint64(*v)<<1 ^ uint64(*v>>(bits.UintSize-1)) // zigzag encoding, so that -1 is short too
	if c.uint(&n); c.reads {
		*v = int(n>>1) ^ -int(n&1)
	}
}

func (c *coder) bool(v *bool) {
	n := uint64(0)
	if *v {
		n = 1
	}
	if c.uint(&n); c.reads {
		*v = n != 0
	}
}

// float rejects values that JSON can't represent, because receipts are served as JSON.
func (c *coder) float(v *float64) {
	if math.IsNaN(*v) || math.IsInf(*v, 0) {
		c.fail(fmt.Errorf("%v is no number", *v))
		return
	}
	n := bits.ReverseBytes64(math.Float64bits(*v))
	if c.uint(&n); !c.reads {
		return
	}
	if *v = math.Float64frombits(bits.ReverseBytes64(n)); math.IsNaN(*v) || math.IsInf(*v, 0) {
		c.fail(errLists)
	}
}

func (c *coder) string(v *string) {
	n := uint64(len(*v))
	c.uint(&n)
	c.bytes(v, n)
}

// bytes reads or writes a string of n bytes.
func (c *coder) bytes(v *string, n uint64) {
	switch {
	case !c.reads:
		c.b = append(c.b, *v...)
	case n > uint64(len(c.b)):
		c.fail(errLists)
	default:
		*v, c.b = string(c.b[:n]), c.b[n:]
	}
}

// maxNames is how many names get a number.
const maxNames = 64

func (c *coder) name(v *string) {
	n := uint64(0)
	if !c.reads {
		n = uint64(slices.Index(c.names, *v) + 1)
	}
	c.uint(&n)
	switch {
	case n > uint64(len(c.names)):
		c.fail(errLists)
	case n > 0 && c.reads:
		*v = c.names[n-1]
	case n > 0:
	default:
		if c.string(v); len(c.names) < maxNames {
			c.names = append(c.names, *v)
		}
	}
}

// text codes a value by its name, so that the value's number may change between versions.
func (c *coder) text(of fmt.Stringer, to encoding.TextUnmarshaler) {
	s := ""
	if !c.reads {
		s = of.String()
	}
	c.name(&s)
	if c.reads && c.err == nil {
		if err := to.UnmarshalText([]byte(s)); err != nil {
			c.fail(err)
		}
	}
}

func (c *coder) id(v *string) {
	var u uuid.UUID
	n := uint64(0)
	if !c.reads && !parseUUID(&u, *v) {
		n = uint64(len(*v)) + 1
	}
	c.uint(&n)
	switch {
	case n > 0:
		c.bytes(v, n-1)
	case !c.reads:
		c.b = append(c.b, u[:]...)
	case len(c.b) < len(u):
		c.fail(errLists)
	default:
		*v, c.b = uuid.UUID(c.b[:len(u)]).String(), c.b[len(u):]
	}
}

// parseUUID parses an id in the form that UUID.String writes, and reports whether it has
// that form. uuid.Parse accepts other forms, which would not be read back unchanged.
func parseUUID(u *uuid.UUID, s string) bool {
	if len(s) != 36 || s[8] != '-' || s[13] != '-' || s[18] != '-' || s[23] != '-' {
		return false
	}
	var digits [32]byte
	n := 0
	for _, part := range [...]string{s[:8], s[9:13], s[14:18], s[19:23], s[24:]} {
		n += copy(digits[n:], part)
	}
	for _, d := range digits {
		if 'A' <= d && d <= 'F' {
			return false
		}
	}
	_, err := hex.Decode(u[:], digits[:])
	return err == nil
}

func (c *coder) time(v *time.Time) {
	s := ""
	if !c.reads && !v.IsZero() {
		b, err := v.MarshalBinary()
		if err != nil {
			c.fail(err)
			return
		}
		s = string(b)
	}
	c.string(&s)
	if c.reads && s != "" {
		if err := v.UnmarshalBinary([]byte(s)); err != nil {
			c.fail(err)
		}
	}
}

// length reads or writes the length of a list or map, -1 for nil. When reading, it rejects
// lengths above the bytes left, since an element takes at least one byte.
func (c *coder) length(n int, none bool) int {
	if none {
		n = -1
	}
	v := uint64(n + 1)
	c.uint(&v)
	if c.reads && v > uint64(len(c.b))+1 {
		c.fail(errLists)
	}
	if c.err != nil {
		return -1
	}
	return int(v) - 1
}

func list[T any](c *coder, v *[]T, each func(*coder, *T)) {
	if n := c.length(len(*v), *v == nil); c.reads && n >= 0 {
		*v = make([]T, n)
	}
	for i := range *v {
		each(c, &(*v)[i])
	}
}

func dict[T any](c *coder, v *map[string]T, each func(*coder, *T)) {
	n := c.length(len(*v), *v == nil)
	var few [8]string
	keys := few[:0]
	for key := range *v {
		keys = append(keys, key)
	}
	slices.Sort(keys)
	if c.reads && n >= 0 {
		*v, keys = make(map[string]T, n), make([]string, n)
	}
	var key string
	var value, zero T
	for i := range keys {
		key, value = keys[i], zero
		if !c.reads {
			value = (*v)[key]
		}
		c.name(&key)
		each(c, &value)
		if c.reads {
			(*v)[key] = value
		}
	}
}
