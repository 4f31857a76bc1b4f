package codegraph

import (
	"cmp"
	"maps"
	"slices"
	"strings"
	"sync"
)

// sym is the number of a text in the graph; 0 is the empty text.
type sym uint32

// names stores every text once. Numbers are assigned in order and are never changed or reused, so copies of the slices
// stay valid. Only one goroutine adds texts, under Graph.mu; mu guards numbers for other readers.
type names struct {
	numbers map[string]sym // guarded by mu
	strs    []string
	last    []sym      // by text: its last part
	masks   []uint64   // by text: a mask of its characters, as maskOf returns it
	words   []uint64   // by text: a mask of the beginnings of its words, as wordsOf returns it
	bare    []bareName // texts that have been the bare name of a node
	isBare  []bool     // by text: whether it is in bare; only for the goroutine that adds

	mu    sync.RWMutex
	block strings.Builder
}

// bareName is a bare name with its masks. A search reads all of them.
type bareName struct {
	mask, words uint64 // as in names
	name        sym
}

const textBlockSize = 64 << 10 // bytes; texts are stored in blocks of this size

func newNames() *names {
	return &names{numbers: map[string]sym{"": 0}, strs: []string{""}, last: []sym{0}, masks: []uint64{0}, words: []uint64{0}, isBare: []bool{false}}
}

// find returns the number of a text; false if the graph does not have it.
func (n *names) find(s string) (sym, bool) {
	n.mu.RLock()
	defer n.mu.RUnlock()
	return n.findOwned(s)
}

// findOwned is find for the goroutine that adds texts. It takes no lock.
func (n *names) findOwned(s string) (sym, bool) {
	x, ok := n.numbers[s]
	return x, ok
}

// findOwnedBytes is findOwned without the conversion to a string.
func (n *names) findOwnedBytes(b []byte) (sym, bool) {
	x, ok := n.numbers[string(b)]
	return x, ok
}

// intern returns the number of a text, adding a copy of the text if it is new.
func (n *names) intern(s string) sym {
	if x, ok := n.findOwned(s); ok {
		return x
	}
	last := sym(0)
	if l := lastPart(s); l != s {
		last = n.intern(l)
	}
	x := sym(len(n.strs))
	n.mu.Lock()
	defer n.mu.Unlock()
	s = n.keep(s)
	n.numbers[s] = x
	n.strs = append(n.strs, s)
	n.last = append(n.last, cmp.Or(last, x))
	n.masks = append(n.masks, maskOf(s))
	n.words = append(n.words, wordsOf(s))
	n.isBare = append(n.isBare, false)
	return x
}

// markBare records that a text is the bare name of a node.
func (n *names) markBare(x sym) {
	if !n.isBare[x] {
		n.isBare[x] = true
		n.bare = append(n.bare, bareName{n.masks[x], n.words[x], x})
	}
}

// keep copies a text into a shared block.
func (n *names) keep(s string) string {
	if n.block.Cap()-n.block.Len() < len(s) {
		n.block = strings.Builder{}
		n.block.Grow(max(textBlockSize, len(s)))
	}
	at := n.block.Len()
	n.block.WriteString(s)
	return n.block.String()[at:]
}

// reserve makes room for more texts, so that adding them reallocates nothing.
func (n *names) reserve(more int) {
	n.strs, n.last = slices.Grow(n.strs, more), slices.Grow(n.last, more)
	n.masks, n.words, n.isBare = slices.Grow(n.masks, more), slices.Grow(n.words, more), slices.Grow(n.isBare, more)
	numbers := make(map[string]sym, len(n.numbers)+more)
	maps.Copy(numbers, n.numbers)
	n.numbers = numbers
}

// lastPart returns what follows the last separator of a qualified name, or the whole name without one. A separator at
// the very end belongs to the name, as in "v.operator/".
func lastPart(s string) string {
	if s == "" {
		return s
	}
	return s[strings.LastIndexAny(s[:len(s)-1], "./:#")+1:]
}

// ownerOf returns what precedes the last part, without the separator; "" for a name of one part.
func ownerOf(s string) string {
	if l := lastPart(s); len(l) < len(s) {
		return s[:len(s)-len(l)-1]
	}
	return ""
}

