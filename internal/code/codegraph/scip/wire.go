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
	err = fields(b, func(num protowire.Number, _ uint64, v []byte) error {
		switch num {
		case 2:
			return fields(v, func(num protowire.Number, _ uint64, v []byte) error {
				switch num {
				case 1:
					m.tool = string(v)
				case 2:
					m.version = string(v)
				}
				return nil
			})
		case 3:
			m.root = string(v)
		}
		return nil
	})
	return m, err
}

func readDocument(b []byte) (d document, err error) {
	err = fields(b, func(num protowire.Number, n uint64, v []byte) error {
		switch num {
		case 1:
			d.path = string(v)
		case 2:
			o, err := readOccurrence(v)
			if len(o.symbol) > 0 && o.at != none { // others are for highlighting and diagnostics
				d.occurrences = append(d.occurrences, o)
			}
			return err
		case 3:
			s, err := readInformation(v)
			d.symbols = append(d.symbols, s)
			return err
		case 4:
			d.language = string(v)
		case 5:
			d.text = v
		case 6:
			d.encoding = n
		}
		return nil
	})
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
	err = fields(b, func(num protowire.Number, n uint64, v []byte) error {
		switch num {
		case 1:
			s.symbol = v
		case 4:
			r, err := readRelation(v)
			s.relations = append(s.relations, r)
			return err
		case 5:
			s.kind = n
		}
		return nil
	})
	return s, err
}

func readRelation(b []byte) (r relation, err error) {
	err = fields(b, func(num protowire.Number, n uint64, v []byte) error {
		switch num {
		case 1:
			r.symbol = v
		case 2:
			r.reference = n != 0
		case 3:
			r.implementation = n != 0
		case 4:
			r.typeOfIts = n != 0
		}
		return nil
	})
	return r, err
}
