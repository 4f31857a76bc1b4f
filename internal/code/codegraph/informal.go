package codegraph

import (
	"cmp"
	"slices"
	"strings"
)

// plainSpelling removes the notation of traces and signatures from a name: "nats.(*Conn).Drain" becomes
// "nats.Conn.Drain", "example%2ego" becomes "example.go", and "Set[...].Add" becomes "Set.Add".
func plainSpelling(s string) string {
	if !strings.ContainsAny(s, "(%[") || strings.Contains(s, " ") {
		return s
	}
	s = strings.NewReplacer("%2e", ".", "(*", "", ").", ".", "()", "").Replace(s)
	if i, k := strings.IndexByte(s, '['), strings.LastIndexByte(s, ']'); i > 0 && k > i {
		s = s[:i] + s[k+1:]
	}
	return strings.TrimPrefix(s, "(")
}

// Limits for the declarations of one name that a lookup examines. They bound the time that a turn waits.
const (
	maxMatches  = 256  // matches
	maxExamined = 1024 // declarations examined
)

// resolveInformal resolves a name with a dot that is neither a qualified name nor the end of one. It tries, in this order:
//
//   - a name that a package re-exports (flask.Flask) or that begins with a package's clause (nats.Conn);
//   - a member that a type inherits (Flask.route);
//   - a method of Go by its receiver's usual name (nc.Drain);
//   - a member of values with that name, by their type (app.run);
//   - a member of types with a similar name (engine.Use, ctx.Abort);
//   - the only member with that name.
//
// The first with any match is used.
func (v *View) resolveInformal(name string) []int32 {
	first, rest, ok := strings.Cut(name, ".")
	if !ok || first == "" || rest == "" || strings.ContainsAny(rest, "/:# ") || len(name) > maxName {
		return nil
	}
	if i := strings.LastIndexByte(name, '/'); i >= 0 { // dots in the path are no separators
		dir, last := name[:i+1], name[i+1:]
		if first, rest, ok = strings.Cut(last, "."); !ok {
			return nil
		}
		first = dir + first
	}
	s := informalResolver{v: v}
	for fam := range v.fams {
		r := newResolver(v)
		r.u = &unit{fam: uint8(fam)}
		s.resolvers = append(s.resolvers, r)
	}
	for _, look := range []func(first, rest string) []int32{s.reexported, s.ofTypes, s.ofReceivers, s.ofValues, s.ofSimilarTypes, s.onlyMember} {
		if found := look(first, rest); len(found) > 0 {
			return found
		}
	}
	return nil
}

type informalResolver struct {
	v         *View
	resolvers []*resolver // one for each family of languages
}

// at appends the nodes to which a path resolves in any family of languages.
func (s *informalResolver) at(out []int32, path string) []int32 {
	for _, r := range s.resolvers {
		if end, _ := r.last(path, eReferences); end.node >= 0 && !slices.Contains(out, end.node) {
			out = append(out, end.node)
		}
	}
	return out
}

// reexported resolves names that packages and modules declare or re-export.
func (s *informalResolver) reexported(first, rest string) (out []int32) {
	if out = s.at(nil, first+"."+rest); len(out) > 0 {
		return out
	}
	x, ok := s.v.names.find(first)
	if !ok {
		return nil
	}
	var targets []string
	for _, u := range s.v.files {
		for _, a := range u.aliases {
			if a.name == x && !u.has(forTests) {
				targets = append(targets, s.v.text(a.target))
			}
		}
	}
	slices.Sort(targets)
	for _, t := range slices.Compact(targets) {
		out = s.at(out, t+"."+rest)
	}
	return out
}

// nodes lists the nodes with a bare name that are in the repository, not only in tests, and for which fits returns
// true: at most maxMatches of the first maxExamined.
func (s *informalResolver) nodes(name string, fits func(n *node) bool) (out []int32) {
	x, ok := s.v.names.find(name)
	if !ok {
		return nil
	}
	examined := 0
	for i, n := range s.v.byName(x) {
		if n.flags&(inRepo|testOnly) == inRepo && fits(n) {
			out = append(out, i)
		}
		if examined++; len(out) == maxMatches || examined == maxExamined {
			break
		}
	}
	return out
}

