package codegraph

import (
	"cmp"
	"path"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"
)

// Ref is an edge that leads to a node, with its source.
type Ref struct {
	From Node     `json:"from"`
	Kind EdgeKind `json:"kind"`
	How  How      `json:"how"`
	Path string   `json:"path,omitempty"` // of the file that contains the reference
	Line int      `json:"line,omitempty"` // of the first reference in that file; 0 if the file as a whole refers to the node

	Times int `json:"times,omitempty"` // number of references in From; 0 if not counted
}

// KindCount is the number of edges of one kind.
type KindCount struct {
	Kind    EdgeKind `json:"kind"`
	Exact   int      `json:"exact"`
	Guesses int      `json:"guesses"`
}

// Refs is one page of the edges that lead to a node.
type Refs struct {
	Node  Node        `json:"node"`
	Kinds []KindCount `json:"kinds"` // in the order of the refs
	Total int         `json:"total"`
	Refs  []Ref       `json:"refs"`
}

// byWeight is the order in which kinds of edges are listed: the closest relations come first.
var byWeight = [edgeCount]int{eImplements: 1, eInherits: 2, eCalls: 3, eReferences: 4, eImports: 5, eDependsOn: 6, eTests: 7, eGoverns: 8, eDefines: 9}

// Refs returns the edges that lead to a node; id is a text as for One. kinds restricts them; none means all. They are
// in this order of kinds: implements, inherits, calls, references, imports, depends_on, tests, adr_governs, defines.
// Within a kind, exact edges come before guesses, then the order is by path, line and ID. A node that several files
// declare has one edge for each of these files. Errors are those of One, and ken.ErrInvalid for the page.
func (v *View) Refs(id string, kinds []EdgeKind, p Page) (Refs, error) {
	p, err := p.check()
	if err != nil {
		return Refs{}, err
	}
	i, err := v.one(id)
	if err != nil {
		return Refs{}, err
	}
	want := edgeSetOf(kinds)
	var counts [edgeCount]KindCount
	out := Refs{Node: v.node(i), Refs: []Ref{}, Kinds: []KindCount{}}
	first := top[inEdge]{n: p.Offset + p.Limit, compare: v.compareIn}
	for _, in := range v.nodes.at(i).in {
		e := v.unit(in.unit).edges[in.slot]
		k := e.meta.kind()
		if !want.has(k) {
			continue
		}
		out.Total++
		countEdge(&counts[k], e)
		first.add(in)
	}
	out.Kinds = listCounts(&counts)
	for _, in := range pageOf(first.sorted(), p) {
		out.Refs = append(out.Refs, v.ref(in))
	}
	return out, nil
}

func countEdge(c *KindCount, e edge) {
	if e.meta&guessed != 0 {
		c.Guesses++
	} else {
		c.Exact++
	}
}

// listCounts lists the counts above zero in the order of byWeight.
func listCounts(counts *[edgeCount]KindCount) []KindCount {
	out := []KindCount{}
	for w := 1; w < int(edgeCount); w++ {
		for k := eDefines; k < edgeCount; k++ {
			if c := counts[k]; byWeight[k] == w && c.Exact+c.Guesses > 0 {
				c.Kind = edgeNames[k]
				out = append(out, c)
			}
		}
	}
	return out
}

func (v *View) ref(in inEdge) Ref {
	u := v.unit(in.unit)
	e := u.edges[in.slot]
	return Ref{v.node(e.from), edgeNames[e.meta.kind()], e.meta.how(), v.text(u.path), int(e.meta.line()), int(e.times)}
}

func (v *View) compareIn(a, b inEdge) int {
	x, y := v.unit(a.unit), v.unit(b.unit)
	e, f := x.edges[a.slot], y.edges[b.slot]
	if c := cmp.Or(byWeight[e.meta.kind()]-byWeight[f.meta.kind()], cmp.Compare(e.meta&guessed, f.meta&guessed)); c != 0 {
		return c
	}
	return cmp.Or(strings.Compare(v.text(x.path), v.text(y.path)), cmp.Compare(e.meta.line(), f.meta.line()), v.compare(e.from, f.from))
}

// NodeDetails describes one node of the graph with its neighbours. Show returns it.
type NodeDetails struct {
	Node
	Doc       string      `json:"doc,omitempty"`
	Places    []Place     `json:"places"` // where it is declared, by path and line
	PlaceMore int         `json:"places_more,omitempty"`
	Parent    *Node       `json:"parent,omitempty"`  // the type that defines it, else the file, else the package
	Members   []Node      `json:"members,omitempty"` // what it defines, by path and line
	MemberAll int         `json:"members_total,omitempty"`
	Out       []KindCount `json:"out"`                 // edges from it, without defines
	In        []KindCount `json:"in"`                  // edges to it, without defines
	To        []Edge      `json:"to,omitempty"`        // the first of the edges from it, by kind and ID
	Governed  []Ref       `json:"governed,omitempty"`  // decisions that govern it, its file, or its package
	Problems  []Problem   `json:"problems,omitempty"`  // of a file
	Generated bool        `json:"generated,omitempty"` // a file written by a program
	HeadOnly  bool        `json:"head_only,omitempty"` // a file of which only the imports are kept
}

