package codegraph

import (
	"cmp"
	"slices"

	"github.com/kenlayer/ken"
)

// Picture is a node with what is around it, ready to be drawn: plain values, with the
// fields that a drawing of entities has.
type Picture struct {
	Root  string        `json:"root"` // ID
	Depth int           `json:"depth"`
	Nodes []PictureNode `json:"nodes"`          // by depth, then by ID; the root first
	Edges []PictureEdge `json:"edges"`          // by source, target and kind
	Left  int           `json:"left,omitempty"` // how many more there are within the depth, next to those that are here
}

// PictureNode is a node of a Picture.
type PictureNode struct {
	ID        string `json:"id"`
	Display   string `json:"display"` // its bare name, with the type in front for a member
	Kind      Kind   `json:"kind"`
	Depth     int    `json:"depth"`               // edges away from the root
	In        int    `json:"in"`                  // edges that lead to it
	Decisions int    `json:"decisions,omitempty"` // that govern it
}

// PictureEdge is all edges of one kind between two nodes of a Picture.
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

// Picture returns what is up to depth edges (1 to 3) away from the node that a text
// stands for, as of One: at most limit nodes, 0 means 30, of which the nearest are taken, as
// Neighbours has it. Errors are those of One, and ken.ErrInvalid for the depth and the
// limit.
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
	p := Picture{Root: v.id(root), Depth: depth, Nodes: []PictureNode{v.drawn(root, 0)}, Edges: []PictureEdge{}}
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
				p.Nodes = append(p.Nodes, v.drawn(i, at))
			}
		}
	}
	p.Left = len(left)
	slices.SortFunc(p.Nodes, func(a, b PictureNode) int { return cmp.Or(cmp.Compare(a.Depth, b.Depth), cmp.Compare(a.ID, b.ID)) })
	p.Edges = v.between(in)
	return p, nil
}

// drawn is a node as it stands in a picture.
func (v *View) drawn(i int32, depth int) PictureNode {
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

// between lists the edges among nodes.
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
