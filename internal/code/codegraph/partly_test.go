package codegraph

import (
	"fmt"
	"testing"
)

// TestPartlyRefined checks that an index decides the names that it mentions, and the graph resolves the others.
func TestPartlyRefined(t *testing.T) {
	g := New()
	g.Apply([]File{
		{Path: "a.py", Hash: "1", Language: "python", Within: "package:a", Decls: []Decl{
			{Kind: KindFunction, Name: "one", Qualified: "a.one", Parent: -1, Exported: true}, {Kind: KindFunction, Name: "two", Qualified: "a.two", Parent: -1, Exported: true}}},
		{Path: "b.py", Hash: "1", Language: "python", Within: "package:b", Decls: []Decl{{Kind: KindFunction, Name: "one", Qualified: "b.one", Parent: -1, Exported: true}}},
		{Path: "c.py", Hash: "2", Language: "python", Within: "package:c", Decls: []Decl{{Kind: KindFunction, Name: "use", Qualified: "c.use", Parent: -1}},
			Uses: []Use{{From: 0, Kind: Calls, Name: "a.one", Qualified: true, Line: 2}, {From: 0, Kind: Calls, Name: "a.two", Qualified: true, Line: 3}}},
	}, nil)
	calls := func() (out []string) {
		for _, to := range []string{"a.one", "b.one", "a.two"} {
			r, err := g.View().Refs("function:"+to, []EdgeKind{Calls}, Page{})
			if err != nil {
				t.Fatal(err)
			}
			for range r.Refs {
				out = append(out, to)
			}
		}
		return out
	}
	for _, c := range []struct {
		partly bool
		want   string
	}{{true, "[b.one a.two]"}, {false, "[b.one]"}} {
		g.Refine(Refinement{Source: "scip", Kinds: []EdgeKind{Calls}, Partly: c.partly,
			Files: []RefinedFile{{Path: "c.py", Hash: "2", Edges: []RefinedEdge{{From: "function:c.use", To: "function:b.one", Kind: Calls, Line: 2}}}}})
		if got := fmt.Sprint(calls()); got != c.want {
			t.Errorf("partly %v: calls %s, want %s", c.partly, got, c.want)
		}
	}
}

// TestTimes checks the number of places at which one declaration uses another.
func TestTimes(t *testing.T) {
	g := New()
	g.Apply([]File{
		{Path: "a.py", Hash: "1", Language: "python", Within: "package:a", Decls: []Decl{{Kind: KindFunction, Name: "one", Qualified: "a.one", Parent: -1, Exported: true}}},
		{Path: "c.py", Hash: "2", Language: "python", Within: "package:c", Decls: []Decl{{Kind: KindFunction, Name: "use", Qualified: "c.use", Parent: -1}},
			Uses: []Use{{From: 0, Kind: Calls, Name: "a.one", Qualified: true, Line: 2, Times: 3}, {From: 0, Kind: Calls, Name: "one", Line: 5}}},
	}, nil)
	times := func() int {
		r, err := g.View().Refs("function:a.one", []EdgeKind{Calls}, Page{})
		if err != nil || len(r.Refs) != 1 {
			t.Fatalf("%+v, %v", r.Refs, err)
		}
		return r.Refs[0].Times
	}
	if n := times(); n != 4 {
		t.Errorf("%d places, want 4", n)
	}
	g.Refine(Refinement{Source: "types", Kinds: []EdgeKind{Calls}, Files: []RefinedFile{{Path: "c.py", Hash: "2", Edges: []RefinedEdge{{From: "function:c.use", To: "function:a.one", Kind: Calls, Line: 2, Times: 7}}}}})
	if n := times(); n != 7 {
		t.Errorf("%d places by types, want 7", n)
	}
	reloaded(t, g)
}
