package wire

import "github.com/tidwall/gjson"

// maxDepth is how deep values may be nested, as in encoding/json.
const maxDepth = 10000

// valid reports JSON that is safe to read. gjson checks values recursively, and
// a few megabytes of opening brackets would end the process with a stack
// overflow, which nothing can recover from: so the depth comes first.
func valid(body []byte) bool {
	depth, quoted := 0, false
	for i := 0; i < len(body); i++ {
		switch c := body[i]; {
		case c == '"':
			quoted = !quoted
		case quoted:
			if c == '\\' {
				i++
			}
		case c == '{' || c == '[':
			if depth++; depth > maxDepth {
				return false
			}
		case c == '}' || c == ']':
			depth--
		}
	}
	return gjson.ValidBytes(body)
}
