package codegraph

import (
	"bufio"
	"cmp"
	"encoding/binary"
	"hash/crc32"
	"io"
	"slices"
)

// The file begins with fileMagic and the versions. Then come sections; each is its length, one of the letters below,
// and its contents. A section of length 0 ends the list. At the end is the CRC-32C of everything before it. All lists
// are sorted, so the same graph always gives the same bytes.
const (
	fileMagic = "ken graph\n"

	sectionSizes    = 'c' // numbers of names, nodes and units
	sectionFamilies = 'f'
	sectionNames    = 't' // several names
	sectionNodes    = 'n' // several nodes
	sectionUnit     = 'u' // one unit

	sectionBytes = 32 << 10 // a section with several entries ends once it has this size
)

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// Save writes the graph in the format that Load reads: the files' contents, the refinements, the decisions and the
// edges. Errors are w's.
func (v *View) Save(w io.Writer) error {
	sum := crc32.New(castagnoli)
	s := newSaver(v)
	o := &sections{w: bufio.NewWriterSize(io.MultiWriter(w, sum), 256<<10)}
	head := []byte(fileMagic)
	for _, v := range versions {
		head = binary.AppendUvarint(head, v.n)
	}
	o.write(head)
	e := &o.encoder
	e.n(len(s.names))
	e.n(len(s.nodes))
	e.n(len(s.units))
	o.end(sectionSizes, 0)
	e.texts(s.fams)
	o.end(sectionFamilies, 0)
	for _, name := range s.names {
		e.text(name)
		o.end(sectionNames, sectionBytes)
	}
	o.end(sectionNames, 1)
	for _, i := range s.nodes {
		s.node(e, v.nodes.at(i))
		o.end(sectionNodes, sectionBytes)
	}
	o.end(sectionNodes, 1)
	for _, i := range s.units {
		s.unit(e, v.unit(i))
		o.end(sectionUnit, 0)
	}
	o.write([]byte{0})
	if o.err == nil {
		o.err = o.w.Flush()
	}
	if o.err == nil {
		_, o.err = w.Write(binary.LittleEndian.AppendUint32(nil, sum.Sum32()))
	}
	return o.err
}

// sections writes encoded data section by section.
type sections struct {
	encoder
	w   *bufio.Writer
	err error
}

func (o *sections) write(b []byte) {
	if o.err == nil {
		_, o.err = o.w.Write(b)
	}
}

// end writes the encoded data as a section if it has at least least bytes.
func (o *sections) end(letter byte, least int) {
	if len(o.b) < least {
		return
	}
	o.write(append(binary.AppendUvarint(nil, uint64(len(o.b)+1)), letter))
	o.write(o.b)
	o.b = o.b[:0]
}

// saver assigns new, dense numbers to names, families, nodes and units.
type saver struct {
	v     *View
	names []string
	fams  []string
	nodes []int32 // old numbers in the new order
	units []int32

	sym    []uint32 // new numbers by old number
	fam    []uint8
	number []int32
}

func newSaver(v *View) *saver {
	s := &saver{v: v, nodes: v.sorted(), sym: make([]uint32, len(v.strs)), number: make([]int32, v.nodes.n), fam: make([]uint8, len(v.fams))}
	for k, i := range s.nodes {
		s.number[i] = int32(k)
	}
	for i := range v.units.n {
		if v.unit(i) != nil {
			s.units = append(s.units, i)
		}
	}
	slices.SortFunc(s.units, func(a, b int32) int {
		x, y := v.unit(a), v.unit(b)
		if x.decision != nil && y.decision != nil {
			return cmp.Or(cmp.Compare(x.decision.ID, y.decision.ID), cmp.Compare(x.decision.Path, y.decision.Path))
		}
		if x.decision != nil || y.decision != nil {
			return cmp.Compare(map[bool]int{true: 1}[x.decision != nil], map[bool]int{true: 1}[y.decision != nil])
		}
		return cmp.Compare(v.text(x.path), v.text(y.path))
	})
	used := make([]bool, len(v.strs))
	fams := make([]bool, len(v.fams))
	for _, i := range s.nodes {
		n := v.nodes.at(i)
		used[n.name], used[n.qual], fams[n.fam] = true, true, true
	}
	for _, i := range s.units {
		u := v.unit(i)
		fams[u.fam] = true
		u.syms(func(x sym) { used[x] = true })
	}
	for x, yes := range used {
		if yes && x > 0 {
			s.names = append(s.names, v.strs[x])
		}
	}
	slices.Sort(s.names)
	for k, name := range s.names {
		x, _ := v.names.find(name)
		s.sym[x] = uint32(k + 1)
	}
	for f, yes := range fams {
		if yes && f > 0 {
			s.fams = append(s.fams, v.fams[f])
		}
	}
	slices.Sort(s.fams)
	for f, name := range v.fams {
		if k, ok := slices.BinarySearch(s.fams, name); ok {
			s.fam[f] = uint8(k + 1)
		}
	}
	return s
}

