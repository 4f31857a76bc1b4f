package codegraph

import "slices"

// tx is one change of the graph: units come and go, what they declare becomes nodes,
// and at the end everything whose meaning may have changed is looked up again. It works
// on a draft of the next view; nobody sees it before it is published.
type tx struct {
	g     *Graph
	v     View
	nodes editor[node]
	units editor[*unit]
	heads editor[head]

	changed       map[string]bool // names that mean something else now
	redo          []int32         // units that are new or have new content
	old           map[int32][]edge
	oldExtra      map[int32][]int32
	touched       map[int32]bool // nodes whose places have changed, or that lost an edge
	spacesFlipped bool           // a package or namespace came into the repository or left it
	filesChanged  bool           // there are other files, or files are in other packages

	files, decisions, external int // how many more there are of them
}

func (g *Graph) begin() *tx {
	t := &tx{g: g, v: *g.view.Load(), changed: map[string]bool{}, old: map[int32][]edge{}, oldExtra: map[int32][]int32{}, touched: map[int32]bool{}}
	t.nodes, t.units, t.heads = edit(&t.v.nodes), edit(&t.v.units), edit(&t.v.heads)
	t.v.freeNodes, t.v.freeUnits = slices.Clone(t.v.freeNodes), slices.Clone(t.v.freeUnits)
	return t
}

// node returns the node of an ID and makes one if need be.
func (t *tx) node(r ref) int32 {
	if i := t.v.byRef(r); i >= 0 {
		return i
	}
	t.external++
	name := t.g.names.intern(nameOf(r.kind, t.g.names.strs[r.qual]))
	var i int32
	if n := len(t.v.freeNodes); n > 0 {
		i, t.v.freeNodes = t.v.freeNodes[n-1], t.v.freeNodes[:n-1]
	} else {
		i = t.nodes.add()
	}
	for t.heads.n <= int32(max(name, r.qual)) {
		t.heads.add()
	}
	t.g.names.call(name)
	byName := t.heads.set(int32(name))
	*t.nodes.set(i) = node{kind: r.kind, qual: r.qual, name: name, nextName: byName.name}
	byName.name = i + 1
	byName.named++
	byQual := t.heads.set(int32(r.qual))
	t.nodes.set(i).nextQual = byQual.qual
	byQual.qual = i + 1
	t.touched[i] = true
	return i
}

// forget removes a node from the lists and gives its number back.
func (t *tx) forget(i int32) {
	n := *t.v.nodes.at(i)
	if n.flags&inRepo == 0 {
		t.external--
	}
	h := t.heads.set(int32(n.name))
	h.named--
	if h.name == i+1 {
		h.name = n.nextName
	} else {
		k := h.name - 1
		for t.nodes.at(k).nextName != i+1 {
			k = t.nodes.at(k).nextName - 1
		}
		t.nodes.set(k).nextName = n.nextName
	}
	if h := t.heads.at(int32(n.qual)); h.qual == i+1 {
		t.heads.set(int32(n.qual)).qual = n.nextQual
	} else {
		k := h.qual - 1
		for t.nodes.at(k).nextQual != i+1 {
			k = t.nodes.at(k).nextQual - 1
		}
		t.nodes.set(k).nextQual = n.nextQual
	}
	*t.nodes.set(i) = node{}
	t.v.freeNodes = append(t.v.freeNodes, i)
}

