package scip

import (
	"errors"

	"google.golang.org/protobuf/encoding/protowire"
)

// The parts of SCIP's messages that are used. Byte slices share memory with the message.

type metadata struct{ tool, version, root string }

type document struct {
	path, language string
	text           []byte
	encoding       uint64
	occurrences    []occurrence
	symbols        []information
}

type occurrence struct {
	at        span
	symbol    []byte
	roles     uint64
	enclosing span
}

// span is a range of characters, counted from 0, with the end excluded. In none, all fields are -1.
type span struct{ line, col, endLine, endCol int }

var none = span{-1, -1, -1, -1}

type information struct {
	symbol    []byte
	kind      uint64
	relations []relation
}

type relation struct {
	symbol                               []byte
	reference, implementation, typeOfIts bool
}

var errWire = errors.New("a message is truncated or has a field of the wrong type")

// fields calls f with each field of a message: with a number for a varint, with bytes for a field with a length. It
// skips other fields.
func fields(b []byte, f func(num protowire.Number, n uint64, v []byte) error) error {
	for len(b) > 0 {
		num, typ, size := protowire.ConsumeTag(b)
		if size < 0 {
			return errWire
		}
		b = b[size:]
		var n uint64
		var v []byte
		switch typ {
		case protowire.VarintType:
			n, size = protowire.ConsumeVarint(b)
		case protowire.BytesType:
			v, size = protowire.ConsumeBytes(b)
		default:
			size = protowire.ConsumeFieldValue(num, typ, b)
		}
		if size < 0 {
			return errWire
		}
		b = b[size:]
		if typ == protowire.VarintType || typ == protowire.BytesType {
			if err := f(num, n, v); err != nil {
				return err
			}
		}
	}
	return nil
}

func readMetadata(b []byte) (m metadata, err error) {
	tool := func(b []byte) error { return read(b, &m.tool, &m.version) }
	err = read(b, nil, tool, &m.root)
	return m, err
}

// read stores the fields of a message, in the order of their numbers from 1 on. A field with the value nil is skipped, a
// function is called with the message in the field.
func read(b []byte, into ...any) error {
	return fields(b, func(num protowire.Number, n uint64, v []byte) error {
		if int(num) > len(into) {
			return nil
		}
		switch to := into[num-1].(type) {
		case *string:
			*to = string(v)
		case *[]byte:
			*to = v
		case *uint64:
			*to = n
		case *bool:
			*to = n != 0
		case func([]byte) error:
			return to(v)
		}
		return nil
	})
}

func readDocument(b []byte) (d document, err error) {
	occurrences := func(b []byte) error {
		o, err := readOccurrence(b)
		if len(o.symbol) > 0 && o.at != none { // others are for highlighting and diagnostics
			d.occurrences = append(d.occurrences, o)
		}
		return err
	}
	symbols := func(b []byte) error {
		s, err := readInformation(b)
		d.symbols = append(d.symbols, s)
		return err
	}
	err = read(b, &d.path, occurrences, symbols, &d.language, &d.text, &d.encoding)
	return d, err
}

func readOccurrence(b []byte) (o occurrence, err error) {
	var at, around [4]int64
	var nAt, nAround int
	err = fields(b, func(num protowire.Number, n uint64, v []byte) error {
		switch num {
		case 1:
			return numbers(&at, &nAt, n, v)
		case 2:
			o.symbol = v
		case 3:
			o.roles = n
		case 7:
			return numbers(&around, &nAround, n, v)
		}
		return nil
	})
	o.at, o.enclosing = spanOf(at, nAt), spanOf(around, nAround)
	return o, err
}

// numbers reads repeated numbers, packed or one by one. Only the first four are stored; count counts all, and more than
// four are not a valid range.
func numbers(to *[4]int64, count *int, n uint64, packed []byte) error {
	add := func(n uint64) {
		if *count < len(to) {
			to[*count] = int64(int32(n)) //nolint:gosec // the field is an int32
		}
		*count++
	}
	if packed == nil {
		add(n)
		return nil
	}
	for len(packed) > 0 {
		n, size := protowire.ConsumeVarint(packed)
		if size < 0 {
			return errWire
		}
		packed = packed[size:]
		add(n)
	}
	return nil
}

func spanOf(n [4]int64, count int) span {
	s := span{int(n[0]), int(n[1]), int(n[2]), int(n[3])}
	switch count {
	case 3:
		s.endLine, s.endCol = s.line, int(n[2])
	case 4:
	default:
		return none
	}
	if s.line < 0 || s.col < 0 || s.endLine < s.line || s.endCol < 0 || s.endLine == s.line && s.endCol < s.col {
		return none
	}
	return s
}

func readInformation(b []byte) (s information, err error) {
	relations := func(b []byte) error {
		var r relation
		err := read(b, &r.symbol, &r.reference, &r.implementation, &r.typeOfIts)
		s.relations = append(s.relations, r)
		return err
	}
	err = read(b, &s.symbol, nil, nil, relations, &s.kind)
	return s, err
}
