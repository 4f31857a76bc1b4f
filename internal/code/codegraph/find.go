package codegraph

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/kenlayer/ken"
)

// Node is something with an ID, in the form in which queries return it.
type Node struct {
	ID        string `json:"id"`
	Kind      Kind   `json:"kind"`
	Name      string `json:"name"`      // bare
	Qualified string `json:"qualified"` // the ID without its prefix
	Path      string `json:"path,omitempty"`
	Line      int    `json:"line,omitempty"` // of the first place; 0 for a file and a package
	Language  string `json:"language,omitempty"`
	Signature string `json:"signature,omitempty"`
	Exported  bool   `json:"exported,omitempty"`
	Test      bool   `json:"test,omitempty"`     // declared only by files with tests
	External  bool   `json:"external,omitempty"` // a package or interface that is not in the repository
	In        int    `json:"in"`                 // number of edges that lead to it
}

// place returns the first place of a node, by path and line. ok is false if no file declares the node. d is nil where
// the node is the file itself or contains it.
func (v *View) place(i int32) (u *unit, d *decl, ok bool) {
	for _, p := range v.nodes.at(i).places {
		if p.decl == onlyEdges {
			continue
		}
		pu := v.unit(p.unit)
		var pd *decl
		if p.decl >= 0 {
			pd = &pu.decls[p.decl]
		}
		if !ok || comparePlaces(v, pu, pd, u, d) < 0 {
			u, d, ok = pu, pd, true
		}
	}
	return u, d, ok
}

func comparePlaces(v *View, a *unit, ad *decl, b *unit, bd *decl) int {
	line := func(d *decl) int32 {
		if d == nil {
			return 0
		}
		return d.line
	}
	return cmp.Or(strings.Compare(v.text(a.path), v.text(b.path)), cmp.Compare(line(ad), line(bd)))
}

func (v *View) node(i int32) Node {
	n := v.nodes.at(i)
	out := Node{ID: v.id(i), Kind: kindNames[n.kind], Name: v.text(n.name), Qualified: v.text(n.qual),
		Exported: n.flags&exported != 0, Test: n.flags&testOnly != 0, External: n.flags&inRepo == 0, In: len(n.in)}
	u, d, ok := v.place(i)
	if !ok {
		return out
	}
	out.Path, out.Language = v.text(u.path), v.text(u.lang)
	if d != nil {
		out.Line, out.Signature = int(d.line), u.signature(d)
	}
	switch {
	case u.decision != nil:
		out.Line, out.Signature = u.decision.Line, u.decision.Title
	case d == nil && n.kind.isScope():
		out.Path = folder(out.Path)
	}
	return out
}

// Find returns the nodes that a text may mean. The text is, in this order:
//
//   - an ID;
//   - a qualified name, or the path of a file;
//   - the end of one, from a dot or slash on: store.Shelf or Shelf.View;
//   - a bare name;
//   - a name as people write it: nats.Conn with the package's clause, (*Conn).Drain, nc.Drain with the usual receiver,
//     or flask.Flask, which the package flask re-exports.
//
// The first form with any match is used. A type comes without its constructor of the same name. Nodes with the most incoming edges come first. At most limit nodes are
// returned; total counts all.
func (v *View) Find(text string, limit int) (nodes []Node, total int) {
	found := v.find(text)
	for _, i := range found[:min(len(found), max(limit, 0))] {
		nodes = append(nodes, v.node(i))
	}
	return nodes, len(found)
}

// One is Find for a text that must mean exactly one node. If several match but only one of them is declared outside of
// tests, One returns that one. Errors: ken.ErrNotFound, and ken.ErrInvalid with the candidates if there are several.
func (v *View) One(text string) (Node, error) {
	i, err := v.one(text)
	if err != nil {
		return Node{}, err
	}
	return v.node(i), nil
}

func (v *View) one(text string) (int32, error) {
	found := v.find(text)
	switch len(found) {
	case 0:
		return -1, &ken.Error{Code: ken.CodeNotFound, Field: "id", Msg: "nothing in the graph is called " + strconv.Quote(Clip(text)),
			Try: "Search for a part of the name, or build the graph again if it is new."}
	case 1:
		return found[0], nil
	}
	shipped := slices.DeleteFunc(slices.Clone(found), func(i int32) bool { return v.nodes.at(i).flags&testOnly != 0 })
	if len(shipped) == 1 {
		return shipped[0], nil
	}
	var ids []string
	for _, i := range found[:min(len(found), 5)] {
		ids = append(ids, v.id(i))
	}
	more := ""
	if n := len(found) - len(ids); n > 0 {
		more = fmt.Sprintf(", or %d more", n)
	}
	return -1, &ken.Error{Code: ken.CodeInvalid, Field: "id", Msg: fmt.Sprintf("%q may be %d things", Clip(text), len(found)),
		Try: "Give the ID: " + strings.Join(ids, ", ") + more + "."}
}

