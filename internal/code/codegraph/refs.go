package codegraph

import (
	"cmp"
	"strings"
)

// Ref is an edge that leads to a node, with what it comes from.
type Ref struct {
	From Node     `json:"from"`
	Kind EdgeKind `json:"kind"`
	How  How      `json:"how"`
	Path string   `json:"path,omitempty"` // of the file that says so
	Line int      `json:"line,omitempty"` // in it: the first such place; 0 when the file as a whole says so
}

// KindCount is how many edges there are of a kind.
type KindCount struct {
	Kind    EdgeKind `json:"kind"`
	Exact   int      `json:"exact"`
	Guesses int      `json:"guesses"`
}

// Refs is a part of what leads to a node.
type Refs struct {
	Node  Node        `json:"node"`
	Kinds []KindCount `json:"kinds"` // in the order of the refs
	Total int         `json:"total"`
	Refs  []Ref       `json:"refs"`
}

// byWeight is the order in which kinds of edges are told: what is closest to the node
// first.
var byWeight = [edgeCount]int{eImplements: 1, eInherits: 2, eCalls: 3, eReferences: 4, eImports: 5, eDependsOn: 6, eTests: 7, eGoverns: 8, eDefines: 9}

// Refs tells what leads to the node that a text stands for, as of One: who implements,
// inherits, calls, references, imports and tests it, and what governs and defines it; kinds
// limits that, none means all. Refs are in the order of the kinds just named, then exact before guessed, then
// by path, line and ID. A node that several files declare has an edge for each that
// says so. Errors are those of One, and ken.ErrInvalid for the page.
func (v *View) Refs(id string, kinds []EdgeKind, p Page) (Refs, error) {
	p, err := p.check()
	if err != nil {
		return Refs{}, err
	}
	i, err := v.one(id)
	if err != nil {
		return Refs{}, err
	}
	want := setOf(kinds)
	var counts [edgeCount]KindCount
	out := Refs{Node: v.node(i), Refs: []Ref{}, Kinds: []KindCount{}}
	first := top[inEdge]{n: p.Offset + p.Limit, less: func(a, b inEdge) bool { return v.compareIn(a, b) < 0 }}
	for _, in := range v.nodes.at(i).in {
		e := v.unit(in.unit).edges[in.slot]
		k := e.meta.kind()
		if !want.has(k) {
			continue
		}
		out.Total++
		countEdge(&counts[k], e)
		first.add(in)
	}
	out.Kinds = listCounts(&counts)
	for _, in := range cut(first.sorted(), p) {
		out.Refs = append(out.Refs, v.ref(in))
	}
	return out, nil
}

func countEdge(c *KindCount, e edge) {
	if e.meta&guessed != 0 {
		c.Guesses++
	} else {
		c.Exact++
	}
}

// listCounts lists the counts that are not zero in the order of the kinds.
func listCounts(counts *[edgeCount]KindCount) []KindCount {
	out := []KindCount{}
	for w := 1; w < int(edgeCount); w++ {
		for k := eDefines; k < edgeCount; k++ {
			if c := counts[k]; byWeight[k] == w && c.Exact+c.Guesses > 0 {
				c.Kind = edgeNames[k]
				out = append(out, c)
			}
		}
	}
	return out
}

func (v *View) ref(in inEdge) Ref {
	u := v.unit(in.unit)
	e := u.edges[in.slot]
	return Ref{v.node(e.from), edgeNames[e.meta.kind()], e.meta.how(), v.text(u.path), int(e.meta.line())}
}

func (v *View) compareIn(a, b inEdge) int {
	x, y := v.unit(a.unit), v.unit(b.unit)
	e, f := x.edges[a.slot], y.edges[b.slot]
	if c := cmp.Or(byWeight[e.meta.kind()]-byWeight[f.meta.kind()], cmp.Compare(e.meta&guessed, f.meta&guessed)); c != 0 {
		return c
	}
	return cmp.Or(strings.Compare(v.text(x.path), v.text(y.path)), cmp.Compare(e.meta.line(), f.meta.line()), v.compare(e.from, f.from))
}
