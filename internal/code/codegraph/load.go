package codegraph

import (
	"bufio"
	"bytes"
	"encoding/binary"
	"hash/crc32"
	"io"
	"math"
	"slices"

	"github.com/kenlayer/ken"
)

// Load reads a graph that View.Save wrote, up to the end of r. Errors: ken.ErrCorrupt if the data is damaged, cut off,
// or written by another version of the format or of a package that reads files (build the graph again then), and those
// of r.
func Load(r io.Reader) (*Graph, error) {
	in := &checksumReader{r: bufio.NewReaderSize(r, 64<<10)}
	head := make([]byte, len(fileMagic))
	if _, err := io.ReadFull(in, head); err != nil || string(head) != fileMagic {
		return nil, in.fault("is not a saved graph")
	}
	for _, want := range versions {
		if v, err := binary.ReadUvarint(in); err != nil || v != want.n {
			return nil, in.fault("was saved by another version of " + want.of)
		}
	}
	l := &loader{decoder: &decoder{}, g: New()}
	l.t = l.g.begin()
	for {
		more, err := in.readSection(l.decoder)
		if err != nil {
			return nil, in.fault("is damaged")
		}
		if !more {
			break
		}
		if l.section(); l.bad || len(l.b) > 0 {
			return nil, in.fault("is damaged")
		}
	}
	sum := in.sum
	end := make([]byte, 4)
	if _, err := io.ReadFull(in, end); err != nil || binary.LittleEndian.Uint32(end) != sum || !l.finish() {
		return nil, in.fault("is damaged")
	}
	if _, err := in.ReadByte(); err == nil || in.err != nil {
		return nil, in.fault("is damaged")
	}
	return l.g, nil
}

// checksumReader is a reader that computes the checksum of what it reads.
type checksumReader struct {
	r   *bufio.Reader
	sum uint32
	err error // of r, other than io.EOF
}

func (s *checksumReader) Read(b []byte) (int, error) {
	n, err := s.r.Read(b)
	s.sum = crc32.Update(s.sum, castagnoli, b[:n])
	if err != nil && err != io.EOF { // a wrapped EOF is a failure
		s.err = err
	}
	return n, err
}

func (s *checksumReader) ReadByte() (byte, error) {
	var b [1]byte
	_, err := io.ReadFull(s, b[:])
	return b[0], err
}

// readSection reads the next section into d. It returns false for the section of length 0, the last one.
func (s *checksumReader) readSection(d *decoder) (bool, error) {
	n, err := binary.ReadUvarint(s)
	if err != nil || n == 0 {
		return false, err
	}
	var b bytes.Buffer // grows with the data that exists, whatever n says
	if n < 1<<20 {
		b.Grow(int(n))
	}
	if read, err := io.Copy(&b, io.LimitReader(s, int64(min(n, 1<<40)))); err != nil || uint64(read) != n {
		return false, errDamaged
	}
	d.b = b.Bytes()
	return true, nil
}

func (s *checksumReader) fault(msg string) error {
	if s.err != nil {
		return s.err
	}
	return &ken.Error{Code: ken.CodeCorrupt, Field: "graph", Msg: msg, Try: "Build the graph again.", Err: errDamaged}
}

// loader decodes sections. It checks all numbers against their ranges, so that a forged file can't cause a panic or use
// much memory.
type loader struct {
	*decoder
	g     *Graph
	t     *transaction
	names []sym
	sizes [3]uint64 // expected numbers of names, nodes and units
	sized bool
}

func (l *loader) section() {
	letter := l.b[0]
	if l.b = l.b[1:]; l.sized == (letter == sectionSizes) {
		l.fail()
		return
	}
	switch letter {
	case sectionSizes:
		l.sizes, l.sized = [3]uint64{l.upTo(maxLoaded), l.upTo(maxLoaded), l.upTo(maxLoaded)}, true
		some := int(min(l.sizes[0], 1<<20)) // limited, because the number may be forged
		l.names = append(make([]sym, 0, some+1), 0)
		l.g.names.reserve(some)
	case sectionFamilies:
		if l.g.fams = append([]string{""}, l.texts()...); len(l.g.fams) > 255 {
			l.fail()
		}
	case sectionNames:
		for len(l.b) > 0 {
			s := l.text()
			if s == "" || len(s) > 1<<16 {
				l.fail()
			}
			l.names = append(l.names, l.g.names.intern(s))
		}
	case sectionNodes:
		l.t.publishTexts()
		for len(l.b) > 0 {
			l.node()
		}
	case sectionUnit:
		l.unit()
	default:
		l.fail()
	}
}