// nameOf returns the bare name of a node. It follows from the ID alone, so it does not depend on which of several
// declarations was added first.
func nameOf(k kindNo, qual string) string {
	if k == kFile || k == kPackage && strings.Contains(qual, "/") { // gopkg.in/yaml.v3
		return base(qual)
	}
	if k == kDecision {
		return qual
	}
	return lastPart(qual)
}

// otherLetter is the bit in a mask for all characters other than ASCII letters and digits.
const otherLetter = 1 << 63

// maskOf returns a mask of the characters in a text, ignoring case. If a is a subsequence of b, all bits of a's mask
// are set in b's mask.
func maskOf(s string) (m uint64) {
	for i := range len(s) {
		switch c := s[i]; {
		case c >= 'a' && c <= 'z':
			m |= 1 << (c - 'a')
		case c >= 'A' && c <= 'Z':
			m |= 1 << (c - 'A')
		case c >= '0' && c <= '9':
			m |= 1 << (26 + c - '0')
		case c >= 0x80:
			m |= otherLetter
		default:
			m |= 1 << (36 + c%27)
		}
	}
	return m
}

// wordsOf returns a mask of the beginnings of a text's words. If a word of the text begins with s, the bit beginning(s)
// is set.
func wordsOf(s string) (m uint64) {
	for i := 0; i+1 < len(s); i++ {
		if wordStart(s, i) {
			m |= beginning(s[i:])
		}
	}
	return m
}

// beginning returns a bit for the first two characters of s, which must have two.
func beginning(s string) uint64 { return 1 << ((int(fold(s[0]))*31 + int(fold(s[1]))) % 64) }

// Beginning lists nodes of the repository for which text is the beginning of the bare name, of the qualified name or
// its end from a dot or slash on, or of the ID. It serves completion in a shell. Nodes with the most incoming edges
// come first, then the order is by ID; at most limit are returned. It scans all nodes: about 10 ms for 200,000.
func (v *View) Beginning(text string, limit int) []Node {
	first := top[int32]{n: min(max(limit, 0), MaxLimit), compare: v.compareUse}
	kind, rest, isID := Split(text)
	for i := range v.nodes.n {
		n := v.nodes.at(i)
		if n.kind == noKind || n.flags&inRepo == 0 {
			continue
		}
		if q := v.text(n.qual); isID && kindNames[n.kind] == kind && strings.HasPrefix(q, rest) || !isID && beginsPart(q, text) {
			first.add(i)
		}
	}
	var out []Node
	for _, i := range first.sorted() {
		out = append(out, v.node(i))
	}
	return out
}

// beginsPart reports whether text occurs in name at its beginning or after a dot or slash. A text without a dot or
// slash must begin the last part.
func beginsPart(name, text string) bool {
	if !strings.ContainsAny(text, "./") {
		return strings.HasPrefix(name[strings.LastIndexAny(name, "./")+1:], text)
	}
	for at := 0; ; {
		i := strings.Index(name[at:], text)
		if i < 0 {
			return false
		}
		if at += i; at == 0 || name[at-1] == '.' || name[at-1] == '/' {
			return true
		}
		at++
	}
}

const (
	maxInheritanceSteps = 16 // maximum number of steps from a type to the types that it inherits from or embeds
	maxBases            = 64 // maximum number of types at one distance
)

// inheritingUses are the kinds of uses through which a type gets the members of another one.
const inheritingUses = edgeSet(1<<eInherits | 1<<eImplements)

// baseType is a type from which another one inherits, or which it embeds.
type baseType struct {
	node  int32
	guess bool
}

// inherited resolves a member named with a type that does not declare it. It searches the types that this type inherits
// from or embeds. The nearest match is used; two at the same distance give -1.
func (r *resolver) inherited(x sym, k edgeNo) (to int32, guess bool) {
	q := r.v.text(x)
	owner := ownerOf(q)
	if owner == "" {
		return -1, false
	}
	r.depends(owner)
	if to, guess = r.typeNamed(owner); to < 0 {
		return -1, false
	}
	return r.inheritedBy(baseType{to, guess}, lastPart(q), k)
}

