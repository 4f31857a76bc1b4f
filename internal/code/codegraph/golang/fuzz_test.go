package golang_test

import (
	"bytes"
	"os"
	"path/filepath"
	"testing"

	"github.com/kenlayer/ken/internal/code/codegraph/golang"
)

func FuzzExtract(f *testing.F) {
	own, _ := filepath.Glob("*.go")
	for _, p := range own {
		src, err := os.ReadFile(p)
		if err != nil {
			f.Fatal(err)
		}
		from := len(src) / 3 // pieces, because the search takes long to make large inputs small
		f.Add(src[from:min(from+800, len(src))])
		f.Add(src[:min(800, len(src))])
	}
	for _, s := range []string{"", "package", "package x\nfunc (", "package x\ntype T = T\nvar a = a.b.c\nvar b, c = b()", "func f() {}", "\xff\xfe",
		"package x\ntype (A struct{B}; B struct{A})\nfunc f(a A) { a.x.y() }", "package x\nfunc f[T U, U T](t T) { t.x() }", "import \"C\""} {
		f.Add([]byte(s))
	}
	extract := golang.New(shop)
	f.Fuzz(func(t *testing.T, src []byte) {
		for _, p := range []string{"cart/cart.go", "cart_test.go"} {
			check(t, extract(p, src), bytes.Count(src, []byte("\n"))+1)
		}
	})
}

func FuzzModulePath(f *testing.F) {
	for _, s := range []string{"module x", "module \"x/y\" // z\n", "\uFEFFmodule `a`", "modulex", "module (\nx\n)"} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		if m := golang.ModulePath(text); bytes.ContainsAny([]byte(m), " \t\r\n\"`") {
			t.Errorf("%q", m)
		}
	})
}