// maxLoaded is the maximum number of names, of nodes and of units.
const maxLoaded = 1 << 30

// finish publishes the loaded graph. It returns false if something is missing or inconsistent.
func (l *loader) finish() bool {
	t := l.t
	if !l.sized || [3]uint64{uint64(len(l.names) - 1), uint64(t.v.nodes.n), uint64(t.v.units.n)} != l.sizes {
		return false
	}
	t.link()
	for i := range t.v.nodes.n {
		n := t.nodes.set(i)
		n.places = slices.Clip(n.places)
		if n.flags&inRepo == 0 {
			t.v.counts.External++
			if !n.kind.isScope() && n.kind != kInterface {
				return false
			}
		}
	}
	t.external = 0
	t.count()
	t.publishTexts()
	v := t.v
	l.g.view.Store(&v)
	return true
}

func (l *loader) sym() sym { return l.names[l.upTo(uint64(len(l.names)-1))] }

func (l *loader) ref() ref { return ref{kindNo(l.upTo(uint64(kindCount - 1))), l.sym()} }

func (l *loader) fam() uint8 { return uint8(l.upTo(uint64(len(l.g.fams) - 1))) }

func (l *loader) node() {
	kind, flags, fam, qual := kindNo(l.upTo(uint64(kindCount-1))), nodeFlags(l.upTo(7)), l.fam(), l.sym()
	if kind == noKind || qual == 0 || l.bad {
		l.fail()
		return
	}
	before := l.t.v.nodes.n
	i := l.t.node(ref{kind, qual})
	if i != before { // a duplicate
		l.fail()
		return
	}
	n := l.t.nodes.set(i)
	n.flags, n.fam = flags, fam
}

// number reads the number of a node.
func (l *loader) number() int32 {
	if l.t.v.nodes.n == 0 {
		l.fail()
		return 0
	}
	return int32(l.upTo(uint64(l.t.v.nodes.n - 1)))
}

func (l *loader) line() int32 { return int32(l.upTo(maxLine)) }

// unit reads a unit and adds it to the draft.
func (l *loader) unit() {
	u := &unit{path: l.sym(), hash: l.text(), lang: l.sym(), fam: l.fam(), flags: unitFlags(l.upTo(31)), within: l.ref(), home: -1}
	u.stat = stat{l.i(), l.i(), l.i()}
	for range l.n() {
		u.scopes = append(u.scopes, l.sym())
	}
	l.decls(u)
	for range l.n() {
		u.imports = append(u.imports, imp{l.sym(), l.ref(), int32(l.i())})
	}
	for range l.n() {
		u.aliases = append(u.aliases, alias{l.sym(), l.sym()})
	}
	l.uses(u)
	for range l.n() {
		u.probs = append(u.probs, Problem{int(l.i()), l.text()})
	}
	u.keys, u.memberTypes = l.hashes(), l.hashes()
	l.refined(u)
	l.decision(u)
	u.unresolved = l.texts()
	if u.decision == nil && u.path == 0 || u.within.kind != noKind && !u.within.kind.isScope() {
		l.fail()
	}
	if l.bad {
		return
	}
	i := l.t.units.add()
	l.place(i, u)
	l.edges(i, u)
	*l.t.units.set(i) = u
	l.t.countUnit(u, 1)
	l.t.old[i] = nil
}

func (l *loader) hashes() []uint32 {
	n := l.n()
	if n == 0 {
		return nil
	}
	out := make([]uint32, n)
	for i := range out {
		out[i] = uint32(l.upTo(1<<32 - 1))
	}
	return out
}

