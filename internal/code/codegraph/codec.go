package codegraph

import (
	"encoding/binary"
	"math"
)

// codec writes the parts of a saved graph to b and changes none of them, or it reads them from b into the variables that it is given. Each part is
// described once for both. Numbers are varints, and texts have their length in front. After an error in what it reads,
// bad is set and all values are zero.
type codec struct {
	saver  *saver  // for writing; nil when reading
	loader *loader // for reading
	b      *[]byte
	bad    bool
}

func (c *codec) fail() { *c.b, c.bad = nil, true }

func (c *codec) putNumber(n uint64) { *c.b = binary.AppendUvarint(*c.b, n) }

// number reads a number of at most most.
func (c *codec) number(most uint64) uint64 {
	b := *c.b
	x, n := uint64(0), 1
	if len(b) > 0 && b[0] < 0x80 {
		x = uint64(b[0])
	} else {
		x, n = binary.Uvarint(b)
	}
	if n <= 0 || x > most {
		c.fail()
		return 0
	}
	*c.b = b[n:]
	return x
}

// number writes or reads a number of at most most.
func number[T ~uint8 | ~uint16 | ~uint32 | ~int32](c *codec, x *T, most uint64) {
	if c.saver != nil {
		c.putNumber(uint64(*x)) //nolint:gosec // not negative
	} else {
		*x = T(c.number(most)) //nolint:gosec // at most most
	}
}

// signed writes or reads a number that may be negative.
func signed[T ~int | ~int32 | ~int64](c *codec, x *T) {
	if c.saver != nil {
		*c.b = binary.AppendVarint(*c.b, int64(*x))
	} else {
		n := c.number(math.MaxUint64)
		*x = T(int64(n>>1) ^ -int64(n&1)) //nolint:gosec // as in encoding/binary
	}
}

func str[T ~string](c *codec, s *T) {
	if c.saver != nil {
		c.putNumber(uint64(len(*s)))
		*c.b = append(*c.b, *s...)
		return
	}
	n := c.number(uint64(len(*c.b)))
	*s = T((*c.b)[:n])
	*c.b = (*c.b)[n:]
}

func (c *codec) text(s *string) { str(c, s) }

func (c *codec) flag(x *bool) {
	switch {
	case c.saver == nil:
		*x = c.number(1) == 1
	case *x:
		c.putNumber(1)
	default:
		c.putNumber(0)
	}
}

// list writes or reads a list. Each element takes at least least bytes.
func list[T any](c *codec, s *[]T, least int, element func(*T)) {
	n := len(*s)
	if c.saver != nil {
		c.putNumber(uint64(n))
	} else if n = int(c.number(uint64(len(*c.b) / least))); n > 0 { //nolint:gosec // at most the length of b
		*s = make([]T, n)
	}
	for i := 0; i < n && !c.bad; i++ {
		element(&(*s)[i])
	}
}

func (c *codec) sym(x *sym) {
	if c.saver != nil {
		c.putNumber(uint64(c.saver.sym[*x]))
	} else {
		*x = c.loader.names[c.number(uint64(len(c.loader.names)-1))]
	}
}

func (c *codec) fam(x *uint8) {
	if c.saver != nil {
		c.putNumber(uint64(c.saver.fam[*x]))
	} else {
		*x = uint8(c.number(uint64(len(c.loader.g.fams) - 1))) //nolint:gosec // at most 255
	}
}

func (c *codec) kind(k *kindNo)  { number(c, k, uint64(kindCount-1)) }
func (c *codec) line(x *int32)   { number(c, x, maxLine) }
func (c *codec) times(x *uint16) { number(c, x, math.MaxUint16) }
func (c *codec) hash(x *uint32)  { number(c, x, math.MaxUint32) }
func (c *codec) symbol(r *ref)   { c.kind(&r.kind); c.sym(&r.qual) }
func (c *codec) check(valid bool) {
	if !valid && c.saver == nil {
		c.fail()
	}
}

func (c *codec) node(n *node) {
	c.kind(&n.kind)
	number(c, &n.flags, 7)
	c.fam(&n.fam)
	c.sym(&n.qual)
	c.check(n.kind != noKind && n.qual != 0)
}

