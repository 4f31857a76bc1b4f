package codegraph

import (
	"bufio"
	"cmp"
	"encoding/json"
	"fmt"
	"io"
	"slices"

	"github.com/kenlayer/ken"
)

// Picture is a node and its surroundings, ready to be drawn.
type Picture struct {
	Root  string        `json:"root"` // ID
	Depth int           `json:"depth"`
	Nodes []PictureNode `json:"nodes"`          // by depth, then by ID; the root comes first
	Edges []PictureEdge `json:"edges"`          // by source, target and kind
	Left  int           `json:"left,omitempty"` // number of further nodes within the depth that are adjacent to the nodes listed
}

// PictureNode is a node of a Picture.
type PictureNode struct {
	ID        string `json:"id"`
	Display   string `json:"display"` // the bare name, after that of its type for a member
	Kind      Kind   `json:"kind"`
	Depth     int    `json:"depth"`               // number of edges to the root
	In        int    `json:"in"`                  // number of edges that lead to it
	Decisions int    `json:"decisions,omitempty"` // number of decisions that govern it
}

// PictureEdge stands for all edges of one kind between two nodes of a Picture.
type PictureEdge struct {
	Source   string   `json:"source"`
	Target   string   `json:"target"`
	Kind     EdgeKind `json:"kind"`
	Strength float64  `json:"strength"` // 0.9 for an exact edge, 0.4 for a guess
}

const (
	defaultPicture  = 30 // nodes
	maxPicture      = 200
	maxPictureDepth = 3
)

// Picture returns the surroundings of a node; id is a text as for One. It has the nodes that are up to depth edges
// away, from 1 to 3, and at most limit nodes, the highest scores of Neighbours first; 0 means 30. Errors are those of
// One, and ken.ErrInvalid for the depth and the limit.
func (v *View) Picture(id string, depth, limit int) (Picture, error) {
	if limit = cmp.Or(limit, defaultPicture); limit < 1 || limit > maxPicture {
		return Picture{}, &ken.Error{Code: ken.CodeInvalid, Field: "limit", Msg: "is outside 1..200", Try: "Draw fewer nodes."}
	}
	if depth < 1 || depth > maxPictureDepth {
		return Picture{}, &ken.Error{Code: ken.CodeInvalid, Field: "depth", Msg: "is outside 1..3", Try: "Give a depth from 1 to 3."}
	}
	root, err := v.one(id)
	if err != nil {
		return Picture{}, err
	}
	p := Picture{Root: v.id(root), Depth: depth, Nodes: []PictureNode{v.pictureNode(root, 0)}, Edges: []PictureEdge{}}
	in := map[int32]bool{root: true}
	left := map[string]bool{}
	ring := []string{p.Root}
	for at := 1; at <= depth && len(ring) > 0; at++ {
		var near []Neighbour
		for ids := range slices.Chunk(ring, MaxNeighbourhood) {
			list, _, err := v.Neighbours(ids, MaxLimit)
			if err != nil {
				return Picture{}, err
			}
			near = append(near, list...)
		}
		slices.SortStableFunc(near, func(a, b Neighbour) int { return cmp.Or(cmp.Compare(b.Score, a.Score), cmp.Compare(a.ID, b.ID)) })
		ring = nil
		for _, n := range near {
			i := v.find(n.ID)[0]
			switch {
			case in[i]:
			case len(p.Nodes) == limit:
				left[n.ID] = true
			default:
				in[i] = true
				ring = append(ring, n.ID)
				p.Nodes = append(p.Nodes, v.pictureNode(i, at))
			}
		}
	}
	p.Left = len(left)
	slices.SortFunc(p.Nodes, func(a, b PictureNode) int { return cmp.Or(cmp.Compare(a.Depth, b.Depth), cmp.Compare(a.ID, b.ID)) })
	p.Edges = v.between(in)
	return p, nil
}

