package codegraph

import (
	"cmp"
	"slices"
)

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
	e.n(len(u.via))
	for _, k := range u.via {
		e.u(uint64(k))
	}
	s.refined(e, u.refined)
	s.decision(e, u.decision)
	e.texts(u.nowhere)
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
		sorted[i] = use{x.from, sym(s.sym[x.name]), x.meta}
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
		last = x.from
	}
}

func (s *saver) refined(e *encoder, parts []refined) {
	e.n(len(parts))
	for i := range parts {
		p := &parts[i]
		e.text(p.source)
		e.u(uint64(p.kinds))
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

// edges writes what the graph made of the unit. Whose nodes they are follows from the
// declarations.
func (s *saver) edges(e *encoder, u *unit) {
	sorted := make([]edge, len(u.edges))
	for i, x := range u.edges {
		sorted[i] = edge{s.number[x.from], s.number[x.to], x.meta}
	}
	slices.SortFunc(sorted, compareEdges)
	e.n(len(sorted))
	last := int32(0)
	for _, x := range sorted {
		e.u(uint64(x.from - last))
		e.u(uint64(x.to))
		e.u(uint64(x.meta))
		last = x.from
	}
}
