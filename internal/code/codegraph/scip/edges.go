package scip

import (
	"cmp"
	"slices"
	"strings"

	"github.com/kenlayer/ken/internal/code/codegraph"
)

type edge struct {
	from, to string
	kind     codegraph.EdgeKind
}

// refinement makes the edges of all documents once the node of each symbol is known.
func (in *reader) refinement() codegraph.Refinement {
	out := codegraph.Refinement{Source: Source, Kinds: []codegraph.EdgeKind{codegraph.References, codegraph.Calls}, Partly: true}
	in.placeByName()
	seen := map[codegraph.EdgeKind]bool{}
	byPath := map[string]int{}
	for i := range in.files {
		f := &in.files[i]
		r := codegraph.RefinedFile{Path: f.path, Hash: f.hash, Decls: f.decls, Edges: in.edges(f, seen)}
		*f = indexed{} // frees memory
		if at, ok := byPath[r.Path]; ok {
			old := &out.Files[at]
			old.Decls, old.Edges = append(old.Decls, r.Decls...), append(old.Edges, r.Edges...)
			continue
		}
		byPath[r.Path] = len(out.Files)
		out.Files = append(out.Files, r)
	}
	for _, k := range []codegraph.EdgeKind{codegraph.Implements, codegraph.Inherits} {
		if seen[k] {
			out.Kinds = append(out.Kinds, k)
		}
	}
	slices.SortFunc(out.Files, func(a, b codegraph.RefinedFile) int { return strings.Compare(a.Path, b.Path) })
	return out
}

// placeByName gives nodes to symbols of the project that no document defines. An indexer that also sees the project as
// an installed package names its symbols in two ways: "Flask 3.1.3 flask.app/Flask#" and "flask 1
// src.flask.app/Flask#". Only symbols of Python are complete without their file.
func (in *reader) placeByName() {
	for text, n := range in.numbers {
		if in.nodes[n].id != "" {
			continue
		}
		s, ok := parse(text)
		if !ok || s.scheme != "scip-python" {
			continue
		}
		q := qualified(s, "", "python")
		for _, name := range []string{q, strings.TrimPrefix(q, "src."), strings.TrimPrefix(q, "lib.")} {
			if id := in.known[name]; id != "" {
				in.nodes[n].id = id
				break
			}
		}
	}
}

// edges lists the edges of one file, each once, with its first line.
func (in *reader) edges(f *indexed, kinds map[codegraph.EdgeKind]bool) []codegraph.RefinedEdge {
	lines, times := map[edge]int32{}, map[edge]int{}
	add := func(from, to string, kind codegraph.EdgeKind, line int32) {
		if from == "" || to == "" || strings.HasPrefix(to, string(codegraph.KindFile)+":") || from == to && kind != codegraph.Calls {
			return
		}
		e := edge{from, to, kind}
		if old, ok := lines[e]; !ok || line < old {
			lines[e] = line
		}
		times[e]++
		kinds[kind] = true
	}
	for _, r := range f.refs {
		from, to, kind := codegraph.ID(codegraph.KindFile, f.path), in.nodes[r.symbol].id, codegraph.References
		if r.from >= 0 {
			from = f.from[r.from]
		}
		if k, _, _ := codegraph.Split(to); r.call && k != codegraph.KindType && k != codegraph.KindInterface {
			kind = codegraph.Calls
		}
		add(from, to, kind, r.line)
	}
	for _, r := range f.relations {
		from, to := in.nodes[r.from].id, in.nodes[r.to].id
		add(from, to, relationKind(from, to, r.implementation), r.line)
	}
	out := make([]codegraph.RefinedEdge, 0, len(lines))
	for e, line := range lines {
		out = append(out, codegraph.RefinedEdge{From: e.from, To: e.to, Kind: e.kind, Line: int(line), Times: times[e]})
	}
	slices.SortFunc(out, func(a, b codegraph.RefinedEdge) int {
		return cmp.Or(cmp.Compare(a.Line, b.Line), strings.Compare(a.From, b.From), strings.Compare(a.To, b.To), strings.Compare(string(a.Kind), string(b.Kind)))
	})
	return out
}

// relationKind returns the kind of edge for a relation. SCIP has the same relation for inheritance and implementation,
// for types and for their methods.
func relationKind(from, to string, implementation bool) codegraph.EdgeKind {
	if !implementation {
		return codegraph.References
	}
	f, _, _ := codegraph.Split(from)
	t, _, _ := codegraph.Split(to)
	if t == codegraph.KindType || f == codegraph.KindInterface && t == codegraph.KindInterface {
		return codegraph.Inherits
	}
	return codegraph.Implements
}
