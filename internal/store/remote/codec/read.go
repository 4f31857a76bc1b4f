package codec

import (
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"reflect"
	"time"
)

// Decode reads into what v points to, which must be all that b holds. What it
// makes shares no memory with b. After an error the value is of no use.
func Decode(b []byte, v any) error {
	rest, err := DecodeSome(b, v)
	if err == nil && len(rest) > 0 {
		err = fmt.Errorf("codec: %d bytes too many", len(rest))
	}
	return err
}

// DecodeSome is Decode for bytes that go on behind the value; it returns the rest.
func DecodeSome(b []byte, v any) ([]byte, error) {
	e := reflect.ValueOf(v).Elem()
	r := reader{b: b}
	planOf(e.Type()).read(&r, e)
	return r.b, r.err
}

var (
	errShort = errors.New("codec: the bytes end too early")
	errValue = errors.New("codec: a value is out of its type's range")
	errDeep  = errors.New("codec: values lie too deep in one another")
)

// maxDepth bounds how deep structs may lie in one another.
const maxDepth = 64

// reader is what is left to read. After the first error every read gives zero.
type reader struct {
	b     []byte
	err   error
	depth int
}

func (r *reader) fail(err error) {
	if r.err == nil {
		r.err, r.b = err, nil
	}
}

func (r *reader) enter() bool {
	if r.depth++; r.depth > maxDepth {
		r.fail(errDeep)
	}
	return r.err == nil
}

func (r *reader) leave() { r.depth-- }

func (r *reader) byte() byte {
	if len(r.b) == 0 {
		r.fail(errShort)
		return 0
	}
	c := r.b[0]
	r.b = r.b[1:]
	return c
}

// take returns the next n bytes, which are the input's own; always n of them.
func (r *reader) take(n uint64) []byte {
	if n > uint64(len(r.b)) {
		r.fail(errShort)
		return make([]byte, min(n, 64)) // only a fixed small size goes on with them
	}
	s := r.b[:n:n]
	r.b = r.b[n:]
	return s
}

func (r *reader) uvarint() uint64 {
	n, size := binary.Uvarint(r.b)
	if size <= 0 {
		r.fail(errShort)
		return 0
	}
	r.b = r.b[size:]
	return n
}

func (r *reader) varint() int64 {
	n, size := binary.Varint(r.b)
	if size <= 0 {
		r.fail(errShort)
		return 0
	}
	r.b = r.b[size:]
	return n
}

// length reads how many elements follow, each of at least so many bytes, and false
// for nil.
func (r *reader) length(least int) (int, bool) {
	n := r.uvarint()
	if n == 0 {
		return 0, false
	}
	n--
	if n > uint64(len(r.b))/uint64(max(1, least)) {
		r.fail(errShort)
		return 0, true
	}
	return int(n), true
}

func readBool(r *reader, v reflect.Value) { v.SetBool(r.byte() != 0) }

func readInt(r *reader, v reflect.Value) {
	n := r.varint()
	if v.OverflowInt(n) {
		r.fail(errValue)
		return
	}
	v.SetInt(n)
}

func readUint(r *reader, v reflect.Value) {
	n := r.uvarint()
	if v.OverflowUint(n) {
		r.fail(errValue)
		return
	}
	v.SetUint(n)
}

func readFloat32(r *reader, v reflect.Value) {
	v.SetFloat(float64(math.Float32frombits(binary.LittleEndian.Uint32(r.take(4)))))
}

func readFloat64(r *reader, v reflect.Value) {
	v.SetFloat(math.Float64frombits(binary.LittleEndian.Uint64(r.take(8))))
}

func readString(r *reader, v reflect.Value) {
	s := r.take(r.uvarint())
	if r.err == nil {
		v.SetString(string(s))
	}
}

func readBytes(r *reader, v reflect.Value) {
	n, some := r.length(1)
	if !some || r.err != nil {
		v.SetZero()
		return
	}
	v.SetBytes(append(make([]byte, 0, n), r.take(uint64(n))...))
}

func readTime(r *reader, v reflect.Value) {
	var t time.Time
	switch how := r.byte(); how {
	case timeZero:
	case timeUTC, timeZoned:
		sec, nsec := r.varint(), r.uvarint()
		if nsec >= 1e9 {
			r.fail(errValue)
			return
		}
		if t = time.Unix(sec, int64(nsec)).UTC(); how == timeUTC {
			break
		}
		offset := r.varint()
		if offset <= -24*60*60 || offset >= 24*60*60 {
			r.fail(errValue)
			return
		}
		t = t.In(time.FixedZone("", int(offset)))
	default:
		r.fail(errValue)
		return
	}
	v.Set(reflect.ValueOf(t))
}
