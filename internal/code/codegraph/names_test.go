package codegraph

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestBeginning(t *testing.T) {
	g := New()
	g.Apply(shop(), nil)
	v := g.View()
	for begun, want := range map[string]string{
		"Li":                   "type:example.com/shop/cart.Line",
		"cart.Line.T":          "method:example.com/shop/cart.Line.Total",
		"example.com/shop/pay": "function:example.com/shop/pay.Charge package:example.com/shop/pay variable:example.com/shop/pay.key",
		"interface:example":    "interface:example.com/shop/cart.Pricer",
		"web/mon":              "function:web/money.format file:web/money.ts file:web/money.test.ts",
		"ine":                  "",
		"art.Line":             "",
		"test":                 "",
	} {
		var ids []string
		for _, n := range v.Beginning(begun, 10) {
			ids = append(ids, n.ID)
		}
		if got := strings.Join(ids, " "); got != want {
			t.Errorf("%s: %s, want %s", begun, got, want)
		}
	}
	if n := len(v.Beginning("", 3)); n != 3 {
		t.Errorf("of everything, %d", n)
	}
}

func TestMembersAreFoundInWhatATypeInheritsOrEmbeds(t *testing.T) {
	for _, c := range []struct {
		name  string
		files []File
		want  []string
	}{
		{"what is embedded has it", []File{
			file("a.go", "go", "in package:a", "func a.F", "calls =b.T.M"), file("b.go", "go", "type b.T", "inherits =c.B"), file("c.go", "go", "type c.B", "method 0 c.B.M")},
			[]string{"calls exact method:c.B.M"}},
		{"the nearest counts", []File{
			file("a.go", "go", "func a.F", "calls =b.T.M"), file("b.go", "go", "type b.T", "inherits =b.U", "type b.U", "inherits =b.V", "method 1 b.U.M", "type b.V", "method 3 b.V.M")},
			[]string{"calls exact method:b.U.M"}},
		{"two that are as near mean nothing", []File{
			file("a.go", "go", "func a.F", "calls =b.T.M"), file("b.go", "go", "type b.T", "inherits =b.U", "inherits =b.V", "type b.U", "method 1 b.U.M", "type b.V", "method 3 b.V.M")},
			nil},
		{"through a circle", []File{
			file("a.go", "go", "func a.F", "calls =b.T.M"), file("b.go", "go", "type b.T", "inherits =b.U", "type b.U", "inherits =b.T", "inherits =b.V", "type b.V", "method 2 b.V.M")},
			[]string{"calls exact method:b.V.M"}},
		{"in Go what it implements gives it nothing", []File{
			file("a.go", "go", "func a.F", "calls =b.T.M"), file("b.go", "go", "type b.T", "implements =b.I", "interface b.I", "method 1 b.I.M")},
			nil},
		{"in other languages it does, and a base by its bare name is a guess", []File{
			file("a.java", "java", "func a.F", "calls =b.T.sum", "calls =b.T.map"),
			file("b.java", "java", "in package:b", "scope b", "type b.T", "inherits Base", "implements =b.I", "interface b.I", "method 1 b.I.sum"), file("c.java", "java", "in package:b", "type b.Base", "method 0 b.Base.map")},
			[]string{"calls guess method:b.Base.map", "calls exact method:b.I.sum"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			g := New()
			g.Apply(c.files, nil)
			if diff := cmp.Diff(c.want, edgesOf(g.View(), "F")); diff != "" {
				t.Errorf("-want +got:\n%s", diff)
			}
		})
	}
}

func TestInheritedMembersFollowTheirTypes(t *testing.T) {
	g := New()
	g.Apply([]File{file("a.go", "go", "func a.F", "calls =b.T.M"), file("c.go", "go", "type c.B", "method 0 c.B.M", "type c.C", "method 2 c.C.M")}, nil)
	for _, step := range []struct {
		file File
		want []string
	}{
		{file("b.go", "go", "type b.T", "inherits =c.B"), []string{"calls exact method:c.B.M"}},
		{file("b.go", "go", "type b.T", "inherits =c.C"), []string{"calls exact method:c.C.M"}},
		{file("b.go", "go", "type b.T", "inherits =c.D"), nil},
		{file("d.go", "go", "type c.D", "inherits =c.B"), []string{"calls exact method:c.B.M"}},
		{file("b.go", "go", "type b.T", "method 0 b.T.M"), []string{"calls exact method:b.T.M"}},
	} {
		g.Apply([]File{step.file}, nil)
		if diff := cmp.Diff(step.want, edgesOf(g.View(), "a.F")); diff != "" {
			t.Errorf("%v, -want +got:\n%s", step.file.Hash, diff)
		}
	}
}

func TestWhatIsCalledIsNoType(t *testing.T) {
	g := New()
	g.Apply([]File{
		file("a.py", "python", "func a.f", "calls =b.T", "calls =b.g"), file("b.py", "python", "type b.T", "func b.g"),
		file("test_a.py", "python", "test", "func t.test_a", "calls =b.T"),
	}, nil)
	for of, want := range map[string][]string{
		"a.f":      {"calls exact function:b.g", "references exact type:b.T"},
		"t.test_a": {"references exact type:b.T", "tests exact type:b.T"},
	} {
		if diff := cmp.Diff(want, edgesOf(g.View(), of)); diff != "" {
			t.Errorf("%s, -want +got:\n%s", of, diff)
		}
	}
}

