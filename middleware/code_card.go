package middleware

import (
	"context"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"sync"
	"unicode/utf8"

	"github.com/kenlayer/ken"
	"github.com/kenlayer/ken/budgeter"
	"github.com/kenlayer/ken/guardrail"
	"github.com/kenlayer/ken/internal/code/codegraph"
	"github.com/kenlayer/ken/retriever"
)

// legGraph is how receipts call what brings symbols, and the decisions about them.
const legGraph = "graph"

// card says what a symbol is. It is not changed once made.
type card struct {
	item     ken.Item
	governed []codegraph.Ref
	paths    []string // of the files that it speaks of
}

// cardOf makes the card of a node, false when the view has no such node.
func cardOf(v *codegraph.View, id string) (card, bool) {
	s, err := v.Show(id)
	if err != nil {
		return card{}, false
	}
	w := cardWriter{v: v, s: &s, tier: ken.Inferred}
	w.path(s.Path)
	w.line(line(s.Signature))
	if s.Doc != "" {
		w.line("Comment: " + line(s.Doc))
	}
	w.governed()
	w.users()
	w.above()
	w.members()
	w.weight()
	if len(w.lines) == 0 { // its signature may hold what is nobody's business
		w.line("Nothing more is known of it.")
	}
	c := card{governed: s.Governed, paths: w.paths, item: ken.Item{ID: s.ID, Kind: budgeter.KindSymbol, Tier: w.tier, Trust: ken.TrustOperator,
		Source: s.Path, Heading: clean(string(s.Kind) + " " + shortName(&s.Node)), Text: clean(strings.Join(w.lines, "\n"))}}
	if s.Line > 0 {
		c.item.Source += ":" + strconv.Itoa(s.Line)
	}
	c.item.Source = clean(c.item.Source)
	if stamp, ok := v.Stamp(s.Path); ok {
		c.item.CreatedAt = stamp.ModTime
	}
	return c, true
}

// cards keeps those of one view. The zero value is ready, and safe for concurrent use.
type cards struct {
	mu      sync.Mutex // guards the rest
	version uint64
	made    map[string]card
}

// maxMade bounds the cards that are kept.
const maxMade = 512

