package codegraph

import (
	"cmp"
	"math"
	"slices"
	"strings"

	"github.com/kenlayer/ken"
)

// Dependent is a node that depends on another one, directly or through others.
type Dependent struct {
	Node
	Depth int      `json:"depth"` // number of edges to the node, from 1
	Kind  EdgeKind `json:"kind"`  // kind of the first edge on the way, which starts at the dependent
	Via   string   `json:"via"`   // ID that this edge leads to: the node, a part of it, or another dependent
	How   How      `json:"how"`   // exact if all edges on the way are exact
}

// Dependents is one page of the nodes that depend on a node.
type Dependents struct {
	Node  Node `json:"node"`
	Total int  `json:"total"`
	// More reports that there may be further dependents: the search stopped at the depth or at the maximum number of
	// nodes.
	More       bool        `json:"more"`
	Dependents []Dependent `json:"dependents"`
}

const (
	// MaxDepth is the largest distance at which dependents are looked for, in edges.
	MaxDepth = 32
	// maxFound is the number of dependents after which the search takes no further step. A step is always completed, so
	// the result does not depend on the order of the search.
	maxFound = 1000
)

// dependenceKinds are the kinds of edges whose source is affected when their target changes.
const dependenceKinds = edgeSet(1<<eImports | 1<<eInherits | 1<<eImplements | 1<<eReferences | 1<<eCalls | 1<<eDependsOn | 1<<eTests)

// Dependents returns what depends on a node; id is a text as for One. It starts with what imports, inherits,
// implements, references, calls or tests the node or anything that it defines. Then it follows the dependents of those,
// up to depth edges away; 0 means MaxDepth. The nearest come first; at one distance, exact ones come first, then they
// are ordered by ID. Errors are those of One, and ken.ErrInvalid for the page.
func (v *View) Dependents(id string, depth int, p Page) (Dependents, error) {
	p, err := p.check()
	if err != nil {
		return Dependents{}, err
	}
	i, err := v.one(id)
	if err != nil {
		return Dependents{}, err
	}
	if depth <= 0 || depth > MaxDepth {
		depth = MaxDepth
	}
	w := &dependentSearch{v: v, seen: newBits(v.nodes.n), frontier: newBits(v.nodes.n), guess: newBits(v.nodes.n)}
	w.seen.set(i)
	ring := w.withMembers(i)
	out := Dependents{Node: v.node(i), Dependents: []Dependent{}}
	for at := 1; len(ring) > 0; at++ {
		if at > depth || out.Total >= max(maxFound, p.Offset+p.Limit) {
			out.More = w.hasMore(ring)
			break
		}
		for _, n := range ring {
			w.frontier.set(n)
		}
		sure := w.step(ring, false)
		rest := w.step(ring, true)
		out.Dependents = w.list(out.Dependents, sure, at, &out.Total, p)
		out.Dependents = w.list(out.Dependents, rest, at, &out.Total, p)
		for _, n := range ring {
			w.frontier.clear(n)
		}
		ring = append(sure, rest...)
	}
	return out, nil
}

// bits is a set of node numbers.
type bits []uint64

func newBits(n int32) bits      { return make(bits, n/64+1) }
func (b bits) has(i int32) bool { return b[i/64]&(1<<(i%64)) != 0 }
func (b bits) set(i int32)      { b[i/64] |= 1 << (i % 64) }
func (b bits) clear(i int32)    { b[i/64] &^= 1 << (i % 64) }

// dependentSearch walks the graph against the direction of the edges, one step per distance.
type dependentSearch struct {
	v        *View
	seen     bits
	frontier bits // nodes of the last step
	guess    bits // nodes reached only through guesses
}

// withMembers lists a node and everything that it defines: using a part counts as using the whole.
func (w *dependentSearch) withMembers(i int32) []int32 {
	all := []int32{i}
	for k := 0; k < len(all); k++ {
		w.v.out(all[k], func(_ *unit, e edge) {
			if e.meta.kind() == eDefines && !w.seen.has(e.to) {
				w.seen.set(e.to)
				all = append(all, e.to)
			}
		})
	}
	return all
}

// step returns the unseen nodes with an edge to a node of the ring. Without guessing, only exact edges to nodes that
// were reached exactly count; with it, all edges do.
func (w *dependentSearch) step(ring []int32, guessing bool) []int32 {
	var out []int32
	for _, to := range ring {
		if !guessing && w.guess.has(to) {
			continue
		}
		for _, in := range w.v.nodes.at(to).in {
			e := w.v.unit(in.unit).edges[in.slot]
			if (!guessing && e.meta&guessed != 0) || !dependenceKinds.has(e.meta.kind()) || w.seen.has(e.from) {
				continue
			}
			w.seen.set(e.from)
			out = append(out, e.from)
			if guessing {
				w.guess.set(e.from)
			}
		}
	}
	return out
}

