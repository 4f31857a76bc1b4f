package middleware

import (
	"cmp"
	"context"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/kenlayer/ken"
	"github.com/kenlayer/ken/budgeter"
	"github.com/kenlayer/ken/internal/code/codegraph"
	"github.com/kenlayer/ken/internal/knowledge/structure"
	"github.com/kenlayer/ken/internal/knowledge/structure/reading"
)

// turnCode holds what the code graph knows about the symbols that a turn names.
type turnCode struct {
	cards     []budgeter.Candidate // those of named symbols first, the most certain first
	decisions []governingDecision

	named  []string // names under which rules about the symbols may be filed
	nearby []structure.Beside
}

// maxLookupRounds is how often a turn repeats its lookup because files changed during it.
const maxLookupRounds = 3

// graph looks up the symbols that the turn names, in the current state of the files. It adds
// nothing if the turn names no symbol, or if its owner may not read the project.
func (l *Layer) graph(ctx context.Context, st *State) error {
	c := &l.code
	if c.base == nil || !l.readsProject(st.Turn.Owner) {
		return nil
	}
	t := symbolLookup{l: l, st: st, deadline: time.Now().Add(editWait), refreshed: map[string]bool{}}
	edited := t.refreshEdited()
	t.names = mentions(&st.Signals, l.o.Root)
	if !st.Signals.Asks || len(t.names) == 0 {
		return nil
	}
	if !c.isLoaded() && !l.waitForCode(ctx) {
		t.degrade(causeCodeUnread)
		return nil
	}
	if !t.wait(ctx, edited) {
		t.degrade(causeCodeStale)
	}
	t.run(ctx)
	return nil
}

// waitForCode waits until the code is read, for two thirds of the turn's time at most; the rest is for the other
// stages. Reading goes on after that, for the next turn. In the background of a layer it has begun already, so no turn waits.
func (l *Layer) waitForCode(ctx context.Context) bool {
	c := &l.code
	if !l.o.Foreground {
		return false
	}
	if c.reads.CompareAndSwap(false, true) {
		l.running.Go(l.catchPanics("reading the code", func() {
			defer c.reads.Store(false)
			_, err := l.Operator().ReadCode(c.life)
			l.warn(c.life, "read the code", err)
		}))
	}
	limit := l.cfg.Retrieval.Deadline
	if end, ok := ctx.Deadline(); ok {
		limit = time.Until(end) - l.slack
	}
	select {
	case <-c.loaded:
		return true
	case <-time.After(limit * 2 / 3):
	case <-ctx.Done():
	}
	return false
}

// causeCodeUnread is reported in the receipt of a turn that names code before the code was read.
const causeCodeUnread = "being read"

// causeCodeStale is reported in the receipt of a turn that could not wait for changed files.
const causeCodeStale = "files have changed, and are still being read"

// symbolLookup is one turn's lookup in the code graph.
type symbolLookup struct {
	l        *Layer
	st       *State
	names    []mention
	deadline time.Time // the turn waits no longer for changed files

	editedPaths []string        // files that tool calls of the conversation changed
	refreshed   map[string]bool // files that were read again for this turn
}

// degrade records in the receipt what is missing. It does not set the receipt's Cause, which
// retrieval sets.
func (t *symbolLookup) degrade(why string) {
	if d, why := &t.st.Receipt.Degraded, legGraph+": "+why; !slices.Contains(*d, why) {
		*d = append(*d, why)
	}
}

// refreshEdited requests the files that the conversation's tool calls have changed. It returns nil
// if none must be read. In the foreground that is also so before the first reading of the code,
// which will read the changes anyway.
func (t *symbolLookup) refreshEdited() <-chan struct{} {
	c := &t.l.code
	if t.l.o.Foreground && !c.isLoaded() {
		return nil
	}
	if t.editedPaths = t.l.editedFiles(&t.st.Turn); len(t.editedPaths) == 0 {
		return nil
	}
	stale := c.base.Stale(t.editedPaths...)
	if len(stale) == 0 {
		return nil
	}
	t.markRefreshed(stale)
	return c.refresh.request(stale...)
}