// of returns the card of a node, false when the view has no such node.
func (c *cards) of(v *codegraph.View, id string) (card, bool) {
	c.mu.Lock()
	if c.made == nil || c.version != v.Version() || len(c.made) >= maxMade {
		c.made, c.version = map[string]card{}, v.Version()
	}
	have, ok := c.made[id]
	c.mu.Unlock()
	if ok {
		return have, true
	}
	made, ok := cardOf(v, id)
	if !ok {
		return card{}, false
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.version == v.Version() {
		c.made[id] = made
	}
	return made, true
}

// clean takes out what must not come back in a prompt: what files say passes no store.
func clean(s string) string {
	s, _ = guardrail.Redact(guardrail.StripReasoning(guardrail.Sanitize(s)))
	return strings.TrimSpace(s)
}

// line is a text on one line.
func line(s string) string { return strings.Join(strings.Fields(s), " ") }

// candidate is a card for the block, at a rank from 1; distance is 0 for what the turn
// names.
func (c *card) candidate(rank, distance int, sure float64) budgeter.Candidate {
	it := c.item
	it.Legs = map[string]ken.LegScore{legGraph: {Rank: rank, Score: sure}}
	it.Signals = map[string]float64{legGraph: sure, retriever.SignalDistance: float64(distance)}
	return budgeter.Candidate{Item: it}
}

const (
	maxCard    = 600 // characters of a card
	maxMembers = 8   // members that it names
	maxUsers   = 3   // of a kind
	refsLooked = 48  // edges that users are chosen from
)

// cardWriter writes lines as long as there is room.
type cardWriter struct {
	v     *codegraph.View
	s     *codegraph.NodeDetails
	lines []string
	chars int
	tier  ken.Tier
	paths []string
}

func (w *cardWriter) line(s string) bool {
	n := utf8.RuneCountInString(s) + 1
	if s == "" || w.chars+n > maxCard {
		return false
	}
	w.chars += n
	w.lines = append(w.lines, s)
	return true
}

func (w *cardWriter) path(p string) {
	if p != "" && strings.Contains(p, ".") && !slices.Contains(w.paths, p) {
		w.paths = append(w.paths, p)
	}
}

// edges counts the edges of a kind: those that are exact, or, where there are none, the
// guesses.
func edges(counts []codegraph.KindCount, k codegraph.EdgeKind) (n int, how codegraph.How) {
	for _, c := range counts {
		if c.Kind == k && c.Exact > 0 {
			return c.Exact, codegraph.Exact
		}
		if c.Kind == k {
			return c.Guesses, codegraph.Guess
		}
	}
	return 0, codegraph.Exact
}

// governed says which decisions are about the symbol: those that list it, or else those
// that name it.
func (w *cardWriter) governed() {
	var sure, perhaps []string
	for _, r := range w.s.Governed {
		list := &sure
		if r.How == codegraph.Guess {
			list = &perhaps
		}
		if name := line(r.From.Name + " " + r.From.Signature); !slices.Contains(*list, name) {
			*list = append(*list, name)
		}
	}
	switch {
	case len(sure) > 0:
		w.line("Governed by " + listed(sure, len(sure), maxUsers))
	case len(perhaps) > 0:
		w.line("Named in " + listed(perhaps, len(perhaps), maxUsers))
	}
}

// uses are how a symbol may be used, and how that is said.
var uses = []struct {
	kind codegraph.EdgeKind
	says string
}{{codegraph.Implements, "Implemented by"}, {codegraph.Inherits, "Inherited by"}, {codegraph.Calls, "Called by"}, {codegraph.References, "Referred to by"},
	{codegraph.DependsOn, "Imported by"}, {codegraph.Imports, "Imported by"}}

// users says who depends on the symbol.
func (w *cardWriter) users() {
	for _, u := range uses {
		n, how := edges(w.s.In, u.kind)
		if n == 0 || u.kind == codegraph.Imports && w.s.Kind == codegraph.KindPackage { // packages are told
			continue
		}
		refs, err := w.v.Refs(w.s.ID, []codegraph.EdgeKind{u.kind}, codegraph.Page{Limit: refsLooked})
		if err != nil {
			continue
		}
		names, paths := w.best(refs.Refs, how)
		says := fmt.Sprintf("%s %d: ", u.says, n)
		if how == codegraph.Guess {
			says = fmt.Sprintf("By name, perhaps %s %d: ", strings.ToLower(u.says), n)
		}
		if w.line(says + listed(names, n, maxUsers)) {
			w.rests(how, paths)
		}
	}
	if n, how := edges(w.s.In, codegraph.Tests); n > 0 && how == codegraph.Exact {
		w.line("Tests of it: " + strconv.Itoa(n))
	}
}

// best names who uses the symbol: declarations before files, what is shipped before
// tests, then in their order.
func (w *cardWriter) best(refs []codegraph.Ref, how codegraph.How) (names, paths []string) {
	for _, tests := range []bool{false, true} {
		for _, files := range []bool{false, true} {
			for i := range refs {
				r := &refs[i]
				name := told(&r.From)
				if r.How == how && r.From.Test == tests && (r.From.Kind == codegraph.KindFile) == files && !slices.Contains(names, name) {
					names, paths = append(names, name), append(paths, r.Path)
				}
			}
		}
	}
	return names, paths[:min(len(paths), maxUsers)]
}

// told is what a card calls another node: a package is known by its folder.
func told(n *codegraph.Node) string {
	if n.Kind == codegraph.KindPackage && n.Path != "" {
		return line(n.Path)
	}
	return line(shortName(n))
}

// rests takes note of what a line rests on.
func (w *cardWriter) rests(how codegraph.How, paths []string) {
	if how == codegraph.Guess {
		w.tier = ken.Assumed
	}
	for _, p := range paths {
		w.path(p)
	}
}

// above says what the symbol implements and inherits from.
func (w *cardWriter) above() {
	for _, u := range []struct {
		kind codegraph.EdgeKind
		says string
	}{{codegraph.Implements, "Implements "}, {codegraph.Inherits, "Inherits from "}, {codegraph.DependsOn, "Imports "}, {codegraph.Calls, "Calls "}} {
		n, how := edges(w.s.Out, u.kind)
		var names, paths []string
		for i := range w.s.To {
			e := &w.s.To[i]
			name := told(&e.To)
			if e.Kind == u.kind && e.How == how && !(u.kind == codegraph.DependsOn && e.To.External) && !slices.Contains(names, name) {
				names, paths = append(names, name), append(paths, e.Path)
			}
		}
		if len(names) == 0 || how == codegraph.Guess && u.kind == codegraph.Calls {
			continue
		}
		says := u.says
		if how == codegraph.Guess {
			says = "By name, perhaps " + strings.ToLower(says)
		}
		if u.kind == codegraph.DependsOn {
			n = len(names)
		}
		if w.line(says + listed(names, n, maxUsers)) {
			w.rests(how, paths[:min(len(paths), maxUsers)])
		}
	}
}

// members names what the symbol defines, what others see of it first.
func (w *cardWriter) members() {
	if w.s.MemberAll == 0 {
		return
	}
	var names []string
	for _, seen := range []bool{true, false} {
		for i := range w.s.Members {
			if m := &w.s.Members[i]; m.Exported == seen && !m.Test {
				names = append(names, line(m.Name))
			}
		}
	}
	says := "Members"
	switch {
	case w.s.Kind == codegraph.KindPackage && w.s.Members[0].Kind == codegraph.KindFile:
		w.line("Files: " + strconv.Itoa(w.s.MemberAll)) // what they are called says little
		return
	case w.s.Kind == codegraph.KindFile:
		says = "Declares"
	}
	if len(names) > 0 {
		w.line(fmt.Sprintf("%s %d: %s", says, w.s.MemberAll, listed(names, w.s.MemberAll, maxMembers)))
	}
}

// weight says what a change of the whole is felt by.
func (w *cardWriter) weight() {
	if w.s.MemberAll == 0 {
		return
	}
	if d, err := w.v.Dependents(w.s.ID, 1, codegraph.Page{Limit: 1}); err == nil && d.Total > 0 && len(d.Dependents) > 0 {
		if d.Dependents[0].How == codegraph.Exact {
			w.line("Depends on it or a part of it directly: " + strconv.Itoa(d.Total))
		}
	}
}

// listed names the first of some things, of which there are n.
func listed(names []string, n, most int) string {
	first := names[:min(len(names), most)]
	s := strings.Join(first, ", ")
	if n > len(first) {
		s += fmt.Sprintf(" and %d more", n-len(first))
	}
	return s
}

// withCode adds what the code says to the candidates for the block, which are those that
// were found. The best card stands beside the best of what was found, the second beside
// the second, and the decisions behind the cards, so that neither pushes the other out.
// A piece of a file that a decision speaks for is left out: it says the same.
func (l *Layer) withCode(ctx context.Context, st *State, cands []budgeter.Candidate) []budgeter.Candidate {
	c := &st.code
	if len(c.cards)+len(c.decisions) == 0 {
		return cands
	}
	var ranked []float64
	for i := range cands {
		if it := &cands[i]; !it.Memory && !it.Item.Constraint {
			ranked = append(ranked, it.Item.Fused)
		}
	}
	fused := func(i int) float64 {
		switch n := len(ranked); {
		case n == 0:
			return 1 / float64(i+1)
		case i < n:
			return math.Nextafter(ranked[i], math.Inf(1))
		default:
			return ranked[n-1] / float64(i-n+2)
		}
	}
	found := map[string]bool{} // by path of the decision
	cands = l.spokenFor(ctx, st, cands, found)
	rank := 0
	for i := range c.cards {
		c.cards[i].Item.Fused = fused(rank)
		cands = append(cands, c.cards[i])
		rank++
	}
	for i := range c.decisions {
		g := &c.decisions[i]
		support := g.claim.Support(nil)
		d := g.candidate(rank+1, found[g.path], support.At(l.now(), l.cfg.Knowledge.DecayDays))
		d.Item.Fused = fused(rank)
		cands = append(cands, d)
		rank++
	}
	return cands
}

// spokenFor leaves out the pieces of files that a decision speaks for, and notes which
// these are.
func (l *Layer) spokenFor(ctx context.Context, st *State, cands []budgeter.Candidate, found map[string]bool) []budgeter.Candidate {
	if len(st.code.decisions) == 0 {
		return cands
	}
	by := map[string]string{}
	for i := range st.code.decisions {
		by[st.code.decisions[i].path] = st.code.decisions[i].claim.ID
	}
	kept := cands[:0]
	for _, c := range cands {
		if c.Item.Kind == ken.KindDocument && c.Load != nil {
			claim, err := c.Load(ctx)
			path := claim.Source
			if at := strings.LastIndexByte(path, ':'); at >= 0 {
				path = path[:at]
			}
			if id := by[path]; err == nil && id != "" {
				found[path] = true
				st.Receipt.Cut = append(st.Receipt.Cut, ken.Cut{ID: c.Item.ID, Reason: ken.CutDuplicate, Detail: id})
				continue
			}
		}
		kept = append(kept, c)
	}
	return kept
}
