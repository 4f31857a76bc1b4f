package codegraph

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// edgesOf lists the edges of some kinds from a node as "kind how to".
func edgesOf(v *View, id string, kinds ...EdgeKind) (out []string) {
	found := v.find(id)
	if len(found) != 1 {
		return []string{"no " + id}
	}
	for _, e := range v.exportEdges(found[0]) {
		if len(kinds) == 0 || slices.Contains(kinds, e.Kind) {
			out = append(out, fmt.Sprintf("%s %s %s", e.Kind, e.How, e.To))
		}
	}
	return out
}

// file makes a file out of lines: "type a.T", "method 0 a.T.M" (in the first declaration),
// "-func a.f" (not exported); "calls .M", "references =a.T" (qualified), from the last declaration;
// "import package:x"; "in package:a"; "scope a"; "test".
func file(path, language string, lines ...string) File {
	f := File{Path: path, Hash: "sha256:" + strings.Join(lines, ","), Language: language}
	kinds := map[string]Kind{"type": KindType, "interface": KindInterface, "method": KindMethod, "property": KindProperty, "func": KindFunction, "var": KindVariable, "namespace": KindNamespace}
	for i, l := range lines {
		w := strings.Fields(l)
		verb, hidden := strings.CutPrefix(w[0], "-")
		switch verb {
		case "in":
			f.Within = w[1]
		case "scope":
			f.Scopes = append(f.Scopes, w[1])
		case "test":
			f.Test = true
		case "import":
			f.Imports = append(f.Imports, Import{Path: w[len(w)-1], Target: w[1], Line: i + 1})
		default:
			if k, ok := kinds[verb]; ok {
				d := Decl{Kind: k, Qualified: w[len(w)-1], Parent: -1, Line: i + 1, End: i + 1, Exported: !hidden}
				if len(w) == 3 {
					fmt.Sscan(w[1], &d.Parent)
				}
				d.Name = lastPart(d.Qualified)
				f.Decls = append(f.Decls, d)
				continue
			}
			name, qualified := strings.CutPrefix(w[1], "=")
			f.Uses = append(f.Uses, Use{From: len(f.Decls) - 1, Kind: EdgeKind(verb), Name: name, Qualified: qualified, Line: i + 1})
		}
	}
	return f
}

func TestWhatNamesMean(t *testing.T) {
	for _, c := range []struct {
		name  string
		files []File
		of    string
		want  []string
	}{
		{"a qualified name is exact, and nothing else will do", []File{
			file("a.go", "go", "in package:a", "scope a", "func a.F", "calls =b.G", "calls =c.G", "references =b.T"),
			file("b.go", "go", "in package:b", "func b.G", "type b.T")},
			"function:a.F", []string{"calls exact function:b.G", "references exact type:b.T"}},
		{"a call prefers a function, a reference a type", []File{
			file("a.ts", "typescript", "func a.F", "calls =b.X", "references =b.X"), file("b.ts", "typescript", "func b.X", "type b.X")},
			"function:a.F", []string{"calls exact function:b.X", "references exact type:b.X"}},
		{"the file comes before its scopes, and these before the repository", []File{
			file("a.java", "java", "scope p", "scope q", "type p.X", "func p.A.run", "references X", "references Y", "references Z", "references Wide"),
			file("p.java", "java", "type p.Y"), file("q.java", "java", "type q.X", "type q.Y", "type q.Z"), file("r.java", "java", "type r.Z", "type r.Wide", "-type s.Wide")},
			"function:p.A.run", []string{"references guess type:p.X", "references guess type:p.Y", "references guess type:q.Z", "references guess type:r.Wide"}},
		{"an inner name hides an outer one, and other types' members don't count", []File{
			file("a.cs", "csharp", "type A", "method 0 A.go", "method 0 A.run", "type B", "method 3 B.go", "func go", "method 0 A.last", "calls go")},
			"method:A.last", []string{"calls guess method:A.go"}},
		{"two of a name in the repository mean nothing, nor do two letters", []File{
			file("a.py", "python", "func a.f", "calls open_all", "calls ab", "calls once"), file("b.py", "python", "func b.open_all", "func b.ab", "func b.once"), file("c.py", "python", "func c.open_all")},
			"function:a.f", []string{"calls guess function:b.once"}},
		{"languages do not share names, but families do", []File{
			file("a.js", "javascript", "func a.f", "calls first", "calls second"), file("b.ts", "typescript", "func b.first"), file("c.py", "python", "func c.second")},
			"function:a.f", []string{"calls guess function:b.first"}},
		{"what only tests declare is nothing to code", []File{
			file("a.go", "go", "func a.f", "calls helper", "calls .assist"), file("a_test.go", "go", "test", "func a.helper", "method a.T.assist")},
			"function:a.f", nil},
		{"a member that is alone is meant, a common one only when its owner is near", []File{
			file("a.go", "go", "in package:a", "func a.f", "calls .Rebalance", "calls .Close"), file("b.go", "go", "type b.T", "method 0 b.T.Rebalance", "method 0 b.T.Close")},
			"function:a.f", []string{"calls guess method:b.T.Rebalance"}},
		{"a common member of what is imported", []File{
			file("a.go", "go", "in package:a", "import package:b", "func a.f", "calls .Close"), file("b.go", "go", "in package:b", "type b.T", "method 0 b.T.Close")},
			"function:a.f", []string{"calls guess method:b.T.Close"}},
		{"of several owners those that the file names", []File{
			file("a.go", "go", "func a.f", "references =b.T", "references =c.U", "calls .Total"),
			file("b.go", "go", "type b.T", "method 0 b.T.Total", "type b.S", "method 2 b.S.Total"), file("c.go", "go", "type c.U", "method 0 c.U.Total")},
			"function:a.f", []string{"calls guess method:b.T.Total", "calls guess method:c.U.Total", "references exact type:b.T", "references exact type:c.U"}},
		{"behind a folder that is no package, a name may be longer", []File{
			file("src/a/b.py", "python", "in package:src.a.b", "type src.a.b.T"), file("src/c.py", "python", "in package:src.c", "func src.c.f", "references =a.b.T", "import package:a.b")},
			"function:src.c.f", []string{"references guess type:src.a.b.T"}},
		{"behind a package, it may not", []File{
			file("a/logging.py", "python", "in package:a.logging", "func a.logging.getLogger"), file("a/__init__.py", "python", "in package:a", "func a.f", "calls =logging.getLogger")},
			"function:a.f", nil},
		{"C# has one list for bases and interfaces", []File{
			file("a.cs", "csharp", "interface I", "type B", "type C", "inherits I", "inherits B", "interface J", "inherits I")},
			"type:C", []string{"implements guess interface:I", "inherits guess type:B"}},
		{"an edge is there once, at its first line, exact if it can be", []File{
			file("a.go", "go", "scope a", "type a.T", "func a.f", "references T", "references =a.T", "references =a.T")},
			"function:a.f", []string{"references exact type:a.T"}},
		{"nothing is about itself", []File{file("a.go", "go", "func a.f", "calls =a.f", "calls f")}, "function:a.f", nil},
		{"methods belong to the type that another file declares", []File{
			file("t.go", "go", "type a.T"), file("m.go", "go", "method a.T.M")}, "type:a.T", []string{"defines exact method:a.T.M"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			g := New()
			g.Apply(c.files, nil)
			if diff := cmp.Diff(c.want, edgesOf(g.View(), c.of)); diff != "" {
				t.Errorf("-want +got:\n%s", diff)
			}
		})
	}
}

