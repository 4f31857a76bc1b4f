package wire

import (
	"encoding/binary"
	"strconv"
	"strings"
	"unicode/utf16"
	"unicode/utf8"
)

// value is a JSON value in a document that valid accepted. The zero value is no value. It stores
// only its position and parses on demand, so parts that the layer does not use, such as a tool's
// schema, are skipped.
type value struct {
	doc      string
	pos, end int
}

// document returns the value of a document, without surrounding white space.
func document(doc string) value {
	pos := skipSpace(doc, 0)
	return value{doc, pos, valueEnd(doc, pos)}
}

func (v value) exists() bool   { return v.end > v.pos }
func (v value) isString() bool { return v.starts('"') }
func (v value) isArray() bool  { return v.starts('[') }
func (v value) isObject() bool { return v.starts('{') }
func (v value) isNull() bool   { return v.starts('n') }
func (v value) isTrue() bool   { return v.starts('t') }
func (v value) isFalse() bool  { return v.starts('f') }

func (v value) starts(c byte) bool { return v.exists() && v.doc[v.pos] == c }

// raw returns the value's JSON text.
func (v value) raw() string { return v.doc[v.pos:v.end] }

// text returns the value of a string; "" for other types.
func (v value) text() string {
	if !v.isString() {
		return ""
	}
	return unquote(v.doc[v.pos+1 : v.end-1])
}

// number returns the value of a number; 0 for other types, and beyond the range of float64.
func (v value) number() float64 {
	n, err := strconv.ParseFloat(v.raw(), 64)
	if err != nil || v.isString() {
		return 0
	}
	return n
}

// each calls fn for every member of an object, or for every element of an array with the key "",
// until fn returns false. Other types have no members.
func (v value) each(fn func(key string, v value) bool) {
	if !v.isObject() && !v.isArray() {
		return
	}
	object := v.isObject()
	for i := v.pos + 1; ; {
		if i = skipSpace(v.doc, i); i >= v.end-1 {
			return
		}
		key := ""
		if object {
			k := i
			i = stringEnd(v.doc, i)
			key = unquote(v.doc[k+1 : i-1])
			i = skipSpace(v.doc, skipSpace(v.doc, i)+len(":"))
		}
		m := value{v.doc, i, valueEnd(v.doc, i)}
		if !fn(key, m) {
			return
		}
		if i = skipSpace(v.doc, m.end); v.doc[i] == ',' {
			i++
		}
	}
}

// get returns the member at a path of keys. If an object has a key several times, the last one
// counts.
func (v value) get(path ...string) value {
	for _, name := range path {
		var found value
		if v.isObject() {
			v.each(func(key string, v value) bool {
				if key == name {
					found = v
				}
				return true
			})
		}
		v = found
	}
	return v
}

// first returns the first element of an array.
func (v value) first() (out value) {
	if v.isArray() {
		v.each(func(_ string, v value) bool { out = v; return false })
	}
	return out
}

func (v value) length() (n int) {
	if v.isArray() {
		v.each(func(string, value) bool { n++; return true })
	}
	return n
}

// skipSpace returns the offset after white space.
func skipSpace[T string | []byte](doc T, i int) int {
	for i < len(doc) && (doc[i] == ' ' || doc[i] == '\n' || doc[i] == '\t' || doc[i] == '\r') {
		i++
	}
	return i
}

func valueEnd(doc string, i int) int {
	if i >= len(doc) {
		return i
	}
	switch doc[i] {
	case '"':
		return stringEnd(doc, i)
	case '{', '[':
		for depth := 0; i < len(doc); {
			switch doc[i] {
			case '"':
				i = stringEnd(doc, i)
				continue
			case '{', '[':
				depth++
			case '}', ']':
				if depth--; depth == 0 {
					return i + 1
				}
			}
			i++
		}
		return i
	}
	for i < len(doc) && doc[i] > ' ' && doc[i] != ',' && doc[i] != '}' && doc[i] != ']' {
		i++
	}
	return i
}

func stringEnd(doc string, i int) int {
	for start := i + 1; ; {
		n := strings.IndexByte(doc[start:], '"')
		if n < 0 {
			return len(doc)
		}
		at := start + n
		escapes := at
		for escapes > start && doc[escapes-1] == '\\' {
			escapes--
		}
		start = at + 1
		if (at-escapes)%2 == 0 {
			return start
		}
	}
}

// unquote decodes the escapes of a string. As in encoding/json, an unpaired surrogate becomes
// U+FFFD.
func unquote(s string) string {
	i := strings.IndexByte(s, '\\')
	if i < 0 {
		return s
	}
	var b strings.Builder
	b.Grow(len(s))
	for i >= 0 {
		b.WriteString(s[:i])
		c := s[i+1]
		s = s[i+2:]
		switch c {
		case 'b':
			b.WriteByte('\b')
		case 'f':
			b.WriteByte('\f')
		case 'n':
			b.WriteByte('\n')
		case 'r':
			b.WriteByte('\r')
		case 't':
			b.WriteByte('\t')
		case 'u':
			r := hex4(s)
			s = s[4:]
			if utf16.IsSurrogate(r) {
				low := rune(-1)
				if strings.HasPrefix(s, `\u`) {
					low = hex4(s[2:])
				}
				if r = utf16.DecodeRune(r, low); r != utf8.RuneError {
					s = s[6:]
				}
			}
			b.WriteRune(r)
		default: // a quote, a backslash or a slash
			b.WriteByte(c)
		}
		i = strings.IndexByte(s, '\\')
	}
	b.WriteString(s)
	return b.String()
}