// list appends the found nodes that are on the page. before counts the nodes of all steps so far.
func (w *dependentSearch) list(out []Dependent, found []int32, depth int, before *int, p Page) []Dependent {
	from, to := max(p.Offset-*before, 0), min(p.Offset+p.Limit-*before, len(found))
	*before += len(found)
	if from >= to {
		return out
	}
	first := top[int32]{n: to, compare: w.v.compare}
	for _, i := range found {
		first.add(i)
	}
	for _, i := range first.sorted()[from:to] {
		out = append(out, w.dependent(i, depth))
	}
	return out
}

// dependent describes how a node was reached: by the best of its edges into the last step.
func (w *dependentSearch) dependent(i int32, depth int) Dependent {
	d := Dependent{Node: w.v.node(i), Depth: depth, How: Exact}
	if w.guess.has(i) {
		d.How = Guess
	}
	best := edge{to: -1}
	w.v.out(i, func(_ *unit, e edge) {
		k := e.meta.kind()
		exact := e.meta&guessed == 0 && !w.guess.has(e.to)
		if !w.frontier.has(e.to) || !dependenceKinds.has(k) || d.How == Exact && !exact {
			return
		}
		if b := best.meta.kind(); best.to < 0 || cmp.Or(byWeight[k]-byWeight[b], w.v.compare(e.to, best.to)) < 0 {
			best = e
		}
	})
	d.Kind, d.Via = edgeNames[best.meta.kind()], w.v.id(best.to)
	return d
}

// hasMore reports whether an unseen node has an edge to a node of the ring.
func (w *dependentSearch) hasMore(ring []int32) bool {
	for _, to := range ring {
		for _, in := range w.v.nodes.at(to).in {
			if e := w.v.unit(in.unit).edges[in.slot]; dependenceKinds.has(e.meta.kind()) && !w.seen.has(e.from) {
				return true
			}
		}
	}
	return false
}

// Neighbour is a node that is one edge away from one of the given nodes.
type Neighbour struct {
	Node
	Of    string   `json:"of"` // ID of the given node
	Kind  EdgeKind `json:"kind"`
	How   How      `json:"how"`
	Out   bool     `json:"out"`   // true if the edge leads from Of to the neighbour
	Score float64  `json:"score"` // above 0, at most 1
}

// kindWeight is how relevant the node at the other end of an edge is, from 0 to 1: first when following the edge from
// its source, then from its target.
var kindWeight = [edgeCount][2]float64{
	eImplements: {1, .9}, eInherits: {1, .7}, eGoverns: {.8, 1}, eCalls: {.8, .7}, eReferences: {.7, .6}, eDefines: {.6, .5},
	eTests: {.7, .5}, eDependsOn: {.5, .4}, eImports: {.4, .4},
}

// MaxNeighbourhood is the maximum number of IDs for Neighbours.
const MaxNeighbourhood = 32

