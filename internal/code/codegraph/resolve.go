package codegraph

import (
	"cmp"
	"slices"
	"strings"
	"unicode"
)

// resolver finds the nodes that names refer to. It reads a draft that already has all nodes. One goroutine uses it.
//
// The result depends on the files alone, never on the order in which they were added. A name is looked up as a
// qualified name, in the file itself, in the file's scopes, and then in the whole repository.
type resolver struct {
	v            *View
	memo         map[memoKey]*nameIndex
	suffixes     map[suffixKey]*suffixEntry
	inheritances map[int32]*inheritance // by type
	paths        map[pathKey]*pathEntry
	modules      map[pathKey][]int32 // units, by the scope of their declarations
	stack        []string            // paths being resolved, outermost first; for the detection of cycles
	steps        int                 // steps of the outermost path so far
	truncated    bool                // a limit or a cycle has cut the outermost path short
	buf          []byte

	u            *unit
	local        []local
	named        map[sym]bool // bare names that the unit uses or declares; nil until needed
	edges        []edge
	usesSuffixes bool
	memberTypes  []uint32 // as in unit
	times        uint16   // for the edges added next
	answered     map[answered]bool

	unresolved []string
}

// local is a name that the unit declares, with the index of its declaration.
type local struct {
	name sym
	decl int32
}

func newResolver(v *View) *resolver {
	return &resolver{v: v, memo: map[memoKey]*nameIndex{}, suffixes: map[suffixKey]*suffixEntry{}, inheritances: map[int32]*inheritance{},
		answered: map[answered]bool{}, paths: map[pathKey]*pathEntry{}, modules: map[pathKey][]int32{}}
}

// resolve finds the edges of a unit. It starts with those in f.
func (r *resolver) resolve(u *unit, f *resolution) {
	r.u, r.named, r.usesSuffixes, r.unresolved, r.memberTypes = u, nil, f.usesSuffixes, nil, r.memberTypes[:0]
	r.edges = append(r.edges[:0], f.edges...)
	if u.decision != nil {
		r.govern()
	} else {
		r.local = u.locals(r.local[:0])
		skip := r.refined()
		r.times = 0
		if !skip.has(eDefines) {
			r.defines()
		}
		for i := range u.uses {
			if x := u.uses[i]; !skip.has(x.meta.kind()) && (len(r.answered) == 0 || !r.answered[answered{r.nodeOf(x.from), r.v.names.last[x.name]}]) {
				r.times = x.times
				r.use(x)
			}
		}
		r.times = 0
		if !skip.has(eDependsOn) {
			r.dependsOn()
		}
		if u.has(forTests) && !skip.has(eTests) {
			r.tests()
		}
	}
	r.assignKinds()
	slices.SortFunc(r.edges, compareEdges)
	f.edges = slices.Clone(mergeEdges(r.edges))
	f.usesSuffixes, f.unresolved = r.usesSuffixes, r.unresolved
	slices.Sort(r.memberTypes)
	f.memberTypes = slices.Clone(slices.Compact(r.memberTypes))
	f.foreignNodes = u.findForeign(f.edges)
}

// mergeEdges merges neighbouring edges with the same ends and kind into the best of them, adding up their counts.
func mergeEdges(all []edge) []edge {
	out := all[:0]
	for _, e := range all {
		if n := len(out) - 1; n >= 0 && out[n].from == e.from && out[n].to == e.to && out[n].meta.kind() == e.meta.kind() {
			out[n].times = addTimes(out[n].times, e.times)
			continue
		}
		out = append(out, e)
	}
	return out
}

// add appends an edge, unless an end is missing or both are the same.
func (r *resolver) add(from, to int32, k edgeNo, line int32, guess bool) {
	if from >= 0 && to >= 0 && from != to {
		r.edges = append(r.edges, edge{from, to, metaOf(k, line, guess), r.times})
	}
}

// assignKinds corrects kinds that depend on the target of an edge: a call of a type is a conversion, and becomes a
// reference. It runs before tests adds its edges.
func (r *resolver) assignKinds() {
	for i := range r.edges {
		e := &r.edges[i]
		if k := r.v.nodes.at(e.to).kind; e.meta.kind() == eCalls && (k == kType || k == kInterface) {
			e.meta = metaOf(eReferences, e.meta.line(), e.meta&guessed != 0)
		}
	}
}

func (u *unit) locals(out []local) []local {
	for i := range u.decls {
		if d := &u.decls[i]; d.kind != noKind {
			out = append(out, local{d.name, int32(i)})
		}
	}
	slices.SortFunc(out, func(a, b local) int { return cmp.Or(cmp.Compare(a.name, b.name), cmp.Compare(a.decl, b.decl)) })
	return out
}