func TestTestsOfWhatIsNotThereLeadNowhere(t *testing.T) {
	g := New()
	test := file("a_test.go", "go", "test", "in package:a", "func a.TestGather_All", "tests =a.Gather", "tests =a.gather", "tests =a.Gather.All")
	g.Apply([]File{test, file("b.go", "go", "in package:b", "type b.Gather", "method 0 b.Gather.All", "func b.gather")}, nil)
	if got := edgesOf(g.View(), "a.TestGather_All"); got != nil {
		t.Errorf("it is for %v", got)
	}
	g.Apply([]File{file("a.go", "go", "in package:a", "func a.gather")}, nil)
	if diff := cmp.Diff([]string{"tests guess function:a.gather"}, edgesOf(g.View(), "a.TestGather_All")); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
}

// Queries for implementations of io.Reader work although the repository does not declare it.
func TestInterfacesOfTheStandardLibraryAreNodes(t *testing.T) {
	a, shop := file("a.go", "go", "in package:a", "type a.T"), file("shop/i.go", "go", "in package:shop", "interface shop.I")
	g := New()
	g.Apply([]File{a, shop}, nil)
	implements := func(to ...string) (r Refinement) {
		r = Refinement{Source: "types", Kinds: []EdgeKind{Implements}, Files: []RefinedFile{{Path: "a.go", Hash: a.Hash}}}
		for _, id := range to {
			r.Files[0].Edges = append(r.Files[0].Edges, RefinedEdge{"type:a.T", id, Implements, 1, 1})
		}
		return r
	}
	g.Refine(implements("interface:io.Reader", "interface:error", "interface:shop.I", "interface:shop.Gone", "interface:example.com/x.I", "type:io.PipeReader"))
	want := []string{"implements exact interface:error", "implements exact interface:io.Reader", "implements exact interface:shop.I"}
	if diff := cmp.Diff(want, edgesOf(g.View(), "a.T")); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
	n, err := g.View().One("io.Reader")
	if err != nil || !n.External || n.Path != "" || n.In != 1 {
		t.Errorf("%+v, %v", n, err)
	}
	checkConsistent(t, g.View())
	reloaded(t, g)
	g.Apply(nil, []string{"shop/i.go"})
	checkConsistent(t, g.View())
	g.Refine(implements("interface:io.Reader"))
	if _, err := g.View().One("interface:error"); err == nil {
		t.Error("nothing implements error, and it is still there")
	}
	if p := g.Prune(func(string) bool { return false }, true); !cmp.Equal(p.External, []string{"interface:io.Reader"}) || g.View().Counts().Nodes != 0 {
		t.Errorf("%+v", p)
	}
}

// addInheritance adds a type that inherits from others, a member, and a use of a member that may be inherited.
func (w *world) addInheritance(f *File) {
	name := func() string { return w.pick("Base", "Middle", "Leaf") }
	q := w.pick("a.b.", "a.b.", "c.") + name()
	at := len(f.Decls)
	f.Scopes = append(f.Scopes, w.pick("a.b", "c"))
	f.Decls = append(f.Decls, Decl{Kind: kindNames[kType+kindNo(w.IntN(2))], Name: lastPart(q), Qualified: q, Parent: -1, Line: 1, End: 9, Exported: true})
	if w.IntN(3) == 0 {
		m := q + w.pick(".grab", ".push")
		f.Decls = append(f.Decls, Decl{Kind: KindMethod, Name: lastPart(m), Qualified: m, Parent: at, Line: 2, End: 3, Exported: true})
	}
	for range w.IntN(3) {
		x := Use{From: at, Kind: edgeNames[eInherits+edgeNo(w.IntN(2))], Name: name(), Line: 1}
		if w.IntN(3) > 0 {
			x.Name, x.Qualified = w.pick("a.b.", "c.", "b.")+x.Name, true
		}
		f.Uses = append(f.Uses, x)
	}
	f.Uses = append(f.Uses, Use{From: -1, Kind: Calls, Name: w.pick("a.b.", "c.", "b.") + name() + w.pick(".grab", ".push"), Qualified: true, Line: 4})
}

// The meaning of the end of a name does not depend on whether a file uses exactly that end.
func TestInheritedThroughAnEndNobodyElseWrites(t *testing.T) {
	g := New()
	g.Apply([]File{
		{Path: "src/a/b/kin.py", Hash: "sha256:1", Language: "python", Decls: []Decl{
			{Kind: KindType, Name: "Leaf", Qualified: "a.b.Leaf", Parent: -1, Line: 1, End: 3, Exported: true},
			{Kind: KindMethod, Name: "grab", Qualified: "a.b.Leaf.grab", Parent: 0, Line: 2, End: 3, Exported: true},
			{Kind: KindType, Name: "Middle", Qualified: "a.b.Middle", Parent: -1, Line: 5, End: 6, Exported: true},
		}, Uses: []Use{{From: 2, Kind: Inherits, Name: "a.b.Leaf", Qualified: true, Line: 5}}},
		{Path: "src/use.py", Hash: "sha256:2", Language: "python", Uses: []Use{{From: -1, Kind: Calls, Name: "b.Middle.grab", Qualified: true, Line: 1}}},
	}, nil)
	r, err := g.View().Refs("method:a.b.Leaf.grab", []EdgeKind{Calls}, Page{})
	if err != nil || len(r.Refs) != 1 || r.Refs[0].From.ID != "file:src/use.py" || r.Refs[0].How != Guess {
		t.Errorf("%+v, %v", r.Refs, err)
	}
}
