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
	c := &codec{saver: s, b: &o.b}
	for _, n := range []int{len(s.names), len(s.nodes), len(s.units)} {
		c.putNumber(uint64(n)) //nolint:gosec // a length
	}
	o.end(sectionSizes, 0)
	list(c, &s.fams, 1, c.text)
	o.end(sectionFamilies, 0)
	for _, name := range s.names {
		c.text(&name)
		o.end(sectionNames, sectionBytes)
	}
	o.end(sectionNames, 1)
	for _, i := range s.nodes {
		n := *v.nodes.at(i)
		c.node(&n)
		o.end(sectionNodes, sectionBytes)
	}
	o.end(sectionNodes, 1)
	for _, i := range s.units {
		u := s.renumbered(v.unit(i))
		c.unit(&u)
		o.end(sectionUnit, 0)
	}
	o.write([]byte{0})
	if err := o.w.Flush(); err != nil { // it keeps its first error
		return err
	}
	_, err := w.Write(binary.LittleEndian.AppendUint32(nil, sum.Sum32()))
	return err
}

// sections writes encoded data section by section.
type sections struct {
	b []byte
	w *bufio.Writer
}

func (o *sections) write(b []byte) { _, _ = o.w.Write(b) }

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
	for i := range v.all {
		s.units = append(s.units, i)
	}
	slices.SortFunc(s.units, func(a, b int32) int { // files before decisions
		x, y := v.unit(a), v.unit(b)
		if x.decision != nil && y.decision != nil {
			return cmp.Or(cmp.Compare(x.decision.ID, y.decision.ID), cmp.Compare(x.decision.Path, y.decision.Path))
		}
		last := map[bool]int{true: 1}
		return cmp.Or(last[x.decision != nil]-last[y.decision != nil], cmp.Compare(v.text(x.path), v.text(y.path)))
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

// renumbered returns a unit with the new numbers of its nodes. Uses and edges are in the order of the new numbers. Which
// nodes the edges belong to is not saved; that follows from the declarations.
func (s *saver) renumbered(u *unit) unit {
	c := *u
	c.uses, c.edges = slices.Clone(u.uses), make([]edge, len(u.edges))
	slices.SortFunc(c.uses, func(a, b use) int {
		return cmp.Or(cmp.Compare(a.from, b.from), cmp.Compare(s.sym[a.name], s.sym[b.name]), cmp.Compare(a.meta, b.meta))
	})
	for i, x := range u.edges {
		c.edges[i] = edge{s.number[x.from], s.number[x.to], x.meta, x.times}
	}
	slices.SortFunc(c.edges, compareEdges)
	return c
}