func isTypeNode(n *node) bool { return n.kind == kType || n.kind == kInterface }

// ofTypes finds members that the types with a name inherit.
func (s *informalResolver) ofTypes(first, rest string) (out []int32) {
	name := first + "." + rest
	for _, i := range s.v.named(ownerOf(name), true) {
		if n := s.v.nodes.at(i); isTypeNode(n) && n.flags&testOnly == 0 && len(out) < maxMatches {
			out = s.at(out, s.v.text(n.qual)+"."+lastPart(name))
		}
	}
	return out
}

// ofReceivers finds methods of Go by the name of their receiver.
func (s *informalResolver) ofReceivers(first, rest string) []int32 {
	begin := "func (" + first + " "
	return s.nodes(rest, func(n *node) bool {
		return n.kind == kMethod && slices.ContainsFunc(n.places, func(p place) bool {
			if p.decl < 0 {
				return false
			}
			u := s.v.unit(p.unit)
			return s.v.fams[u.fam] == "go" && strings.HasPrefix(u.signature(&u.decls[p.decl]), begin)
		})
	})
}

// ofValues finds members of the types of all values with a name. It keeps those that most of these values have.
func (s *informalResolver) ofValues(first, rest string) (out []int32) {
	x, ok := s.v.names.find(first)
	if !ok {
		return nil
	}
	counts := map[int32]int{}
	looked := 0
	for _, n := range s.v.byName(x) {
		for _, p := range n.places {
			if p.decl < 0 {
				continue
			}
			u := s.v.unit(p.unit)
			if t := u.decls[p.decl].typ; t != 0 {
				if end, _ := s.resolvers[u.fam].last(s.v.text(t)+"."+rest, eReferences); end.node >= 0 {
					counts[end.node]++
				}
			}
		}
		if looked++; looked == maxMatches {
			break
		}
	}
	most := 0
	for i, n := range counts {
		if s.v.nodes.at(i).flags&testOnly == 0 {
			most = max(most, n)
			out = append(out, i)
		}
	}
	return slices.DeleteFunc(out, func(i int32) bool { return counts[i] < most })
}

// ofSimilarTypes finds members of types with a name like first in lower case: equal to it, beginning or ending with it, or
// shortened to it. Only the most similar types count.
func (s *informalResolver) ofSimilarTypes(first, rest string) []int32 {
	if first != strings.ToLower(first) || len(first) < 2 {
		return nil
	}
	member := rest[strings.LastIndexByte(rest, '.')+1:]
	best, found := 0, []int32(nil)
	for _, i := range s.nodes(member, func(n *node) bool { return n.kind.member() }) {
		owner := ownerOf(s.v.text(s.v.nodes.at(i).qual))
		if rest != member && !strings.HasSuffix(owner, "."+ownerOf(rest)) {
			continue
		}
		low := strings.ToLower(lastPart(owner))
		if owner == "" || low == "" {
			continue
		}
		like := 0
		switch {
		case low == first:
			like = 4
		case strings.HasPrefix(low, first):
			like = 3
		case strings.HasSuffix(low, first):
			like = 2
		case startsAndFollows(low, first):
			like = 1
		}
		if like > best {
			best, found = like, nil
		}
		if like == best && like > 0 {
			found = append(found, i)
		}
	}
	return found
}

// onlyMember finds the only member with a name.
func (s *informalResolver) onlyMember(first, rest string) []int32 {
	if first != strings.ToLower(first) || strings.Contains(rest, ".") || len(rest) < minUnique || commonMembers[strings.ToLower(rest)] {
		return nil
	}
	if found := s.nodes(rest, func(n *node) bool { return n.kind.member() }); len(found) == 1 {
		return found
	}
	return nil
}

// compareFound orders matches: first those declared outside of tests, then by incoming edges, then by ID.
func (v *View) compareFound(a, b int32) int {
	x, y := v.nodes.at(a), v.nodes.at(b)
	return cmp.Or(cmp.Compare(x.flags&testOnly, y.flags&testOnly), cmp.Compare(len(y.in), len(x.in)), v.compare(a, b))
}