func (v *View) find(text string) []int32 {
	text = strings.TrimSpace(text)
	if k, q, ok := Split(text); ok {
		if x, known := v.names.find(q); known {
			if i := v.byRef(ref{numberOfKind(k), x}); i >= 0 {
				return []int32{i}
			}
		}
		return nil
	}
	text = strings.TrimPrefix(text, "./")
	found := v.named(text, false)
	if len(found) == 0 {
		if text = plainSpelling(text); text != "" {
			found = v.named(text, false)
		}
	}
	if len(found) == 0 {
		found = v.resolveInformal(text)
		slices.SortFunc(found, v.compareFound)
		return found
	}
	all := slices.Clone(found)
	found = slices.DeleteFunc(found, func(i int32) bool { return v.constructs(i, all) })
	slices.SortFunc(found, v.compareUse)
	return found
}

// constructs reports whether a node is a constructor of a type in found: a method of the same name. A name means the
// type, which also has the uses.
func (v *View) constructs(i int32, found []int32) bool {
	n := v.nodes.at(i)
	if n.kind != kMethod {
		return false
	}
	x, ok := v.names.find(ownerOf(v.text(n.qual)))
	if !ok || v.names.last[x] != n.name {
		return false
	}
	return slices.ContainsFunc(found, func(o int32) bool { return v.nodes.at(o).kind == kType && v.nodes.at(o).qual == x })
}

// compareUse orders nodes by their number of incoming edges, the most first, and then by ID.
func (v *View) compareUse(a, b int32) int {
	return cmp.Or(cmp.Compare(len(v.nodes.at(b).in), len(v.nodes.at(a).in)), v.compare(a, b))
}

// named lists the nodes with a qualified name or path, unordered. If there are none, it lists those whose qualified
// name or path ends with name. With declared, it lists only nodes in the repository.
func (v *View) named(name string, declared bool) (found []int32) {
	if name == "" {
		return nil
	}
	fits := func(n *node) bool { return !declared || n.flags&inRepo != 0 }
	if x, ok := v.names.find(name); ok {
		for i, n := range v.byQual(x) {
			if fits(n) {
				found = append(found, i)
			}
		}
	}
	for _, last := range slices.Compact([]string{lastPart(name), base(name)}) {
		x, ok := v.names.find(last)
		if !ok || len(found) > 0 {
			continue
		}
		for i, n := range v.byName(x) {
			rest, ok := strings.CutSuffix(v.text(n.qual), name)
			if ok && fits(n) && (rest == "" || strings.HasSuffix(rest, ".") || strings.HasSuffix(rest, "/")) {
				found = append(found, i)
			}
		}
	}
	return found
}

// Result is a node that a search found.
type Result struct {
	Node
	Score float64 `json:"score"`
}

const (
	maxTerms  = 8
	maxSearch = 1000 // maximum number of results of one search
)

