package codegraph

import (
	"bufio"
	"bytes"
	"encoding/binary"
	"errors"
	"hash/crc32"
	"io"
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
	l := &loader{g: New()}
	l.t = l.g.begin()
	c := &codec{loader: l, b: new([]byte)}
	for {
		section, err := in.readSection()
		if err != nil {
			return nil, in.fault("is damaged")
		}
		if section == nil {
			break
		}
		*c.b = section
		if c.section(); c.bad || len(*c.b) > 0 {
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

// readSection returns the next section; nil for the section of length 0, the last one.
func (s *checksumReader) readSection() ([]byte, error) {
	n, err := binary.ReadUvarint(s)
	if err != nil || n == 0 {
		return nil, err
	}
	var b bytes.Buffer // grows with the data that exists, whatever n says
	if n < 1<<20 {
		b.Grow(int(n))
	}
	if read, err := io.Copy(&b, io.LimitReader(s, int64(min(n, 1<<40)))); err != nil || uint64(read) != n {
		return nil, errDamaged
	}
	return b.Bytes(), nil
}

// errDamaged is the error for invalid input.
var errDamaged = errors.New("damaged")

func (s *checksumReader) fault(msg string) error {
	if s.err != nil {
		return s.err
	}
	return &ken.Error{Code: ken.CodeCorrupt, Field: "graph", Msg: msg, Try: "Build the graph again."}
}

// loader adds what a codec reads to a graph.
type loader struct {
	g     *Graph
	t     *transaction
	names []sym
	sizes [3]uint64 // expected numbers of names, nodes and units
	sized bool
}

// section reads a section. All numbers are checked against their ranges, so that a forged file can't cause a panic or
// use much memory.
func (c *codec) section() {
	l, letter := c.loader, (*c.b)[0]
	if *c.b = (*c.b)[1:]; l.sized == (letter == sectionSizes) {
		c.fail()
		return
	}
	switch letter {
	case sectionSizes:
		for i := range l.sizes {
			l.sizes[i] = c.number(maxLoaded)
		}
		l.sized = true
		some := int(min(l.sizes[0], 1<<20)) // limited, because the number may be forged
		l.names = append(make([]sym, 0, some+1), 0)
		l.g.names.reserve(some)
	case sectionFamilies:
		var fams []string
		list(c, &fams, 1, c.text)
		if l.g.fams = append([]string{""}, fams...); len(l.g.fams) > 255 {
			c.fail()
		}
	case sectionNames:
		for len(*c.b) > 0 {
			var s string
			if c.text(&s); s == "" || len(s) > 1<<16 {
				c.fail()
			}
			l.names = append(l.names, l.g.names.intern(s))
		}
	case sectionNodes:
		l.t.publishTexts()
		for len(*c.b) > 0 {
			var n node
			if c.node(&n); c.bad || !l.addNode(n) {
				c.fail()
			}
		}
	case sectionUnit:
		u := &unit{home: -1}
		if c.unit(u); !c.bad && !l.addUnit(u) {
			c.fail()
		}
	default:
		c.fail()
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

// addNode adds a node. It returns false for a duplicate.
func (l *loader) addNode(n node) bool {
	before := l.t.v.nodes.n
	i := l.t.node(ref{n.kind, n.qual})
	added := l.t.nodes.set(i)
	added.flags, added.fam = n.flags, n.fam
	return i == before
}

// addUnit adds a unit with its edges. All nodes must have been loaded before. It returns false if the unit can't be
// right.
func (l *loader) addUnit(u *unit) bool {
	before, i := l.t.v.nodes.n, l.t.units.add()
	if l.t.declare(u); l.t.v.nodes.n != before {
		return false
	}
	for n, decl := range u.declared {
		m := l.t.nodes.set(n)
		if m.flags&inRepo == 0 {
			return false
		}
		m.places = append(m.places, place{i, decl})
	}
	u.foreignNodes = u.findForeign(u.edges)
	for _, n := range u.foreignNodes {
		m := l.t.nodes.set(n)
		m.places = append(m.places, place{i, onlyEdges})
	}
	*l.t.units.set(i) = u
	l.t.countUnit(u, 1)
	l.t.old[i] = nil
	return true
}