func TestImports(t *testing.T) {
	g := New()
	g.Apply([]File{
		file("web/a.ts", "typescript", "import file:web/b ./b", "import file:web/c.js ./c.js", "import file:web/d ./d", "import file:web/none ./none", "import package:react react"),
		file("web/b.tsx", "typescript"), file("web/c.ts", "typescript"), file("web/d/index.ts", "typescript"),
		file("src/main.c", "c", "import file:src/util/list.h util/list.h", "import file:stdio.h stdio.h"), file("include/util/list.h", "c"),
		file("J.java", "java", "in package:j", "import package:shop.cart.Line.total", "import package:shop.cart", "import package:java.util"), file("L.java", "java", "in package:shop.cart", "type shop.cart.Line"),
	}, nil)
	v := g.View()
	for of, want := range map[string][]string{
		"file:web/a.ts":   {"imports exact file:web/b.tsx", "imports exact file:web/c.ts", "imports exact file:web/d/index.ts", "imports exact package:react"},
		"file:src/main.c": {"imports guess file:include/util/list.h"},
		"file:J.java":     {"imports exact package:java.util", "imports exact package:shop.cart", "imports exact type:shop.cart.Line"},
		"package:j":       {"depends_on exact package:java.util", "depends_on exact package:shop.cart"},
	} {
		if diff := cmp.Diff(want, edgesOf(v, of, Imports, DependsOn)); diff != "" {
			t.Errorf("%s, -want +got:\n%s", of, diff)
		}
	}
	if n, err := v.One("package:react"); err != nil || !n.External {
		t.Errorf("react is %+v, %v", n, err)
	}
	g.Apply(nil, []string{"web/a.ts"})
	if _, err := g.View().One("package:react"); err == nil {
		t.Error("react is still there, and nobody imports it")
	}
}

