package wire

import "encoding/binary"

// maxDepth is how deep values may be nested, as in encoding/json.
const maxDepth = 10000

// valid reports JSON, as encoding/json.Valid does. It is a loop and not a
// recursion, so that megabytes of opening brackets can't exhaust the stack, which
// nothing recovers from; and it reads strings eight bytes at a time, because most
// of a request is text.
func valid(body []byte) bool {
	var open []byte // the brackets around, as what closes them
	for i := 0; ; {
		// A value, or the first thing in an array or object.
		if i = spaces(body, i); i >= len(body) {
			return false
		}
		switch c := body[i]; {
		case c == '"':
			i = validString(body, i)
		case c == '{' || c == '[':
			if len(open) == maxDepth {
				return false
			}
			open = append(open, c+2) // } and ] are two behind their opening ones
			if i = spaces(body, i+1); i >= len(body) {
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
		// What follows a value.
		for {
			if i < 0 {
				return false
			}
			i = spaces(body, i)
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
				i = validKey(body, spaces(body, i))
			}
			break
		}
		if i < 0 {
			return false
		}
	}
}

func spaces(body []byte, i int) int {
	for i < len(body) && (body[i] == ' ' || body[i] == '\n' || body[i] == '\t' || body[i] == '\r') {
		i++
	}
	return i
}

// validKey returns what is behind a name and its colon, -1 where there are none.
func validKey(body []byte, i int) int {
	if i >= len(body) || body[i] != '"' {
		return -1
	}
	if i = validString(body, i); i < 0 {
		return -1
	}
	if i = spaces(body, i); i >= len(body) || body[i] != ':' {
		return -1
	}
	return i + 1
}

// Each byte of a word: its lowest bit, and its highest.
const (
	lows  = 0x0101010101010101
	highs = 0x8080808080808080
)

// special has a bit set for the first byte of a word that is a control character, a
// quote or a backslash; it may have others set behind it.
func special(w uint64) uint64 {
	quotes, slashes := w^(lows*'"'), w^(lows*'\\')
	return ((w-lows*0x20)&^w | (quotes-lows)&^quotes | (slashes-lows)&^slashes) & highs
}

// validString returns what is behind a string, -1 where it is none.
func validString(body []byte, i int) int {
	for i++; ; {
		for i+8 <= len(body) && special(binary.LittleEndian.Uint64(body[i:])) == 0 {
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

// validNumber returns what is behind a number, -1 where it is none.
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
