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
	"github.com/kenlayer/ken/internal/analysis"
	"github.com/kenlayer/ken/internal/code/codegraph"
	"github.com/kenlayer/ken/internal/store/clean"
	"github.com/kenlayer/ken/retriever"
)

// legGraph is the source in receipts for symbols and the decisions about them.
const legGraph = "graph"

// card describes a symbol. It is immutable.
type card struct {
	item     ken.Item
	governed []codegraph.Ref
	paths    []string // the files that the text describes
}

// cardOf returns the card of a node; false if the view has no such node.
func cardOf(v *codegraph.View, id string) (card, bool) {
	s, err := v.Show(id)
	if err != nil {
		return card{}, false
	}
	w := cardWriter{v: v, s: &s}
	w.addPath(s.Path)
	w.addLine(oneLine(s.Signature))
	if s.Doc != "" {
		w.addLine("Comment: " + oneLine(s.Doc))
	}
	w.addGoverning()
	w.addUsers()
	w.addDependencies()
	w.addMembers()
	w.addDependentCount()
	if len(w.lines) == 0 { // the signature was removed too
		w.addLine("Nothing more is known of it.")
	}
	c := card{governed: s.Governed, paths: w.paths, item: ken.Item{ID: s.ID, Kind: budgeter.KindSymbol, Tier: ken.Inferred, Trust: ken.TrustOperator,
		Source: s.Path, Heading: cleanFileText(string(s.Kind) + " " + shortName(&s.Node)), Text: cleanFileText(strings.Join(w.lines, "\n"))}}
	if s.Line > 0 {
		c.item.Source += ":" + strconv.Itoa(s.Line)
	}
	c.item.Source = cleanFileText(c.item.Source)
	if stamp, ok := v.Stamp(s.Path); ok {
		c.item.CreatedAt = stamp.ModTime
	}
	return c, true
}

// cards caches the cards of one version of the graph. The zero value is ready, and safe for concurrent use.
type cards struct {
	mu      sync.Mutex // guards the rest
	version uint64
	byID    map[string]card
}

// maxCards is the maximum number of cached cards.
const maxCards = 512

// get returns the card of a node; false if the view has no such node.
func (c *cards) get(v *codegraph.View, id string) (card, bool) {
	c.mu.Lock()
	if c.byID == nil || c.version != v.Version() || len(c.byID) >= maxCards {
		c.byID, c.version = map[string]card{}, v.Version()
	}
	have, ok := c.byID[id]
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
		c.byID[id] = made
	}
	return made, true
}

// cleanFileText removes secrets and other content that must not get into a prompt. A store cleans the claims it holds;
// text of files does not pass through one.
func cleanFileText(s string) string {
	return strings.TrimSpace(clean.Text(s))
}

// oneLine replaces each run of white space, line breaks included, by one space.
func oneLine(s string) string { return strings.Join(strings.Fields(s), " ") }

// candidate returns the card as a candidate for the block. Ranks begin at 1. distance is 0 for a symbol that the turn
// names. sure is the confidence that the turn means the symbol.
func (c *card) candidate(rank, distance int, sure float64) budgeter.Candidate {
	it := c.item
	it.Legs = map[string]ken.LegScore{legGraph: {Rank: rank, Score: sure}}
	it.Signals = map[string]float64{legGraph: sure, retriever.SignalDistance: float64(distance)}
	return budgeter.Candidate{Item: it}
}

// Bounds of a card's content.
const (
	maxCardChars = 600 // characters
	maxMembers   = 8   // members that are listed
	maxUsers     = 3   // users that are listed, for each kind of use
	maxRefs      = 48  // edges from which users are chosen
)

// cardWriter collects the lines of a card, up to maxCardChars.
type cardWriter struct {
	v     *codegraph.View
	s     *codegraph.NodeDetails
	lines []string
	chars int
	paths []string
}

func (w *cardWriter) addLine(s string) bool {
	n := utf8.RuneCountInString(s) + 1
	if s == "" || w.chars+n > maxCardChars {
		return false
	}
	w.chars += n
	w.lines = append(w.lines, s)
	return true
}

