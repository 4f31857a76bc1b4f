package lexed

import (
	"os"
	"reflect"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/kenlayer/ken/internal/code/codegraph"
)

func TestMain(m *testing.M) {
	strict = true
	os.Exit(m.Run())
}

// check checks properties of the result for any file.
func check(t testing.TB, s *Set, path, src string) codegraph.File {
	t.Helper()
	f := s.Extract(path, []byte(src))
	lines := strings.Count(src, "\n") + strings.Count(src, "\r") + 1
	for i, d := range f.Decls {
		if d.Line < 1 || d.End < d.Line || d.End > lines {
			t.Errorf("%s %q: lines %d to %d of %d", d.Kind, d.Qualified, d.Line, d.End, lines)
		}
		if _, _, ok := codegraph.Split(codegraph.ID(d.Kind, d.Qualified)); !ok || d.Name == "" || !strings.HasSuffix(d.Qualified, d.Name) {
			t.Errorf("%q of kind %s is qualified as %q", d.Name, d.Kind, d.Qualified)
		}
		for _, s := range []string{d.Signature, d.Doc} {
			if len(s) > 200 || strings.ContainsAny(s, "\n\r") || !utf8.ValidString(s) {
				t.Errorf("%s: not one line of 200 bytes: %q", d.Qualified, s)
			}
		}
		steps := 0
		for p := d.Parent; p != -1; p = f.Decls[p].Parent {
			if steps++; p < -1 || p >= len(f.Decls) || steps > len(f.Decls) {
				t.Fatalf("%s: parent %d of %d", d.Qualified, p, len(f.Decls))
			}
		}
		_ = i
	}
	type key struct {
		from int
		kind codegraph.EdgeKind
		name string
	}
	seen := map[key]bool{}
	for _, u := range f.Uses {
		if u.From < -1 || u.From >= len(f.Decls) || u.Line < 1 || u.Line > lines || u.Name == "" || u.Name == "." {
			t.Errorf("use %+v of %d declarations, %d lines", u, len(f.Decls), lines)
		}
		if k := (key{u.From, u.Kind, u.Name}); seen[k] && u.Kind != codegraph.Tests {
			t.Errorf("use %+v twice", u)
		} else {
			seen[k] = true
		}
	}
	for _, imp := range f.Imports {
		if _, _, ok := codegraph.Split(imp.Target); imp.Target != "" && !ok || imp.Line < 1 || imp.Line > lines {
			t.Errorf("import %+v", imp)
		}
	}
	for _, p := range f.Problems {
		if p.Line < 0 || p.Line > lines || p.Text == "" {
			t.Errorf("problem %+v of %d lines", p, lines)
		}
	}
	if again := s.Extract(path, []byte(src)); !reflect.DeepEqual(f, again) {
		t.Error("the same file gives another result")
	}
	return f
}
