package repository

import (
	"flag"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"path"
	"path/filepath"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"
	"github.com/google/uuid"
)

// checkChunks checks properties of the chunks of any file. Chunks are valid claims of bounded size with unique ids, in
// the order of the source. Each begins with the text at its line, and every line is in a chunk.
func checkChunks(t testing.TB, name, text string, lim limits) []chunk {
	t.Helper()
	lines := splitLines(text)
	chunks := cutText(name, text, lim)
	covered := make([]bool, len(lines)+1)
	ids, last := map[string]bool{}, 0
	for _, c := range chunks {
		if err := c.Validate(); err != nil {
			t.Errorf("%s: %v", c.Source, err)
		}
		if n := utf8.RuneCountInString(c.Text); n > lim.max && (len(c.Entities) == 0 || n > lim.maxDeclaration) {
			t.Errorf("%s: %d characters, more than %d or %d:\n%s", c.Source, n, lim.max, lim.maxDeclaration, c.Text)
		}
		if ids[c.ID] || ids[c.Key] || uuid.Validate(c.ID) != nil || c.ID[14] != '8' {
			t.Errorf("%s: bad or repeated id %s or key %s", c.Source, c.ID, c.Key)
		}
		ids[c.ID], ids[c.Key] = true, true
		if c.first < last || c.last < c.first || c.last > len(lines) {
			t.Fatalf("%s: lines %d to %d of %d, after line %d", c.Source, c.first, c.last, len(lines), last)
		}
		last = c.first
		if !startsAt(c.Text, lines[c.first-1].text) {
			t.Errorf("%s: the text does not start with line %d\n%q\n%q", c.Source, c.first, lines[c.first-1].text, c.Text)
		}
		for n := c.first; n <= c.last; n++ {
			covered[n] = covered[n] || strings.Contains(c.Text, strings.TrimSpace(lines[n-1].text)) ||
				lines[n-1].chars > lim.line()
		}
	}
	for _, l := range lines {
		if !covered[l.no] && !l.blank() && l.chars <= lim.line() && !leftOut(name, text, l.no) {
			t.Errorf("%s: line %d is in no chunk: %q", name, l.no, l.text)
		}
	}
	return chunks
}

// startsAt reports whether a chunk begins with a line. It allows for a lead of up to three lines, and for a part of a
// wrapped line with an ellipsis.
func startsAt(text, line string) bool {
	for i, l := range strings.SplitN(text, "\n", 5) {
		l = strings.TrimPrefix(l, "… ")
		if !strings.Contains(line, "…") {
			l, _, _ = strings.Cut(l, "…")
		}
		if i < 4 && l != "" && strings.Contains(line, strings.TrimRight(l, " \t\r")) {
			return true
		}
	}
	return false
}

// leftOut reports whether a line of a Go file is in no chunk: imports, and everything up to the package clause unless
// it is the package comment.
func leftOut(name, text string, no int) bool {
	if path.Ext(name) != ".go" {
		return false
	}
	fset := token.NewFileSet()
	f, err := parser.ParseFile(fset, "", strings.TrimPrefix(text, byteOrderMark), parser.ParseComments)
	if err != nil {
		return false
	}
	line := func(p token.Pos) int { return fset.PositionFor(p, false).Line }
	if no <= line(f.Name.End()) {
		return f.Doc == nil || no < line(f.Doc.Pos())
	}
	for _, d := range f.Decls {
		if g, ok := d.(*ast.GenDecl); ok && g.Tok == token.IMPORT {
			from := line(d.Pos())
			if g.Doc != nil {
				from = line(g.Doc.Pos())
			}
			if from <= no && no <= line(d.End()) {
				return true
			}
		}
	}
	return false
}

