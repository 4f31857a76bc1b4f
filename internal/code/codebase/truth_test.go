package codebase_test

import (
	"bytes"
	"encoding/json"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/kenlayer/ken/internal/code/codebase"
	"github.com/kenlayer/ken/internal/code/codegraph"
	"github.com/kenlayer/ken/internal/code/codegraph/scip"
	"github.com/kenlayer/ken/internal/evaldata"
)

// truth holds the uses that another program finds: the scripts in testdata/truth write it.
type truth struct {
	Symbols []struct {
		Name string
		Path string
		Line int
		Refs []struct {
			Path   string
			Line   int
			Import bool // it only brings the name into a file, or hands it on
		}
	}
}

// exported is the part of the graph's JSON that is compared.
type exported struct {
	Nodes []struct {
		ID     string
		Kind   codegraph.Kind
		Places []codegraph.Place
	}
	Edges []struct {
		From, To, Path string
		Kind           codegraph.EdgeKind
		Line           int
	}
}

// declared is a declaration with its place.
type declared struct {
	id   string
	kind codegraph.Kind
	codegraph.Place
}

// TestTruth compares the uses in the graph with what jedi, pyright or TypeScript's language
// service find, by file and enclosing declaration. In the folder graph of the evaluation data
// a project is NAME, what was found is NAME.json, and an index to import is NAME.scip. Imports count neither
// way. In fastify, TypeScript knows no type of most values: what counts as wrong was read and is right.
func TestTruth(t *testing.T) {
	dir := evaldata.Dir(t, "graph")
	limits := map[string][2]float64{ // of precision and recall, a little below what was measured
		"flask": {.93, .95}, "fastify": {.68, .88}, "zod": {.95, .86}, "httpx": {.93, .93}, "hono": {.94, .75}}
	for _, name := range slices.Sorted(maps.Keys(limits)) {
		for _, index := range []string{"", ".scip"} {
			t.Run(name+index, func(t *testing.T) {
				data, err := os.ReadFile(filepath.Join(dir, name+".json"))
				if err != nil {
					t.Skip(err)
				}
				var want truth
				if err := json.Unmarshal(data, &want); err != nil {
					t.Fatal(err)
				}
				c := open(t, filepath.Join(dir, name), func(o *codebase.Options) { o.State = t.TempDir() })
				build(t, c)
				if index != "" {
					f, err := os.Open(filepath.Join(dir, name+index))
					if err != nil {
						t.Skip(err)
					}
					_, _, err = c.Import(t.Context(), f, scip.Options{})
					if f.Close(); err != nil {
						t.Fatal(err)
					}
				}
				precision, recall := compareUses(t, c.View(), &want)
				if l := limits[name]; precision < l[0] || recall < l[1] {
					t.Errorf("precision %.2f and recall %.2f, want %.2f and %.2f", precision, recall, l[0], l[1])
				}
			})
		}
	}
}

func compareUses(t *testing.T, v *codegraph.View, want *truth) (precision, recall float64) {
	t.Helper()
	var b bytes.Buffer
	if err := v.ExportJSON(&b); err != nil {
		t.Fatal(err)
	}
	var g exported
	if err := json.Unmarshal(b.Bytes(), &g); err != nil {
		t.Fatal(err)
	}
	inFile := map[string][]declared{}
	for _, n := range g.Nodes {
		for _, p := range n.Places {
			inFile[p.Path] = append(inFile[p.Path], declared{n.ID, n.Kind, p})
		}
	}
	// enclosing lists the declarations that a line is in; a function before what is declared in it.
	enclosing := func(path string, line int) (ids []string) {
		size, function := 0, false
		for _, d := range inFile[path] {
			if d.Line > 0 && (line < d.Line || line > d.End) || d.kind == codegraph.KindPackage {
				continue
			}
			n, f := d.End-d.Line+1, d.kind == codegraph.KindFunction || d.kind == codegraph.KindMethod
			if d.Line == 0 {
				n = 1 << 30
			}
			if len(ids) == 0 || f && !function || f == function && n < size {
				ids, size, function = []string{d.id}, n, f
			} else if f == function && n == size {
				ids = append(ids, d.id)
			}
		}
		return ids
	}
	right, found, there := 0, 0, 0
	for _, s := range want.Symbols {
		var ids []string
		for _, d := range inFile[s.Path] {
			if d.Line == s.Line && d.id[len(d.id)-min(len(s.Name), len(d.id)):] == s.Name {
				ids = append(ids, d.id)
			}
		}
		type use struct {
			froms  []string
			path   string
			line   int
			handed bool
			found  bool
		}
		var uses []use
		for _, r := range s.Refs {
			froms := enclosing(r.Path, r.Line)
			if slices.ContainsFunc(froms, func(id string) bool { return slices.Contains(ids, id) }) {
				continue // in itself
			}
			at := slices.IndexFunc(uses, func(u use) bool { return u.path == r.Path && slices.Equal(u.froms, froms) })
			if at < 0 {
				uses = append(uses, use{froms: froms, path: r.Path, line: r.Line, handed: r.Import})
			} else if uses[at].handed && !r.Import {
				uses[at].handed, uses[at].line = false, r.Line
			}
		}
		seen := map[[2]string]bool{}
		for _, e := range g.Edges {
			if !slices.Contains(ids, e.To) || e.Kind == codegraph.Defines || e.Kind == codegraph.Tests || e.Kind == codegraph.Imports || seen[[2]string{e.From, e.Path}] {
				continue
			}
			seen[[2]string{e.From, e.Path}] = true
			at := slices.IndexFunc(uses, func(u use) bool { return u.path == e.Path && slices.Contains(u.froms, e.From) })
			switch {
			case at < 0:
				found++
				t.Logf("wrong: %s:%d (%s) uses %v", e.Path, e.Line, e.From, ids)
			case uses[at].handed:
			case !uses[at].found:
				uses[at].found = true
				found, right = found+1, right+1
			}
		}
		for _, u := range uses {
			if !u.handed {
				there++
				if !u.found {
					t.Logf("missed: %s:%d (%v) uses %s %v", u.path, u.line, u.froms, s.Name, ids)
				}
			}
		}
	}
	precision, recall = float64(right)/float64(max(found, 1)), float64(right)/float64(max(there, 1))
	t.Logf("%d symbols: %d uses, %d found, %d of them right: precision %.2f, recall %.2f", len(want.Symbols), there, found, right, precision, recall)
	return precision, recall
}