// place finds the nodes of a unit. All of them must have been loaded before.
func (l *loader) place(i int32, u *unit) {
	before := l.t.v.nodes.n
	l.t.declare(u)
	if l.t.v.nodes.n != before {
		l.fail()
		return
	}
	for n, decl := range u.declared {
		m := l.t.nodes.set(n)
		if m.flags&inRepo == 0 {
			l.fail()
		}
		m.places = append(m.places, place{i, decl})
	}
}

func (l *loader) decls(u *unit) {
	u.text = l.text()
	n := l.n()
	if n == 0 {
		return
	}
	u.decls = make([]decl, n)
	for i := range u.decls {
		d := decl{kind: kindNo(l.upTo(uint64(kindCount - 1))), exported: l.flag(), name: l.sym(), qual: l.sym(), typ: l.sym(), parent: int32(l.i()), line: l.line()}
		d.end = d.line + l.line()
		d.text, d.sig, d.doc = uint32(l.upTo(uint64(len(u.text)))), uint8(l.upTo(255)), uint8(l.upTo(255))
		if d.parent < -1 || int(d.parent) >= n || int(d.text)+int(d.sig)+int(d.doc)+1 > len(u.text) && int(d.sig)+int(d.doc) > 0 ||
			d.kind != noKind && d.qual == 0 || d.kind == kFile || d.kind == kDecision {
			l.fail()
			return
		}
		u.decls[i] = d
	}
}

func (l *loader) uses(u *unit) {
	n := l.n()
	if n == 0 {
		return
	}
	u.uses = make([]use, n)
	last := int64(-1)
	for i := range u.uses {
		last += int64(l.upTo(uint64(len(u.decls))))
		u.uses[i] = use{int32(last), l.sym(), useMeta(l.upTo(1<<32 - 1)), uint16(l.upTo(math.MaxUint16))}
		if k := u.uses[i].meta.kind(); last >= int64(len(u.decls)) || k < eInherits || k > eTests {
			l.fail()
			return
		}
	}
}

func (l *loader) refined(u *unit) {
	own := 0
	for range l.n() {
		p := refined{source: l.text(), kinds: edgeSet(l.upTo(1<<edgeCount - 1)), partly: l.flag()}
		for range l.n() {
			p.decls = append(p.decls, Decl{Kind: Kind(l.text()), Name: l.text(), Qualified: l.text(), Signature: l.text(), Doc: l.text(),
				Parent: int(l.i()), Line: int(l.i()), End: int(l.i()), Exported: l.flag()})
		}
		for range l.n() {
			p.edges = append(p.edges, refinedEdge{l.ref(), l.ref(), edgeNo(l.upTo(uint64(edgeCount - 1))), l.line(), uint16(l.upTo(math.MaxUint16))})
		}
		own += len(p.decls)
		u.refined = append(u.refined, p)
	}
	if own > len(u.decls) {
		l.fail()
	}
}

func (l *loader) decision(u *unit) {
	if !l.flag() {
		return
	}
	d := &Decision{ID: l.text(), Title: l.text(), Path: l.text(), Line: int(l.i())}
	for range l.n() {
		d.Targets = append(d.Targets, Target{l.text(), How(l.text())})
	}
	if !validName(d.ID) || len(u.decls)+len(u.uses) > 0 {
		l.fail()
	}
	u.decision = d
}

// edges reads the edges of a unit and records the nodes that have edges in it without being declared by it.
func (l *loader) edges(i int32, u *unit) {
	n := l.n()
	if n > 0 {
		u.edges = make([]edge, n)
	}
	last := int32(0)
	for k := range u.edges {
		last += int32(l.upTo(uint64(l.t.v.nodes.n)))
		u.edges[k] = edge{last, l.number(), edgeMeta(l.upTo(1<<32 - 1)), uint16(l.upTo(math.MaxUint16))}
		if last < 0 || last >= l.t.v.nodes.n || k > 0 && compareEdges(u.edges[k-1], u.edges[k]) >= 0 || u.edges[k].meta.kind() == noEdge || u.edges[k].meta.kind() >= edgeCount {
			l.fail()
			return
		}
	}
	u.foreignNodes = u.findForeign(u.edges)
	for _, n := range u.foreignNodes {
		m := l.t.nodes.set(n)
		m.places = append(m.places, place{i, onlyEdges})
	}
}