// nodeOf returns the node of a declaration, or of the closest enclosing one that has a node.
func (r *resolver) nodeOf(decl int32) int32 {
	for n := 0; n < maxNesting && decl >= 0; n++ {
		if n := r.u.nodes[decl]; n >= 0 {
			return n
		}
		decl = r.u.decls[decl].parent
	}
	return r.u.node
}

// maxNesting is the maximum depth of nested declarations.
const maxNesting = 64

// use adds the edges of one use.
func (r *resolver) use(x use) {
	from, k, line := r.nodeOf(x.from), x.meta.kind(), x.meta.line()
	to, guess := int32(-1), true
	switch {
	case x.meta&useMember != 0:
		for _, to := range r.member(x) {
			r.add(from, to, k, line, true)
		}
	case x.meta&(useQualified|useTyped) == useQualified|useTyped:
		r.typed(x, from)
	case x.meta&useQualified != 0:
		q := r.v.text(x.name)
		if to, guess = r.lookup(q, k), false; to < 0 {
			to, guess = r.throughModules(q, k)
		}
		if to < 0 {
			to, guess = r.inherited(x.name, k)
		}
		if to < 0 {
			to, guess = r.bySuffix(q, k), true
		}
	default:
		to = r.bare(x, k)
	}
	if to >= 0 {
		r.add(from, to, r.kindOfBase(from, to, k), line, guess || k == eTests) // the name of a test is only a hint
	}
}

// kindOfBase returns the kind of an edge to a base type. C# lists the base class and the interfaces together, so the
// target decides.
func (r *resolver) kindOfBase(from, to int32, k edgeNo) edgeNo {
	if k == eInherits && r.v.fams[r.u.fam] == "csharp" && r.v.nodes.at(from).kind == kType && r.v.nodes.at(to).kind == kInterface {
		return eImplements
	}
	return k
}

// qualified returns the node of a qualified name that is the best target for an edge of kind k, or -1.
func (r *resolver) qualified(x sym, k edgeNo) int32 {
	best, at := int32(-1), len(kindPreference[k])
	for i, n := range r.v.byQual(x) {
		if p := rank(k, n.kind); p >= 0 && p < at && n.flags&inRepo != 0 {
			best, at = i, p
		}
	}
	return best
}

// lookup is qualified for a name that the graph need not have.
func (r *resolver) lookup(q string, k edgeNo) int32 {
	if x, ok := r.v.names.findOwned(q); ok {
		return r.qualified(x, k)
	}
	return -1
}

// within returns the node with a name in a scope, or -1.
func (r *resolver) within(scope, name string, k edgeNo) int32 {
	r.buf = append(append(append(r.buf[:0], scope...), '.'), name...)
	if x, ok := r.v.names.findOwnedBytes(r.buf); ok {
		return r.qualified(x, k)
	}
	return -1
}

// bare resolves a bare name: in the file, from the inside out, then in its scopes, then in the whole repository.
func (r *resolver) bare(x use, k edgeNo) int32 {
	if i := r.u.inside(r.local, x, k); i >= 0 {
		return r.u.nodes[i]
	}
	name := r.v.text(x.name)
	for _, s := range r.u.scopes {
		if to := r.within(r.v.text(s), name, k); to >= 0 {
			return to
		}
	}
	if owner := ownerOf(name); owner != "" && ownerOf(owner) == "" { // a member of a type
		r.memberTypes = append(r.memberTypes, hashName(owner))
		if x, ok := r.v.names.findOwned(owner); ok {
			if typ := r.unique(x, eInherits); typ >= 0 {
				return r.within(r.v.text(r.v.nodes.at(typ).qual), lastPart(name), k)
			}
		}
		return -1
	}
	return r.unique(x.name, k)
}

// unique returns the only node that other files can use by a bare name, or -1.
func (r *resolver) unique(x sym, k edgeNo) int32 {
	if len(r.v.text(x)) < minUnique {
		return -1
	}
	if b := r.namesOf(x); len(b.top) == 1 && rank(k, r.v.nodes.at(b.top[0]).kind) >= 0 {
		return b.top[0]
	}
	return -1
}

// minUnique is the minimum length of a bare name that may refer to another package. Shorter names, such as i and id,
// are mostly variables.
const minUnique = 3

// inside returns the declaration of the unit to which a bare name in it refers, or -1.
func (u *unit) inside(locals []local, x use, k edgeNo) int32 {
	at, _ := slices.BinarySearchFunc(locals, x.name, func(l local, x sym) int { return int(l.name) - int(x) })
	best, depth, kind := int32(-1), -1, 0
	for ; at < len(locals) && locals[at].name == x.name; at++ {
		i := locals[at].decl
		d := &u.decls[i]
		p, in := rank(k, d.kind), 0
		if d.parent >= 0 {
			in = u.depthWithin(x.from, d.parent)
		} else if d.kind.member() {
			in = -1 // a member of a type that is declared elsewhere
		}
		if p < 0 || in < 0 || in < depth || in == depth && p >= kind {
			continue
		}
		best, depth, kind = i, in, p
	}
	return best
}

