package codegraph

import (
	"log/slog"
	"runtime"
	"slices"
	"sync"
	"sync/atomic"

	"github.com/kenlayer/ken/internal/caught"
)

// resolution is the result of resolving one unit: its edges and what they depend on. The fields are those of unit.
type resolution struct {
	edges        []edge
	foreignNodes []int32
	usesSuffixes bool
	memberTypes  []uint32

	unresolved []string
}

// commit finds the edges of all units that changed or depend on a changed name, and publishes the draft. It returns the
// number of unchanged units that were resolved again.
func (t *transaction) commit() int {
	redone := make(map[int32]bool, len(t.redo))
	for _, i := range t.redo {
		redone[i] = true
	}
	t.publishTexts()
	t.reflag()
	others := t.affected(t.changed, func(i int32) bool { return redone[i] })
	all := slices.Clone(others)
	for _, i := range t.redo {
		if t.v.unit(i) != nil {
			all = append(all, i)
		} else {
			t.noteForeign(i, t.oldForeign[i], nil)
		}
	}
	for k, r := range t.resolve(all) {
		t.install(all[k], r, redone[all[k]])
	}
	t.link()
	for i := range t.touched {
		if m := t.v.nodes.at(i); m.kind != noKind && len(m.places) == 0 && len(m.in) == 0 {
			t.forget(i)
		}
	}
	t.count()
	t.v.version++
	v := t.v
	t.g.view.Store(&v)
	return len(others)
}

// publishTexts makes all texts interned so far visible in the draft.
func (t *transaction) publishTexts() {
	n := t.g.names
	t.v.fams = slices.Clip(t.g.fams)
	t.v.strs, t.v.masks, t.v.words, t.v.bare = slices.Clip(n.strs), slices.Clip(n.masks), slices.Clip(n.words), slices.Clip(n.bare)
}

// resolve finds the edges of units. Imports come first and run one after another, because they may add external
// packages to the graph. The rest runs on all processors.
func (t *transaction) resolve(units []int32) []resolution {
	out := make([]resolution, len(units))
	for k, i := range units {
		out[k] = t.imports(t.v.unit(i))
	}
	t.publishTexts()
	workers := min(runtime.GOMAXPROCS(0), 1+len(units)/8)
	var next atomic.Int64
	var all sync.WaitGroup
	for range workers {
		all.Go(func() {
			r := newResolver(&t.v)
			for {
				k := int(next.Add(1)) - 1
				if k >= len(units) {
					return
				}
				u := t.v.unit(units[k])
				if err := caught.Run(func() error { r.resolve(u, &out[k]); return nil }); err != nil {
					slog.Default().Error("the names that a file uses can't be resolved and are left out", "file", t.v.text(u.path), "cause", err, "stack", caught.Stack(err))
					out[k], r = resolution{}, newResolver(&t.v)
				}
			}
		})
	}
	all.Wait()
	return out
}

// install stores the edges of a unit. A unit that is already published (not fresh) is copied, and only if something
// differs.
func (t *transaction) install(i int32, f resolution, fresh bool) {
	u := t.v.unit(i)
	flags := u.flags &^ usesSuffixes
	if f.usesSuffixes {
		flags |= usesSuffixes
	}
	if !fresh {
		if flags == u.flags && slices.Equal(u.edges, f.edges) && slices.Equal(u.unresolved, f.unresolved) && slices.Equal(u.memberTypes, f.memberTypes) {
			return
		}
		t.old[i], t.oldForeign[i] = u.edges, u.foreignNodes
		c := *u
		u = &c
		*t.units.set(i) = u
	}
	u.flags, u.edges, u.foreignNodes, u.unresolved, u.memberTypes = flags, f.edges, f.foreignNodes, f.unresolved, f.memberTypes
	t.noteForeign(i, t.oldForeign[i], u)
}

// noteForeign updates the places of the nodes that have edges in unit i but are not declared by it. old lists those
// nodes before the change; u is nil for a removed unit.
func (t *transaction) noteForeign(i int32, old []int32, u *unit) {
	for _, n := range old {
		if u == nil || !slices.Contains(u.foreignNodes, n) && !u.declares(n) {
			t.place(n, i, nil)
		}
	}
	if u != nil {
		for _, n := range u.foreignNodes {
			t.place(n, i, []place{{i, onlyEdges}})
		}
	}
}