func hex4(s string) rune {
	n, _ := strconv.ParseUint(s[:4], 16, 32) // valid has checked the digits
	return rune(n)
}

// maxDepth is the maximum nesting of values, as in encoding/json.
const maxDepth = 10000

// valid reports whether body is valid JSON, like encoding/json.Valid. It is a loop, not a
// recursion, so that megabytes of opening brackets can't exhaust the stack. It reads strings eight
// bytes at a time, because most of a request is text.
func valid(body []byte) bool {
	var open []byte // the closing brackets of the open arrays and objects
	for i := 0; ; {
		// Expect a value, or the end of an empty array or object.
		if i = skipSpace(body, i); i >= len(body) {
			return false
		}
		switch c := body[i]; {
		case c == '"':
			i = validString(body, i)
		case c == '{' || c == '[':
			if len(open) == maxDepth {
				return false
			}
			open = append(open, c+2) // } and ] are two code points after { and [
			if i = skipSpace(body, i+1); i >= len(body) {
				return false
			}
			if body[i] == c+2 {
				open = open[:len(open)-1]
				i++
				break
			}
			if c == '{' {
				i = validKey(body, i)
			}
			if i < 0 {
				return false
			}
			continue
		case c == '-' || c >= '0' && c <= '9':
			i = validNumber(body, i)
		default:
			i = validWord(body, i)
		}
		// After a value.
		for {
			if i < 0 {
				return false
			}
			i = skipSpace(body, i)
			if len(open) == 0 {
				return i == len(body)
			}
			if i >= len(body) {
				return false
			}
			closing := open[len(open)-1]
			if body[i] == closing {
				open = open[:len(open)-1]
				i++
				continue
			}
			if body[i] != ',' {
				return false
			}
			i++
			if closing == '}' {
				i = validKey(body, skipSpace(body, i))
			}
			break
		}
		if i < 0 {
			return false
		}
	}
}

// validKey returns the offset after a key and its colon; -1 if there is none.
func validKey(body []byte, i int) int {
	if i >= len(body) || body[i] != '"' {
		return -1
	}
	if i = validString(body, i); i < 0 {
		return -1
	}
	if i = skipSpace(body, i); i >= len(body) || body[i] != ':' {
		return -1
	}
	return i + 1
}

// The lowest and the highest bit of each byte of a 64-bit word.
const (
	lows  = 0x0101010101010101
	highs = 0x8080808080808080
)

// specialByte returns a word with the high bit set for the first byte that is a control character,
// a quote or a backslash. Bits of later bytes may be set too.
func specialByte(w uint64) uint64 {
	quotes, slashes := w^(lows*'"'), w^(lows*'\\')
	return ((w-lows*0x20)&^w | (quotes-lows)&^quotes | (slashes-lows)&^slashes) & highs
}

// validString returns the offset after a string; -1 if it is invalid.
func validString(body []byte, i int) int {
	for i++; ; {
		for i+8 <= len(body) && specialByte(binary.LittleEndian.Uint64(body[i:])) == 0 {
			i += 8
		}
		if i >= len(body) {
			return -1
		}
		switch c := body[i]; {
		case c == '"':
			return i + 1
		case c < ' ':
			return -1
		case c != '\\':
			i++
			continue
		}
		if i+1 >= len(body) {
			return -1
		}
		switch body[i+1] {
		case '"', '\\', '/', 'b', 'f', 'n', 'r', 't':
			i += 2
		case 'u':
			if i+6 > len(body) {
				return -1
			}
			for _, c := range body[i+2 : i+6] {
				if (c < '0' || c > '9') && (c|0x20 < 'a' || c|0x20 > 'f') {
					return -1
				}
			}
			i += 6
		default:
			return -1
		}
	}
}

// validNumber returns the offset after a number; -1 if it is invalid.
func validNumber(body []byte, i int) int {
	if body[i] == '-' {
		i++
	}
	start := i
	if i = digits(body, i); i == start || i > start+1 && body[start] == '0' {
		return -1
	}
	if i < len(body) && body[i] == '.' {
		if start, i = i+1, digits(body, i+1); i == start {
			return -1
		}
	}
	if i < len(body) && body[i]|0x20 == 'e' {
		if i++; i < len(body) && (body[i] == '+' || body[i] == '-') {
			i++
		}
		if start, i = i, digits(body, i); i == start {
			return -1
		}
	}
	return i
}

func digits(body []byte, i int) int {
	for i < len(body) && body[i] >= '0' && body[i] <= '9' {
		i++
	}
	return i
}

func validWord(body []byte, i int) int {
	for _, w := range []string{"true", "false", "null"} {
		if len(body)-i >= len(w) && string(body[i:i+len(w)]) == w {
			return i + len(w)
		}
	}
	return -1
}