// Search finds nodes by their names. A term matches the whole name, its beginning, words of camelCase and snake_case, a
// part, or letters in their order. Terms are separated by space, dots, slashes or colons. Further terms may also match
// in the qualified name or path; the more terms match, the higher the score. An ID, a qualified name or a path comes
// first. kinds restricts the results; none means all. At most limit results are returned, the best first and then by
// ID. total counts the nodes that any term matches.
//
// The score of a node is
//
//	name + kind + 2·log2(1 + in) − 12·test + 120·meant
//
// name is the average over the terms of the match with the bare name: 120 for the exact name, 110 in another case, 85
// for its beginning, 70 for the beginning of a word, 65 for the beginnings of several words, 50 for a part, 30 for
// letters in order. Up to 10 more are added for the share of the name that matches. A term that only matches the
// beginning of a word elsewhere in the qualified name or path counts 60. If all terms joined match the bare name
// better, that score is used.
//
// kind is from 0 (property) to 4 (type). in is the number of incoming edges, at most 1,023: a damped in-degree orders
// pages about as well as PageRank does (Upstill, Craswell, Hawking: Predicting Fame and Fortune, 2003), and needs no
// computation. test is 1 for nodes that only tests declare. meant is 1 for the nodes that Find returns.
//
// Parts and letters count only if words find fewer than limit nodes and Find returns nothing. Terms of two letters are
// ignored beside several longer ones.
func (v *View) Search(text string, kinds []Kind, limit int) (results []Result, total int) {
	limit = min(max(limit, 0), maxSearch)
	s := &searcher{v: v, kinds: map[kindNo]bool{}, meant: map[int32]bool{}}
	for _, k := range kinds {
		s.kinds[numberOfKind(k)] = true
	}
	for _, i := range v.find(text) {
		s.meant[i] = true
	}
	words := strings.FieldsFunc(text, func(c rune) bool { return strings.ContainsRune(" \t\n./:#\\,;()[]{}<>\"'`*&", c) })
	if len(words) > 2 {
		if long := slices.DeleteFunc(slices.Clone(words), func(w string) bool { return len(w) < minUnique }); len(long) > 1 {
			words = long
		}
	}
	for _, w := range words[:min(len(words), maxTerms)] {
		s.terms = append(s.terms, newTerm(w))
	}
	if len(words) > 1 && len(words) <= maxTerms {
		t := newTerm(strings.Join(words, ""))
		s.joined = &t
	}
	s.top.n, s.top.compare = limit, func(a, b scored) int {
		if a.score != b.score {
			return cmp.Compare(b.score, a.score)
		}
		return v.compare(a.node, b.node)
	}
	if len(s.terms) > 0 {
		s.scan(limit)
	}
	for _, x := range s.top.sorted() {
		results = append(results, Result{v.node(x.node), math.Round(x.score*100) / 100})
	}
	return results, s.total
}

type scored struct {
	node  int32
	score float64
}

type searcher struct {
	v      *View
	terms  []term
	joined *term // all terms joined; nil for a single term
	kinds  map[kindNo]bool
	meant  map[int32]bool // nodes that Find returns for the text
	fits   []fit
	top    top[scored]
	total  int
}

// scan matches every bare name with the terms: first by the beginnings of words, then, if that finds fewer than limit
// nodes, by any letters.
func (s *searcher) scan(limit int) {
	for _, letters := range []bool{false, true} {
		s.fits = s.fits[:0]
		for i := range s.v.bare {
			c := &s.v.bare[i]
			if !s.mayFit(c, letters) {
				continue
			}
			if h := s.v.heads.at(int32(c.name)); h.name != 0 {
				if f := s.name(c.name); f.fit > 0 {
					s.fits = append(s.fits, f)
				}
			}
		}
		if s.rank(); s.total >= limit || len(s.meant) > 0 || s.short() {
			break
		}
	}
}

// short reports whether all terms are too short for a match by letters.
func (s *searcher) short() bool {
	return !slices.ContainsFunc(s.terms, func(t term) bool { return len(t.lower) >= minUnique })
}

// mayFit is a quick test by bit masks whether a name can match a term.
func (s *searcher) mayFit(c *bareName, letters bool) bool {
	for i := range s.terms {
		t := &s.terms[i]
		if (letters || t.words&^c.words == 0) && t.mask&^c.mask == 0 {
			return true
		}
	}
	return s.joined != nil && s.joined.words&^c.words == 0 && s.joined.mask&^c.mask == 0
}

// fit is a bare name with its score, and the most that matches elsewhere in the qualified name or the path can add to
// it.
type fit struct {
	name      sym
	missing   uint8   // the terms that the bare name does not match well, one bit each
	fit, more float32 // at most matchExact
	short     float32 // fit minus the average over the terms: above 0 if the joined terms match better
}