// pictureNode returns the PictureNode of a node.
func (v *View) pictureNode(i int32, depth int) PictureNode {
	n := v.nodes.at(i)
	out := PictureNode{ID: v.id(i), Display: v.text(n.name), Kind: kindNames[n.kind], Depth: depth, In: len(n.in)}
	if n.kind.member() {
		out.Display = lastPart(ownerOf(v.text(n.qual))) + "." + out.Display
	}
	for _, in := range n.in {
		if v.unit(in.unit).edges[in.slot].meta.kind() == eGoverns {
			out.Decisions++
		}
	}
	return out
}

// between lists the edges between nodes of a set.
func (v *View) between(nodes map[int32]bool) []PictureEdge {
	best := map[PictureEdge]float64{}
	for i := range nodes {
		v.out(i, func(_ *unit, e edge) {
			if nodes[e.to] {
				k := PictureEdge{Source: v.id(i), Target: v.id(e.to), Kind: edgeNames[e.meta.kind()]}
				best[k] = max(best[k], map[How]float64{Exact: .9, Guess: .4}[e.meta.how()])
			}
		})
	}
	out := make([]PictureEdge, 0, len(best))
	for e, s := range best {
		e.Strength = s
		out = append(out, e)
	}
	slices.SortFunc(out, func(a, b PictureEdge) int {
		return cmp.Or(cmp.Compare(a.Source, b.Source), cmp.Compare(a.Target, b.Target), cmp.Compare(a.Kind, b.Kind))
	})
	return out
}

// exportVersion is the version of the format of ExportJSON. It increases when a field is removed or changes its
// meaning. It does not increase when a field is added.
const exportVersion = 1

// exportedNode and exportedEdge are the JSON forms of nodes and edges in ExportJSON.
type exportedNode struct {
	ID        string  `json:"id"`
	Kind      Kind    `json:"kind"`
	Name      string  `json:"name"`
	Language  string  `json:"language,omitempty"`
	Exported  bool    `json:"exported,omitempty"`
	Test      bool    `json:"test,omitempty"`
	External  bool    `json:"external,omitempty"`
	Generated bool    `json:"generated,omitempty"` // a file written by a program
	Hash      string  `json:"hash,omitempty"`      // of a file
	Places    []Place `json:"places,omitempty"`
}

type exportedEdge struct {
	From string   `json:"from"`
	To   string   `json:"to"`
	Kind EdgeKind `json:"kind"`
	How  How      `json:"how"`
	Path string   `json:"path,omitempty"`
	Line int      `json:"line,omitempty"`
}

// ExportJSON writes the whole graph as one JSON object with one line for each node and edge:
//
//	version  1
//	nodes    by id: id, kind, name, language, exported, test (only tests declare it),
//	         external (imported or implemented, not in the repository), generated and hash (of files),
//	         places: where it is declared, by path and line: path, line, end, signature, doc
//	edges    by from, to, kind and path: from, to (IDs), kind, how (exact, guess), and the
//	         path and line of what says so
//
// Empty fields are left out. Errors are w's.
func (v *View) ExportJSON(w io.Writer) error {
	b := bufio.NewWriterSize(w, 64<<10) // keeps its first error until Flush
	separator := ""
	text := func(s, next string) {
		_, _ = b.WriteString(s)
		separator = next
	}
	add := func(x any) {
		data, _ := json.Marshal(x) // texts and numbers can always be written
		text(separator+string(data), ",\n")
	}
	nodes := v.sorted()
	text(fmt.Sprintf("{\"version\":%d,\n\"nodes\":[", exportVersion), "\n")
	for _, i := range nodes {
		add(v.exportNode(i))
	}
	text("],\n\"edges\":[", "\n")
	for _, i := range nodes {
		for _, x := range v.exportEdges(i) {
			add(x)
		}
	}
	text("]}\n", "")
	return b.Flush()
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
	x := v.node(i)
	out := exportedNode{ID: x.ID, Kind: x.Kind, Name: x.Name, Language: x.Language, Exported: x.Exported, Test: x.Test, External: x.External, Places: v.places(i)}
	if u, _, ok := v.place(i); ok && x.Kind == KindFile {
		out.Hash, out.Generated = u.hash, u.has(generated)
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

// Place is where a node is declared.
type Place struct {
	Path      string `json:"path"`
	Line      int    `json:"line,omitempty"` // from 1; 0 for the whole file
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