// depthWithin returns the nesting depth of the declaration outer, from 1, if it is i or encloses it; -1 otherwise.
func (u *unit) depthWithin(i, outer int32) int {
	depth, found := 0, false
	for n := 0; n < 2*maxNesting && i >= 0; n++ {
		if found = found || i == outer; found {
			depth++
		}
		i = u.decls[i].parent
	}
	if !found {
		return -1
	}
	return depth
}

// Scores of a name for one term of a search. The gap to the next score is larger than everything that is added to a
// score.
const (
	matchSubsequence = 30
	matchContains    = 50
	matchAround      = 60 // a match in the rest of the qualified name or in the path
	matchWords       = 65 // the beginnings of words: "shvi" in ShelfView
	matchWord        = 70 // the beginning of a word: "view" in ShelfView
	matchPrefix      = 85
	matchFold        = 110
	matchExact       = 120
)

// term is one word of a search.
type term struct {
	text  string // as entered
	lower string
	mask  uint64 // as maskOf returns it
	words uint64 // bit of its beginning, as in wordsOf; 0 for one character
}

func newTerm(s string) term {
	t := term{text: s, lower: strings.Map(unicode.ToLower, s)}
	t.mask = maskOf(t.lower)
	if len(t.lower) > 1 {
		t.words = beginning(t.lower)
	}
	return t
}

// fits returns the score of a name for the term, or 0 if it does not match.
func (t *term) fits(name string) float64 {
	if name == t.text {
		return matchExact
	}
	low := t.lower
	if len(low) == 1 && len(name) > 1 {
		return 0
	}
	if ascii := t.mask&otherLetter == 0; !ascii {
		name = strings.Map(unicode.ToLower, name)
	}
	if len(low) > len(name) {
		return 0
	}
	share := 10 * float64(len(low)) / float64(len(name)) // a higher share of the name is a better match
	switch at, whole := findFold(name, low); {
	case at == 0 && len(low) == len(name):
		return matchFold
	case at == 0:
		return matchPrefix + share
	case at > 0 && whole:
		return matchWord + share
	case wordPrefixes(name, low):
		return matchWords + share/2
	case at > 0 && len(low) >= minUnique:
		return matchContains + share
	case len(low) >= minUnique && startsAndFollows(name, low):
		return matchSubsequence + share
	}
	return 0
}

func fold(c byte) byte {
	if upper(c) {
		return c + 'a' - 'A'
	}
	return c
}

// findFold returns the first index at which name contains low, ignoring case, or -1. It prefers an index at which a
// word begins; whole reports such a match. low is in lower case.
func findFold(name, low string) (at int, atWord bool) {
	at = -1
	for i := 0; i+len(low) <= len(name); i++ {
		if fold(name[i]) != low[0] || !foldPrefix(name[i:], low) {
			continue
		}
		if i == 0 || wordStart(name, i) {
			return i, true
		}
		if at < 0 {
			at = i
		}
	}
	return at, false
}

func foldPrefix(name, low string) bool {
	for i := range len(low) {
		if fold(name[i]) != low[i] {
			return false
		}
	}
	return true
}

// wordStart reports whether a word of camelCase or snake_case begins at i.
func wordStart(s string, i int) bool {
	if i == 0 {
		return true
	}
	a, c := s[i-1], s[i]
	switch {
	case a == '_' || a == '-' || a == '.' || a == '/' || a == '$':
		return c != a
	case upper(c):
		return !upper(a) || i+1 < len(s) && lower(s[i+1])
	case c >= '0' && c <= '9':
		return a < '0' || a > '9'
	}
	return false
}

// wordPrefixes reports whether low consists of beginnings of words of name, in order, starting with the first word.
func wordPrefixes(name, low string) bool {
	if fold(name[0]) != low[0] || len(low) > 12 {
		return false
	}
	// Bit k of after is set if the first k characters of low can be matched up to here.
	after := uint32(1)
	for i := 0; i < len(name); {
		end := i + 1
		for end < len(name) && !wordStart(name, end) {
			end++
		}
		for k := len(low) - 1; k >= 0; k-- {
			if after&(1<<k) == 0 {
				continue
			}
			for n := 0; k+n < len(low) && i+n < end && fold(name[i+n]) == low[k+n]; n++ {
				after |= 1 << (k + n + 1)
			}
		}
		if i == 0 {
			after &^= 1
		}
		i = end
	}
	return after&(1<<len(low)) != 0
}

// startsAndFollows reports whether low begins with the same character as name and is a subsequence of it.
func startsAndFollows(name, low string) bool {
	if fold(name[0]) != low[0] {
		return false
	}
	k := 0
	for i := 0; i < len(name) && k < len(low); i++ {
		if fold(name[i]) == low[k] {
			k++
		}
	}
	return k == len(low)
}