// unit writes or reads a unit. When writing, the nodes of its edges have their new numbers already.
func (c *codec) unit(u *unit) {
	c.sym(&u.path)
	c.text(&u.hash)
	c.sym(&u.lang)
	c.fam(&u.fam)
	number(c, &u.flags, 31)
	c.symbol(&u.within)
	signed(c, &u.stat.size)
	signed(c, &u.stat.modTime)
	signed(c, &u.stat.readAt)
	list(c, &u.scopes, 1, c.sym)
	c.text(&u.text)
	list(c, &u.decls, 11, func(d *decl) { c.decl(d, u) })
	list(c, &u.imports, 4, func(x *imp) {
		c.sym(&x.path)
		c.symbol(&x.target)
		signed(c, &x.line)
	})
	list(c, &u.aliases, 2, func(x *alias) {
		c.sym(&x.name)
		c.sym(&x.target)
	})
	c.uses(u)
	list(c, &u.probs, 2, func(x *Problem) {
		signed(c, &x.Line)
		c.text(&x.Text)
	})
	list(c, &u.keys, 1, c.hash)
	list(c, &u.memberTypes, 1, c.hash)
	list(c, &u.refined, 5, c.refined)
	added := 0
	for i := range u.refined {
		added += len(u.refined[i].decls)
	}
	c.check(added <= len(u.decls))
	c.decision(u)
	list(c, &u.unresolved, 1, c.text)
	c.check((u.decision != nil || u.path != 0) && (u.within.kind == noKind || u.within.kind.isScope()))
	c.edges(u)
}

func (c *codec) decl(d *decl, u *unit) {
	lines := d.end - d.line
	c.kind(&d.kind)
	c.flag(&d.exported)
	c.sym(&d.name)
	c.sym(&d.qual)
	c.sym(&d.typ)
	signed(c, &d.parent)
	c.line(&d.line)
	c.line(&lines)
	number(c, &d.text, uint64(len(u.text)))
	number(c, &d.sig, math.MaxUint8)
	number(c, &d.doc, math.MaxUint8)
	if c.saver == nil {
		d.end = d.line + lines
	}
	c.check(d.parent >= -1 && int(d.parent) < len(u.decls) && (int(d.text)+int(d.sig)+int(d.doc)+1 <= len(u.text) || int(d.sig)+int(d.doc) == 0) &&
		(d.kind == noKind || d.qual != 0) && d.kind != kFile && d.kind != kDecision)
}

func (c *codec) uses(u *unit) {
	last := int32(-1)
	list(c, &u.uses, 4, func(x *use) {
		after := x.from - last
		number(c, &after, uint64(len(u.decls)))
		c.sym(&x.name)
		number(c, &x.meta, math.MaxUint32)
		c.times(&x.times)
		last += after
		x.from = last
		c.check(int(last) < len(u.decls) && x.meta.kind() >= eInherits && x.meta.kind() <= eTests)
	})
}

func (c *codec) edges(u *unit) {
	nodes := uint64(0)
	if c.loader != nil {
		nodes = uint64(c.loader.t.v.nodes.n) //nolint:gosec // not negative
	}
	last, k := int32(0), 0
	list(c, &u.edges, 4, func(e *edge) {
		after := e.from - last
		number(c, &after, nodes)
		number(c, &e.to, max(nodes, 1)-1)
		number(c, &e.meta, math.MaxUint32)
		c.times(&e.times)
		last += after
		e.from = last
		c.check(last >= 0 && uint64(last) < nodes && (k == 0 || compareEdges(u.edges[k-1], *e) < 0) && e.meta.kind() != noEdge && e.meta.kind() < edgeCount)
		k++
	})
}

func (c *codec) refined(p *refined) {
	c.text(&p.source)
	number(c, &p.kinds, 1<<edgeCount-1)
	c.flag(&p.partly)
	list(c, &p.decls, 9, func(d *Decl) {
		str(c, &d.Kind)
		for _, s := range []*string{&d.Name, &d.Qualified, &d.Signature, &d.Doc} {
			c.text(s)
		}
		for _, n := range []*int{&d.Parent, &d.Line, &d.End} {
			signed(c, n)
		}
		c.flag(&d.Exported)
	})
	list(c, &p.edges, 7, func(e *refinedEdge) {
		c.symbol(&e.from)
		c.symbol(&e.to)
		number(c, &e.kind, uint64(edgeCount-1))
		c.line(&e.line)
		c.times(&e.times)
	})
}

func (c *codec) decision(u *unit) {
	is := u.decision != nil
	if c.flag(&is); !is {
		return
	}
	if c.saver == nil {
		u.decision = &Decision{}
	}
	d := u.decision
	c.text(&d.ID)
	c.text(&d.Title)
	c.text(&d.Path)
	signed(c, &d.Line)
	list(c, &d.Targets, 2, func(t *Target) {
		c.text(&t.Name)
		str(c, &t.How)
	})
	c.check(validName(d.ID) && len(u.decls)+len(u.uses) == 0)
}
