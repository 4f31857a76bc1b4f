package codegraph

import (
	"cmp"
	"iter"
	"slices"
	"strings"

	"github.com/kenlayer/ken"
)

// View is an immutable snapshot of the graph, safe for concurrent use. It keeps its part of the graph in memory, so
// take a new View for each query. The caller owns returned slices. Results have a defined order, which does not depend
// on the history of the graph.
type View struct {
	names *names
	strs  []string // as in names, up to the time of this view
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

// Counts is the size of a graph.
type Counts struct {
	Files     int `json:"files"`
	Nodes     int `json:"nodes"`    // including files, external packages and decisions
	External  int `json:"external"` // imported packages and implemented interfaces of Go's library that are not in the repository
	Edges     int `json:"edges"`
	Guesses   int `json:"guesses"` // how many of the edges are guesses
	Decisions int `json:"decisions"`
}

// head holds the first nodes of the lists for a name: node numbers plus one, 0 for an empty list.
type head struct {
	name, qual int32
	named      int32 // length of the list for the bare name
}

// node is something with an ID. A removed node has no kind.
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
	inRepo   nodeFlags = 1 << iota // a file declares it or belongs to it
	exported                       // at least one of its declarations is exported
	testOnly                       // only files with tests declare it
)

// place is where a node is declared: an index in decls of a unit. decl is noDecl for a file and for what a file belongs
// to. It is onlyEdges if the unit does not declare the node but has edges from it.
type place struct{ unit, decl int32 }

const (
	noDecl    = -1
	onlyEdges = -2
)

// inEdge refers to an edge: its unit, and its index in the unit's edges.
type inEdge struct{ unit, slot int32 }

// Version counts the changes of the graph since it was made or loaded. Two views of one graph with the same version are
// identical.
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

// byQual yields the nodes with a qualified name.
func (v *View) byQual(x sym) iter.Seq2[int32, *node] {
	return func(yield func(i int32, n *node) bool) {
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
}

// byName yields the nodes with a bare name.
func (v *View) byName(x sym) iter.Seq2[int32, *node] {
	return func(yield func(i int32, n *node) bool) {
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
}

// byRef returns the node of an ID, or -1.
func (v *View) byRef(r ref) int32 {
	for i, n := range v.byQual(r.qual) {
		if n.kind == r.kind {
			return i
		}
	}
	return -1
}

// fileUnit returns the number of a file's unit, or -1.
func (v *View) fileUnit(path string) int32 {
	x, ok := v.names.find(path)
	if i := v.byRef(ref{kFile, x}); ok && i >= 0 {
		for _, p := range v.nodes.at(i).places {
			if u := v.unit(p.unit); p.decl == noDecl && u.decision == nil && u.node == i {
				return p.unit
			}
		}
	}
	return -1
}

// all yields the units with their numbers.
func (v *View) all(yield func(int32, *unit) bool) {
	for i := range v.units.n {
		if u := v.unit(i); u != nil && !yield(i, u) {
			return
		}
	}
}

// files yields the units of files with their numbers.
func (v *View) files(yield func(int32, *unit) bool) {
	for i, u := range v.all {
		if u.decision == nil && !yield(i, u) {
			return
		}
	}
}

// out yields all edges from a node, unit by unit.
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

// firstFrom returns the index of the first edge from a node in the unit's edges.
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

// Page selects a part of a list.
type Page struct {
	Limit  int // maximum number of elements; 0 means DefaultLimit, at most MaxLimit
	Offset int // number of elements to skip
}

// Limits of a Page.
const (
	DefaultLimit = 50
	MaxLimit     = 1000
	MaxOffset    = 1_000_000
)

func (p Page) check() (Page, error) {
	p.Limit = cmp.Or(p.Limit, DefaultLimit)
	if p.Limit < 0 || p.Limit > MaxLimit {
		return p, &ken.Error{Code: ken.CodeInvalid, Field: "limit", Msg: "is outside 1..1000", Try: "Ask for fewer, and for the next ones with the offset."}
	}
	if p.Offset < 0 || p.Offset > MaxOffset {
		return p, &ken.Error{Code: ken.CodeInvalid, Field: "offset", Msg: "is outside 0..1000000", Try: "Begin with 0."}
	}
	return p, nil
}

// pageOf returns the elements of a page.
func pageOf[T any](first []T, p Page) []T {
	return first[min(p.Offset, len(first)):min(p.Offset+p.Limit, len(first))]
}

// pageSize is the number of elements that are copied when one of them changes. A smaller size would make the list of
// pages longer, and every change copies that list.
const pageSize = 64

type page[T any] [pageSize]T

// vec is a list stored in pages. A copy of the struct is a snapshot if all changes are made through an editor.
type vec[T any] struct {
	pages []*page[T]
	n     int32
}

func (v *vec[T]) at(i int32) *T { return &v.pages[i/pageSize][i%pageSize] }

// editor changes a vec without affecting its snapshots: it copies a page before its first change.
type editor[T any] struct {
	*vec[T]
	own []bool // by page
}

func edit[T any](v *vec[T]) editor[T] {
	v.pages = append(make([]*page[T], 0, len(v.pages)+1), v.pages...)
	return editor[T]{v, make([]bool, len(v.pages))}
}

// set returns a pointer to an element for writing.
func (e *editor[T]) set(i int32) *T {
	p := i / pageSize
	if !e.own[p] {
		c := *e.pages[p]
		e.pages[p], e.own[p] = &c, true
	}
	return &e.pages[p][i%pageSize]
}

// add appends a zero element and returns its number.
func (e *editor[T]) add() int32 {
	if int(e.n) == len(e.pages)*pageSize {
		e.pages = append(e.pages, new(page[T]))
		e.own = append(e.own, true)
	}
	e.n++
	return e.n - 1
}

// top keeps the first n of the added elements in the order of compare. It drops the others now and then.
type top[T any] struct {
	n       int
	compare func(a, b T) int
	kept    []T
	full    bool // the first n of kept were the first ones so far, in order: what comes after the last of them is not among the first n
}

func (t *top[T]) add(x T) {
	if t.n == 0 || t.full && t.compare(x, t.kept[t.n-1]) >= 0 {
		return
	}
	if t.kept = append(t.kept, x); len(t.kept) >= 2*t.n+16 {
		t.sorted()
	}
}

// sorted returns the kept elements in order.
func (t *top[T]) sorted() []T {
	slices.SortFunc(t.kept, t.compare)
	t.full = len(t.kept) >= t.n
	t.kept = t.kept[:min(len(t.kept), t.n)]
	return t.kept
}