func TestWhatTestsAreFor(t *testing.T) {
	g := New()
	g.Apply([]File{
		file("a/shelf.go", "go", "in package:a", "scope a", "type a.Shelf", "method 0 a.Shelf.View", "-func a.openAll", "func a.New"),
		file("a/shelf_test.go", "go", "test", "in package:a_test", "scope a_test", "import package:a",
			"func a_test.TestShelfOpens", "func a_test.TestShelf_View", "func a_test.TestOpenAll", "calls =a.New", "func a_test.helper", "func a_test.TestNothingOfIt"),
		file("pkg/order.py", "python"), file("tests/test_order.py", "python", "test"), file("src/main/java/A.java", "java"), file("src/test/java/ATest.java", "java", "test"),
	}, nil)
	v := g.View()
	for of, want := range map[string][]string{
		"function:a_test.TestShelfOpens":  {"tests guess type:a.Shelf"},
		"function:a_test.TestShelf_View":  {"tests guess method:a.Shelf.View"},
		"function:a_test.TestOpenAll":     {"tests exact function:a.New", "tests guess function:a.openAll"},
		"function:a_test.helper":          nil,
		"function:a_test.TestNothingOfIt": nil,
		"file:a/shelf_test.go":            {"tests guess file:a/shelf.go"},
		"file:tests/test_order.py":        {"tests guess file:pkg/order.py"},
		"file:src/test/java/ATest.java":   {"tests guess file:src/main/java/A.java"},
	} {
		if diff := cmp.Diff(want, edgesOf(v, of, Tests)); diff != "" {
			t.Errorf("%s, -want +got:\n%s", of, diff)
		}
	}
	if d := edgesOf(v, "package:a_test", DependsOn); d != nil {
		t.Errorf("tests make their package depend on %v", d)
	}
}

func TestRefinementStandsUntilTheFileChanges(t *testing.T) {
	a := file("a.go", "go", "in package:a", "scope a", "func a.f", "calls Gather", "references Table")
	g := New()
	g.Apply([]File{a, file("b.go", "go", "in package:b", "func b.Gather", "type b.Table", "type b.U")}, nil)
	names := []string{"calls guess function:b.Gather", "references guess type:b.Table"}
	if diff := cmp.Diff(names, edgesOf(g.View(), "a.f")); diff != "" {
		t.Fatal(diff)
	}
	r := Refinement{Source: "types", Kinds: []EdgeKind{Calls}, Files: []RefinedFile{
		{Path: "a.go", Hash: a.Hash, Decls: []Decl{{Kind: KindVariable, Name: "v", Qualified: "a.v", Parent: -1, Line: 9}}, Edges: []RefinedEdge{
			{"function:a.f", "type:b.U", References, 3, 0}, {"function:a.f", "function:b.none", Calls, 3, 0}, {"function:a.f", "package:fmt", References, 4, 0}}},
		{Path: "b.go", Hash: "sha256:older"}, {Path: "none.go", Hash: "sha256:x"}}}
	if got := g.Refine(r); got != (Refined{Files: 1, Stale: 2}) {
		t.Errorf("%+v", got)
	}
	refined := []string{"references exact package:fmt", "references guess type:b.Table", "references exact type:b.U"}
	if diff := cmp.Diff(refined, edgesOf(g.View(), "a.f")); diff != "" {
		t.Errorf("refined, -want +got:\n%s", diff)
	}
	if n, err := g.View().One("variable:a.v"); err != nil || n.Line != 9 {
		t.Errorf("the declaration that was found: %+v, %v", n, err)
	}
	g.Apply([]File{a}, nil) // the same content
	if diff := cmp.Diff(refined, edgesOf(g.View(), "a.f")); diff != "" {
		t.Errorf("applied again, -want +got:\n%s", diff)
	}
	g.Refine(Refinement{Source: "scip", Kinds: []EdgeKind{References}, Files: []RefinedFile{{Path: "a.go", Hash: a.Hash}}})
	if diff := cmp.Diff([]string{refined[0], refined[2]}, edgesOf(g.View(), "a.f")); diff != "" {
		t.Errorf("two sources, -want +got:\n%s", diff)
	}
	a.Hash += "!"
	g.Apply([]File{a}, nil)
	if diff := cmp.Diff(names, edgesOf(g.View(), "a.f")); diff != "" {
		t.Errorf("changed, -want +got:\n%s", diff)
	}
	if _, err := g.View().One("package:fmt"); err == nil {
		t.Error("the package of the refinement is still there")
	}
}

func TestDecisions(t *testing.T) {
	g := newShop()
	if got := g.View().Unresolved(); len(got) != 1 || got[0] != (Unresolved{"ADR-0001", "README.md", "NoSuchThing"}) {
		t.Errorf("unresolved: %+v", got)
	}
	g.Apply([]File{file("x/new.go", "go", "in package:x", "type x.NoSuchThing")}, nil)
	if got := edgesOf(g.View(), "adr:ADR-0001", Governs); !slices.Contains(got, "adr_governs guess type:x.NoSuchThing") || len(g.View().Unresolved()) != 0 {
		t.Errorf("now it is there: %v", got)
	}
	s, err := g.View().Show("pay.Charge")
	if err != nil || len(s.Governed) != 1 || s.Governed[0].From.ID != "adr:ADR-0001" {
		t.Errorf("what governs pay.Charge: %+v, %v", s.Governed, err)
	}
	two := []Decision{{ID: "ADR-7", Path: "a.md"}, {ID: "ADR-7", Path: "b.md"}, {ID: ""}}
	g.Govern(two)
	if n, err := g.View().Show("adr:ADR-7"); err != nil || len(n.Places) != 2 || g.View().Counts().Decisions != 2 {
		t.Errorf("two files of one number: %+v, %v", n, err)
	}
	g.Govern(nil)
	if _, err := g.View().One("adr:ADR-7"); err == nil {
		t.Error("the decision is still there")
	}
}
