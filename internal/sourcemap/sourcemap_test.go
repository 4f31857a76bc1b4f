package sourcemap_test

import (
	"testing"

	"github.com/kenlayer/ken/internal/sourcemap"
)

func TestTrim(t *testing.T) {
	for name, tt := range map[string]struct{ code, want string }{
		"none":                   {"f()\ng()\n", "f()\ng()\n"},
		"a map":                  {"f()\n//# sourceMappingURL=data:application/json;charset=utf-8;base64,eyJ2\n", "f()\n"},
		"a map, no newline":      {"f()\n//# sourceMappingURL=data:application/json;base64,eyJ2", "f()\n"},
		"an old mark":            {"f()\r\n//@ sourceMappingURL=data:,x\r\n\r\n", "f()\r\n"},
		"a link to a file":       {"f()\n//# sourceMappingURL=f.js.map\n", "f()\n//# sourceMappingURL=f.js.map\n"},
		"not on the last line":   {"//# sourceMappingURL=data:,x\nf()\n", "//# sourceMappingURL=data:,x\nf()\n"},
		"nothing but a map":      {"//# sourceMappingURL=data:,x", ""},
		"empty":                  {"", ""},
		"in the midst of a line": {"f() //# sourceMappingURL=data:,x\n", "f() //# sourceMappingURL=data:,x\n"},
	} {
		if got := sourcemap.Trim(tt.code); got != tt.want {
			t.Errorf("%s: %q, want %q", name, got, tt.want)
		}
	}
}