// Edge is an edge from a node, with its target.
type Edge struct {
	To   Node     `json:"to"`
	Kind EdgeKind `json:"kind"`
	How  How      `json:"how"`
	Path string   `json:"path,omitempty"`
	Line int      `json:"line,omitempty"`
}

// maxShown is the maximum number of places, members and edges that Show returns.
const maxShown = 100

// Show returns the details of a node; id is a text as for One. Lists have at most 100 entries; totals count all. Refs
// returns the edges that lead to the node. Errors are those of One.
func (v *View) Show(id string) (NodeDetails, error) {
	i, err := v.one(id)
	if err != nil {
		return NodeDetails{}, err
	}
	out := NodeDetails{Node: v.node(i), Places: v.places(i)}
	for _, p := range out.Places {
		out.Doc = cmp.Or(out.Doc, p.Doc)
	}
	if n := len(out.Places); n > maxShown {
		out.Places, out.PlaceMore = out.Places[:maxShown], n-maxShown
	}
	v.showOut(i, &out)
	v.showIn(i, &out)
	if u, _, ok := v.place(i); ok && v.nodes.at(i).kind == kFile {
		out.Problems, out.Generated, out.HeadOnly = slices.Clone(u.probs), u.has(generated), u.has(headOnly)
	}
	return out, nil
}