// findForeign lists the nodes that have edges in the unit but are not declared by it.
func (u *unit) findForeign(edges []edge) []int32 {
	var declared map[int32]bool
	var others []int32
	last := int32(-1)
	for _, e := range edges {
		if e.from == last || e.from == u.node || e.from == u.home {
			continue
		}
		last = e.from
		if declared == nil {
			declared = map[int32]bool{}
			for n := range u.declared {
				declared[n] = true
			}
		}
		if !declared[e.from] {
			others = append(others, e.from)
		}
	}
	return others
}

func (u *unit) declares(n int32) bool {
	return u.node == n || u.home == n || slices.Contains(u.nodes, n)
}

// link updates the lists of incoming edges of all nodes that an old or a new edge leads to.
func (t *transaction) link() {
	size := 0
	for i, old := range t.old {
		size += len(old) + len(t.edges(i))
	}
	if size > t.v.counts.Edges/4 && size > 1000 {
		t.relinkAll()
		return
	}
	added := map[int32][]inEdge{} // by node; also for nodes that only lost edges
	replaced := map[int32]bool{}
	for i, old := range t.old {
		edges := t.edges(i)
		if slices.EqualFunc(old, edges, func(a, b edge) bool { return a.to == b.to }) {
			continue // at most the lines have changed
		}
		replaced[i] = true
		for _, e := range old {
			if _, ok := added[e.to]; !ok {
				added[e.to] = nil
			}
		}
		for k, e := range edges {
			added[e.to] = append(added[e.to], inEdge{i, int32(k)})
		}
	}
	for n, add := range added {
		m := t.nodes.set(n)
		row := make([]inEdge, 0, len(m.in)+len(add))
		for _, e := range m.in {
			if !replaced[e.unit] {
				row = append(row, e)
			}
		}
		m.in = slices.Clip(append(row, add...))
		t.touched[n] = true
	}
}

// edges returns the edges of a unit in the draft; none for a removed one.
func (t *transaction) edges(i int32) []edge {
	if u := t.v.unit(i); u != nil {
		return u.edges
	}
	return nil
}

// relinkAll builds the lists of incoming edges of all nodes again, in one slice.
func (t *transaction) relinkAll() {
	starts := make([]int32, t.v.nodes.n+1)
	for _, u := range t.v.all {
		for _, e := range u.edges {
			starts[e.to+1]++
		}
	}
	for i := range t.v.nodes.n {
		starts[i+1] += starts[i]
	}
	all := make([]inEdge, starts[t.v.nodes.n])
	next := slices.Clone(starts)
	for i, u := range t.v.all {
		for k, e := range u.edges {
			all[next[e.to]] = inEdge{i, int32(k)}
			next[e.to]++
		}
	}
	for i := range t.v.nodes.n {
		n := t.nodes.set(i)
		n.in = all[starts[i]:starts[i+1]:starts[i+1]]
		if len(n.in)+len(n.places) == 0 {
			t.touched[i] = true
		}
	}
}

// count updates the graph's counts with this transaction's changes.
func (t *transaction) count() {
	c := &t.v.counts
	add := func(edges []edge, by int) {
		c.Edges += by * len(edges)
		for _, e := range edges {
			if e.meta&guessed != 0 {
				c.Guesses += by
			}
		}
	}
	for i, old := range t.old {
		add(old, -1)
		add(t.edges(i), 1)
	}
	c.Files += t.files
	c.Decisions += t.decisions
	c.External += t.external
	c.Nodes = int(t.v.nodes.n) - len(t.v.freeNodes)
}

// transaction is one change of the graph. Units are added and removed, their declarations become nodes, and in the end
// all names whose meaning may have changed are resolved again. It works on a draft of the next view, which no reader
// sees before commit publishes it.
type transaction struct {
	g     *Graph
	v     View
	nodes editor[node]
	units editor[*unit]
	heads editor[head]

	changed       map[string]bool // names whose meaning has changed
	redo          []int32         // units that are new, have new content, or are removed
	old           map[int32][]edge
	oldForeign    map[int32][]int32
	touched       map[int32]bool // nodes whose places have changed, or that lost an incoming edge
	scopesChanged bool           // a package or namespace was added to or removed from the repository
	filesChanged  bool           // files were added, removed, or moved to another package

	files, decisions, external int // changes of the counts
}