// syms yields every name of a unit.
func (u *unit) syms(yield func(sym)) {
	yield(u.path)
	yield(u.lang)
	yield(u.within.qual)
	for _, x := range u.scopes {
		yield(x)
	}
	for i := range u.decls {
		yield(u.decls[i].name)
		yield(u.decls[i].qual)
		yield(u.decls[i].typ)
	}
	for i := range u.imports {
		yield(u.imports[i].path)
		yield(u.imports[i].target.qual)
	}
	for _, a := range u.aliases {
		yield(a.name)
		yield(a.target)
	}
	for i := range u.uses {
		yield(u.uses[i].name)
	}
	for i := range u.refined {
		for _, e := range u.refined[i].edges {
			yield(e.from.qual)
			yield(e.to.qual)
		}
	}
}

func (s *saver) text(e *encoder, x sym) { e.u(uint64(s.sym[x])) }

func (s *saver) ref(e *encoder, r ref) {
	e.u(uint64(r.kind))
	s.text(e, r.qual)
}

func (s *saver) node(e *encoder, n *node) {
	e.u(uint64(n.kind))
	e.u(uint64(n.flags))
	e.u(uint64(s.fam[n.fam]))
	s.text(e, n.qual)
}

func (s *saver) unit(e *encoder, u *unit) {
	s.text(e, u.path)
	e.text(u.hash)
	s.text(e, u.lang)
	e.u(uint64(s.fam[u.fam]))
	e.u(uint64(u.flags))
	s.ref(e, u.within)
	e.i(u.stat.size)
	e.i(u.stat.modTime)
	e.i(u.stat.readAt)
	e.n(len(u.scopes))
	for _, x := range u.scopes {
		s.text(e, x)
	}
	s.decls(e, u)
	e.n(len(u.imports))
	for i := range u.imports {
		s.text(e, u.imports[i].path)
		s.ref(e, u.imports[i].target)
		e.i(int64(u.imports[i].line))
	}
	e.n(len(u.aliases))
	for _, a := range u.aliases {
		s.text(e, a.name)
		s.text(e, a.target)
	}
	s.uses(e, u.uses)
	e.n(len(u.probs))
	for _, p := range u.probs {
		e.i(int64(p.Line))
		e.text(p.Text)
	}
	e.n(len(u.keys))
	for _, k := range u.keys {
		e.u(uint64(k))
	}
	e.n(len(u.memberTypes))
	for _, k := range u.memberTypes {
		e.u(uint64(k))
	}
	s.refined(e, u.refined)
	s.decision(e, u.decision)
	e.texts(u.unresolved)
	s.edges(e, u)
}

func (s *saver) decls(e *encoder, u *unit) {
	e.text(u.text)
	e.n(len(u.decls))
	for i := range u.decls {
		d := &u.decls[i]
		e.u(uint64(d.kind))
		e.flag(d.exported)
		s.text(e, d.name)
		s.text(e, d.qual)
		s.text(e, d.typ)
		e.i(int64(d.parent))
		e.u(uint64(d.line))
		e.u(uint64(d.end - d.line))
		e.u(uint64(d.text))
		e.u(uint64(d.sig))
		e.u(uint64(d.doc))
	}
}

func (s *saver) uses(e *encoder, uses []use) {
	sorted := make([]use, len(uses))
	for i, x := range uses {
		sorted[i] = use{x.from, sym(s.sym[x.name]), x.meta, x.times}
	}
	slices.SortFunc(sorted, func(a, b use) int {
		return cmp.Or(cmp.Compare(a.from, b.from), cmp.Compare(a.name, b.name), cmp.Compare(a.meta, b.meta))
	})
	e.n(len(sorted))
	last := int32(-1)
	for _, x := range sorted {
		e.u(uint64(x.from - last))
		e.u(uint64(x.name))
		e.u(uint64(x.meta))
		e.u(uint64(x.times))
		last = x.from
	}
}

func (s *saver) refined(e *encoder, parts []refined) {
	e.n(len(parts))
	for i := range parts {
		p := &parts[i]
		e.text(p.source)
		e.u(uint64(p.kinds))
		e.flag(p.partly)
		e.n(len(p.decls))
		for _, d := range p.decls {
			for _, t := range []string{string(d.Kind), d.Name, d.Qualified, d.Signature, d.Doc} {
				e.text(t)
			}
			for _, n := range []int{d.Parent, d.Line, d.End} {
				e.i(int64(n))
			}
			e.flag(d.Exported)
		}
		e.n(len(p.edges))
		for _, x := range p.edges {
			s.ref(e, x.from)
			s.ref(e, x.to)
			e.u(uint64(x.kind))
			e.u(uint64(x.line))
			e.u(uint64(x.times))
		}
	}
}

func (s *saver) decision(e *encoder, d *Decision) {
	e.flag(d != nil)
	if d == nil {
		return
	}
	e.text(d.ID)
	e.text(d.Title)
	e.text(d.Path)
	e.i(int64(d.Line))
	e.n(len(d.Targets))
	for _, t := range d.Targets {
		e.text(t.Name)
		e.text(string(t.How))
	}
}

// edges writes the edges of a unit. It does not write which nodes they belong to; that follows from the declarations.
func (s *saver) edges(e *encoder, u *unit) {
	sorted := make([]edge, len(u.edges))
	for i, x := range u.edges {
		sorted[i] = edge{s.number[x.from], s.number[x.to], x.meta, x.times}
	}
	slices.SortFunc(sorted, compareEdges)
	e.n(len(sorted))
	last := int32(0)
	for _, x := range sorted {
		e.u(uint64(x.from - last))
		e.u(uint64(x.to))
		e.u(uint64(x.meta))
		e.u(uint64(x.times))
		last = x.from
	}
}
