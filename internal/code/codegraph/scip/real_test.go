package scip_test

import (
	"os"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/kenlayer/ken/internal/code/codegraph"
	"github.com/kenlayer/ken/internal/code/codegraph/scip"
)

func TestTypeScript(t *testing.T) {
	ref, report := read(t, "testdata/zoo", "ts.scip", scip.Options{})
	same(t, edges(ref),
		"file:keeper.ts references interface:animal.Animal 1",
		"file:keeper.ts references type:animal.Dog 1",
		"type:animal.Base implements interface:animal.Animal 6",
		"type:animal.Base references interface:animal.Animal 6",
		"method:animal.Base.sound implements method:animal.Animal.sound 9",
		"method:animal.Base.feed references property:animal.Base.fed 11",
		"type:animal.Dog inherits type:animal.Base 16",
		"type:animal.Dog references type:animal.Base 16",
		"type:animal.Dog implements interface:animal.Animal 16",
		"method:animal.Dog.sound implements method:animal.Base.sound 17",
		"method:animal.Dog.sound implements method:animal.Animal.sound 17",
		"method:animal.Dog.sound calls method:animal.Dog.quiet 18",
		"method:animal.Dog.weight references property:animal.Base.fed 21",
		"variable:keeper.rations references type:keeper.Ration 5",
		"function:keeper.make references interface:animal.Animal 7",
		"function:keeper.make references variable:keeper.rations 8",
		"function:keeper.make references property:keeper.Ration.grams 8",
		"function:keeper.visit references type:keeper.Shift 18",
		"function:keeper.visit references property:keeper.Shift.Day 19",
		"function:keeper.visit references type:animal.Dog 19",
		"function:keeper.visit calls function:keeper.make 19",
		"function:keeper.visit calls method:animal.Base.feed 19",
		"function:keeper.visit calls method:animal.Dog.sound 19",
		"function:keeper.visit references method:animal.Dog.weight 20",
		"function:keeper.visit calls function:keeper.describe 20",
		"function:keeper.describe references interface:animal.Animal 23",
		"function:keeper.describe references property:animal.Animal.name 24",
	)
	if want := []codegraph.EdgeKind{codegraph.References, codegraph.Calls, codegraph.Implements, codegraph.Inherits}; !slices.Equal(ref.Kinds, want) {
		t.Errorf("%v", ref.Kinds)
	}
	want := scip.Report{Tool: "scip-typescript 0.4.0", Documents: 2, Files: 2, Symbols: 22, Edges: 27}
	if diff := cmp.Diff(want, report); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestPython(t *testing.T) {
	ref, _ := read(t, "testdata/zoo", "py.scip", scip.Options{})
	same(t, edges(ref),
		"type:farm.Cow inherits type:farm.Animal 16",
		"type:farm.Cow references type:farm.Animal 16",
		"method:farm.Cow.sound implements method:farm.Animal.sound 17",
		"method:farm.Cow.sound calls function:farm.twice 18",
		"method:farm.Cow.sound references property:farm.Animal.name 18",
		"function:farm.twice references variable:farm.LIMIT 25",
		"function:farm.visit references type:farm.Cow 30",
		"function:farm.visit calls method:farm.Cow.sound 30",
	)
}

// A package from the registry. For every edge of the index, the name of its target is on its line.
func TestStore(t *testing.T) {
	ref, report := read(t, "testdata/store", "index.scip", scip.Options{})
	if len(ref.Files) != 3 || report.Symbols < 50 || report.Edges < 50 || report.Stale+report.Missing > 0 {
		t.Errorf("%+v", report)
	}
	for _, f := range ref.Files {
		text, err := os.ReadFile("testdata/store/" + f.Path)
		if err != nil {
			t.Fatal(err)
		}
		for _, e := range f.Edges {
			if !names(string(text), e.Line, e.To) {
				t.Errorf("%s: %+v", f.Path, e)
			}
		}
		for _, d := range f.Decls {
			if !names(string(text), d.Line, d.Qualified) {
				t.Errorf("%s: %+v", f.Path, d)
			}
		}
	}
}

// Existing nodes of the graph are used.
func TestNodesOfTheGraph(t *testing.T) {
	graph := map[string]codegraph.File{"keeper.ts": {Language: "typescript", Decls: []codegraph.Decl{
		{Kind: codegraph.KindVariable, Name: "rations", Qualified: "zoo.rations", Line: 5, End: 5},
		{Kind: codegraph.KindFunction, Name: "make", Qualified: "zoo.make", Line: 7, End: 11},
		{Kind: codegraph.KindFunction, Name: "feed", Qualified: "zoo.make.feed", Line: 8, End: 8},
		{Kind: codegraph.KindFunction, Name: "visit", Qualified: "zoo.visit", Line: 18, End: 21},
	}}}
	file := func(p string) (codegraph.File, bool) { f, ok := graph[p]; return f, ok }
	ref, report := read(t, "testdata/zoo", "ts.scip", scip.Options{File: file})
	got := edges(ref)
	for _, want := range []string{
		"function:zoo.visit calls function:zoo.make 19",
		"function:zoo.visit calls method:animal.Dog.sound 19",
		"function:zoo.make.feed references variable:zoo.rations 8",
		"variable:zoo.rations references type:keeper.Ration 5",
	} {
		if !slices.Contains(got, want) {
			t.Errorf("no %q in %q", want, got)
		}
	}
	if report.Placed != 3 {
		t.Errorf("%+v", report)
	}
	for _, f := range ref.Files {
		for _, d := range f.Decls {
			if d.Name == "make" {
				t.Errorf("%+v is the graph's already", d)
			}
		}
	}
	// What the graph has of another content does not count.
	old := graph["keeper.ts"]
	old.Hash = "sha256:00"
	graph["keeper.ts"] = old
	if _, report := read(t, "testdata/zoo", "ts.scip", scip.Options{File: file}); report.Placed != 0 {
		t.Errorf("%+v", report)
	}
}