func (t *symbolLookup) markRefreshed(paths []string) {
	for _, p := range paths {
		t.refreshed[p] = true
	}
}

// wait waits until the files were read or the turn's deadline passes. It reports whether they were
// read.
func (t *symbolLookup) wait(ctx context.Context, done <-chan struct{}) bool {
	if done == nil {
		return true
	}
	var late <-chan time.Time
	if !t.l.o.Foreground {
		timer := time.NewTimer(time.Until(t.deadline))
		defer timer.Stop()
		late = timer.C
	}
	select {
	case <-done:
		return true
	case <-late:
	case <-ctx.Done():
	}
	return false
}

// run looks up the symbols. If files changed during that, it repeats the lookup, so that the result
// matches the files.
func (t *symbolLookup) run(ctx context.Context) {
	for round := 1; ; round++ {
		f := t.find()
		stale := t.l.code.base.Stale(t.notRefreshed(f.paths())...)
		if len(stale) == 0 && (round > 1 || len(f.symbols) > 0 || !t.rescanAll(ctx)) {
			t.apply(f)
			return
		}
		if len(stale) == 0 {
			continue
		}
		done := t.l.code.refresh.request(stale...)
		if slices.ContainsFunc(stale, func(p string) bool { return !slices.Contains(t.editedPaths, p) }) {
			t.rescanAll(ctx) // nothing reported this change, so other files may have changed too
		}
		if round == maxLookupRounds || !t.wait(ctx, done) {
			t.degrade(causeCodeStale)
			t.apply(f.without(stale))
			return
		}
		t.markRefreshed(stale)
	}
}

// notRefreshed returns the paths that were not read again for this turn.
func (t *symbolLookup) notRefreshed(paths []string) []string {
	return slices.DeleteFunc(paths, func(p string) bool { return t.refreshed[p] })
}

// rescanAll requests a scan of all files, if they are not watched, but not too often. It finds
// changes such as a switch of branches, and is called when a name is unknown. In the foreground it
// waits for the scan and reports whether it ran.
func (t *symbolLookup) rescanAll(ctx context.Context) bool {
	if t.l.o.Watch && t.l.cfg.Graph.Watch {
		return false
	}
	done := t.l.code.refresh.request()
	return done != nil && t.l.o.Foreground && t.wait(ctx, done)
}

// lookupResult is the result of a lookup in one version of the graph.
type lookupResult struct {
	view        *codegraph.View
	symbols     []symbol // the symbols that the turn names
	cards       []card   // cards of those symbols, then of nearby ones
	nearbyCards int      // how many of cards, at the end, are of nearby symbols
	decisions   []governingDecision
}

func (t *symbolLookup) find() lookupResult {
	v := t.l.code.base.View()
	c := t.l.settings(t.st)
	most := c.Graph.Symbols
	f := lookupResult{view: v, symbols: resolve(v, t.names, max(most, minSymbols))}
	for i := range f.symbols[:min(len(f.symbols), most)] {
		if c, ok := t.l.code.cards.get(v, f.symbols[i].ID); ok {
			f.cards = append(f.cards, c)
		}
	}
	if c.Middleware.Decisions {
		f.decisions = t.l.governingDecisions(f.cards)
	}
	if t.st.Turn.Weight != ken.WeightHigh || len(f.cards) == 0 {
		return f
	}
	ids := make([]string, len(f.cards))
	for i := range f.cards {
		ids[i] = f.cards[i].item.ID
	}
	near, _, err := v.Neighbours(ids[:min(len(ids), codegraph.MaxNeighbourhood)], maxNeighbours)
	for i := range near {
		n := &near[i]
		if err != nil || f.nearbyCards == most || n.How == codegraph.Guess || n.Kind == codegraph.Defines || n.Kind == codegraph.Governs || n.Test || n.External {
			continue
		}
		if c, ok := t.l.code.cards.get(v, n.ID); ok {
			f.cards = append(f.cards, c)
			f.nearbyCards++
		}
	}
	return f
}