func (w *cardWriter) addPath(p string) {
	if p != "" && strings.Contains(p, ".") && !slices.Contains(w.paths, p) {
		w.paths = append(w.paths, p)
	}
}

// countEdges counts the edges of a kind: the exact ones or, if there are none, the guessed ones.
func countEdges(counts []codegraph.KindCount, k codegraph.EdgeKind) (n int, how codegraph.How) {
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

// countGuesses counts the guessed edges of a kind.
func countGuesses(counts []codegraph.KindCount, k codegraph.EdgeKind) int {
	for _, c := range counts {
		if c.Kind == k {
			return c.Guesses
		}
	}
	return 0
}

// addGoverning lists the decisions about the symbol: those that list it in a field or, if there are none, those that
// mention its name.
func (w *cardWriter) addGoverning() {
	var sure, perhaps []string
	for _, r := range w.s.Governed {
		list := &sure
		if r.How == codegraph.Guess {
			list = &perhaps
		}
		if name := oneLine(r.From.Name + " " + r.From.Signature); !slices.Contains(*list, name) {
			*list = append(*list, name)
		}
	}
	switch {
	case len(sure) > 0:
		w.addLine("Governed by " + listNames(sure, len(sure), maxUsers))
	case len(perhaps) > 0:
		w.addLine("Named in " + listNames(perhaps, len(perhaps), maxUsers))
	}
}

// usageKinds lists the ways to use a symbol, with the words for them.
var usageKinds = []struct {
	kind codegraph.EdgeKind
	says string
}{{codegraph.Implements, "Implemented by"}, {codegraph.Inherits, "Inherited by"}, {codegraph.Calls, "Called by"}, {codegraph.References, "Referred to by"},
	{codegraph.DependsOn, "Imported by"}, {codegraph.Imports, "Imported by"}}

// addUsers lists what depends on the symbol.
func (w *cardWriter) addUsers() {
	for _, u := range usageKinds {
		n, how := countEdges(w.s.In, u.kind)
		if n == 0 || u.kind == codegraph.Imports && w.s.Kind == codegraph.KindPackage { // packages say so with DependsOn
			continue
		}
		refs, err := w.v.Refs(w.s.ID, []codegraph.EdgeKind{u.kind}, codegraph.Page{Limit: maxRefs})
		if err != nil {
			continue
		}
		names, paths := w.rankUsers(refs.Refs, how)
		says := fmt.Sprintf("%s %d: ", u.says, n)
		if how == codegraph.Guess {
			says = fmt.Sprintf("By name, perhaps %s %d: ", strings.ToLower(u.says), n)
		}
		line := says + listNames(names, n, maxUsers)
		if more := countGuesses(w.s.In, u.kind); how == codegraph.Exact && more > 0 {
			line += fmt.Sprintf("; by name, perhaps %d more", more)
		}
		if w.addLine(line) {
			w.addSources(paths)
		}
	}
	if n, how := countEdges(w.s.In, codegraph.Tests); n > 0 && how == codegraph.Exact {
		w.addLine("Tests of it: " + strconv.Itoa(n))
	}
}

// rankUsers sorts the users of a symbol: declarations before files, and code before tests.
func (w *cardWriter) rankUsers(refs []codegraph.Ref, how codegraph.How) (names, paths []string) {
	for _, tests := range []bool{false, true} {
		for _, files := range []bool{false, true} {
			for i := range refs {
				r := &refs[i]
				name := cardName(&r.From)
				if r.How == how && r.From.Test == tests && (r.From.Kind == codegraph.KindFile) == files && !slices.Contains(names, name) {
					names, paths = append(names, name), append(paths, r.Path)
				}
			}
		}
	}
	return names, paths[:min(len(paths), maxUsers)]
}

// cardName returns the name of another node in a card. A package is named by its folder.
func cardName(n *codegraph.Node) string {
	if n.Kind == codegraph.KindPackage && n.Path != "" {
		return oneLine(n.Path)
	}
	return oneLine(shortName(n))
}

// addSources adds the files that a line's content comes from.
func (w *cardWriter) addSources(paths []string) {
	for _, p := range paths {
		w.addPath(p)
	}
}

// addDependencies lists what the symbol implements, inherits from, imports and calls.
func (w *cardWriter) addDependencies() {
	for _, u := range []struct {
		kind codegraph.EdgeKind
		says string
	}{{codegraph.Implements, "Implements "}, {codegraph.Inherits, "Inherits from "}, {codegraph.DependsOn, "Imports "}, {codegraph.Calls, "Calls "}} {
		n, how := countEdges(w.s.Out, u.kind)
		var names, paths []string
		for i := range w.s.To {
			e := &w.s.To[i]
			name := cardName(&e.To)
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
		if w.addLine(says + listNames(names, n, maxUsers)) {
			w.addSources(paths[:min(len(paths), maxUsers)])
		}
	}
}

// addMembers lists the members of the symbol, exported names first.
func (w *cardWriter) addMembers() {
	if w.s.MemberAll == 0 {
		return
	}
	var names []string
	for _, seen := range []bool{true, false} {
		for i := range w.s.Members {
			if m := &w.s.Members[i]; m.Exported == seen && !m.Test {
				names = append(names, oneLine(m.Name))
			}
		}
	}
	says := "Members"
	switch {
	case w.s.Kind == codegraph.KindPackage && w.s.Members[0].Kind == codegraph.KindFile:
		w.addLine("Files: " + strconv.Itoa(w.s.MemberAll)) // the names of a package's files are not useful
		return
	case w.s.Kind == codegraph.KindFile:
		says = "Declares"
	}
	if len(names) > 0 {
		w.addLine(fmt.Sprintf("%s %d: %s", says, w.s.MemberAll, listNames(names, w.s.MemberAll, maxMembers)))
	}
}

// addDependentCount adds the number of nodes that depend on the symbol or on one of its parts.
func (w *cardWriter) addDependentCount() {
	if w.s.MemberAll == 0 {
		return
	}
	if d, err := w.v.Dependents(w.s.ID, 1, codegraph.Page{Limit: 1}); err == nil && d.Total > 0 && len(d.Dependents) > 0 {
		if d.Dependents[0].How == codegraph.Exact {
			w.addLine("Depends on it or a part of it directly: " + strconv.Itoa(d.Total))
		}
	}
}

// listNames joins the first names, at most most, and adds how many of n are left out.
func listNames(names []string, n, most int) string {
	first := names[:min(len(names), most)]
	s := strings.Join(first, ", ")
	if n > len(first) {
		s += fmt.Sprintf(" and %d more", n-len(first))
	}
	return s
}

// withCode adds cards and decisions to the candidates for the block. The best card ranks beside the best candidate, the
// second card beside the second candidate, and so on, so that both kinds get in. The order is: cards of symbols that
// the turn names, decisions, cards of neighbours. A search hit in a decision's file is left out, because it repeats the
// decision.
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
	found := map[string]bool{} // by the decision's path: a search hit was in its file
	cands = l.dropCoveredPieces(ctx, st, cands, found)
	near := slices.IndexFunc(c.cards, func(x budgeter.Candidate) bool { return x.Item.Signals[retriever.SignalDistance] > 0 })
	if near < 0 {
		near = len(c.cards)
	}
	rank := 0
	addCards := func(cards []budgeter.Candidate) {
		for _, x := range cards {
			x.Item.Fused = fused(rank)
			cands = append(cands, x)
			rank++
		}
	}
	addCards(c.cards[:near])
	for i := range c.decisions {
		g := &c.decisions[i]
		support := g.claim.Support(nil)
		d := g.candidate(rank+1, found[g.path], support.At(l.now(), l.cfg.Knowledge.DecayDays))
		d.Item.Fused = fused(rank)
		cands = append(cands, d)
		rank++
	}
	addCards(c.cards[near:])
	return cands
}

// dropCoveredPieces leaves out search hits in files whose decision is shown, and adds those files to found.
func (l *Layer) dropCoveredPieces(ctx context.Context, st *State, cands []budgeter.Candidate, found map[string]bool) []budgeter.Candidate {
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
			path := analysis.SourcePath(claim.Source)
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
