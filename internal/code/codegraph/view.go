package codegraph

import (
	"cmp"
	"slices"
	"strings"

	"github.com/kenlayer/ken"
)

// View is the graph as it was at one moment. It does not change, is safe for concurrent
// use, and keeps what it shows in memory: take a new one for the next question. Slices
// that it returns are the caller's. Everything has one order, whatever happened to the
// graph before.
type View struct {
	names *names
	strs  []string // of names, as far as this view goes
	masks []uint64
	words []uint64
	bare  []bareName
	fams  []string

	nodes vec[node]
	units vec[*unit]
	heads vec[head] // by sym
	freeNodes,
	freeUnits []int32

	counts  Counts
	version uint64
}

// Counts says how large a graph is.
type Counts struct {
	Files     int `json:"files"`
	Nodes     int `json:"nodes"`    // files, external packages and decisions included
	External  int `json:"external"` // packages that are imported, and interfaces of Go's library that are implemented
	Edges     int `json:"edges"`
	Guesses   int `json:"guesses"` // edges that are guesses
	Decisions int `json:"decisions"`
}

// head is where the lists of the nodes of a name begin: node numbers plus one, 0 for
// none.
type head struct {
	name, qual int32
	named      int32 // how many are in the list of the bare name
}

// node is one thing that has an ID. One that is gone has no kind.
type node struct {
	kind               kindNo
	flags              nodeFlags
	fam                uint8
	name, qual         sym
	nextName, nextQual int32 // as in head
	places             []place
	in                 []inEdge
}

type nodeFlags uint8

const (
	inRepo   nodeFlags = 1 << iota // some file declares it, or is in it
	exported                       // some declaration of it is
	testOnly                       // files with tests declare it, and no others
)

// place is where a node is declared; decl is noDecl for a file and what a file is
// within, and onlyEdges where the unit merely has edges from the node.
type place struct{ unit, decl int32 }

const (
	noDecl    = -1
	onlyEdges = -2
)

// inEdge is the edge of a unit at a place in its list.
type inEdge struct{ unit, slot int32 }

// Version counts the changes of the graph since it was made or loaded. Views of one
// graph with one version are the same.
func (v *View) Version() uint64 { return v.version }

// Counts returns how large the graph is.
func (v *View) Counts() Counts { return v.counts }

func (v *View) unit(i int32) *unit { return *v.units.at(i) }

func (v *View) text(x sym) string { return v.strs[x] }

func (v *View) id(i int32) string {
	n := v.nodes.at(i)
	return string(kindNames[n.kind]) + ":" + v.strs[n.qual]
}

// compare orders nodes by ID.
func (v *View) compare(a, b int32) int {
	if a == b {
		return 0
	}
	x, y := v.nodes.at(a), v.nodes.at(b)
	if x.kind != y.kind {
		return cmp.Compare(kindNames[x.kind], kindNames[y.kind])
	}
	return strings.Compare(v.strs[x.qual], v.strs[y.qual])
}

// byQual calls with the nodes of a qualified name until it returns false.
func (v *View) byQual(x sym, yield func(i int32, n *node) bool) {
	if int32(x) >= v.heads.n {
		return
	}
	for i := v.heads.at(int32(x)).qual; i != 0; {
		n := v.nodes.at(i - 1)
		if !yield(i-1, n) {
			return
		}
		i = n.nextQual
	}
}

// byName calls with the nodes whose bare name it is.
func (v *View) byName(x sym, yield func(i int32, n *node) bool) {
	if int32(x) >= v.heads.n {
		return
	}
	for i := v.heads.at(int32(x)).name; i != 0; {
		n := v.nodes.at(i - 1)
		if !yield(i-1, n) {
			return
		}
		i = n.nextName
	}
}

// byRef returns the node of an ID, and -1 when there is none.
func (v *View) byRef(r ref) int32 {
	found := int32(-1)
	v.byQual(r.qual, func(i int32, n *node) bool {
		if n.kind == r.kind {
			found = i
		}
		return found < 0
	})
	return found
}

// byPath returns the node of a file.
func (v *View) byPath(path string) int32 {
	x, ok := v.names.find(path)
	if !ok {
		return -1
	}
	return v.byRef(ref{kFile, x})
}

// fileUnit returns the number of the unit that is a file, and -1 when it is none.
func (v *View) fileUnit(path string) int32 {
	i := v.byPath(path)
	if i < 0 {
		return -1
	}
	for _, p := range v.nodes.at(i).places {
		if u := v.unit(p.unit); p.decl == noDecl && u.decision == nil && u.node == i {
			return p.unit
		}
	}
	return -1
}

// out calls with all edges from a node, unit by unit.
func (v *View) out(i int32, yield func(u *unit, e edge)) {
	places := v.nodes.at(i).places
	for k, p := range places {
		if k > 0 && places[k-1].unit == p.unit {
			continue
		}
		u := v.unit(p.unit)
		for at := u.firstFrom(i); at < len(u.edges) && u.edges[at].from == i; at++ {
			yield(u, u.edges[at])
		}
	}
}