// paths returns the files that the result comes from, each once.
func (f *lookupResult) paths() (out []string) {
	for i := range f.symbols {
		out = append(out, filePath(&f.symbols[i].Node))
	}
	for i := range f.cards {
		out = append(out, f.cards[i].paths...)
	}
	for i := range f.decisions {
		out = append(out, f.decisions[i].path)
	}
	slices.Sort(out)
	return slices.Compact(out)
}

// filePath returns the file that a node is declared in; "" for a package.
func filePath(n *codegraph.Node) string {
	if n.Kind == codegraph.KindPackage || n.Kind == codegraph.KindNamespace && n.Line == 0 {
		return ""
	}
	return n.Path
}

// without leaves out results from files that have changed since they were read.
func (f lookupResult) without(stale []string) lookupResult {
	is := func(p string) bool { return slices.Contains(stale, p) }
	f.symbols = slices.DeleteFunc(f.symbols, func(s symbol) bool { return is(filePath(&s.Node)) })
	named := len(f.cards) - f.nearbyCards
	kept := f.cards[:0:0]
	for i, c := range f.cards {
		switch {
		case !slices.ContainsFunc(c.paths, is):
			kept = append(kept, c)
		case i >= named:
			f.nearbyCards--
		}
	}
	f.cards = kept
	f.decisions = slices.DeleteFunc(f.decisions, func(g governingDecision) bool { return is(g.path) })
	return f
}

// apply stores the result in the turn's state, for the later stages.
func (t *symbolLookup) apply(f lookupResult) {
	c := turnCode{decisions: f.decisions, named: ruleNames(f.symbols), nearby: nearbyThings(f.view, f.symbols)}
	named := len(f.cards) - f.nearbyCards
	for i := range f.cards {
		distance, sure := 0, guessStepScore
		if i >= named {
			distance = 1
		} else if at := slices.IndexFunc(f.symbols, func(s symbol) bool { return s.ID == f.cards[i].item.ID }); at >= 0 {
			sure = f.symbols[at].confidence
		}
		c.cards = append(c.cards, f.cards[i].candidate(i+1, distance, sure))
	}
	t.st.code = c
}

// Bounds of the symbols that a turn names.
const (
	// minSymbols is how many symbols are examined even if fewer are shown. Rules are searched for
	// all of them.
	minSymbols = 8
	// maxAmbiguous is the maximum number of symbols that one name may match; with more it means
	// none.
	maxAmbiguous = 3
	// A symbol is what an ambiguous name means if it is used at least dominantFactor times as often
	// as the next one, and at least minDominantUses times.
	dominantFactor, minDominantUses = 4, 10
)

// Confidence that a turn means a symbol, by the form of the name.
const (
	confidenceQualified = 1.0 // a path, or a qualified name
	confidenceBare      = 0.9 // a short name that is marked as code or looks like code
	confidenceAmbiguous = 0.7 // a name that matches a few symbols
	confidenceDominant  = 0.5 // a name that matches many symbols, of which one is used far more often
	confidenceWord      = 0.4 // a capitalized word of prose
)

// symbol is a node of the graph that a turn names.
type symbol struct {
	codegraph.Node
	confidence float64
}

// mention is a name that may mean a symbol.
type mention struct {
	name   string
	prose  bool // a capitalized word of prose, not marked as code
	member bool // written after a dot
}

// mentions returns the names in a turn that may mean symbols, in the order of the turn's signals.
func mentions(s *ken.Signals, root string) (out []mention) {
	seen := map[string]bool{}
	add := func(name string, word bool) {
		member := strings.HasPrefix(name, ".")
		if name = graphSpelling(name, root); len(name) > 1 && !seen[name] {
			seen[name] = true
			out = append(out, mention{name, word, member})
		}
	}
	for _, name := range s.Symbols {
		add(name, false)
	}
	for _, name := range s.Entities {
		if isCapitalized(name) {
			add(name, true)
		}
	}
	return out
}