// Neighbours lists the nodes that are one edge away from the given ones, in either direction. The given nodes are not
// listed, and unknown IDs are ignored. The best score comes first, then the order is by ID. At most limit nodes are
// returned; total counts all.
//
// The score is kindWeight, halved for a guess, divided by 1 + log2(max(1, in/10)), where in is the number of edges that
// lead to the neighbour: a node that everything uses is less relevant. Errors: ken.ErrInvalid for more than
// MaxNeighbourhood IDs.
func (v *View) Neighbours(ids []string, limit int) (list []Neighbour, total int, err error) {
	if len(ids) > MaxNeighbourhood {
		return nil, 0, &ken.Error{Code: ken.CodeInvalid, Field: "ids", Msg: "are too many", Try: "Ask for at most 32 at a time."}
	}
	type near struct {
		node, of int32
		e        edge
		way      int // 0 if the edge leads from of to node, 1 if it leads from node to of
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
	compare := func(a, b near) int {
		return cmp.Or(cmp.Compare(b.score, a.score), v.compare(a.node, b.node), v.compare(a.of, b.of), cmp.Compare(a.e.meta.kind(), b.e.meta.kind()), a.way-b.way)
	}
	visit := func(node, of int32, e edge, way int) {
		if asked[node] {
			return
		}
		x := near{node, of, e, way, kindWeight[e.meta.kind()][way] / (1 + math.Log2(max(1, float64(len(v.nodes.at(node).in))/10)))}
		if e.meta&guessed != 0 {
			x.score /= 2
		}
		if b, ok := best[node]; !ok || compare(x, b) < 0 {
			best[node] = x
		}
	}
	for of := range asked {
		v.out(of, func(_ *unit, e edge) { visit(e.to, of, e, 0) })
		for _, in := range v.nodes.at(of).in {
			e := v.unit(in.unit).edges[in.slot]
			visit(e.from, of, e, 1)
		}
	}
	first := top[near]{n: min(max(limit, 0), MaxLimit), compare: compare}
	for _, x := range best {
		first.add(x)
	}
	for _, x := range first.sorted() {
		list = append(list, Neighbour{v.node(x.node), v.id(x.of), edgeNames[x.e.meta.kind()], x.e.meta.how(), x.way == 0, math.Round(x.score*1000) / 1000})
	}
	return list, len(best), nil
}

// Source is a source file in a language that an extractor reads, with its imports from the repository.
type Source struct {
	Path     string
	Hash     string // of its content
	Language string
	Test     bool       // it holds tests
	Imports  []Imported // by line and ID, each ID once
}

// Imported is a file, package, namespace or declaration that a file imports.
type Imported struct {
	ID   string
	Line int
	How  How

	// Files are the paths of the files that hold it; for a file without tests, those with tests are left out if there are
	// others. Used are those whose declarations the importing file uses, if known; it is empty if all files are in one
	// folder. Both are sorted. Files is shared and must not be changed.
	Files, Used []string
}

// Sources yields the source files, ordered by path.
func (v *View) Sources(yield func(Source) bool) {
	var units []*unit
	for _, u := range v.files {
		if u.lang != 0 {
			units = append(units, u)
		}
	}
	slices.SortFunc(units, func(a, b *unit) int { return strings.Compare(v.text(a.path), v.text(b.path)) })
	homes := map[int32]*nodeLocation{}
	for _, u := range units {
		s := Source{Path: v.text(u.path), Hash: u.hash, Language: v.text(u.lang), Test: u.has(forTests)}
		for at := u.firstFrom(u.node); at < len(u.edges) && u.edges[at].from == u.node; at++ {
			e := u.edges[at]
			if e.meta.kind() != eImports || v.nodes.at(e.to).flags&inRepo == 0 {
				continue
			}
			l := homes[e.to]
			if l == nil {
				l = v.locationOf(e.to)
				homes[e.to] = l
			}
			files := l.files
			if !s.Test && len(l.plain) > 0 {
				files = l.plain
			}
			s.Imports = append(s.Imports, Imported{v.id(e.to), int(e.meta.line()), e.meta.how(), files, v.usedOf(u, l)})
		}
		slices.SortFunc(s.Imports, func(a, b Imported) int { return cmp.Or(cmp.Compare(a.Line, b.Line), strings.Compare(a.ID, b.ID)) })
		if !yield(s) {
			return
		}
	}
}

// nodeLocation lists the files of a node.
type nodeLocation struct {
	units     []int32 // sorted by number
	files     []string
	plain     []string // the files without tests
	scattered bool     // the files are in several folders
}

func (v *View) locationOf(i int32) *nodeLocation {
	l := &nodeLocation{units: v.unitsOf(i)}
	for _, p := range l.units {
		path := v.text(v.unit(p).path)
		l.scattered = l.scattered || len(l.files) > 0 && folder(path) != folder(l.files[0])
		l.files = append(l.files, path)
		if !v.unit(p).has(forTests) {
			l.plain = append(l.plain, path)
		}
	}
	slices.Sort(l.files)
	slices.Sort(l.plain)
	return l
}

// unitsOf lists the files that declare a node or belong to it.
func (v *View) unitsOf(i int32) []int32 {
	var out []int32
	for _, p := range v.nodes.at(i).places {
		if p.decl != onlyEdges && v.unit(p.unit).decision == nil {
			out = append(out, p.unit)
		}
	}
	slices.Sort(out)
	return slices.Compact(out)
}

// usedOf lists the files of a scattered node whose declarations the unit uses; nil for other nodes.
func (v *View) usedOf(u *unit, l *nodeLocation) []string {
	if !l.scattered {
		return nil
	}
	var out []string
	for _, e := range u.edges {
		const uses = edgeSet(1<<eReferences | 1<<eCalls | 1<<eInherits | 1<<eImplements)
		if n := v.nodes.at(e.to); !uses.has(e.meta.kind()) || n.kind.isScope() || n.kind == kFile {
			continue
		}
		for _, i := range v.unitsOf(e.to) {
			if _, in := slices.BinarySearch(l.units, i); in && v.unit(i) != u {
				out = append(out, v.text(v.unit(i).path))
			}
		}
	}
	slices.Sort(out)
	return slices.Compact(out)
}
