package codegraph

import (
	"cmp"
	"slices"
)

// Shown is everything that the graph knows of one node.
type Shown struct {
	Node
	Doc       string      `json:"doc,omitempty"`
	Places    []Place     `json:"places"` // where it is declared, by path and line
	PlaceMore int         `json:"places_more,omitempty"`
	Parent    *Node       `json:"parent,omitempty"`  // what defines it: a type, else the file, else the package
	Members   []Node      `json:"members,omitempty"` // what it defines, by path and line
	MemberAll int         `json:"members_total,omitempty"`
	Out       []KindCount `json:"out"`                 // edges from it, defines left out
	In        []KindCount `json:"in"`                  // edges to it, defines left out
	To        []Edge      `json:"to,omitempty"`        // the first of the edges from it, by kind and ID
	Governed  []Ref       `json:"governed,omitempty"`  // by decisions: it, its file, or its package
	Problems  []Problem   `json:"problems,omitempty"`  // of a file
	Generated bool        `json:"generated,omitempty"` // a file that a program wrote
	HeadOnly  bool        `json:"head_only,omitempty"` // a file of which only the imports are known
}

// Edge is an edge from a node, with what it leads to.
type Edge struct {
	To   Node     `json:"to"`
	Kind EdgeKind `json:"kind"`
	How  How      `json:"how"`
	Path string   `json:"path,omitempty"`
	Line int      `json:"line,omitempty"`
}

// most is how many places, members and edges Show gives.
const most = 100

// Show tells what there is to know of the node that a text stands for, as of One; lists
// are cut at 100 and counted. Refs has the edges that lead to it. Errors are those of
// One.
func (v *View) Show(id string) (Shown, error) {
	i, err := v.one(id)
	if err != nil {
		return Shown{}, err
	}
	out := Shown{Node: v.node(i), Places: v.places(i)}
	for _, p := range out.Places {
		out.Doc = cmp.Or(out.Doc, p.Doc)
	}
	if n := len(out.Places); n > most {
		out.Places, out.PlaceMore = out.Places[:most], n-most
	}
	v.showOut(i, &out)
	v.showIn(i, &out)
	if u, _, ok := v.place(i); ok && v.nodes.at(i).kind == kFile {
		out.Problems, out.Generated, out.HeadOnly = slices.Clone(u.probs), u.has(generated), u.has(headOnly)
	}
	return out, nil
}

func (v *View) showOut(i int32, out *Shown) {
	var counts [edgeCount]KindCount
	members := map[int32]bool{}
	type reached struct {
		u *unit
		e edge
	}
	first := top[reached]{n: most, less: func(a, b reached) bool {
		if c := cmp.Compare(byWeight[a.e.meta.kind()], byWeight[b.e.meta.kind()]); c != 0 {
			return c < 0
		}
		return cmp.Or(v.compare(a.e.to, b.e.to), cmp.Compare(v.text(a.u.path), v.text(b.u.path))) < 0
	}}
	v.out(i, func(u *unit, e edge) {
		if e.meta.kind() == eDefines {
			members[e.to] = true
			return
		}
		countEdge(&counts[e.meta.kind()], e)
		first.add(reached{u, e})
	})
	out.Out = listCounts(&counts)
	for _, x := range first.sorted() {
		out.To = append(out.To, Edge{v.node(x.e.to), edgeNames[x.e.meta.kind()], x.e.meta.how(), v.text(x.u.path), int(x.e.meta.line())})
	}
	out.Members, out.MemberAll = v.members(members), len(members)
}

// members lists the first of some nodes by path, line and ID.
func (v *View) members(of map[int32]bool) (out []Node) {
	type member struct {
		node int32
		path string
		line int32
	}
	first := top[member]{n: most, less: func(a, b member) bool {
		return cmp.Or(cmp.Compare(a.path, b.path), cmp.Compare(a.line, b.line), v.compare(a.node, b.node)) < 0
	}}
	for i := range of {
		m := member{node: i}
		if u, d, ok := v.place(i); ok {
			if m.path = v.text(u.path); d != nil {
				m.line = d.line
			}
		}
		first.add(m)
	}
	for _, m := range first.sorted() {
		out = append(out, v.node(m.node))
	}
	return out
}

func (v *View) showIn(i int32, out *Shown) {
	var counts [edgeCount]KindCount
	for _, in := range v.nodes.at(i).in {
		if e := v.unit(in.unit).edges[in.slot]; e.meta.kind() != eDefines {
			countEdge(&counts[e.meta.kind()], e)
		}
	}
	out.In = listCounts(&counts)
	if p := v.parent(i); p >= 0 {
		n := v.node(p)
		out.Parent = &n
	}
	governing := []inEdge{}
	for _, of := range v.around(i) {
		for _, in := range v.nodes.at(of).in {
			if v.unit(in.unit).edges[in.slot].meta.kind() == eGoverns {
				governing = append(governing, in)
			}
		}
	}
	slices.SortFunc(governing, func(a, b inEdge) int {
		return cmp.Or(v.compare(v.unit(a.unit).node, v.unit(b.unit).node), v.compareIn(a, b))
	})
	for _, in := range governing[:min(len(governing), most)] {
		out.Governed = append(out.Governed, v.ref(in))
	}
}

// parent is what defines a node: the nearest thing, so a type before a file.
func (v *View) parent(i int32) int32 {
	best := int32(-1)
	order := func(k kindNo) int {
		switch k {
		case kPackage:
			return 2
		case kFile:
			return 1
		}
		return 0
	}
	for _, in := range v.nodes.at(i).in {
		e := v.unit(in.unit).edges[in.slot]
		if e.meta.kind() != eDefines {
			continue
		}
		if best < 0 || cmp.Or(order(v.nodes.at(e.from).kind)-order(v.nodes.at(best).kind), v.compare(e.from, best)) < 0 {
			best = e.from
		}
	}
	return best
}

// around lists a node, what defines it, the files that declare it, and their packages:
// a decision about any of them is about the node.
func (v *View) around(i int32) []int32 {
	out := []int32{i}
	for p := v.parent(i); p >= 0 && len(out) < maxNesting && !slices.Contains(out, p); p = v.parent(p) {
		out = append(out, p)
	}
	for _, p := range v.nodes.at(i).places[:min(len(v.nodes.at(i).places), most)] {
		if u := v.unit(p.unit); p.decl >= 0 {
			out = append(out, u.node)
			if u.home >= 0 {
				out = append(out, u.home)
			}
		}
	}
	slices.Sort(out)
	return slices.Compact(out)
}