// inheritedBy searches the base types of a type for a member, one distance after another.
func (r *resolver) inheritedBy(t baseType, name string, k edgeNo) (to int32, guess bool) {
	seen := map[int32]bool{}
	level := []baseType{t}
	for range maxInheritanceSteps {
		var next []baseType
		for _, t := range level {
			for _, b := range r.bases(t.node) {
				if !seen[b.node] && len(next) < maxBases {
					seen[b.node] = true
					next = append(next, baseType{b.node, b.guess || t.guess})
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

// depends records that the unit's edges depend on declarations whose bare name is the last part of q.
func (r *resolver) depends(q string) { r.memberTypes = append(r.memberTypes, hashName(lastPart(q))) }

// typeNamed resolves the qualified name of a type; -1 for none.
func (r *resolver) typeNamed(q string) (to int32, guess bool) {
	if to = r.lookup(q, eInherits); to >= 0 {
		return to, false
	}
	if to, guess = r.throughModules(q, eInherits); to >= 0 {
		return to, guess
	}
	return r.bySuffix(q, eInherits), true
}

// inheritance holds the base types of a type and the names that this result depends on.
type inheritance struct {
	bases        []baseType
	deps         []uint32
	usesSuffixes bool
}

var exactFirst = map[bool]int{true: 1} // by whether it is a guess

// bases lists the types from which t inherits or which it embeds, according to the files that declare it.
func (r *resolver) bases(t int32) []baseType {
	c := r.inheritances[t]
	if c == nil {
		c = &inheritance{}
		r.inheritances[t] = c
		sub := &resolver{v: r.v, memo: r.memo, suffixes: r.suffixes, inheritances: r.inheritances, paths: r.paths, modules: r.modules, stack: r.stack, steps: r.steps}
		for _, p := range r.v.nodes.at(t).places {
			if p.decl >= 0 {
				sub.u, sub.local = r.v.unit(p.unit), nil
				sub.addBases(p.decl, c)
			}
		}
		sub.memberTypes = append(sub.memberTypes, hashName(basesKey+lastPart(r.v.text(r.v.nodes.at(t).qual))))
		slices.SortFunc(c.bases, func(a, b baseType) int {
			return cmp.Or(r.v.compare(a.node, b.node), exactFirst[a.guess]-exactFirst[b.guess])
		})
		c.bases = slices.CompactFunc(c.bases, func(a, b baseType) bool { return a.node == b.node })
		c.deps, c.usesSuffixes = sub.memberTypes, sub.usesSuffixes
	}
	r.memberTypes = append(r.memberTypes, c.deps...)
	r.usesSuffixes = r.usesSuffixes || c.usesSuffixes
	return c.bases
}

// addBases adds the base types of one declaration of the resolver's unit.
func (r *resolver) addBases(decl int32, c *inheritance) {
	u := r.u
	skip := edgeSet(0)
	for i := range u.refined {
		if !u.refined[i].partly {
			skip |= u.refined[i].kinds
		}
		for _, e := range u.refined[i].edges {
			if e.kind != eInherits || e.from != (ref{u.decls[decl].kind, u.decls[decl].qual}) {
				continue
			}
			r.depends(r.v.text(e.to.qual))
			if to := r.v.byRef(e.to); to >= 0 && rank(eInherits, e.to.kind) >= 0 && r.v.nodes.at(to).flags&inRepo != 0 {
				c.bases = append(c.bases, baseType{to, false})
			}
		}
	}
	for _, x := range u.basesOf(decl, r.v.fams[u.fam] == "go") {
		if skip.has(x.meta.kind()) {
			continue
		}
		r.depends(r.v.text(x.name))
		if to, guess := r.baseTypeOf(x); to >= 0 {
			c.bases = append(c.bases, baseType{to, guess})
		}
	}
}

// baseTypeOf resolves a use of the resolver's unit that names a base type.
func (r *resolver) baseTypeOf(x use) (to int32, guess bool) {
	if x.meta&useQualified != 0 {
		return r.typeNamed(r.v.text(x.name))
	}
	if r.local == nil {
		r.local = r.u.locals(nil)
	}
	return r.bare(x, eInherits), true
}

// basesOf lists the uses that name the base types of a declaration. With embeds (Go), implemented interfaces don't
// count, because a type gets no members from them.
func (u *unit) basesOf(decl int32, embeds bool) (out []use) {
	at, _ := slices.BinarySearchFunc(u.uses, decl, func(x use, d int32) int { return int(x.from) - int(d) })
	for ; at < len(u.uses) && u.uses[at].from == decl; at++ {
		if k := u.uses[at].meta.kind(); u.uses[at].meta&useMember == 0 && (k == eInherits || !embeds && k == eImplements) {
			out = append(out, u.uses[at])
		}
	}
	return out
}
