// Package sourcemap removes the source map that compilers append to JavaScript. Such a line
// is often longer than the code before it, so that a readable file looks like data.
package sourcemap

import "strings"

// marks begin the comment of a map that is in the file itself. A link to another file stays.
var marks = []string{"//# sourceMappingURL=data:", "//@ sourceMappingURL=data:"}

// Trim returns code without the comment on its last line that holds a source map. The lines
// before it keep their numbers. Code without one is returned as it is.
func Trim(code string) string {
	end := len(strings.TrimRight(code, "\r\n\t "))
	start := strings.LastIndexByte(code[:end], '\n') + 1
	for _, m := range marks {
		if strings.HasPrefix(code[start:end], m) {
			return code[:start]
		}
	}
	return code
}