func (v *View) showOut(i int32, out *NodeDetails) {
	var counts [edgeCount]KindCount
	members := map[int32]bool{}
	type reached struct {
		u *unit
		e edge
	}
	first := top[reached]{n: maxShown, compare: func(a, b reached) int {
		return cmp.Or(byWeight[a.e.meta.kind()]-byWeight[b.e.meta.kind()], v.compare(a.e.to, b.e.to), cmp.Compare(v.text(a.u.path), v.text(b.u.path)))
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

// members lists the first maxShown nodes of a set, by path, line and ID.
func (v *View) members(of map[int32]bool) (out []Node) {
	type member struct {
		node int32
		path string
		line int32
	}
	first := top[member]{n: maxShown, compare: func(a, b member) int {
		return cmp.Or(cmp.Compare(a.path, b.path), cmp.Compare(a.line, b.line), v.compare(a.node, b.node))
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

func (v *View) showIn(i int32, out *NodeDetails) {
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
	for _, in := range governing[:min(len(governing), maxShown)] {
		out.Governed = append(out.Governed, v.ref(in))
	}
}

// parent returns the closest node that defines a node: a type before a file, a file before a package.
func (v *View) parent(i int32) int32 {
	best := int32(-1)
	order := map[kindNo]int{kPackage: 2, kFile: 1}
	for _, in := range v.nodes.at(i).in {
		e := v.unit(in.unit).edges[in.slot]
		if e.meta.kind() == eDefines && (best < 0 || cmp.Or(order[v.nodes.at(e.from).kind]-order[v.nodes.at(best).kind], v.compare(e.from, best)) < 0) {
			best = e.from
		}
	}
	return best
}

// around lists a node, the nodes that define it, the files that declare it, and their packages. A decision that governs
// any of them also governs the node.
func (v *View) around(i int32) []int32 {
	out := []int32{i}
	for p := v.parent(i); p >= 0 && len(out) < maxNesting && !slices.Contains(out, p); p = v.parent(p) {
		out = append(out, p)
	}
	for _, p := range v.nodes.at(i).places[:min(len(v.nodes.at(i).places), maxShown)] {
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

// tests adds edges from the declarations of a file with tests to what they test: what they call, what their names
// mention, and the file that belongs to the test file.
func (r *resolver) tests() {
	for _, e := range r.edges { // edges added in this loop are not calls
		if e.meta.kind() == eCalls && r.v.nodes.at(e.to).flags&(testOnly|inRepo) == inRepo {
			r.add(e.from, e.to, eTests, e.meta.line(), e.meta&guessed != 0)
		}
	}
	for i := range r.u.decls {
		d := &r.u.decls[i]
		if n := r.u.nodes[i]; n >= 0 && (d.kind == kFunction || d.kind == kMethod || d.kind == kType) {
			r.add(n, r.subject(r.v.text(d.name)), eTests, d.line, true)
		}
	}
	if p := testedFile(r.v.text(r.u.path)); p != "" {
		r.add(r.u.node, r.tested(p), eTests, 0, true)
	}
}

// subject finds what a test is for by the test's name, in the packages that the file sees. It returns -1 for nothing.
func (r *resolver) subject(name string) int32 {
	scopes := append([]sym{r.u.within.qual}, r.u.scopes...)
	for _, im := range r.u.imports {
		if im.target.kind.isScope() {
			scopes = append(scopes, im.target.qual)
		}
	}
	for _, s := range subjects(name) {
		for _, scope := range scopes {
			q := r.v.text(scope)
			for _, q := range []string{q, strings.TrimSuffix(q, "_test")} { // an external test package of Go
				if to := r.within(q, s, eTests); q != "" && to >= 0 && r.v.nodes.at(to).flags&testOnly == 0 {
					return to
				}
			}
		}
	}
	return -1
}

// maxSubjects is the maximum number of names to try for the subject of a test.
const maxSubjects = 8

// subjects returns the names of what a test may be for, the most likely first: ShelfOpens, Shelf and shelf for
// TestShelfOpens, Shelf.View for TestShelf_View. It returns nothing for a name that is not that of a test.
func subjects(name string) []string {
	for _, p := range []string{"Test", "Benchmark", "Fuzz", "Example", "test"} {
		if rest, ok := trimFirst(name, p); ok {
			return shorter(rest)
		}
	}
	for _, s := range []string{"TestCase", "Tests", "Test", "Spec", "IT", "_test"} {
		if rest, ok := strings.CutSuffix(name, s); ok && rest != "" {
			return shorter(rest)
		}
	}
	return nil
}

// shorter lists a name, and the name without its last word, its last two words, and so on.
func shorter(name string) (out []string) {
	if name == "" {
		return nil
	}
	add := func(s string) {
		if len(out) < maxSubjects && len(s) >= minUnique && !strings.ContainsAny(s, "./:#") {
			out = append(out, s)
			c, n := utf8.DecodeRuneInString(s)
			if l := unicode.ToLower(c); l != c && len(out) < maxSubjects {
				out = append(out, string(l)+s[n:])
			}
		}
	}
	if a, b, ok := strings.Cut(name, "_"); ok && a != "" && b != "" && !strings.Contains(b, "_") {
		out = append(out, a+"."+b)
	}
	add(name)
	for ends := wordEnds(name); len(ends) > 1; {
		ends = ends[:len(ends)-1]
		add(name[:ends[len(ends)-1]])
	}
	return out
}

// wordEnds returns the indexes at which words of a name end: before an underscore, and before a capital letter that
// begins a word.
func wordEnds(s string) (ends []int) {
	for i := 1; i < len(s); i++ {
		switch {
		case s[i] == '_':
			if s[i-1] != '_' {
				ends = append(ends, i)
			}
		case upper(s[i]) && s[i-1] != '_' && (!upper(s[i-1]) || i+1 < len(s) && lower(s[i+1])):
			ends = append(ends, i)
		}
	}
	return append(ends, len(s))
}

func upper(c byte) bool { return c >= 'A' && c <= 'Z' }
func lower(c byte) bool { return c >= 'a' && c <= 'z' }

// testedFile returns the path of the file that a test file is for, derived from its name; "" if the name does not tell.
func testedFile(p string) string {
	b, ext := base(p), path.Ext(p)
	name := strings.TrimSuffix(b, ext)
	for _, s := range []string{"_test", ".test", ".spec", "_spec", "-test", "Tests", "Test"} {
		if n, ok := strings.CutSuffix(name, s); ok && n != "" {
			return path.Join(path.Dir(p), n+ext)
		}
	}
	if n, ok := strings.CutPrefix(name, "test_"); ok && n != "" {
		return path.Join(path.Dir(p), n+ext)
	}
	return ""
}

// testFolders pairs folders of tests with the folders of the code that they test.
var testFolders = []struct{ tests, code string }{
	{"src/test/", "src/main/"}, {"tests/", "src/"}, {"test/", "src/"}, {"test/", "lib/"}, {"__tests__/", ""}, {"tests/", ""}, {"test/", ""},
}

// tested finds the file that a test file is for: next to the tests, in the matching folder of testFolders, or the only
// file with that name.
func (r *resolver) tested(p string) int32 {
	if to := r.file(p); to >= 0 {
		return to
	}
	for _, f := range testFolders {
		if i := strings.Index("/"+p, "/"+f.tests); i >= 0 {
			if to := r.file(p[:i] + f.code + p[i+len(f.tests):]); to >= 0 {
				return to
			}
		}
	}
	return r.pathEnding(base(p))
}
