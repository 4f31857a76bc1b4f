package typed_test

import (
	"cmp"
	"fmt"
	"maps"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/kenlayer/ken/internal/code/codegraph"
	"github.com/kenlayer/ken/internal/code/codegraph/golang"
	"github.com/kenlayer/ken/internal/code/codegraph/typed"
	"github.com/kenlayer/ken/internal/race"
	"github.com/kenlayer/ken/internal/seed"
)

// Compares the references to 200 random symbols of this repository with those of go/types: references by qualified
// names alone, by the graph made of names, by types, and by the graph with types. KEN_TREES names other modules. With
// -v, the figures and the wrong or missing references are logged. KEN_SEED chooses other symbols.
func TestQuality(t *testing.T) {
	needGo(t)
	if testing.Short() || race.Enabled {
		t.Skip("reads the repository and all it imports, and takes long with the race detector")
	}
	for _, root := range append([]string{"../../../.."}, filepath.SplitList(os.Getenv("KEN_TREES"))...) {
		abs, err := filepath.Abs(root)
		if err != nil {
			t.Fatal(err)
		}
		t.Run(filepath.Base(abs), func(t *testing.T) { compare(t, abs, root == "../../../..") })
	}
}

func compare(t *testing.T, root string, own bool) {
	tr := loadTruth(t, root)
	sample := pick(t, tr, 200)
	tree := os.DirFS(root)
	extract := golang.New(golang.FindModules(tree))
	syntax := bySyntax(t, tr, root, extract)
	g := codegraph.New()
	if _, err := g.Build(t.Context(), root, codegraph.Options{Extractors: map[string]codegraph.Extractor{".go": extract}}); err != nil {
		t.Fatal(err)
	}
	byName := byGraph(t, tr, syntax, g, sample)
	ref, _, err := typed.Check(t.Context(), root, typed.Options{})
	if err != nil {
		t.Fatal(err)
	}
	exact := map[reference]bool{}
	var strange []string
	for _, f := range ref.Files {
		for _, e := range f.Edges {
			for _, id := range []string{e.From, e.To} {
				if tr.files[f.Path] && !syntax.ids[id] && !strings.HasPrefix(id, "file:") && e.Kind != codegraph.Implements {
					strange = append(strange, fmt.Sprintf("%s: %+v names what syntax does not know", f.Path, e))
				}
			}
			if e.Kind != codegraph.Implements && !strings.HasPrefix(e.From, "file:") {
				exact[syntax.reference(f.Path, e.From, e.To)] = true
			}
		}
	}
	taken := g.Refine(ref)
	if own && taken.Stale > 0 {
		t.Skipf("%d files were changed while this ran", taken.Stale)
	}
	for _, s := range strange {
		t.Error(s)
	}
	for _, way := range []struct {
		name              string
		found             map[reference]bool
		precision, recall float64 // asked of this repository
	}{
		{"names alone", syntax.found, 0.97, 0.6}, {"the graph by names", byName, 0.8, 0.7}, {"types", exact, 0.995, 0.995},
		{"the graph with types", byGraph(t, tr, syntax, g, sample), 0.99, 0.99},
	} {
		p, r := measure(t, way.name, tr, sample, way.found)
		if own && (p < way.precision || r < way.recall) {
			t.Errorf("%s: precision %.4f, recall %.4f; asked are %.3f and %.3f", way.name, p, r, way.precision, way.recall)
		}
	}
	t.Logf("the graph took %+v", taken)
}

// pick chooses n symbols.
func pick(t *testing.T, tr *truth, n int) map[string]bool {
	t.Helper()
	all := slices.Sorted(maps.Values(tr.symbols))
	all = slices.DeleteFunc(slices.Compact(all), func(s string) bool { return strings.HasSuffix(s, "._") || strings.HasSuffix(s, ".init") })
	s := seed.Of(t)
	r := rand.New(rand.NewPCG(s, s))
	r.Shuffle(len(all), func(i, k int) { all[i], all[k] = all[k], all[i] })
	sample := map[string]bool{}
	for _, s := range all[:min(n, len(all))] {
		sample[s] = true
	}
	return sample
}