// put takes a unit in place of the one at i, or as a new one when i is negative. A nil
// unit takes it out.
func (t *tx) put(i int32, u *unit) {
	if i < 0 {
		if n := len(t.v.freeUnits); n > 0 {
			i, t.v.freeUnits = t.v.freeUnits[n-1], t.v.freeUnits[:n-1]
		} else {
			i = t.units.add()
		}
	}
	old := t.v.unit(i)
	t.tally(old, -1)
	t.tally(u, 1)
	if _, twice := t.old[i]; !twice {
		if t.old[i] = nil; old != nil {
			t.old[i], t.oldExtra[i] = old.edges, old.extra
		}
		t.redo = append(t.redo, i)
	}
	t.g.difference(old, u, t.changed)
	t.filesChanged = t.filesChanged || old == nil || u == nil || old.within != u.within
	places := map[int32][]place{}
	if old != nil {
		for n := range old.declared {
			places[n] = nil
		}
	}
	if u != nil {
		t.declare(u)
		add := func(n, decl int32) { places[n] = append(places[n], place{i, decl}) }
		add(u.node, noDecl)
		if u.home >= 0 {
			add(u.home, noDecl)
		}
		for k, n := range u.nodes {
			if n >= 0 {
				add(n, int32(k))
			}
		}
	} else {
		t.v.freeUnits = append(t.v.freeUnits, i)
	}
	for n, ps := range places {
		t.place(n, i, ps)
	}
	*t.units.set(i) = u
}

func (t *tx) tally(u *unit, by int) {
	switch {
	case u == nil:
	case u.decision != nil:
		t.decisions += by
	default:
		t.files += by
	}
}

// declared yields the nodes that a unit declares or is within, some of them twice.
func (u *unit) declared(yield func(int32) bool) {
	if !yield(u.node) || u.home >= 0 && !yield(u.home) {
		return
	}
	for _, n := range u.nodes {
		if n >= 0 && !yield(n) {
			return
		}
	}
}

// declare finds the nodes of a unit or makes them.
func (t *tx) declare(u *unit) {
	if u.decision != nil {
		x := t.g.names.intern(u.decision.ID)
		u.node, u.home = t.node(ref{kDecision, x}), -1
		return
	}
	u.node = t.node(ref{kFile, u.path})
	u.home = -1
	if u.within.kind != noKind {
		u.home = t.node(u.within)
	}
	u.nodes = make([]int32, len(u.decls))
	for i := range u.decls {
		d := &u.decls[i]
		if u.nodes[i] = -1; d.kind != noKind {
			u.nodes[i] = t.node(ref{d.kind, d.qual})
		}
	}
}

// place sets the places that a node has in a unit. Places of one unit stay together.
func (t *tx) place(n, unit int32, places []place) {
	t.touched[n] = true
	have := t.v.nodes.at(n).places
	at := slices.IndexFunc(have, func(p place) bool { return p.unit == unit })
	switch {
	case at < 0 && len(places) == 0:
		return
	case at < 0:
		// What lies behind the end of a published list belongs to nobody, and changes
		// come one after another: so nobody sees the place before the next view.
		t.nodes.set(n).places = append(have, places...)
		return
	}
	end := at
	for end < len(have) && have[end].unit == unit {
		end++
	}
	t.nodes.set(n).places = slices.Concat(have[:at], have[end:], places)
}

// reflag works out what the nodes are, now that all places are known.
func (t *tx) reflag() {
	for i := range t.touched {
		n := t.v.nodes.at(i)
		if n.kind == noKind {
			continue
		}
		flags, fam, tests := nodeFlags(0), uint8(0), true
		for _, p := range n.places {
			if p.decl == onlyEdges {
				continue
			}
			u := t.v.unit(p.unit)
			if flags&inRepo == 0 || t.v.fams[u.fam] < t.v.fams[fam] {
				fam = u.fam
			}
			flags |= inRepo
			tests = tests && u.has(forTests)
			if p.decl >= 0 && u.decls[p.decl].exported {
				flags |= exported
			}
		}
		if flags&inRepo != 0 && tests {
			flags |= testOnly
		}
		if (n.flags^flags)&inRepo != 0 {
			t.spacesFlipped = t.spacesFlipped || n.kind.space()
			if t.external++; flags&inRepo != 0 {
				t.external -= 2
			}
		}
		if flags != n.flags || fam != n.fam {
			n = t.nodes.set(i)
			n.flags, n.fam = flags, fam
		}
	}
}