func (g *Graph) begin() *transaction {
	t := &transaction{g: g, v: *g.view.Load(), changed: map[string]bool{}, old: map[int32][]edge{}, oldForeign: map[int32][]int32{}, touched: map[int32]bool{}}
	t.nodes, t.units, t.heads = edit(&t.v.nodes), edit(&t.v.units), edit(&t.v.heads)
	t.v.freeNodes, t.v.freeUnits = slices.Clone(t.v.freeNodes), slices.Clone(t.v.freeUnits)
	return t
}

// node returns the node of an ID and adds it if it does not exist.
func (t *transaction) node(r ref) int32 {
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
	t.g.names.markBare(name)
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

// forget removes a node from the lists of its names and frees its number.
func (t *transaction) forget(i int32) {
	n := *t.v.nodes.at(i)
	if n.flags&inRepo == 0 {
		t.external--
	}
	t.heads.set(int32(n.name)).named--
	t.unlink(&t.heads.set(int32(n.name)).name, i, n.nextName, func(n *node) *int32 { return &n.nextName })
	t.unlink(&t.heads.set(int32(n.qual)).qual, i, n.nextQual, func(n *node) *int32 { return &n.nextQual })
	*t.nodes.set(i) = node{}
	t.v.freeNodes = append(t.v.freeNodes, i)
}

// unlink removes node i, which is followed by next, from the list that begins at head and goes on at follow.
func (t *transaction) unlink(head *int32, i, next int32, follow func(*node) *int32) {
	if *head == i+1 {
		*head = next
		return
	}
	k := *head - 1
	for *follow(t.nodes.at(k)) != i+1 {
		k = *follow(t.nodes.at(k)) - 1
	}
	*follow(t.nodes.set(k)) = next
}

// put replaces unit i by u. A negative i adds u; a nil u removes unit i.
func (t *transaction) put(i int32, u *unit) {
	if n := len(t.v.freeUnits); i < 0 && n > 0 {
		i, t.v.freeUnits = t.v.freeUnits[n-1], t.v.freeUnits[:n-1]
	} else if i < 0 {
		i = t.units.add()
	}
	old := t.v.unit(i)
	t.countUnit(old, -1)
	t.countUnit(u, 1)
	if _, twice := t.old[i]; !twice {
		if t.old[i] = nil; old != nil {
			t.old[i], t.oldForeign[i] = old.edges, old.foreignNodes
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
		for n, decl := range u.declared {
			places[n] = append(places[n], place{i, decl})
		}
	} else {
		t.v.freeUnits = append(t.v.freeUnits, i)
	}
	for n, ps := range places {
		t.place(n, i, ps)
	}
	*t.units.set(i) = u
}

func (t *transaction) countUnit(u *unit, by int) {
	switch {
	case u == nil:
	case u.decision != nil:
		t.decisions += by
	default:
		t.files += by
	}
}

// declared yields the nodes that a unit declares and those that it belongs to, with the indices of the declarations or
// noDecl. Some nodes come twice.
func (u *unit) declared(yield func(node, decl int32) bool) {
	if !yield(u.node, noDecl) || u.home >= 0 && !yield(u.home, noDecl) {
		return
	}
	for k, n := range u.nodes {
		if n >= 0 && !yield(n, int32(k)) { //nolint:gosec // no file declares more
			return
		}
	}
}

// declare finds the nodes of a unit's declarations, or adds them.
func (t *transaction) declare(u *unit) {
	u.home = -1
	if u.decision != nil {
		u.node = t.node(ref{kDecision, t.g.names.intern(u.decision.ID)})
		return
	}
	u.node = t.node(ref{kFile, u.path})
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

// place sets the places that a node has in a unit. They stay next to each other in the node's list.
func (t *transaction) place(n, unit int32, places []place) {
	t.touched[n] = true
	have := t.v.nodes.at(n).places
	at := slices.IndexFunc(have, func(p place) bool { return p.unit == unit })
	if at < 0 {
		// Published views share this slice but not the elements behind its end. Only one change runs at a time, so no
		// reader sees the new places before the next view.
		if len(places) > 0 {
			t.nodes.set(n).places = append(have, places...)
		}
		return
	}
	end := at
	for end < len(have) && have[end].unit == unit {
		end++
	}
	t.nodes.set(n).places = slices.Concat(have[:at], have[end:], places)
}

// reflag computes the flags of the touched nodes once all places are known.
func (t *transaction) reflag() {
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
			t.scopesChanged = t.scopesChanged || n.kind.isScope()
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