// syntax is the result of the extractor alone for a module.
type syntax struct {
	found map[reference]bool // by qualified names
	ids   map[string]bool    // what is declared
	top   map[string]string  // the declaration around what is declared within one
}

// reference returns the reference of an edge from a top-level declaration.
func (s *syntax) reference(path, from, to string) reference {
	_, from, _ = codegraph.Split(from)
	_, to, _ = codegraph.Split(to)
	return reference{path, cmp.Or(s.top[from], from), to}
}

func bySyntax(t *testing.T, tr *truth, root string, extract codegraph.Extractor) *syntax {
	t.Helper()
	s := &syntax{found: map[reference]bool{}, ids: map[string]bool{}, top: map[string]string{}}
	var files []codegraph.File
	declared := map[string]bool{}
	for _, path := range slices.Sorted(maps.Keys(tr.files)) {
		src, err := os.ReadFile(filepath.Join(root, path))
		if err != nil {
			t.Fatal(err)
		}
		f := extract(path, src)
		files = append(files, f)
		for _, d := range f.Decls {
			declared[d.Qualified], s.ids[codegraph.ID(d.Kind, d.Qualified)] = true, true
			if d.Parent >= 0 && (d.Kind == codegraph.KindProperty || !strings.HasPrefix(d.Signature, "func ")) {
				s.top[d.Qualified] = f.Decls[d.Parent].Qualified
			}
		}
	}
	for _, f := range files {
		for _, u := range f.Uses {
			if u.From >= 0 && u.Kind != codegraph.Implements && u.Kind != codegraph.Tests && u.Qualified && declared[u.Name] {
				from := f.Decls[u.From].Qualified
				s.found[reference{f.Path, cmp.Or(s.top[from], from), u.Name}] = true
			}
		}
	}
	return s
}

// byGraph returns a graph's references to the symbols of a sample.
func byGraph(t *testing.T, tr *truth, s *syntax, g *codegraph.Graph, sample map[string]bool) map[reference]bool {
	t.Helper()
	found := map[reference]bool{}
	v := g.View()
	for id := range s.ids {
		if _, q, _ := codegraph.Split(id); !sample[q] {
			continue
		}
		kinds := []codegraph.EdgeKind{codegraph.References, codegraph.Calls, codegraph.Inherits}
		for p := (codegraph.Page{Limit: codegraph.MaxLimit}); ; p.Offset += p.Limit {
			refs, err := v.Refs(id, kinds, p)
			if err != nil {
				t.Logf("%s: %v", id, err)
				break
			}
			for _, r := range refs.Refs {
				if tr.files[r.Path] && r.From.Kind != codegraph.KindFile {
					found[s.reference(r.Path, r.From.ID, id)] = true
				}
			}
			if p.Offset+p.Limit >= refs.Total {
				break
			}
		}
	}
	return found
}

// measure returns precision and recall of the references found.
func measure(t *testing.T, name string, tr *truth, sample map[string]bool, found map[reference]bool) (precision, recall float64) {
	t.Helper()
	var both, wrong, missed int
	var examples []string
	for r := range found {
		switch {
		case !sample[r.to]:
		case tr.refs[r]:
			both++
		default:
			wrong++
			examples = append(examples, "wrong: "+r.path+": "+r.from+" → "+r.to)
		}
	}
	for r := range tr.refs {
		if sample[r.to] && !found[r] && !strings.HasSuffix(r.from, "._") {
			missed++
			examples = append(examples, "missed: "+r.path+": "+r.from+" → "+r.to)
		}
	}
	if both == 0 {
		t.Fatal("nothing found")
	}
	precision, recall = float64(both)/float64(both+wrong), float64(both)/float64(both+missed)
	t.Logf("%s: %d symbols, %d references found, %d wrong, %d missed: precision %.4f, recall %.4f", name, len(sample), both, wrong, missed, precision, recall)
	slices.Sort(examples)
	for i, e := range examples {
		if len(examples) < 12 || i%(len(examples)/12) == 0 {
			t.Log("  " + e)
		}
	}
	return precision, recall
}