// graphSpelling converts a name to the form that the graph uses.
func graphSpelling(name, root string) string {
	name = strings.TrimLeft(strings.TrimSpace(name), "*&.([")
	name = strings.TrimRight(name, "()[]")
	if strings.Contains(name, `\`) && !strings.Contains(name, "/") {
		name = strings.ReplaceAll(name, `\`, "/")
	}
	if rest, ok := strings.CutPrefix(name, filepath.ToSlash(root)+"/"); ok {
		name = rest
	}
	if !strings.Contains(name, "/") {
		name = strings.NewReplacer("::", ".", "#", ".", "->", ".").Replace(name)
	}
	return strings.TrimRight(name, "/")
}

// isCapitalized reports whether name is one word that begins with a capital letter, as type names
// do.
func isCapitalized(name string) bool {
	return name != "" && name[0] >= 'A' && name[0] <= 'Z' && !strings.ContainsAny(name, " \t\n'\"/-+")
}

// resolve returns the symbols that names mean, at most most. The most certain come first, then in
// the order of the names.
func resolve(v *codegraph.View, names []mention, most int) []symbol {
	var out []symbol
	for _, m := range names {
		for _, s := range nodesNamed(v, m) {
			if !slices.ContainsFunc(out, func(o symbol) bool { return o.ID == s.ID }) {
				out = append(out, s)
			}
		}
	}
	slices.SortStableFunc(out, func(a, b symbol) int { return cmp.Compare(b.confidence, a.confidence) })
	return out[:min(len(out), most)]
}

// maxNodesPerName is the maximum number of matches of one name that are examined.
const maxNodesPerName = 24

// nodesNamed returns the nodes that a name means. A name with many matches means none of them,
// unless one is used far more often than the others. A common word never means a node.
func nodesNamed(v *codegraph.View, m mention) []symbol {
	bare := !strings.ContainsAny(m.name, "./:")
	common := bare && reading.Common(strings.ToLower(m.name))
	if common && (m.prose || strings.ToLower(m.name) == m.name) {
		return nil
	}
	found, total := v.Find(m.name, maxNodesPerName)
	if total > len(found) {
		found = found[:min(len(found), 2)] // the two most used
		total = maxNodesPerName
	}
	found = slices.DeleteFunc(found, func(n codegraph.Node) bool { return n.Kind == codegraph.KindDecision || needsFullName(&n, m.name) })
	if total < maxNodesPerName {
		found = preferredKinds(found, m.member)
	}
	n := len(found)
	if n == 0 {
		return nil
	}
	sure := confidenceBare
	switch one := n == 1 && total < maxNodesPerName; {
	case m.prose && (!one || !canBeProseName(found[0].Kind)), common && !one, found[0].Kind == codegraph.KindProperty && !one:
		return nil
	case m.prose:
		sure = confidenceWord
	case one && !bare:
		sure = confidenceQualified
	case one:
	case total < maxNodesPerName && n <= maxAmbiguous:
		sure = confidenceAmbiguous
	case found[0].In < minDominantUses || n > 1 && found[0].In < dominantFactor*found[1].In:
		return nil
	default:
		found, sure = found[:1], confidenceDominant
	}
	out := make([]symbol, len(found))
	for i := range found {
		out[i] = symbol{found[i], sure}
	}
	return out
}

// needsFullName reports whether name is too short for the node: only the full name means a
// declaration in a test or an external package.
func needsFullName(n *codegraph.Node, name string) bool {
	return (n.Test || n.External) && n.ID != name && n.Qualified != name
}

// canBeProseName reports whether a capitalized word may mean a node of this kind.
func canBeProseName(k codegraph.Kind) bool {
	return k == codegraph.KindType || k == codegraph.KindInterface || k == codegraph.KindFunction
}

// preferredKinds keeps the nodes of the most likely kind. For example, it prefers a type to a
// method of the same name, unless the name was written as a member.
func preferredKinds(found []codegraph.Node, member bool) []codegraph.Node {
	rank := func(k codegraph.Kind) int {
		switch k {
		case codegraph.KindMethod:
			if member {
				return 0
			}
			return 2
		case codegraph.KindType, codegraph.KindInterface, codegraph.KindFile:
			return 0
		case codegraph.KindFunction:
			return 1
		case codegraph.KindProperty:
			return 3
		}
		return 2
	}
	best := 4
	for i := range found {
		best = min(best, rank(found[i].Kind))
	}
	return slices.DeleteFunc(slices.Clone(found), func(n codegraph.Node) bool { return rank(n.Kind) > best })
}