// firstFrom is where the edges from a node begin in a unit's list.
func (u *unit) firstFrom(i int32) int {
	lo, hi := 0, len(u.edges)
	for lo < hi {
		if mid := (lo + hi) / 2; u.edges[mid].from < i {
			lo = mid + 1
		} else {
			hi = mid
		}
	}
	return lo
}

// homes calls with the nodes of the packages and namespaces that a node belongs to.
func (v *View) homes(i int32, yield func(int32)) {
	n := v.nodes.at(i)
	if n.kind.isScope() {
		yield(i)
		return
	}
	for _, p := range n.places {
		if u := v.unit(p.unit); p.decl != onlyEdges && u.home >= 0 {
			yield(u.home)
		}
	}
}

// Page says which part of a list is asked for.
type Page struct {
	Limit  int // at most so many; 0 means DefaultLimit, at most MaxLimit
	Offset int // after so many
}

// Bounds of a Page.
const (
	DefaultLimit = 50
	MaxLimit     = 1000
	MaxOffset    = 1_000_000
)

func (p Page) check() (Page, error) {
	if p.Limit == 0 {
		p.Limit = DefaultLimit
	}
	if p.Limit < 0 || p.Limit > MaxLimit {
		return p, &ken.Error{Code: ken.CodeInvalid, Field: "limit", Msg: "is outside 1..1000", Try: "Ask for fewer, and for the next ones with the offset."}
	}
	if p.Offset < 0 || p.Offset > MaxOffset {
		return p, &ken.Error{Code: ken.CodeInvalid, Field: "offset", Msg: "is outside 0..1000000", Try: "Begin with 0."}
	}
	return p, nil
}

// pageOf returns the part of the first elements that a page asks for.
func pageOf[T any](first []T, p Page) []T {
	return first[min(p.Offset, len(first)):min(p.Offset+p.Limit, len(first))]
}

// pageSize is how many elements are copied when one of them changes. Fewer would make the
// list of the pages longer, which every change copies.
const pageSize = 64

type page[T any] [pageSize]T

// vec is a list in pages. A copy of the struct is a snapshot, as long as changes go
// through an editor.
type vec[T any] struct {
	pages []*page[T]
	n     int32
}

func (v *vec[T]) at(i int32) *T { return &v.pages[i/pageSize][i%pageSize] }

// editor changes a vec and leaves the snapshots of it as they are: it copies a page
// before the first change in it.
type editor[T any] struct {
	*vec[T]
	own []bool // by page
}

func edit[T any](v *vec[T]) editor[T] {
	v.pages = append(make([]*page[T], 0, len(v.pages)+1), v.pages...)
	return editor[T]{v, make([]bool, len(v.pages))}
}

// set returns the place of an element that is about to be changed.
func (e *editor[T]) set(i int32) *T {
	p := i / pageSize
	if !e.own[p] {
		c := *e.pages[p]
		e.pages[p], e.own[p] = &c, true
	}
	return &e.pages[p][i%pageSize]
}

// add makes room for one more element at the end and returns its number.
func (e *editor[T]) add() int32 {
	if int(e.n) == len(e.pages)*pageSize {
		e.pages = append(e.pages, new(page[T]))
		e.own = append(e.own, true)
	}
	e.n++
	return e.n - 1
}

// top keeps the first n of what it is given, by less, as a heap with the last of them
// on its top.
type top[T any] struct {
	n    int
	less func(a, b T) bool
	heap []T
}

// takes reports whether x would be among the first.
func (t *top[T]) takes(x T) bool { return len(t.heap) < t.n || t.n > 0 && t.less(x, t.heap[0]) }

func (t *top[T]) add(x T) {
	if len(t.heap) < t.n {
		t.heap = append(t.heap, x)
		for i := len(t.heap) - 1; i > 0; {
			up := (i - 1) / 2
			if !t.less(t.heap[up], t.heap[i]) {
				break
			}
			t.heap[up], t.heap[i] = t.heap[i], t.heap[up]
			i = up
		}
		return
	}
	if !t.takes(x) {
		return
	}
	t.heap[0] = x
	for i := 0; ; {
		last := i
		for _, c := range []int{2*i + 1, 2*i + 2} {
			if c < len(t.heap) && t.less(t.heap[last], t.heap[c]) {
				last = c
			}
		}
		if last == i {
			return
		}
		t.heap[i], t.heap[last] = t.heap[last], t.heap[i]
		i = last
	}
}

// sorted returns what was kept, the first first.
func (t *top[T]) sorted() []T {
	slices.SortFunc(t.heap, func(a, b T) int {
		switch {
		case t.less(a, b):
			return -1
		case t.less(b, a):
			return 1
		}
		return 0
	})
	return t.heap
}
