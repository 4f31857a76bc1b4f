package codegraph

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/kenlayer/ken"
	"github.com/kenlayer/ken/internal/code/repository"
)

func later() time.Time { return time.Date(2100, 1, 1, 0, 0, 0, 0, time.UTC) }

// lines is an extractor for a language with one declaration per line: "def NAME", "use NAME", "import PATH". "panic"
// panics.
func lines(path string, src []byte) File {
	f := File{Path: path, Language: "lines", Within: "package:" + strings.ReplaceAll(folder(path), "/", ".")}
	for i, l := range strings.Split(string(src), "\n") {
		verb, rest, _ := strings.Cut(strings.TrimSuffix(l, "\r"), " ")
		switch verb {
		case "def":
			f.Decls = append(f.Decls, Decl{Kind: KindFunction, Name: rest, Qualified: "l." + rest, Parent: -1, Line: i + 1, End: i + 1, Exported: true})
		case "use":
			f.Uses = append(f.Uses, Use{From: len(f.Decls) - 1, Kind: Calls, Name: "l." + rest, Qualified: true, Line: i + 1})
		case "import":
			f.Imports = append(f.Imports, Import{Path: rest, Target: "package:" + rest, Line: i + 1})
		case "#generated":
			f.Generated = true
		case "panic":
			panic("at line " + fmt.Sprint(i+1))
		case "":
		default:
			f.Problems = append(f.Problems, Problem{i + 1, "not understood"})
		}
	}
	return f
}

func writeFile(t testing.TB, dir, name, text string) {
	t.Helper()
	path := filepath.Join(dir, filepath.FromSlash(name))
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
}

func tree(t testing.TB, files map[string]string) string {
	t.Helper()
	dir := t.TempDir()
	for name, text := range files {
		writeFile(t, dir, name, text)
	}
	return dir
}

func build(t testing.TB, g *Graph, dir string, o Options) Report {
	t.Helper()
	o.Extractors, o.Now = map[string]Extractor{".ln": lines}, later
	r, err := g.Build(t.Context(), dir, o)
	if err != nil {
		t.Fatal(err)
	}
	r.Duration = 0
	return r
}

func TestBuildFollowsTheFiles(t *testing.T) {
	dir := tree(t, map[string]string{"a/one.ln": "def one\nuse two\n", "a/two.ln": "def two\n", "b/three.ln": "import a\ndef three\nwhat\n", "Makefile": "all:\n", ".env": "KEY=1", "ignored.ln": "def ignored", ".gitignore": "ignored.ln\n"})
	if err := os.Symlink(".", filepath.Join(dir, "loop")); err != nil {
		t.Fatal(err)
	}
	g := New()
	var told []repository.Progress
	r := build(t, g, dir, Options{Progress: func(p repository.Progress) { told = append(told, p) }})
	if r.Files != 5 || r.Changed != 5 || r.Counts.Files != 5 || r.ProblemsTotal != 1 || r.Problems[0] != (FileProblem{"b/three.ln", 3, "not understood"}) || len(r.Withheld) != 1 {
		t.Errorf("%+v", r)
	}
	if want := []repository.Progress{{Stage: StageGraph, Total: 5}, {Stage: StageGraph, Done: 5, Total: 5}}; !slices.Equal(told, want) {
		t.Errorf("told %v", told)
	}
	if r = build(t, g, dir, Options{}); r.Unchanged != 5 || r.Changed+r.Removed != 0 {
		t.Errorf("again %+v", r)
	}
	writeFile(t, dir, "a/two.ln", "def two\ndef four\n")
	writeFile(t, dir, "a/one.ln", "def one\nuse four\n")
	if err := os.Remove(filepath.Join(dir, "b/three.ln")); err != nil {
		t.Fatal(err)
	}
	if r = build(t, g, dir, Options{}); r.Changed != 2 || r.Removed != 1 || r.Unchanged != 2 {
		t.Errorf("changed %+v", r)
	}
	if got := edgesOf(g.View(), "function:l.one"); !slices.Equal(got, []string{"calls exact function:l.four"}) {
		t.Errorf("l.one has %v", got)
	}
	fresh := New()
	build(t, fresh, dir, Options{})
	if diff := cmp.Diff(export(t, fresh.View()), export(t, g.View())); diff != "" {
		t.Errorf("-anew +had:\n%s", diff)
	}
}

