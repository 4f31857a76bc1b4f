package remotetest

import (
	"encoding/binary"

	"github.com/kenlayer/ken/internal/store/remote/codec"
)

// converter converts encoded values from one schema to another. Its input comes from this
// build and is assumed to be valid; it panics on invalid input.
type converter struct {
	from, to  Schema
	fill      bool // set fields that only the other schema has to non-zero values
	fromClass int  // types of the classes of a sight, in from and in to
	toClass   int
}

// deepest bounds the nesting of non-zero values that make creates.
const deepest = 3

// convert reads a value of type a of c.from and appends it to out as a value of type b of
// c.to. If b < 0, it skips the value.
func (c *converter) convert(out []byte, in *reader, a, b int) []byte {
	t := c.from.Types[a]
	var u codec.Type
	if b >= 0 {
		u = c.to.Types[b]
	}
	within := func(a, b func(codec.Type) int) {
		if u.Kind == "" {
			c.convert(nil, in, a(t), -1)
			return
		}
		out = c.convert(out, in, a(t), b(u))
	}
	key, elem := func(t codec.Type) int { return t.Key }, func(t codec.Type) int { return t.Elem }
	switch t.Kind {
	case "bool":
		return append(out, in.take(1)...)
	case "int", "uint":
		return binary.AppendUvarint(out, in.uvarint())
	case "float32":
		return append(out, in.take(4)...)
	case "float64":
		return append(out, in.take(8)...)
	case "raw":
		return append(out, in.take(t.Len)...)
	case "string":
		n := in.uvarint()
		return append(binary.AppendUvarint(out, n), in.take(int(n))...)
	case "bytes":
		n := in.uvarint()
		return append(binary.AppendUvarint(out, n), in.take(max(0, int(n)-1))...)
	case "time":
		how := in.take(1)
		if out = append(out, how...); how[0] == 0 {
			return out
		}
		out = binary.AppendUvarint(out, in.uvarint())
		out = binary.AppendUvarint(out, in.uvarint())
		if how[0] == 2 {
			out = binary.AppendUvarint(out, in.uvarint())
		}
	case "pointer":
		some := in.take(1)
		if out = append(out, some...); some[0] != 0 {
			within(elem, elem)
		}
	case "list", "map":
		n := in.uvarint()
		out = binary.AppendUvarint(out, n)
		for ; n > 1; n-- {
			if t.Kind == "map" {
				within(key, key)
			}
			within(elem, elem)
		}
	case "array":
		if t.Len == 0 {
			return append(out, in.take(1)...)
		}
		for range t.Len {
			within(elem, elem)
		}
	case "struct":
		return c.structure(out, in, t, u)
	}
	return out
}

func (c *converter) structure(out []byte, in *reader, t, u codec.Type) []byte {
	if len(t.Fields) == 0 {
		in.take(1)
	}
	values := map[string]reader{}
	types := map[string]int{}
	for _, f := range t.Fields {
		before := in.b
		c.convert(nil, in, f.Type, -1)
		values[f.Name], types[f.Name] = reader{before[:len(before)-len(in.b)]}, f.Type
	}
	if u.Kind == "" {
		return out
	}
	if len(u.Fields) == 0 {
		return append(out, 0)
	}
	for _, f := range u.Fields {
		v, known := values[f.Name]
		switch {
		case !known:
			out = c.make(out, f.Type, c.fill, deepest)
		case f.Name == "Sight" && c.to.Types[f.Type].Kind == "bytes":
			out = c.sight(out, &v)
		default:
			out = c.convert(out, &v, types[f.Name], f.Type)
		}
	}
	return out
}

// sight converts the classes at the beginning of a sight.
func (c *converter) sight(out []byte, in *reader) []byte {
	n := in.uvarint()
	if n < 2 {
		return binary.AppendUvarint(out, n)
	}
	classes := in.uvarint()
	b := binary.AppendUvarint(nil, classes)
	for ; classes > 0; classes-- {
		b = c.convert(b, in, c.fromClass, c.toClass)
	}
	b = append(b, in.b...)
	return append(binary.AppendUvarint(out, uint64(len(b)+1)), b...)
}

// make appends a value of type id of c.to: the zero value, or a non-zero value if full is
// set and depth > 0.
func (c *converter) make(out []byte, id int, full bool, depth int) []byte {
	t := c.to.Types[id]
	full = full && depth > 0
	var one byte
	if full {
		one = 1
	}
	switch t.Kind {
	case "bool", "int", "uint":
		return append(out, one)
	case "float32":
		return append(out, one, 0, 0, 0)
	case "float64":
		return append(out, one, 0, 0, 0, 0, 0, 0, 0)
	case "raw":
		return append(out, make([]byte, t.Len)...)
	case "string":
		if full {
			return append(append(out, 5), "later"...)
		}
	case "bytes":
		if full {
			return append(out, 2, 'x')
		}
	case "time":
		if full {
			return append(out, 2, 8, 9, 60)
		}
	case "pointer":
		if full {
			return c.make(append(out, 1), t.Elem, full, depth-1)
		}
	case "list":
		if full {
			return c.make(append(out, 2), t.Elem, full, depth-1)
		}
	case "map":
		if full {
			return c.make(c.make(append(out, 2), t.Key, full, depth-1), t.Elem, full, depth-1)
		}
	case "array":
		for range t.Len {
			out = c.make(out, t.Elem, full, depth-1)
		}
		if t.Len > 0 {
			return out
		}
	case "struct":
		for _, f := range t.Fields {
			out = c.make(out, f.Type, full, depth-1)
		}
		if len(t.Fields) > 0 {
			return out
		}
	}
	return append(out, 0)
}

// reader reads from b, which holds the bytes left.
type reader struct{ b []byte }

func (r *reader) take(n int) []byte {
	s := r.b[:n]
	r.b = r.b[n:]
	return s
}

func (r *reader) uvarint() uint64 {
	n, size := binary.Uvarint(r.b)
	if size <= 0 {
		panic("a number is cut off")
	}
	r.b = r.b[size:]
	return n
}
