package drift_test

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/kenlayer/ken/internal/code/codegraph"
	"github.com/kenlayer/ken/internal/code/drift"
	"github.com/kenlayer/ken/internal/race"
)

// TestProposal compares the text of a proposal with a golden file.
func TestProposal(t *testing.T) {
	root := project(t, archive(t, "proposal.txtar"))
	golden(t, "proposal.yaml", drift.Propose(graph(t, root)))
}

// TestProposedLayers checks which folders become layers.
func TestProposedLayers(t *testing.T) {
	for _, tt := range []struct{ files, want string }{
		{"", ""},
		{"a.py", "root:*.py"},
		{"a.py b.js a/x.py b/x.py", "root:*.js,*.py a:a/ b:b/"},
		{"src/a/1.py src/a/2.py src/b/1.py docs/conf.py", "docs:docs/ a:src/a/ b:src/b/"},
		{"src/a/1.py src/b/1.py src/2.py src/3.py setup.py", "root:*.py src:src/ a:src/a/ b:src/b/"},
		{"src/1.py src/2.py", "src:src/"},
		{"src/main/java/org/shop/web/A.java src/main/java/org/shop/core/B.java src/test/java/org/shop/web/ATest.java",
			"core:src/main/java/org/shop/core/ web:src/main/java/org/shop/web/ test:src/test/"},
		{"a/x/1.py a/y/1.py b/x/1.py b/y/1.py c/1.py d/1.py", "a:a/ b:b/ c:c/ d:d/"},
		{"p/a/x/1.py p/a/x/2.py p/a/x/3.py p/a/y/1.py p/x/1.py", "p/a/x:p/a/x/ y:p/a/y/ p/x:p/x/"},
		{"root/a.py main.py", "the root folder:*.py root:root/"},
		{"a b/1.py #c/1.py d:/2.py true/3.py", "#c:#c/ a b:a b/ d:d:/ true:true/"},
	} {
		var files []codegraph.File
		for f := range strings.FieldsSeq(strings.ReplaceAll(tt.files, "a b/", "a\u00a0b/")) {
			f = strings.ReplaceAll(f, "\u00a0", " ")
			files = append(files, codegraph.File{Path: f, Hash: "sha256:" + f, Language: "python", Test: strings.Contains(f, "test")})
		}
		g := codegraph.New()
		g.Apply(files, nil)
		text := drift.Propose(g.View())
		m, err := drift.Parse("m.yaml", text)
		if strings.Contains(tt.files, "d:/") { // no path that a manifest may have
			if err == nil {
				t.Error("a drive is a path")
			}
			continue
		}
		if err != nil {
			t.Errorf("%s: %v\n%s", tt.files, err, text)
			continue
		}
		var got []string
		for _, l := range m.Layers {
			got = append(got, l.Name+":"+strings.Join(l.Paths, ","))
		}
		if s := strings.Join(got, " "); s != tt.want {
			t.Errorf("%s:\n got %s\nwant %s", tt.files, s, tt.want)
		}
	}
}

// TestProposalIsGreen checks random projects: a proposal has no violations, and each import that is removed from it is
// found.
func TestProposalIsGreen(t *testing.T) {
	for seed := range uint64(60) {
		r := rand.New(rand.NewPCG(seed, 7))
		g := codegraph.New()
		var files []codegraph.File
		spaces := 1 + r.IntN(6)
		for i := range 4 + r.IntN(30) {
			f := codegraph.File{Path: fmt.Sprintf("%c/%c/f%d.cs", 'a'+r.IntN(5), 'x'+r.IntN(2), i), Language: "csharp", Test: r.IntN(9) == 0}
			f.Hash, f.Within = "sha256:"+f.Path, fmt.Sprintf("namespace:N%d", r.IntN(spaces))
			name := fmt.Sprintf("T%d", i)
			f.Decls = []codegraph.Decl{{Kind: codegraph.KindType, Name: name, Qualified: strings.TrimPrefix(f.Within, "namespace:") + "." + name, Parent: -1, Line: 1, End: 2, Exported: true}}
			for k := range r.IntN(4) {
				f.Imports = append(f.Imports, codegraph.Import{Path: "N", Target: fmt.Sprintf("namespace:N%d", r.IntN(spaces)), Line: k + 1})
				f.Uses = append(f.Uses, codegraph.Use{From: 0, Kind: codegraph.References, Name: fmt.Sprintf("N%d.T%d", r.IntN(spaces), r.IntN(i+1)), Qualified: true, Line: 9})
			}
			files = append(files, f)
		}
		g.Apply(files, nil)
		text := drift.Propose(g.View())
		if !bytes.Equal(text, drift.Propose(g.View())) {
			t.Fatal("another text the second time")
		}
		report := drift.Check(g.View(), parse(t, string(text)), drift.Options{})
		if len(report.Violations) > 0 {
			t.Fatalf("seed %d: %+v of\n%s", seed, report.Violations, text)
		}
		forbidden := parse(t, strings.ReplaceAll(string(text), "may_depend_on: [", "may_depend_on: [] # "))
		if none := drift.Check(g.View(), forbidden, drift.Options{}); len(none.Violations) != report.Imports {
			t.Fatalf("seed %d: %d of %d imports", seed, len(none.Violations), report.Imports)
		}
	}
}

// TestThisProject checks that the proposal for this project permits all its imports.
func TestThisProject(t *testing.T) {
	if race.Enabled {
		t.Skip("a graph of this size takes long; nothing here runs at the same time")
	}
	g := graph(t, "../../..")
	text := drift.Propose(g)
	r := drift.Check(g, parse(t, string(text)), drift.Options{})
	if len(r.Violations) > 0 || r.Imports < 500 || len(r.Layers) < 20 {
		t.Errorf("%s\n%s", r.Summary(), text)
	}
	plant := strings.Replace(string(text), "[root", "[", 1)
	if r := drift.Check(g, parse(t, strings.Replace(plant, "[, ", "[", 1)), drift.Options{}); len(r.Violations) == 0 {
		t.Error("a planted violation is not found")
	}
}