func TestUpdateLooksAtWhatItIsTold(t *testing.T) {
	dir := tree(t, map[string]string{"a/one.ln": "def one\n", "a/two.ln": "def two\n", "b/three.ln": "def three\n", ".gitignore": "gone.ln\n"})
	g := New()
	build(t, g, dir, Options{})
	o := Options{Extractors: map[string]Extractor{".ln": lines}, Now: later}
	for _, f := range []string{"a/one.ln", "a/two.ln", "b/three.ln", "gone.ln"} {
		writeFile(t, dir, f, "def new"+stem(f)+"\n")
	}
	r, err := g.Update(t.Context(), dir, []string{"a/one.ln", "gone.ln", "../out.ln"}, o)
	if err != nil || r.Files != 1 || r.Changed != 1 {
		t.Errorf("%+v, %v", r, err)
	}
	if _, err := g.View().One("l.newone"); err != nil {
		t.Error(err)
	}
	if _, err := g.View().One("l.newtwo"); err == nil {
		t.Error("a file that nobody named was read")
	}
	if err := os.RemoveAll(filepath.Join(dir, "b")); err != nil {
		t.Fatal(err)
	}
	if r, err = g.Update(t.Context(), dir, []string{"b", "a/"}, o); err != nil || r.Removed != 1 || r.Changed != 1 || r.Unchanged != 1 {
		t.Errorf("%+v, %v", r, err)
	}
	if r, err = g.Update(t.Context(), dir, nil, o); err != nil || r.Files != 0 {
		t.Errorf("%+v, %v", r, err)
	}
}

func TestBuildReadsOddFiles(t *testing.T) {
	utf16 := "\xff\xfe"
	for _, c := range "def wide\n" {
		utf16 += string([]byte{byte(c), 0})
	}
	dir := tree(t, map[string]string{
		"wide.ln": utf16, "crlf.ln": "def crlf\r\nuse wide\r\n", "mark.ln": "\xef\xbb\xbfdef mark\n", "latin.ln": "def latin\n\xe9\n", "zero.ln": "def zero\x00\n",
		"bad.ln": "def bad\npanic\n", "gen.ln": "#generated\nimport x\ndef generated\n", "big.ln": "import y\n" + strings.Repeat("def big\n", 1000), "empty.ln": "",
	})
	g := New()
	r := build(t, g, dir, Options{MaxFileBytes: 2000})
	if diff := cmp.Diff([]string{"big.ln", "gen.ln"}, r.HeadOnly); diff != "" {
		t.Error(diff)
	}
	v := g.View()
	for name, want := range map[string]bool{"wide": true, "crlf": true, "mark": true, "latin": true, "zero": false, "bad": false, "generated": false, "big": false} {
		if _, err := v.One("function:l." + name); (err == nil) != want {
			t.Errorf("%s: %v", name, err)
		}
	}
	for _, p := range []string{"package:x", "package:y"} {
		if _, err := v.One(p); err != nil {
			t.Error(err)
		}
	}
	var said []string
	for _, p := range r.Problems {
		said = append(said, p.Path+": "+p.Text)
	}
	if diff := cmp.Diff([]string{"bad.ln: the extractor failed: at line 2", "latin.ln: not understood", "zero.ln: is no text: it has bytes of value zero"}, said); diff != "" {
		t.Error(diff)
	}
	if r := build(t, g, dir, Options{MaxFileBytes: 2000}); r.Changed != 0 {
		t.Errorf("again %+v", r)
	}
	if r := build(t, g, dir, Options{Generated: true}); r.Changed != 2 {
		t.Errorf("with generated files and a larger limit %+v", r)
	}
	if _, err := g.View().One("function:l.generated"); err != nil {
		t.Error(err)
	}
}

