package codegraph

import "cmp"

// Dependent is something that depends on a node, directly or through others.
type Dependent struct {
	Node
	Depth int      `json:"depth"` // edges away, from 1
	Kind  EdgeKind `json:"kind"`  // of the first of these edges, as it leads from the dependent
	Via   string   `json:"via"`   // ID that this edge leads to: the node, a part of it, or another dependent
	How   How      `json:"how"`   // exact when each of the edges is
}

// Dependents is a part of what depends on a node.
type Dependents struct {
	Node  Node `json:"node"`
	Total int  `json:"total"`
	// More says that there may be others: the depth was reached, or so many were found
	// that nobody looked further.
	More       bool        `json:"more"`
	Dependents []Dependent `json:"dependents"`
}

const (
	// MaxDepth is how far dependents are looked for.
	MaxDepth = 32
	// enough is how many dependents are found before no further step is taken. A step
	// is never cut off: who is found does not depend on chance.
	enough = 1000
)

// dependence is the kinds of edges along which a change is felt.
const dependence = edgeSet(1<<eImports | 1<<eInherits | 1<<eImplements | 1<<eReferences | 1<<eCalls | 1<<eDependsOn | 1<<eTests)

// Dependents tells what depends on the node that a text stands for, as of One: what
// imports, inherits, implements, references, calls or tests it or what it defines, then
// what depends on that, up to depth steps away; 0 means MaxDepth. The nearest come first, of one distance those along
// exact edges, then by ID. Errors are those of One, and ken.ErrInvalid for the page.
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
	w := &wave{v: v, seen: newBits(v.nodes.n), ring: newBits(v.nodes.n), guess: newBits(v.nodes.n)}
	w.seen.set(i)
	ring := w.parts(i)
	out := Dependents{Node: v.node(i), Dependents: []Dependent{}}
	for at := 1; len(ring) > 0; at++ {
		if at > depth || out.Total >= max(enough, p.Offset+p.Limit) {
			out.More = w.leads(ring)
			break
		}
		for _, n := range ring {
			w.ring.set(n)
		}
		sure := w.step(ring, false)
		rest := w.step(ring, true)
		out.Dependents = w.list(out.Dependents, sure, at, &out.Total, p)
		out.Dependents = w.list(out.Dependents, rest, at, &out.Total, p)
		for _, n := range ring {
			w.ring.clear(n)
		}
		ring = append(sure, rest...)
	}
	return out, nil
}

// bits is a set of nodes.
type bits []uint64

func newBits(n int32) bits      { return make(bits, n/64+1) }
func (b bits) has(i int32) bool { return b[i/64]&(1<<(i%64)) != 0 }
func (b bits) set(i int32)      { b[i/64] |= 1 << (i % 64) }
func (b bits) clear(i int32)    { b[i/64] &^= 1 << (i % 64) }

// wave goes through the graph against the edges, a step at a time.
type wave struct {
	v     *View
	seen  bits
	ring  bits // where the last step led
	guess bits // what is reached by guesses alone
}

// parts lists a node and what it defines: who uses a part, uses the whole.
func (w *wave) parts(i int32) []int32 {
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

// step finds what leads to the nodes of a ring and was not seen before: along exact edges
// from what is exact itself, or, guessing, along any.
func (w *wave) step(ring []int32, guessing bool) []int32 {
	var out []int32
	for _, to := range ring {
		if !guessing && w.guess.has(to) {
			continue
		}
		for _, in := range w.v.nodes.at(to).in {
			e := w.v.unit(in.unit).edges[in.slot]
			if (!guessing && e.meta&guessed != 0) || !dependence.has(e.meta.kind()) || w.seen.has(e.from) {
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

// list adds those of a step's nodes that the page asks for, and counts all.
func (w *wave) list(out []Dependent, found []int32, depth int, before *int, p Page) []Dependent {
	from, to := max(p.Offset-*before, 0), min(p.Offset+p.Limit-*before, len(found))
	*before += len(found)
	if from >= to {
		return out
	}
	first := top[int32]{n: to, less: func(a, b int32) bool { return w.v.compare(a, b) < 0 }}
	for _, i := range found {
		first.add(i)
	}
	for _, i := range first.sorted()[from:to] {
		out = append(out, w.dependent(i, depth))
	}
	return out
}

// dependent tells how a node was reached: by the best of its edges into the ring.
func (w *wave) dependent(i int32, depth int) Dependent {
	d := Dependent{Node: w.v.node(i), Depth: depth, How: Exact}
	if w.guess.has(i) {
		d.How = Guess
	}
	best := edge{to: -1}
	w.v.out(i, func(_ *unit, e edge) {
		k := e.meta.kind()
		exact := e.meta&guessed == 0 && !w.guess.has(e.to)
		if !w.ring.has(e.to) || !dependence.has(k) || d.How == Exact && !exact {
			return
		}
		if b := best.meta.kind(); best.to < 0 || cmp.Or(byWeight[k]-byWeight[b], w.v.compare(e.to, best.to)) < 0 {
			best = e
		}
	})
	d.Kind, d.Via = edgeNames[best.meta.kind()], w.v.id(best.to)
	return d
}

// leads reports whether anything more leads to a ring.
func (w *wave) leads(ring []int32) bool {
	for _, to := range ring {
		for _, in := range w.v.nodes.at(to).in {
			if e := w.v.unit(in.unit).edges[in.slot]; dependence.has(e.meta.kind()) && !w.seen.has(e.from) {
				return true
			}
		}
	}
	return false
}
