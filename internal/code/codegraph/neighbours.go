package codegraph

import (
	"math"

	"github.com/kenlayer/ken"
)

// Neighbour is what is one edge away from some node that was asked for.
type Neighbour struct {
	Node
	Of    string   `json:"of"` // ID of the node that was asked for
	Kind  EdgeKind `json:"kind"`
	How   How      `json:"how"`
	Out   bool     `json:"out"`   // the edge leads from Of to the neighbour
	Score float64  `json:"score"` // above 0, at most 1
}

// nearness is how much an edge of a kind says that who reads of one end should read of
// the other: from the node, and to it.
var nearness = [edgeCount][2]float64{
	eImplements: {1, .9}, eInherits: {1, .7}, eGoverns: {.8, 1}, eCalls: {.8, .7}, eReferences: {.7, .6}, eDefines: {.6, .5},
	eTests: {.7, .5}, eDependsOn: {.5, .4}, eImports: {.4, .4},
}

// MaxNeighbourhood is how many nodes Neighbours takes.
const MaxNeighbourhood = 32

// Neighbours lists what is one edge away from the nodes with the given IDs and not among
// them, both ways, the nearest first and then by ID, at most limit of total. IDs that the graph does not have
// are left out. The score is how close the kind of the edge is, by half less for a guess, over 1 + log2 of a tenth of
// the edges that lead to the neighbour: what everybody uses says little about anybody. Errors: ken.ErrInvalid for more than
// MaxNeighbourhood IDs.
func (v *View) Neighbours(ids []string, limit int) (list []Neighbour, total int, err error) {
	if len(ids) > MaxNeighbourhood {
		return nil, 0, &ken.Error{Code: ken.CodeInvalid, Field: "ids", Msg: "are too many", Try: "Ask for at most 32 at a time."}
	}
	type near struct {
		node, of int32
		e        edge
		score    float64
	}
	best := map[int32]near{}
	asked := map[int32]bool{}
	for _, id := range ids {
		if _, _, ok := Split(id); ok {
			if found := v.find(id); len(found) == 1 {
				asked[found[0]] = true
			}
		}
	}
	better := func(a, b near) bool {
		switch {
		case a.score != b.score:
			return a.score > b.score
		case a.node != b.node:
			return v.compare(a.node, b.node) < 0
		case a.of != b.of:
			return v.compare(a.of, b.of) < 0
		case a.e.meta.kind() != b.e.meta.kind():
			return a.e.meta.kind() < b.e.meta.kind()
		}
		return a.e.from == a.of && b.e.from != b.of
	}
	visit := func(node, of int32, e edge) {
		if asked[node] {
			return
		}
		way := 0
		if e.to == of {
			way = 1
		}
		x := near{node, of, e, nearness[e.meta.kind()][way] / (1 + math.Log2(max(1, float64(len(v.nodes.at(node).in))/10)))}
		if e.meta&guessed != 0 {
			x.score /= 2
		}
		if b, ok := best[node]; !ok || better(x, b) {
			best[node] = x
		}
	}
	for of := range asked {
		v.out(of, func(_ *unit, e edge) { visit(e.to, of, e) })
		for _, in := range v.nodes.at(of).in {
			e := v.unit(in.unit).edges[in.slot]
			visit(e.from, of, e)
		}
	}
	first := top[near]{n: min(max(limit, 0), MaxLimit), less: better}
	for _, x := range best {
		first.add(x)
	}
	for _, x := range first.sorted() {
		list = append(list, Neighbour{v.node(x.node), v.id(x.of), edgeNames[x.e.meta.kind()], x.e.meta.how(), x.e.from == x.of, math.Round(x.score*1000) / 1000})
	}
	return list, len(best), nil
}