func TestUnchangedChunkKeepsItsID(t *testing.T) {
	const before = "# A\n\nThe first section, which is long enough to stand alone here.\n\n# B\n\nThe second section, which is long enough to stand alone here.\n"
	after := strings.Replace(before, "# B", "# New\n\nA section between the two, which is long enough to stand alone.\n\n# B", 1)
	lim := newLimits(1200, 60)
	old, now := checkChunks(t, "x.md", before, lim), checkChunks(t, "x.md", after, lim)
	if len(old) != 2 || len(now) != 3 {
		t.Fatalf("%d and %d chunks, want 2 and 3", len(old), len(now))
	}
	if old[0].ID != now[0].ID || old[1].ID != now[2].ID || old[1].Key != now[2].Key {
		t.Error("a chunk that did not change has another id or key")
	}
	if old[1].first == now[2].first || now[2].Evidence[0].Line != now[2].first {
		t.Errorf("lines %d and %d, evidence %d: the evidence must follow the text", old[1].first, now[2].first, now[2].Evidence[0].Line)
	}
	if other := cutText("y.md", before, lim); other[0].ID == old[0].ID {
		t.Error("two files share an id")
	}
}

func TestEqualChunksHaveDifferentIDs(t *testing.T) {
	section := "# Same\n\nThe same words under the same heading, twice in one file.\n\n"
	if got := checkChunks(t, "x.md", section+section, newLimits(1200, 10)); len(got) != 2 {
		t.Fatalf("%d chunks, want 2", len(got))
	}
}

func TestOddTexts(t *testing.T) {
	lim := newLimits(200, 20)
	for name, text := range map[string]string{
		"empty": "", "blank": " \n\t\n\r\n", "one character": "x", "no line end": "a\nb", "carriage returns": "# A\r\n\r\nb\r\n",
		"byte order mark": byteOrderMark + "# A\nb", "only fences": "```\n```\n~~~\n", "open fence": "```go\nx\n\n# y\n",
		"only headings": "# a\n## b\n### c\n#\n##\n", "deep list": "- a\n  - b\n    - c\n\n      d\n",
		"one long word": strings.Repeat("x", 5000), "long words": strings.Repeat(strings.Repeat("y", 500)+" ", 9),
		"long sentences": strings.Repeat("A sentence of some words. ", 99), "Chinese": strings.Repeat("没有空格的文字", 99),
		"Thai": strings.Repeat("ไม่มีช่องว่าง", 99), "Hebrew": strings.Repeat("שלום עולם ", 99), "rules": "---\n***\n___\n- - -\n",
		"long heading": "# " + strings.Repeat("heading ", 99), "long setext": strings.Repeat("words and\n", 60) + "===\n",
		"blank lines": "# a\n" + strings.Repeat("\n", 500) + "b\n", "long table": "a|b\n-|-\n" + strings.Repeat("c|d\n", 99),
		"long fence":                 "```" + strings.Repeat("`", 40) + "\n" + strings.Repeat("line of code\n", 60) + "```",
		"many blank lines in a list": "- a\n" + strings.Repeat("\n", 50_000) + "- b\n",
		"one line of a megabyte":     strings.Repeat("word ", 200_000),
		"closers":                    strings.Repeat("}\n", 300), "unclosed front": "---\na: b\n\nc\n", "toml front": "+++\ntitle = \"x\"\n+++\ny\n",
		"form feeds": "a\fb\n\v\n\u0085\n\u2028c\n", "lone returns": "a\rb\rc\n\r",
	} {
		for _, file := range []string{"x.md", "x.rst", "x.txt", "x.py", "x.go"} {
			t.Run(name+" as "+file, func(t *testing.T) { checkChunks(t, file, text, lim) })
		}
	}
}

func TestGoThatDoesNotParseIsCutAsBlocks(t *testing.T) {
	got := checkChunks(t, "x.go", "package x\n\nfunc broken( {\n\treturn\n}\n", newLimits(1200, 10))
	if len(got) == 0 || len(got[0].Entities) != 0 {
		t.Errorf("%s", show(got))
	}
}

