package codegraph

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/kenlayer/ken/internal/race"
	"github.com/kenlayer/ken/internal/seed"
)

// world makes files with few names and many uses of them.
type world struct {
	*rand.Rand
	revision int
}

func (w *world) pick(from ...string) string { return from[w.IntN(len(from))] }

var worldLanguages = map[string]string{".go": "go", ".py": "python", ".ts": "typescript", ".cs": "csharp"}

func (w *world) path() string {
	ext := w.pick(".go", ".go", ".py", ".ts", ".cs")
	return w.pick("", "a/", "a/b/", "src/c/", "tests/") + w.pick("one", "two", "index", "one_test", "test_two", "three.spec") + ext
}

func (w *world) name() string {
	return w.pick("Shelf", "Line", "Total", "close", "open", "Reader", "TestShelf", "TestShelfTotal", "test_open", "view", "LineTest")
}

func (w *world) space() string {
	return w.pick("example.com/a", "example.com/a/b", "a.b", "c", "src.c", "Shop", "example.com/a_test")
}

func (w *world) qualified() string {
	q := w.space() + "." + w.name()
	if w.IntN(3) == 0 {
		q += "." + w.name()
	}
	return q
}

func (w *world) file(path string) File {
	w.revision++
	f := File{Path: path, Hash: fmt.Sprintf("sha256:%d", w.revision), Language: worldLanguages[path[len(path)-3:]], Test: w.IntN(3) == 0}
	if w.IntN(4) > 0 {
		f.Within = w.pick("package:", "namespace:") + w.space()
	}
	for range w.IntN(3) {
		f.Scopes = append(f.Scopes, w.space())
	}
	for i := range w.IntN(6) {
		d := Decl{Kind: kindNames[kPackage+kindNo(w.IntN(8))], Qualified: w.qualified(), Parent: w.IntN(i+1) - 1, Line: w.IntN(50) + 1, Exported: w.IntN(3) > 0, Signature: "func " + w.name(), Doc: w.name()}
		d.Name, d.End = lastPart(d.Qualified), d.Line+3
		f.Decls = append(f.Decls, d)
	}
	for range w.IntN(4) {
		im := Import{Path: w.pick("./one", "../b/two", "one.ts", "fmt"), Line: w.IntN(9) + 1}
		im.Target = w.pick("package:"+w.space(), "namespace:"+w.space(), "package:fmt", "package:"+w.qualified(), "file:"+w.path(), "file:a/b/two", "file:a", "file:src/c/index.js", "")
		f.Imports = append(f.Imports, im)
	}
	for range w.IntN(12) {
		x := Use{From: w.IntN(len(f.Decls)+1) - 1, Kind: edgeNames[eInherits+edgeNo(w.IntN(4))], Line: w.IntN(50) + 1}
		switch w.IntN(3) {
		case 0:
			x.Name, x.Qualified = w.qualified(), true
		case 1:
			x.Name = w.name()
		default:
			x.Name = "." + w.name()
		}
		f.Uses = append(f.Uses, x)
	}
	if w.IntN(2) == 0 {
		w.addInheritance(&f)
	}
	return f
}

func (w *world) decisions() (ds []Decision) {
	for range w.IntN(4) {
		d := Decision{ID: w.pick("ADR-1", "ADR-2", "ADR-3"), Title: w.name(), Path: w.pick("a/one.go", "docs/adr.md", ""), Line: w.IntN(3)}
		for range w.IntN(4) {
			d.Targets = append(d.Targets, Target{w.pick("type:"+w.qualified(), w.qualified(), w.name(), "Shelf.Total", w.path(), "a/", "a/**", "src", "one.go", "package:fmt", "fmt"), How(w.pick("exact", "guess", ""))})
		}
		ds = append(ds, d)
	}
	return ds
}

func (w *world) refinement(files map[string]File) Refinement {
	r := Refinement{Source: w.pick("types", "scip")}
	for k := eDefines; k < eGoverns; k++ {
		if w.IntN(3) == 0 {
			r.Kinds = append(r.Kinds, edgeNames[k])
		}
	}
	id := func() string {
		return w.pick("type:"+w.qualified(), "function:"+w.qualified(), "method:"+w.qualified(), "package:"+w.space(), "package:fmt", "interface:c.Reader", "interface:io.Reader", "interface:error", "file:"+w.path())
	}
	for p, f := range files {
		if w.IntN(3) > 0 {
			continue
		}
		rf := RefinedFile{Path: p, Hash: w.pick(f.Hash, f.Hash, f.Hash, "sha256:other")}
		for range w.IntN(5) {
			rf.Edges = append(rf.Edges, RefinedEdge{id(), id(), edgeNames[eDefines+edgeNo(w.IntN(int(eGoverns-eDefines)))], w.IntN(50), w.IntN(3)})
		}
		for range w.IntN(2) {
			q := w.qualified()
			rf.Decls = append(rf.Decls, Decl{Kind: KindType, Name: lastPart(q), Qualified: q, Parent: -1, Line: 7, Signature: "refined"})
		}
		r.Files = append(r.Files, rf)
	}
	return r
}

