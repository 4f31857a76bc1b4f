package lexed

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// fuzz starts from the golden files of a family and from difficult inputs for all families.
func fuzz(f *testing.F, name string, patterns ...string) {
	for _, p := range patterns {
		files, err := filepath.Glob(filepath.Join("testdata/golden", p))
		if err != nil || len(files) == 0 {
			f.Fatal(p, err)
		}
		for _, file := range files {
			src, err := os.ReadFile(file)
			if err != nil {
				f.Fatal(err)
			}
			f.Add(string(src))
			if len(src) > 600 {
				f.Add(string(src[len(src)/2:]))
			}
		}
	}
	for _, s := range hard {
		f.Add(s)
	}
	set := New(Options{Files: []string{"a/x" + filepath.Ext(name), "a/b/y" + filepath.Ext(name), "a/__init__.py", "a/Cargo.toml", "a/tsconfig.json"}})
	f.Fuzz(func(t *testing.T, src string) {
		if len(src) > 64<<10 {
			t.Skip()
		}
		check(t, set, "a/b/"+name, src)
	})
}

// hard are inputs that are difficult in all languages.
var hard = []string{
	"", "\n", "\r", "\x00", "\ufeff", "\xff\xfea\x00", "\xfe\xff\x00a", "{", "}", "((((", "))))", "{(]}", "class", "class {", "class A", "class A {",
	"class A { f() {", "import", "from", "use", "use {", "#", "#include", "#if\n#else\n#endif", "\"", "'", "`", "`${", "`${`${`", "/*", "//", "/", "\\", "\\\n", "@", "@a(", "$", "<", "<a", "<a>{", "</a",
	"a<b<c<d>>>", "a.b.c.d.e()", "def", "def f", "def f(", "def f():", "class A(B", "  def f():\n x = (", "R\"x(", "$\"{", "f\"{", "f'{x", "r#\"", "'a", "'''", "\"\"\"",
	"enum", "enum {", "enum A", "enum A {,", "impl", "impl A for", "impl<T", "fn", "fn f<", "mod", "struct", "typedef", "typedef struct {", "template", "template<", "namespace", "namespace {",
	"operator", "A::B::", "::A", "~A(", "record A(", "record", "interface A extends", "export", "export {", "export default", "export * from", "const", "const {", "const [a, {b: c = 1}] = d", "=>", "x =>", "(a) =>", "let a = (b): c => d",
	strings.Repeat("{", 300), strings.Repeat("class A { ", 200), strings.Repeat("<a>", 300), strings.Repeat("`${", 300), strings.Repeat("namespace a {", 200),
}

func FuzzTypeScript(f *testing.F) { fuzz(f, "z.ts", "*.ts", "*.tsx") }
func FuzzTags(f *testing.F)       { fuzz(f, "z.tsx", "*.tsx") }
func FuzzJavaScript(f *testing.F) { fuzz(f, "z.js", "*.js", "*.cjs") }
func FuzzPython(f *testing.F)     { fuzz(f, "z.py", "*.py") }
func FuzzJava(f *testing.F)       { fuzz(f, "z.java", "*.java") }
func FuzzCSharp(f *testing.F)     { fuzz(f, "z.cs", "*.cs") }
func FuzzRust(f *testing.F)       { fuzz(f, "z.rs", "*.rs") }
func FuzzC(f *testing.F)          { fuzz(f, "z.c", "*.c", "*.h") }
func FuzzCPlusPlus(f *testing.F)  { fuzz(f, "z.cpp", "*.cpp", "*.hpp") }
