package codegraph

import (
	"log/slog"
	"runtime"
	"slices"
	"sync"
	"sync/atomic"

	"github.com/kenlayer/ken/internal/caught"
)

// found is what resolving a unit came to.
type found struct {
	edges []edge
	extra []int32
	loose bool
	via   []uint32

	nowhere []string
}

// commit finds the edges of everything that has changed or depends on it, and publishes
// the draft. It returns how many units had to be looked at that did not change.
func (t *tx) commit() int {
	redone := make(map[int32]bool, len(t.redo))
	for _, i := range t.redo {
		redone[i] = true
	}
	t.see()
	t.reflag()
	others := t.affected(t.changed, func(i int32) bool { return redone[i] })
	all := slices.Clone(others)
	for _, i := range t.redo {
		if t.v.unit(i) != nil {
			all = append(all, i)
		}
	}
	results := t.resolve(all)
	for k, i := range all {
		t.install(i, results[k], redone[i])
	}
	for _, i := range t.redo {
		if t.v.unit(i) == nil {
			t.extras(i, t.oldExtra[i], nil)
		}
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

// see lets the draft know the texts that there are by now.
func (t *tx) see() {
	n := t.g.names
	t.v.fams = slices.Clip(t.g.fams)
	t.v.strs, t.v.masks, t.v.words, t.v.bare = slices.Clip(n.strs), slices.Clip(n.masks), slices.Clip(n.words), slices.Clip(n.bare)
}

// resolve finds the edges of units: first what may bring external packages into the
// graph, one after another, and then the rest on all processors.
func (t *tx) resolve(units []int32) []found {
	out := make([]found, len(units))
	for k, i := range units {
		out[k] = t.imports(t.v.unit(i))
	}
	t.see()
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
					slog.Default().Error("what a file uses can't be found out and is left out", "file", t.v.text(u.path), "cause", err, "stack", caught.Stack(err))
					out[k], r = found{}, newResolver(&t.v)
				}
			}
		})
	}
	all.Wait()
	return out
}

// install gives a unit its edges. One that is published already is copied, and only
// when something is different.
func (t *tx) install(i int32, f found, fresh bool) {
	u := t.v.unit(i)
	flags := u.flags &^ loose
	if f.loose {
		flags |= loose
	}
	if !fresh {
		if flags == u.flags && slices.Equal(u.edges, f.edges) && slices.Equal(u.nowhere, f.nowhere) && slices.Equal(u.via, f.via) {
			return
		}
		t.old[i], t.oldExtra[i] = u.edges, u.extra
		c := *u
		u = &c
		*t.units.set(i) = u
	}
	u.flags, u.edges, u.extra, u.nowhere, u.via = flags, f.edges, f.extra, f.nowhere, f.via
	t.extras(i, t.oldExtra[i], u)
}

// extras notes which nodes have edges in a unit that does not declare them.
func (t *tx) extras(i int32, old []int32, u *unit) {
	if u == nil {
		for _, n := range old {
			t.place(n, i, nil)
		}
		return
	}
	for _, n := range old {
		if !slices.Contains(u.extra, n) && !u.declares(n) {
			t.place(n, i, nil)
		}
	}
	for _, n := range u.extra {
		t.place(n, i, []place{{i, onlyEdges}})
	}
}

// others lists the nodes with edges in a unit that the unit does not declare.
func (u *unit) others(edges []edge) []int32 {
	var declared, others []int32
	last := int32(-1)
	for _, e := range edges {
		if e.from == last || e.from == u.node || e.from == u.home {
			continue
		}
		last = e.from
		if declared == nil {
			declared = slices.Sorted(u.declared)
		}
		if _, ok := slices.BinarySearch(declared, e.from); !ok {
			others = append(others, e.from)
		}
	}
	return others
}

func (u *unit) declares(n int32) bool {
	return u.node == n || u.home == n || slices.Contains(u.nodes, n)
}

// link brings the lists of the edges that lead to nodes up to date.
func (t *tx) link() {
	size := 0
	for i, old := range t.old {
		size += len(old)
		if u := t.v.unit(i); u != nil {
			size += len(u.edges)
		}
	}
	if size > t.v.counts.Edges/4 && size > 1000 {
		t.relinkAll()
		return
	}
	type change struct{ add []inEdge }
	changes := map[int32]*change{}
	at := func(n int32) *change {
		c := changes[n]
		if c == nil {
			c = &change{}
			changes[n] = c
		}
		return c
	}
	replaced := map[int32]bool{}
	for i, old := range t.old {
		var edges []edge
		if u := t.v.unit(i); u != nil {
			edges = u.edges
		}
		if slices.EqualFunc(old, edges, func(a, b edge) bool { return a.to == b.to }) {
			continue // lines have moved, and that is all
		}
		replaced[i] = true
		for _, e := range old {
			at(e.to)
		}
		for k, e := range edges {
			c := at(e.to)
			c.add = append(c.add, inEdge{i, int32(k)})
		}
	}
	for n, c := range changes {
		m := t.nodes.set(n)
		row := make([]inEdge, 0, len(m.in)+len(c.add))
		for _, e := range m.in {
			if !replaced[e.unit] {
				row = append(row, e)
			}
		}
		m.in = slices.Clip(append(row, c.add...))
		t.touched[n] = true
	}
}

// relinkAll makes all the lists anew, one behind the other.
func (t *tx) relinkAll() {
	starts := make([]int32, t.v.nodes.n+1)
	for i := range t.v.units.n {
		if u := t.v.unit(i); u != nil {
			for _, e := range u.edges {
				starts[e.to+1]++
			}
		}
	}
	for i := range t.v.nodes.n {
		starts[i+1] += starts[i]
	}
	all := make([]inEdge, starts[t.v.nodes.n])
	next := slices.Clone(starts)
	for i := range t.v.units.n {
		if u := t.v.unit(i); u != nil {
			for k, e := range u.edges {
				all[next[e.to]] = inEdge{i, int32(k)}
				next[e.to]++
			}
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

// count adds up what has changed.
func (t *tx) count() {
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
		if u := t.v.unit(i); u != nil {
			add(u.edges, 1)
		}
	}
	c.Files += t.files
	c.Decisions += t.decisions
	c.External += t.external
	c.Nodes = int(t.v.nodes.n) - len(t.v.freeNodes)
}