func export(t testing.TB, v *View) string {
	t.Helper()
	var b bytes.Buffer
	if err := v.ExportJSON(&b); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

// checkConsistent checks that the lists of a view agree with each other.
func checkConsistent(t *testing.T, v *View) {
	t.Helper()
	var c Counts
	in := map[int32]int{}
	for i := range v.units.n {
		u := v.unit(i)
		if u == nil {
			continue
		}
		if u.decision != nil {
			c.Decisions++
		} else {
			c.Files++
		}
		if !slices.IsSortedFunc(u.edges, compareEdges) {
			t.Errorf("unit %d: edges are not in order", i)
		}
		for k, e := range u.edges {
			c.Edges++
			if e.meta&guessed != 0 {
				c.Guesses++
			}
			in[e.to]++
			if !slices.Contains(v.nodes.at(e.to).in, inEdge{i, int32(k)}) {
				t.Errorf("%s does not know of the edge from %s", v.id(e.to), v.id(e.from))
			}
			if !slices.ContainsFunc(v.nodes.at(e.from).places, func(p place) bool { return p.unit == i }) {
				t.Errorf("%s does not know of its edges in unit %d", v.id(e.from), i)
			}
		}
	}
	for i := range v.nodes.n {
		n := v.nodes.at(i)
		if n.kind == noKind {
			continue
		}
		c.Nodes++
		if n.flags&inRepo == 0 {
			c.External++
			if !n.kind.isScope() && (n.kind != kInterface || len(n.in) == 0) {
				t.Errorf("%s is there although nothing declares it", v.id(i))
			}
		}
		if in[i] != len(n.in) {
			t.Errorf("%s: %d edges lead to it and it knows of %d", v.id(i), in[i], len(n.in))
		}
	}
	if c != v.Counts() {
		t.Errorf("counts %+v, have %+v", v.Counts(), c)
	}
}

func TestAfterAnyChangesTheGraphIsAsOneBuiltAnew(t *testing.T) {
	for range race.Pick(25, 4) {
		w := &world{Rand: rand.New(rand.NewPCG(seed.Of(t), 1))}
		g := New()
		files := map[string]File{}
		var decisions []Decision
		var refined []Refinement
		var before *View
		var said string
		for step := range 40 {
			if step%10 == 0 {
				before = g.View()
				said = export(t, before)
			}
			switch w.IntN(8) {
			case 0:
				decisions = w.decisions()
				g.Govern(decisions)
			case 1:
				r := w.refinement(files)
				refined = append(refined, r)
				g.Refine(r)
			default:
				var changed []File
				var removed []string
				for range w.IntN(4) {
					p := w.path()
					if w.IntN(3) == 0 {
						removed = append(removed, p)
						delete(files, p)
					}
				}
				for range w.IntN(4) {
					f := w.file(w.path())
					changed = append(changed, f)
				}
				for _, f := range changed {
					files[f.Path] = f
				}
				g.Apply(changed, removed)
			}
			checkConsistent(t, g.View())
			if diff := cmp.Diff(export(t, rebuilt(w, files, decisions, refined).View()), export(t, g.View())); diff != "" {
				t.Fatalf("step %d, -anew +had:\n%s", step, diff)
			}
			if step%10 == 9 {
				if diff := cmp.Diff(said, export(t, before)); diff != "" {
					t.Fatalf("step %d changed a view that was taken before:\n%s", step, diff)
				}
				g = reloaded(t, g) // and go on with that
			}
		}
	}
}

// rebuilt builds the expected graph in one step and in another order.
func rebuilt(w *world, files map[string]File, decisions []Decision, refined []Refinement) *Graph {
	g := New()
	if w.IntN(2) == 0 {
		g.Govern(decisions)
	}
	var all []File
	for _, f := range files {
		all = append(all, f)
	}
	g.Apply(all, nil)
	for _, r := range refined {
		g.Refine(r)
	}
	g.Govern(decisions)
	return g
}

// reloaded saves a graph and returns the loaded one, which must be equal.
func reloaded(t *testing.T, g *Graph) *Graph {
	t.Helper()
	data := saved(t, g.View())
	other, err := Load(bytes.NewReader(data))
	if err != nil {
		t.Fatal(err)
	}
	checkConsistent(t, other.View())
	if diff := cmp.Diff(export(t, g.View()), export(t, other.View())); diff != "" {
		t.Fatalf("-saved +loaded:\n%s", diff)
	}
	if !bytes.Equal(data, saved(t, other.View())) {
		t.Error("saved again, it is another file")
	}
	return other
}

func saved(t testing.TB, v *View) []byte {
	t.Helper()
	var b bytes.Buffer
	if err := v.Save(&b); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}
