package codec

import (
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"reflect"
	"time"
)

// Decode decodes b into the value that v points to. Bytes left over are an error. The value
// shares no memory with b. After an error the value may be incomplete.
func Decode(b []byte, v any) error {
	return all(decodeSome(b, v))
}

// all returns an error if err is nil and rest is not empty. Otherwise it returns err.
func all(rest []byte, err error) error {
	if err == nil && len(rest) > 0 {
		err = fmt.Errorf("codec: %d bytes too many", len(rest))
	}
	return err
}

// decodeSome is like Decode, but b may continue after the value. It returns the bytes left.
func decodeSome(b []byte, v any) ([]byte, error) {
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

// maxDepth bounds how deep structs may be nested.
const maxDepth = 64

// reader reads from b, which holds the bytes left. After the first error every read returns
// zero.
type reader struct {
	b      []byte
	err    error
	depth  int32
	strict bool // see UnknownError; set by a Reader
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

// take returns the next n bytes, which share memory with the input. If fewer than n are
// left, it fails and returns min(n, 64) zero bytes.
func (r *reader) take(n uint64) []byte {
	if n > uint64(len(r.b)) {
		r.fail(errShort)
		return make([]byte, min(n, 64)) // callers that need all n bytes after an error ask for few
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

// length reads the number of elements of a slice or map, and returns false for nil. least is
// the minimum size of an element in bytes; a number that the bytes left can't hold is an
// error.
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

func readSlice(p, elem *plan) {
	p.read = func(r *reader, v reflect.Value) {
		n, some := r.length(elem.least)
		if !some {
			v.SetZero()
			return
		}
		v.Set(reflect.MakeSlice(v.Type(), n, n))
		for i := 0; i < n && r.err == nil; i++ {
			elem.read(r, v.Index(i))
		}
	}
}

func readMap(p *plan, t reflect.Type, key, elem *plan) {
	p.read = func(r *reader, v reflect.Value) {
		n, some := r.length(key.least + elem.least)
		if !some {
			v.SetZero()
			return
		}
		m := reflect.MakeMapWithSize(t, n)
		for i := 0; i < n && r.err == nil; i++ {
			k, e := reflect.New(t.Key()).Elem(), reflect.New(t.Elem()).Elem()
			key.read(r, k)
			elem.read(r, e)
			m.SetMapIndex(k, e)
		}
		v.Set(m)
	}
}

func readPointer(p *plan, t reflect.Type, elem *plan) {
	p.read = func(r *reader, v reflect.Value) {
		if r.byte() == 0 {
			v.SetZero()
			return
		}
		e := reflect.New(t.Elem())
		elem.read(r, e.Elem())
		v.Set(e)
	}
}

func readArray(p, elem *plan) {
	p.read = func(r *reader, v reflect.Value) {
		if v.Len() == 0 {
			r.byte()
		}
		for i := 0; i < v.Len() && r.err == nil; i++ {
			elem.read(r, v.Index(i))
		}
	}
}

func readTime(r *reader, v reflect.Value) { v.Set(reflect.ValueOf(r.time())) }

func (r *reader) time() (t time.Time) {
	switch how := r.byte(); how {
	case timeZero:
	case timeUTC, timeZoned:
		sec, nsec := r.varint(), r.uvarint()
		if nsec >= 1e9 {
			r.fail(errValue)
			return t
		}
		if t = time.Unix(sec, int64(nsec)).UTC(); how == timeUTC {
			break
		}
		offset := r.varint()
		if offset <= -24*60*60 || offset >= 24*60*60 {
			r.fail(errValue)
			return t
		}
		t = t.In(time.FixedZone("", int(offset)))
	default:
		r.fail(errValue)
	}
	return t
}
