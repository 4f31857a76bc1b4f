package scip

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestParse(t *testing.T) {
	for _, tt := range []struct {
		in   string
		want symbol
	}{
		{"scip-go gomod example.com/x v1.0 `example.com/x/y`/T#M().",
			symbol{"scip-go", "gomod", "example.com/x", "v1.0", []descriptor{{"example.com/x/y", namespace}, {"T", typeName}, {"M", method}}}},
		{"a . . . x.", symbol{scheme: "a", descriptors: []descriptor{{"x", term}}}},
		{"my  scheme npm a  b 1  0 x.", symbol{"my scheme", "npm", "a b", "1 0", []descriptor{{"x", term}}}},
		{"s m p v `a``b`#`<get>c`(+1).", symbol{"s", "m", "p", "v", []descriptor{{"a`b", typeName}, {"<get>c", method}}}},
		{"s m p v a/b#[T]f().(x)g!h:", symbol{"s", "m", "p", "v", []descriptor{{"a", namespace}, {"b", typeName}, {"T", typeParameter}, {"f", method}, {"x", parameter}, {"g", macro}, {"h", meta}}}},
		{"s m p v Größe.", symbol{"s", "m", "p", "v", []descriptor{{"Größe", term}}}},
	} {
		got, ok := parse(tt.in)
		if diff := cmp.Diff(tt.want, got, cmp.AllowUnexported(symbol{}, descriptor{})); diff != "" || !ok {
			t.Errorf("%s: (-want +got):\n%s", tt.in, diff)
		}
	}
	for _, in := range []string{"", "local 1", "a", "a b c d", "a b c d ", "a b c d x", "a b c d x y.", "a b c d x(.", "a b c d `x", "a b c d ``.", "a b c d (x", "a b c d #", "a b c d x(`).", "a b c d x()"} {
		if got, ok := parse(in); ok {
			t.Errorf("%q is %+v", in, got)
		}
	}
}

func FuzzSymbol(f *testing.F) {
	for _, s := range []string{"scip-go gomod example.com/x v1.0 `example.com/x/y`/T#M().", "my  scheme . . . `a``b`#f(+1).(x)[T]g!h:", "local 1", "a b c d x(é)."} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, in string) {
		s, ok := parse(in)
		if !ok {
			return
		}
		again, ok := parse(s.String())
		if diff := cmp.Diff(s, again, cmp.AllowUnexported(symbol{}, descriptor{})); diff != "" || !ok {
			t.Errorf("%q is written %q: %v (-first +again):\n%s", in, s, ok, diff)
		}
		kindOf(s, uint64(len(in)), "python", "")
		if q := qualified(s, "a/b.ts", "typescript"); !strings.HasPrefix(q, "a/b") {
			t.Errorf("%q", q)
		}
	})
}

// String writes a symbol in the notation that parse reads.
func (s symbol) String() string {
	var b strings.Builder
	for i, w := range []string{s.scheme, s.manager, s.pkg, s.version} {
		if w == "" && i > 0 {
			w = "."
		}
		b.WriteString(strings.ReplaceAll(w, " ", "  ") + " ")
	}
	for _, d := range s.descriptors {
		n := d.name
		if strings.ContainsFunc(n, func(r rune) bool { return !simple(r) }) {
			n = "`" + strings.ReplaceAll(n, "`", "``") + "`"
		}
		switch d.suffix {
		case parameter:
			b.WriteString("(" + n + ")")
		case typeParameter:
			b.WriteString("[" + n + "]")
		case method:
			b.WriteString(n + "().")
		default:
			b.WriteString(n + string(rune(d.suffix)))
		}
	}
	return b.String()
}
