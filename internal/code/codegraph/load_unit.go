package codegraph

// unit reads one and puts it into the draft.
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
	l.uses(u)
	for range l.n() {
		u.probs = append(u.probs, Problem{int(l.i()), l.text()})
	}
	u.keys, u.via = l.hashes(), l.hashes()
	l.refined(u)
	l.decision(u)
	u.nowhere = l.texts()
	if u.decision == nil && u.path == 0 || u.within.kind != noKind && !u.within.kind.space() {
		l.fail()
	}
	if l.bad {
		return
	}
	i := l.t.units.add()
	l.place(i, u)
	l.edges(i, u)
	*l.t.units.set(i) = u
	l.t.tally(u, 1)
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

// place finds the nodes of a unit, all of which must be there.
func (l *loader) place(i int32, u *unit) {
	before := l.t.v.nodes.n
	l.t.declare(u)
	if l.t.v.nodes.n != before {
		l.fail()
		return
	}
	add := func(n, decl int32) {
		if n < 0 {
			return
		}
		m := l.t.nodes.set(n)
		if m.flags&inRepo == 0 {
			l.fail()
		}
		m.places = append(m.places, place{i, decl})
	}
	add(u.node, noDecl)
	add(u.home, noDecl)
	for k, n := range u.nodes {
		add(n, int32(k))
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
		d := decl{kind: kindNo(l.upTo(uint64(kindCount - 1))), exported: l.flag(), name: l.sym(), qual: l.sym(), parent: int32(l.i()), line: l.line()}
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
		u.uses[i] = use{int32(last), l.sym(), useMeta(l.upTo(1<<32 - 1))}
		if k := u.uses[i].meta.kind(); last >= int64(len(u.decls)) || k < eInherits || k > eTests {
			l.fail()
			return
		}
	}
}

func (l *loader) refined(u *unit) {
	own := 0
	for range l.n() {
		p := refined{source: l.text(), kinds: edgeSet(l.upTo(1<<edgeCount - 1))}
		for range l.n() {
			p.decls = append(p.decls, Decl{Kind: Kind(l.text()), Name: l.text(), Qualified: l.text(), Signature: l.text(), Doc: l.text(),
				Parent: int(l.i()), Line: int(l.i()), End: int(l.i()), Exported: l.flag()})
		}
		for range l.n() {
			p.edges = append(p.edges, refinedEdge{l.ref(), l.ref(), edgeNo(l.upTo(uint64(edgeCount - 1))), l.line()})
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

// edges reads the edges of a unit and notes who has some that it does not declare.
func (l *loader) edges(i int32, u *unit) {
	n := l.n()
	if n > 0 {
		u.edges = make([]edge, n)
	}
	last := int32(0)
	for k := range u.edges {
		last += int32(l.upTo(uint64(l.t.v.nodes.n)))
		u.edges[k] = edge{last, l.number(), edgeMeta(l.upTo(1<<32 - 1))}
		if last < 0 || last >= l.t.v.nodes.n || k > 0 && compareEdges(u.edges[k-1], u.edges[k]) >= 0 || u.edges[k].meta.kind() == noEdge || u.edges[k].meta.kind() >= edgeCount {
			l.fail()
			return
		}
	}
	u.extra = u.others(u.edges)
	for _, n := range u.extra {
		m := l.t.nodes.set(n)
		m.places = append(m.places, place{i, onlyEdges})
	}
}
