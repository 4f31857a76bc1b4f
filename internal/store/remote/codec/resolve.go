package codec

import (
	"fmt"
	"reflect"
)

// Reader decodes values that another program has encoded, using that program's schema. It
// matches fields by name. A field that only this program has keeps its value in the
// destination. A field that only the other program has is skipped, see UnknownError. A nil
// Reader decodes values of a program with the same types.
type Reader struct {
	plan   *plan
	t      reflect.Type
	strict bool
}

// UnknownError reports that a value has a non-zero field that this program does not know. Only
// strict Readers return it.
type UnknownError struct {
	Field string // name of the field with its type, such as ken.Claim.Text
}

// Error implements error.
func (e *UnknownError) Error() string { return "codec: the field " + e.Field + " is not known" }

// Reader returns a Reader that decodes values of type id of the schema into values of type t.
// Check must have returned nil for the schema. what names the values in errors. If strict is
// set, the Reader returns an UnknownError for a non-zero unknown field. Reader returns an error
// for the first field with another kind of type; the schema must not be used after that.
// Reader is not safe for concurrent use.
func (s *Schema) Reader(id int, t reflect.Type, what string, strict bool) (*Reader, error) {
	if id < 0 || id >= len(s.Types) {
		return nil, fmt.Errorf("codec: a schema has no type %d", id)
	}
	r := resolver{s: s}
	p := r.resolve(id, t, what)
	return &Reader{p, t, strict}, r.err
}

// Decode is like the function Decode, for values that the other program encoded.
func (d *Reader) Decode(b []byte, v any) error {
	if d == nil {
		return Decode(b, v)
	}
	return all(d.DecodeSome(b, v))
}

// DecodeSome is like the function decodeSome, for values that the other program encoded.
func (d *Reader) DecodeSome(b []byte, v any) ([]byte, error) {
	if d == nil {
		return decodeSome(b, v)
	}
	e := reflect.ValueOf(v).Elem()
	if e.Type() != d.t {
		return nil, fmt.Errorf("codec: a reader of %s can't read a %s", d.t, e.Type())
	}
	r := reader{b: b, strict: d.strict}
	d.plan.read(&r, e)
	return r.b, r.err
}

// pair is a type of the schema, by position, and the Go type into which it is decoded.
type pair struct {
	id int
	t  reflect.Type
}

type resolver struct {
	s   *Schema
	err error // the first error
}

// maxGrowth bounds the ratio of a decoded element's size in memory to its minimum encoded
// size, so that a small message can't allocate much memory.
const maxGrowth = 256

// resolve returns the plan that decodes type id of the schema into type t. at names the field
// in errors.
func (m *resolver) resolve(id int, t reflect.Type, at string) *plan {
	if p := m.s.plans[pair{id, t}]; p != nil {
		return p
	}
	theirs, p := m.s.Types[id], &plan{least: m.s.least[id]}
	m.s.plans[pair{id, t}] = p
	switch ours := kindOf(t); {
	case ours != theirs.Kind:
		m.fail("%s is of kind %s there, and of kind %s here", at, theirs.Kind, ours)
	case (ours == kindRaw || ours == kindArray) && t.Len() != theirs.Len:
		m.fail("%s has %d elements there, and %d here", at, theirs.Len, t.Len())
	case ours == kindStruct:
		m.structure(p, theirs.Fields, t)
	case ours == kindList:
		readSlice(p, m.element(theirs.Elem, t.Elem(), at))
	case ours == kindArray:
		readArray(p, m.resolve(theirs.Elem, t.Elem(), at))
	case ours == kindMap:
		readMap(p, t, m.element(theirs.Key, t.Key(), at), m.element(theirs.Elem, t.Elem(), at))
	case ours == kindPointer:
		readPointer(p, t, m.element(theirs.Elem, t.Elem(), at))
	default:
		p.read = planOf(t).read
	}
	return p
}

// element is resolve for elements of lists, maps and pointers, which are allocated during
// decoding. It checks maxGrowth.
func (m *resolver) element(id int, t reflect.Type, at string) *plan {
	if int(t.Size()) > maxGrowth*m.s.least[id] {
		m.fail("%s has too few fields there", at)
	}
	return m.resolve(id, t, at)
}

func (m *resolver) fail(format string, args ...any) {
	if m.err == nil {
		m.err = fmt.Errorf(format, args...)
	}
}

// structure sets the plan of a struct that has the fields theirs in the schema and is decoded
// into type t.
func (m *resolver) structure(p *plan, theirs []Field, t reflect.Type) {
	type field struct {
		index int // index of the field in t; -1 for none
		plan  *plan
	}
	fields := make([]field, len(theirs))
	for i, f := range theirs {
		fields[i].index = -1
		if ours, ok := t.FieldByName(f.Name); ok && len(ours.Index) == 1 {
			fields[i] = field{ours.Index[0], m.resolve(f.Type, ours.Type, t.String()+"."+f.Name)}
		}
	}
	s := m.s
	p.read = func(r *reader, v reflect.Value) {
		if !r.enter() {
			return
		}
		if len(fields) == 0 {
			r.byte()
		}
		for i := 0; i < len(fields) && r.err == nil; i++ {
			if f := fields[i]; f.index >= 0 {
				f.plan.read(r, v.Field(f.index))
				continue
			}
			before := r.b
			r.skip(s, theirs[i].Type)
			if r.err == nil && r.strict && !zero(before[:len(before)-len(r.b)]) {
				r.fail(&UnknownError{t.String() + "." + theirs[i].Name})
			}
		}
		r.leave()
	}
}

// zero reports whether b encodes a zero value. The zero value of every type is encoded as zero
// bytes, and no other value is.
func zero(b []byte) bool {
	for _, c := range b {
		if c != 0 {
			return false
		}
	}
	return true
}

// skip reads past a value of type id of the schema.
func (r *reader) skip(s *Schema, id int) {
	n := 0 // elements still to skip
	switch t := &s.Types[id]; t.Kind {
	case kindBool:
		r.byte()
	case kindInt, kindUint:
		r.uvarint() // signed and unsigned varints have the same framing
	case kindFloat32:
		r.take(4)
	case kindFloat64:
		r.take(8)
	case kindString:
		r.take(r.uvarint())
	case kindBytes:
		n, _ := r.length(1)
		r.take(uint64(n))
	case kindRaw:
		r.take(uint64(t.Len))
	case kindTime:
		r.time()
	case kindPointer:
		n = int(min(r.byte(), 1))
	case kindList, kindMap:
		least := s.least[t.Elem]
		if t.Kind == kindMap {
			least += s.least[t.Key]
		}
		n, _ = r.length(least)
	case kindArray:
		if n = t.Len; n == 0 {
			r.byte()
		}
	case kindStruct:
		if r.enter() && len(t.Fields) == 0 {
			r.byte()
		}
		for i := 0; i < len(t.Fields) && r.err == nil; i++ {
			r.skip(s, t.Fields[i].Type)
		}
		r.leave()
	}
	for t := &s.Types[id]; n > 0 && r.err == nil; n-- {
		if t.Kind == kindMap {
			r.skip(s, t.Key)
		}
		r.skip(s, t.Elem)
	}
}