func TestGoLinesAreThoseOnDisk(t *testing.T) {
	src := "package x\n\n//line other.y:100\nfunc A() {}\n\n// B is documented.\nfunc B() {}; func C() {}\n"
	got := checkChunks(t, "x.go", src, newLimits(1200, 1))
	if n := len(got); n != 2 || got[1].first != 6 || strings.Join(got[1].Entities, " ") != "B C" {
		t.Errorf("%s", show(got))
	}
}

var update = flag.Bool("update", false, "rewrite the golden files")

// goldenLimits are small, so that small files have to be cut.
var goldenLimits = newLimits(360, 40)

// TestCutGolden shows how files of each kind are cut. A file named x.go.txt is cut as x.go; with the name x.go, the go
// command would compile it as a part of this package.
func TestCutGolden(t *testing.T) {
	files, err := filepath.Glob("testdata/cut/*")
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range files {
		if strings.HasSuffix(name, ".golden") {
			continue
		}
		t.Run(filepath.Base(name), func(t *testing.T) {
			text, err := os.ReadFile(name)
			if err != nil {
				t.Fatal(err)
			}
			path := strings.Replace(filepath.Base(name), ".go.txt", ".go", 1)
			checkChunks(t, path, string(text), goldenLimits)
			golden := name + ".golden"
			got := show(cutText(path, string(text), goldenLimits))
			if *update {
				if err := os.WriteFile(golden, []byte(got), 0o644); err != nil {
					t.Fatal(err)
				}
			}
			want, err := os.ReadFile(golden)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(string(want), got); diff != "" {
				t.Errorf("-want +got, -update accepts:\n%s", diff)
			}
		})
	}
}

func cutText(path, text string, lim limits) []chunk {
	return source{path: path, text: text, hash: "sha256:0", lastChanged: time.Unix(0, 0).UTC()}.chunks(lim)
}

func show(chunks []chunk) string {
	var b strings.Builder
	for _, c := range chunks {
		fmt.Fprintf(&b, "=== %s [%d-%d]", c.Heading, c.first, c.last)
		if len(c.Entities) > 0 {
			fmt.Fprintf(&b, " %s", strings.Join(c.Entities, " "))
		}
		fmt.Fprintf(&b, "\n%s\n", c.Text)
	}
	return b.String()
}

func TestTheTitleOfABlockIsNoImport(t *testing.T) {
	for _, tt := range []struct{ text, want string }{
		{"import os\nfrom a import (\n    b,\n    c,\n)\n\nLIMIT = 3", "LIMIT = 3"},
		{"import {\n  a,\n  b as c,\n} from './x'\nimport d from \"y\"\nexport * from './z'\nexport const e = 1", "export const e = 1"},
		{"const fs = require('fs')\nconst { join } = require('path')\nconst limit = 3", "const limit = 3"},
		{"package com.example;\n\nimport java.util.List;\nimport static a.B.c;\n\nclass Shop {}", "class Shop {}"},
		{"use std::{\n    fs,\n    io,\n};\npub use a::b;\n\nconst LIMIT: u8 = 3;", "const LIMIT: u8 = 3;"},
		{"using System;\nusing A = B.C;\n\nint x = 3;", "int x = 3;"},
		{"import os\nimport sys", ""},
		// what is no import
		{"from_table = 1", "from_table = 1"},
		{"from: a@example.com", "from: a@example.com"},
		{"important = True", "important = True"},
		{"export function f() {}", "export function f() {}"},
		{"let used = useState(1)", "let used = useState(1)"},
		{"uses: actions/checkout@v4", "uses: actions/checkout@v4"},
	} {
		lines := splitLines(tt.text)
		if got := strings.Join(blockTitle(lines, span{0, len(lines)}, false), "|"); got != tt.want {
			t.Errorf("%q: title %q, want %q", tt.text, got, tt.want)
		}
	}
}