func TestBuildEndsWithItsContext(t *testing.T) {
	dir := tree(t, map[string]string{"a.ln": "def a\n", "b.ln": "def b\n"})
	g := New()
	ctx, cancel := context.WithCancel(t.Context())
	o := Options{Extractors: map[string]Extractor{".ln": func(p string, b []byte) File { cancel(); return lines(p, b) }}, Workers: 1}
	if _, err := g.Build(ctx, dir, o); !errors.Is(err, context.Canceled) {
		t.Errorf("%v", err)
	}
	if c := g.View().Counts(); c != (Counts{}) {
		t.Errorf("half a graph: %+v", c)
	}
	if _, err := g.Build(t.Context(), filepath.Join(dir, "none"), Options{}); !errors.Is(err, ken.ErrInvalid) {
		t.Errorf("%v", err)
	}
	if _, err := g.Build(t.Context(), dir, Options{Workers: -1}); !errors.Is(err, ken.ErrInvalid) {
		t.Errorf("%v", err)
	}
}

func TestWhatIsAppliedDuringABuildStands(t *testing.T) {
	dir := tree(t, map[string]string{"a.ln": "def old\n", "b.ln": "def b\n"})
	g := New()
	o := Options{Extractors: map[string]Extractor{".ln": func(p string, b []byte) File {
		if p == "a.ln" {
			g.Apply([]File{file("a.ln", "lines", "func l.edited")}, nil)
		}
		return lines(p, b)
	}}}
	if _, err := g.Build(t.Context(), dir, o); err != nil {
		t.Fatal(err)
	}
	for name, want := range map[string]bool{"edited": true, "old": false, "b": true} {
		if _, err := g.View().One("l." + name); (err == nil) != want {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestPrune(t *testing.T) {
	g := newShop()
	exists := func(p string) bool { return !strings.HasPrefix(p, "web/") && p != "README.md" }
	want := Pruned{
		Files: []string{"README.md", "web/cart.ts", "web/money.test.ts", "web/money.ts"}, Decisions: []string{"ADR-0001"},
		Nodes:    []string{"adr:ADR-0001", "file:README.md", "file:web/cart.ts", "file:web/money.test.ts", "file:web/money.ts", "function:web/cart.render", "function:web/money.format"},
		External: []string{"package:react"},
	}
	before := export(t, g.View())
	if diff := cmp.Diff(want, g.Prune(exists, false)); diff != "" {
		t.Errorf("dry, -want +got:\n%s", diff)
	}
	if export(t, g.View()) != before {
		t.Error("a dry run changed the graph")
	}
	if diff := cmp.Diff(want, g.Prune(exists, true)); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
	checkConsistent(t, g.View())
	for _, id := range append(want.Nodes, want.External...) {
		if _, err := g.View().One(id); err == nil {
			t.Errorf("%s is still there", id)
		}
	}
	if diff := cmp.Diff(Pruned{}, g.Prune(exists, true)); diff != "" {
		t.Errorf("again: %s", diff)
	}
}

func TestPruneGivesTextsBack(t *testing.T) {
	g := New()
	for i := range 3000 {
		g.Apply([]File{file("a.go", "go", fmt.Sprintf("func a.name%d", i))}, nil)
	}
	had := len(g.names.strs)
	version := g.View().Version()
	g.Prune(func(string) bool { return true }, true)
	if now := len(g.names.strs); now > had/10 || g.View().Version() <= version {
		t.Errorf("%d texts of %d, version %d", now, had, g.View().Version())
	}
	g.Apply([]File{file("b.go", "go", "func b.f", "calls =a.name2999")}, nil)
	checkConsistent(t, g.View())
	if got := edgesOf(g.View(), "b.f"); !slices.Equal(got, []string{"calls exact function:a.name2999"}) {
		t.Error(got)
	}
}
