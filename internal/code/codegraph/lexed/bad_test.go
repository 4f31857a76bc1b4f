package lexed

import (
	"encoding/binary"
	"fmt"
	"strings"
	"testing"
	"unicode/utf16"

	"github.com/kenlayer/ken/internal/code/codegraph"
)

// extensions has one extension of each family.
var extensions = []string{".ts", ".tsx", ".js", ".py", ".java", ".cs", ".rs", ".c", ".cpp", ".h"}

// names returns the names of a file's declarations.
func names(f codegraph.File) string {
	var out []string
	for _, d := range f.Decls {
		out = append(out, d.Name)
	}
	return strings.Join(out, " ")
}

func TestBadFiles(t *testing.T) {
	set := New(Options{})
	for _, ext := range extensions {
		for _, src := range hard {
			check(t, set, "a/x"+ext, src)
		}
	}
}

func TestRecovery(t *testing.T) {
	for _, tt := range []struct{ name, file, src, want string }{
		{"a brace too few in a function", "a.ts", "function a() {\n  if (x) {\n  y();\n}\nfunction b() {\n}\nclass C {\n  m() {}\n}\n", "a b C m"},
		{"a brace too few in a method", "A.java", "class A {\n  void a() {\n    if (x) {\n      y();\n  }\n  void b() {\n  }\n}\nclass C {\n}\n", "A a b C"},
		{"a brace too many", "a.ts", "class A {\n  a() {\n    if (x) }\n    }\n  }\n  b() {}\n}\nexport function c() {}\n", "A a b c"},
		{"a parenthesis that stays open", "a.c", "int a(void)\n{\n\tfoo(1;\n}\n\nint b(void)\n{\n}\n", "a b"},
		{"a namespace is left open", "a.cpp", "namespace n {\nvoid a() {\n  if (x) {\n}\nvoid b() {}\nclass C {\n};\n}\n", "n a b C"},
		{"a bracket that stays open", "a.py", "def a():\n    x = foo(1,\n\ndef b():\n    pass\nclass C:\n    def d(self): pass\n", "a b C d"},
		{"a string that stays open", "a.js", "const a = 'it;\nfunction b() {}\n", "a b"},
		{"rubbish between", "a.rs", "fn a() {}\n)))] fn b() {} @@ ~\npub struct C { x: u8 }\n", "a b C x"},
		{"rubbish before", "A.cs", "]]} ;;; \nclass A { int f; }", "A f"},
		{"a merge conflict", "a.py", "<<<<<<< HEAD\ndef a(): pass\n=======\ndef b(): pass\n>>>>>>> other\nx = 1\n", "a b x"},
		{"a tag that is none", "a.js", "const a = <T>(x) => x;\nfunction b() {}\n", "a b"},
		{"a source map", "a.js", "function a() {}\n//# sourceMappingURL=data:application/json;base64," + strings.Repeat("x", 1<<20) + "\n", "a"},
		{"branches of the preprocessor", "a.c", "#ifdef A\nint a(int x) {\n#else\nint a(long x) {\n#endif\n  return 1;\n}\nint b(void) { return 2; }\n", "a b"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			if got := names(check(t, New(Options{}), tt.file, tt.src)); got != tt.want {
				t.Errorf("found %q, want %q", got, tt.want)
			}
		})
	}
}

func TestProblems(t *testing.T) {
	deep := strings.Repeat(strings.Repeat("(", 1000)+"\n", 100)
	for _, tt := range []struct{ name, file, src, want string }{
		{"a long line", "a.js", "var a = 1\nvar b = '" + strings.Repeat("x", 1<<20) + "'\n", "2: the file is packed"},
		{"a packed script", "a.js", strings.Repeat("function a(b){return b};", 2000), "0: the file is packed"},
		{"packed by name", "a.min.js", "var a\n", "0: the file is packed"},
		{"null bytes", "a.c", "int a;\x00\x00\x00\x00", "0: the file is not text"},
		{"brackets", "a.rs", "fn a() {\n(\n}\n", "3: brackets do not fit"},
		{"deep brackets", "A.java", "class A { int x = \n" + deep + "; }", "102: brackets do not fit"},
		{"a comment", "a.c", "int a;\n/* int b;\n", "2: a comment does not end"},
		{"a string", "a.py", "a = '''\n", "1: a string does not end"},
		{"no such language", "a.txt", "", "0: no language known for .txt"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			f := New(Options{}).Extract(tt.file, []byte(tt.src))
			if len(f.Problems) == 0 {
				t.Fatal("no problem")
			}
			if got := fmt.Sprintf("%d: %s", f.Problems[0].Line, f.Problems[0].Text); !strings.HasPrefix(got, tt.want) {
				t.Errorf("problem %q, want %q", got, tt.want)
			}
		})
	}
}

func TestEncodings(t *testing.T) {
	const src = "class Größe {\n\tint größe;\n}\n"
	for name, b := range map[string][]byte{
		"UTF-8": []byte(src), "UTF-8 with a mark": []byte("\ufeff" + src), "UTF-16LE": utf16Bytes(src, binary.LittleEndian), "UTF-16BE": utf16Bytes(src, binary.BigEndian),
		"carriage returns": []byte(strings.ReplaceAll(src, "\n", "\r")), "null bytes": []byte(strings.Replace(src, "\t", "\x00", 1)),
	} {
		t.Run(name, func(t *testing.T) {
			f := New(Options{}).Extract("A.java", b)
			if names(f) != "Größe größe" || f.Decls[1].Line != 2 || f.Decls[0].End != 3 || len(f.Problems) > 0 {
				t.Errorf("%+v", f)
			}
		})
	}
}

func utf16Bytes(s string, order binary.ByteOrder) []byte {
	var out []byte
	for _, u := range append([]uint16{0xfeff}, utf16.Encode([]rune(s))...) {
		b := make([]byte, 2)
		order.PutUint16(b, u)
		out = append(out, b...)
	}
	return out
}

// steps are inputs that make a reader look back or ahead when repeated.
var steps = []string{"a<", "(", ")", "{", "}", "[}", "{)", "'\\", "\"\\", "a.b::c<d>(e)->f ", "x => ", "|a| ", "/", "/*/", "#if\n", "#else\n", "`${", "<a>", "class A {", "f(a,b){",
	"a = b = ", "@a(", "int a, ", "lambda a: ", "fn f<T>(", "case ", "export {a, ", "type A = ", "if x:\n ", "def f(a=\n", "? : ", "operator", "~", "\"\"\"a", "R\"(", "a\n"}

func hostile(step string, size int) string {
	return strings.Repeat(strings.Repeat(step, 40)+"\n", size/40/len(step))
}

func TestHostileFiles(t *testing.T) {
	set := New(Options{})
	for _, step := range steps {
		for _, ext := range extensions {
			check(t, set, "x"+ext, hostile(step, 4<<10))
		}
	}
}

// BenchmarkHostile shows whether the time grows faster than the file: the speed of both
// sizes is about the same.
func BenchmarkHostile(b *testing.B) {
	set := New(Options{})
	for _, ext := range extensions {
		for _, size := range []int{64 << 10, 512 << 10} {
			b.Run(fmt.Sprintf("%s/%dKiB", ext[1:], size>>10), func(b *testing.B) {
				b.SetBytes(int64(len(steps) * size))
				for b.Loop() {
					for _, step := range steps {
						set.Extract("x"+ext, []byte(hostile(step, size)))
					}
				}
			})
		}
	}
}
