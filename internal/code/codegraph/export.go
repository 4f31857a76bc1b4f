package codegraph

import (
	"bufio"
	"cmp"
	"encoding/json"
	"io"
	"slices"
)

// ExportVersion is the version of what ExportJSON writes. It goes up when a field
// changes its meaning or goes, not when one is added.
const ExportVersion = 1

// exportedNode and exportedEdge are the elements of the lists of ExportJSON.
type exportedNode struct {
	ID        string          `json:"id"`
	Kind      Kind            `json:"kind"`
	Name      string          `json:"name"`
	Language  string          `json:"language,omitempty"`
	Exported  bool            `json:"exported,omitempty"`
	Test      bool            `json:"test,omitempty"`
	External  bool            `json:"external,omitempty"`
	Generated bool            `json:"generated,omitempty"` // a file that a program wrote
	Hash      string          `json:"hash,omitempty"`      // of a file
	Places    []exportedPlace `json:"places,omitempty"`
}

type exportedPlace struct {
	Path      string `json:"path"`
	Line      int    `json:"line,omitempty"`
	End       int    `json:"end,omitempty"`
	Signature string `json:"signature,omitempty"`
	Doc       string `json:"doc,omitempty"`
}

type exportedEdge struct {
	From string   `json:"from"`
	To   string   `json:"to"`
	Kind EdgeKind `json:"kind"`
	How  How      `json:"how"`
	Path string   `json:"path,omitempty"`
	Line int      `json:"line,omitempty"`
}

// ExportJSON writes the whole graph as one JSON object, with a line for each node and
// edge:
//
//	version  1
//	nodes    by id: id, kind, name, language, exported, test (only tests declare it),
//	         external (imported or implemented, not in the repository), generated and hash (of files),
//	         places: where it is declared, by path and line: path, line, end, signature, doc
//	edges    by from, to, kind and path: from, to (IDs), kind, how (exact, guess), and the
//	         path and line of what says so
//
// Fields that say nothing are left out. Errors are w's.
func (v *View) ExportJSON(w io.Writer) error {
	b := bufio.NewWriterSize(w, 64<<10)
	e := &jsonList{w: b}
	e.text("{\"version\":1,\n\"nodes\":[")
	nodes := v.sorted()
	for _, i := range nodes {
		e.add(v.exportNode(i))
	}
	e.next("],\n\"edges\":[")
	for _, i := range nodes {
		for _, x := range v.exportEdges(i) {
			e.add(x)
		}
	}
	e.text("]}\n")
	if e.err == nil {
		e.err = b.Flush()
	}
	return e.err
}

// jsonList writes lists, an element at a time.
type jsonList struct {
	w    *bufio.Writer
	some bool // the list has an element
	err  error
}

func (e *jsonList) text(s string) {
	if e.err == nil {
		_, e.err = e.w.WriteString(s)
	}
}

func (e *jsonList) next(s string) {
	e.text(s)
	e.some = false
}

func (e *jsonList) add(x any) {
	data, err := json.Marshal(x)
	if err != nil && e.err == nil {
		e.err = err
	}
	if e.some {
		e.text(",\n")
	} else {
		e.text("\n")
	}
	e.some = true
	if e.err == nil {
		_, e.err = e.w.Write(data)
	}
}

// sorted lists all nodes by ID.
func (v *View) sorted() []int32 {
	out := make([]int32, 0, v.counts.Nodes)
	for i := range v.nodes.n {
		if v.nodes.at(i).kind != noKind {
			out = append(out, i)
		}
	}
	slices.SortFunc(out, v.compare)
	return out
}

func (v *View) exportNode(i int32) exportedNode {
	n := v.nodes.at(i)
	x := v.node(i)
	out := exportedNode{ID: x.ID, Kind: x.Kind, Name: x.Name, Language: x.Language, Exported: x.Exported, Test: x.Test, External: x.External}
	if u, _, ok := v.place(i); ok && n.kind == kFile {
		out.Hash, out.Generated = u.hash, u.has(generated)
	}
	for _, p := range v.places(i) {
		out.Places = append(out.Places, exportedPlace(p))
	}
	return out
}

func (v *View) exportEdges(i int32) (out []exportedEdge) {
	from := v.id(i)
	v.out(i, func(u *unit, e edge) {
		out = append(out, exportedEdge{from, v.id(e.to), edgeNames[e.meta.kind()], e.meta.how(), v.text(u.path), int(e.meta.line())})
	})
	slices.SortFunc(out, func(a, b exportedEdge) int {
		return cmp.Or(cmp.Compare(a.To, b.To), cmp.Compare(a.Kind, b.Kind), cmp.Compare(a.Path, b.Path), cmp.Compare(a.How, b.How), cmp.Compare(a.Line, b.Line))
	})
	return out
}

// Place is where something is declared.
type Place struct {
	Path      string `json:"path"`
	Line      int    `json:"line,omitempty"` // from 1; 0 for all of the file
	End       int    `json:"end,omitempty"`
	Signature string `json:"signature,omitempty"`
	Doc       string `json:"doc,omitempty"`
}

// places lists where a node is declared, by path and line.
func (v *View) places(i int32) (out []Place) {
	for _, p := range v.nodes.at(i).places {
		u := v.unit(p.unit)
		x := Place{Path: v.text(u.path)}
		switch {
		case p.decl == onlyEdges:
			continue
		case p.decl >= 0:
			d := &u.decls[p.decl]
			x.Line, x.End, x.Signature, x.Doc = int(d.line), int(d.end), u.signature(d), u.comment(d)
		case u.decision != nil:
			x.Line, x.Signature = u.decision.Line, u.decision.Title
		}
		out = append(out, x)
	}
	slices.SortFunc(out, func(a, b Place) int {
		return cmp.Or(cmp.Compare(a.Path, b.Path), cmp.Compare(a.Line, b.Line), cmp.Compare(a.End, b.End), cmp.Compare(a.Signature, b.Signature), cmp.Compare(a.Doc, b.Doc))
	})
	return out
}
