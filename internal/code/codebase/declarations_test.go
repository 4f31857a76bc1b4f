package codebase_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/kenlayer/ken/internal/code/codebase"
)

// TestDeclarationsNameTheirClass checks what pieces of a file are called: by the class within a function, and not by a
// function without a name of its own around it.
func TestDeclarationsNameTheirClass(t *testing.T) {
	for _, tt := range []struct{ file, src, want string }{
		{"tree.js", "module.exports = cls => class Tree extends cls {\n  build () {\n    return 1\n  }\n}\n", "Tree 1-5 c, Tree.build 2-4 b"},
		{"mix.ts", "export const Mix = (B: Ctor) => class extends B {\n  m() {\n  }\n}\n", "Mix 1-4 c, Mix.m 2-3 b"},
		{"with.js", "function withX (B) {\n  return class X extends B {\n    m () {}\n  }\n}\n", "withX 1-5 b, withX.X 2-4 c, withX.X.m 3-3 b"},
		{"plain.js", "module.exports = function () {\n  return 1\n}\n", "default 1-3 b"},
		{"mk.py", "def make():\n    class Inner:\n        def m(self):\n            return 1\n    return Inner\n", "make 1-5 b, make.Inner 2-4 c, make.Inner.m 3-4 b"},
	} {
		var got []string
		for _, d := range codebase.Declarations(tt.file, []byte(tt.src)) {
			kind := map[bool]string{true: "b", false: "c"}[d.Body]
			got = append(got, fmt.Sprintf("%s %d-%d %s", d.Name, d.Line, d.End, kind))
		}
		if s := strings.Join(got, ", "); s != tt.want {
			t.Errorf("%s: %s, want %s", tt.file, s, tt.want)
		}
	}
}