// rank scores the nodes of the matching names, the best names first. It stops scoring once no further node can be among
// the results, and then only counts.
func (s *searcher) rank() {
	var buckets [matchExact + 1][]fit
	for _, f := range s.fits {
		i := min(int(f.fit), matchExact)
		buckets[i] = append(buckets[i], f)
	}
	s.total, s.top.kept, s.top.full = 0, s.top.kept[:0], false
	for i := range s.meant { // scored first; counted here unless rank meets them below
		n := s.v.nodes.at(i)
		if !s.admits(n) {
			continue
		}
		f := s.name(n.name)
		s.score(i, n, &f, matchExact)
		if !slices.ContainsFunc(s.fits, func(f fit) bool { return f.name == n.name }) {
			s.total++
		}
	}
	for i := matchExact; i >= 0; i-- {
		for k := range buckets[i] {
			f := &buckets[i][k]
			if len(s.kinds) == 0 && s.tooLow(float64(f.fit+f.more)+maxBonus) {
				s.total += int(s.v.heads.at(int32(f.name)).named)
				continue
			}
			for i, n := range s.v.byName(f.name) {
				if s.admits(n) {
					if s.total++; !s.meant[i] {
						s.score(i, n, f, 0)
					}
				}
			}
		}
	}
}

// tooLow reports whether a node with at most this score can't be among the results. The margin covers rounding.
func (s *searcher) tooLow(score float64) bool {
	return s.top.n == 0 || s.top.full && score+.01 < s.top.kept[s.top.n-1].score
}

// inDegreeScore is the score for a number of incoming edges.
var inDegreeScore = func() (d [1024]float64) {
	for i := range d {
		d[i] = 2 * math.Log2(1+float64(i))
	}
	return d
}()

func (s *searcher) admits(n *node) bool { return len(s.kinds) == 0 || s.kinds[n.kind] }

// name matches a bare name with the terms.
func (s *searcher) name(x sym) fit {
	name, mask := s.v.strs[x], s.v.masks[x]
	out := fit{name: x}
	sum, more := 0.0, 0.0
	for i := range s.terms {
		f := 0.0
		if t := &s.terms[i]; t.mask&^mask == 0 {
			f = t.fits(name)
		}
		if sum += f; f < matchAround {
			more += matchAround - f
			out.missing |= 1 << i
		}
	}
	n := float64(max(len(s.terms), 1))
	best := sum / n
	if s.joined != nil && s.joined.mask&^mask == 0 {
		best = max(best, s.joined.fits(name))
	}
	out.fit, out.short = float32(best), float32(best-sum/n)
	if len(s.terms) > 1 {
		out.more = float32(max(more/n-best+sum/n, 0))
	}
	return out
}

// maxBonus is the most that kind and incoming edges add to the score of a match.
const maxBonus = 4 + 20

// kindScore is the score of each kind: types come before their members.
var kindScore = [kindCount]float64{kType: 4, kInterface: 4, kFunction: 3, kPackage: 3, kNamespace: 3, kMethod: 2, kDecision: 2, kVariable: 1, kFile: 1}

func (s *searcher) score(i int32, n *node, f *fit, bonus float64) {
	score := bonus + float64(f.fit) + kindScore[n.kind] + inDegreeScore[min(len(n.in), len(inDegreeScore)-1)]
	if n.flags&testOnly != 0 {
		score -= 12
	}
	if f.more > 0 {
		if s.tooLow(score + float64(f.more)) {
			return
		}
		score += s.scoreAround(n, f)
	}
	s.top.add(scored{i, score})
}

// scoreAround returns the score for terms that match in the rest of the qualified name or in the path and that the bare
// name does not match well.
func (s *searcher) scoreAround(n *node, f *fit) float64 {
	more := 0.0
	for k := range s.terms {
		if t := &s.terms[k]; f.missing&(1<<k) != 0 && (s.begins(n.qual, n.name, t) || s.inPath(n, t)) {
			more += matchAround
			if t.mask&^s.v.masks[n.name] == 0 {
				more -= t.fits(s.v.text(n.name))
			}
		}
	}
	return max(more/float64(len(s.terms))-float64(f.short), 0)
}

// inPath reports whether a term begins a word in the path of a file that declares a node. For packages it returns
// false: their names contain their folders already.
func (s *searcher) inPath(n *node, t *term) bool {
	if n.kind.isScope() {
		return false
	}
	for _, p := range n.places {
		if p.decl != onlyEdges && s.begins(s.v.unit(p.unit).path, 0, t) {
			return true
		}
	}
	return false
}

// begins reports whether a term begins a word of the text x. The suffix of x that has the length of the text end is not
// searched.
func (s *searcher) begins(x, end sym, t *term) bool {
	if t.words == 0 || t.words&^s.v.words[x] != 0 || t.mask&^s.v.masks[x] != 0 {
		return false
	}
	q := s.v.text(x)
	_, whole := findFold(q[:len(q)-min(len(q), len(s.v.text(end)))], t.lower)
	return whole
}
