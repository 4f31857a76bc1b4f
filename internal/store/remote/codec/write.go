package codec

import (
	"encoding/binary"
	"math"
	"reflect"
	"time"
)

// Append appends the encoding of the value that v points to. v must be a non-nil pointer. It
// panics if the type is not supported.
func Append(b []byte, v any) []byte {
	e := reflect.ValueOf(v).Elem()
	return planOf(e.Type()).write(b, e)
}

func writeBool(b []byte, v reflect.Value) []byte {
	if v.Bool() {
		return append(b, 1)
	}
	return append(b, 0)
}

func writeInt(b []byte, v reflect.Value) []byte  { return binary.AppendVarint(b, v.Int()) }
func writeUint(b []byte, v reflect.Value) []byte { return binary.AppendUvarint(b, v.Uint()) }

func writeFloat32(b []byte, v reflect.Value) []byte {
	return binary.LittleEndian.AppendUint32(b, math.Float32bits(float32(v.Float())))
}

func writeFloat64(b []byte, v reflect.Value) []byte {
	return binary.LittleEndian.AppendUint64(b, math.Float64bits(v.Float()))
}

func writeString(b []byte, v reflect.Value) []byte {
	s := v.String()
	return append(binary.AppendUvarint(b, uint64(len(s))), s...)
}

// The lengths of slices and maps are written plus one; 0 means nil.

func writeBytes(b []byte, v reflect.Value) []byte {
	if v.IsNil() {
		return append(b, 0)
	}
	s := v.Bytes()
	return append(binary.AppendUvarint(b, uint64(len(s))+1), s...)
}

func planSlice(p, elem *plan) {
	readSlice(p, elem)
	p.write = func(b []byte, v reflect.Value) []byte {
		if v.IsNil() {
			return append(b, 0)
		}
		n := v.Len()
		b = binary.AppendUvarint(b, uint64(n)+1)
		for i := range n {
			b = elem.write(b, v.Index(i))
		}
		return b
	}
}

func planMap(p *plan, t reflect.Type, key, elem *plan) {
	readMap(p, t, key, elem)
	p.write = func(b []byte, v reflect.Value) []byte {
		if v.IsNil() {
			return append(b, 0)
		}
		b = binary.AppendUvarint(b, uint64(v.Len())+1)
		for it := v.MapRange(); it.Next(); {
			b = elem.write(key.write(b, it.Key()), it.Value())
		}
		return b
	}
}

func planPointer(p *plan, t reflect.Type, elem *plan) {
	readPointer(p, t, elem)
	p.write = func(b []byte, v reflect.Value) []byte {
		if v.IsNil() {
			return append(b, 0)
		}
		return elem.write(append(b, 1), v.Elem())
	}
}

// The first byte of an encoded time, and what follows it. The instant and the zone's offset
// are preserved; the zone's name and the monotonic clock reading are not.
const (
	timeZero  = iota // the zero time: nothing follows
	timeUTC          // seconds, nanoseconds
	timeZoned        // seconds, nanoseconds, offset in seconds
)

func writeTime(b []byte, v reflect.Value) []byte {
	t := v.Interface().(time.Time)
	if t == (time.Time{}) { //nolint:staticcheck // the zero time of another zone keeps its zone
		return append(b, timeZero)
	}
	utc := t.Location() == time.UTC
	if utc {
		b = append(b, timeUTC)
	} else {
		b = append(b, timeZoned)
	}
	b = binary.AppendVarint(b, t.Unix())
	b = binary.AppendUvarint(b, uint64(t.Nanosecond()))
	if !utc {
		_, offset := t.Zone()
		b = binary.AppendVarint(b, int64(offset))
	}
	return b
}
