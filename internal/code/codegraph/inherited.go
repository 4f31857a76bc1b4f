package codegraph

import "slices"

const (
	maxClimb = 16 // steps from a type to what it inherits or embeds
	maxBases = 64 // types at one distance
)

// giving is the kinds of uses through which a type has the members of another one.
const giving = edgeSet(1<<eInherits | 1<<eImplements)

// origin is a type that another one inherits from or embeds.
type origin struct {
	node  int32
	guess bool
}

// inherited finds a member that is named with a type that does not declare it, in what the
// type inherits from or embeds: the nearest one, unless two are as near.
func (r *resolver) inherited(x sym, k edgeNo) (to int32, guess bool) {
	q := r.v.text(x)
	owner, name := ownerOf(q), lastPart(q)
	if owner == "" {
		return -1, false
	}
	r.depends(owner)
	level := r.owners(owner)
	seen := map[int32]bool{}
	for range maxClimb {
		var next []origin
		for _, t := range level {
			for _, b := range r.bases(t.node) {
				if !seen[b.node] && len(next) < maxBases {
					seen[b.node] = true
					next = append(next, origin{b.node, b.guess || t.guess})
				}
			}
		}
		to = -1
		for _, b := range next {
			n := r.within(r.v.text(r.v.nodes.at(b.node).qual), name, k)
			if n < 0 || n == to {
				continue
			}
			if to >= 0 {
				return -1, false
			}
			to, guess = n, b.guess
		}
		if to >= 0 || len(next) == 0 {
			return to, guess
		}
		level = next
	}
	return -1, false
}

// depends notes that the edges of the unit depend on what has the last part of a name.
func (r *resolver) depends(q string) { r.via = append(r.via, hashName(lastPart(q))) }

// owners finds the types of a qualified name.
func (r *resolver) owners(q string) []origin {
	if x, ok := r.v.names.own(q); ok {
		if t := r.qualified(x, eInherits); t >= 0 {
			return []origin{{t, false}}
		}
	}
	if t := r.ending(q, eInherits); t >= 0 {
		return []origin{{t, true}}
	}
	return nil
}

// climb is what a type has by inheritance, with the names that this depends on.
type climb struct {
	bases []origin
	via   []uint32
	loose bool
}

// bases lists what a type inherits from or embeds, as the files that declare it say.
func (r *resolver) bases(t int32) []origin {
	c := r.climbs[t]
	if c == nil {
		c = &climb{}
		r.climbs[t] = c
		sub := &resolver{v: r.v, memo: r.memo, ends: r.ends}
		for _, p := range r.v.nodes.at(t).places {
			if p.decl >= 0 {
				sub.u, sub.local = r.v.unit(p.unit), nil
				sub.climb(p.decl, c)
			}
		}
		sub.via = append(sub.via, hashName(originsOf+lastPart(r.v.text(r.v.nodes.at(t).qual))))
		slices.SortFunc(c.bases, func(a, b origin) int {
			if n := r.v.compare(a.node, b.node); n != 0 || a.guess == b.guess {
				return n
			}
			return map[bool]int{false: -1, true: 1}[a.guess]
		})
		c.bases = slices.CompactFunc(c.bases, func(a, b origin) bool { return a.node == b.node })
		c.via, c.loose = sub.via, sub.loose
	}
	r.via = append(r.via, c.via...)
	r.loose = r.loose || c.loose
	return c.bases
}

// climb adds the bases of a declaration of the resolver's unit.
func (r *resolver) climb(decl int32, c *climb) {
	u := r.u
	skip := edgeSet(0)
	for i := range u.refined {
		skip |= u.refined[i].kinds
		for _, e := range u.refined[i].edges {
			if e.kind != eInherits || e.from != (ref{u.decls[decl].kind, u.decls[decl].qual}) {
				continue
			}
			r.depends(r.v.text(e.to.qual))
			if to := r.v.byRef(e.to); to >= 0 && rank(eInherits, e.to.kind) >= 0 && r.v.nodes.at(to).flags&inRepo != 0 {
				c.bases = append(c.bases, origin{to, false})
			}
		}
	}
	for _, x := range u.basesOf(decl, r.v.fams[u.fam] == "go") {
		if skip.has(x.meta.kind()) {
			continue
		}
		r.depends(r.v.text(x.name))
		if to, guess := r.origin(x); to >= 0 {
			c.bases = append(c.bases, origin{to, guess})
		}
	}
}

// origin finds the type that a use of the resolver's unit says something inherits from.
func (r *resolver) origin(x use) (to int32, guess bool) {
	if x.meta&useQualified == 0 {
		if r.local == nil {
			r.gather()
		}
		return r.bare(x, eInherits), true
	}
	if to = r.qualified(x.name, eInherits); to >= 0 {
		return to, false
	}
	return r.ending(r.v.text(x.name), eInherits), true
}

// basesOf lists the uses that say what a declaration inherits from; in Go, what it
// implements gives it nothing.
func (u *unit) basesOf(decl int32, embeds bool) (out []use) {
	at, _ := slices.BinarySearchFunc(u.uses, decl, func(x use, d int32) int { return int(x.from) - int(d) })
	for ; at < len(u.uses) && u.uses[at].from == decl; at++ {
		if k := u.uses[at].meta.kind(); u.uses[at].meta&useMember == 0 && (k == eInherits || !embeds && k == eImplements) {
			out = append(out, u.uses[at])
		}
	}
	return out
}
