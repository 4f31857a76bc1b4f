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

// turnCode is what the code says of the symbols that a turn names.
type turnCode struct {
	cards     []budgeter.Candidate // the surest first, then what is beside them
	decisions []governing

	named  []string // names under which rules of the symbols may be filed
	beside []structure.Beside
}

// readingRounds is how often a turn looks again because files have changed under it.
const readingRounds = 3

// graph finds the symbols that the turn names, and what the code says of them as the
// files are now. A turn that names none gets nothing. The code is the project's: other
// owners than the one that has its documents get nothing of it either.
func (l *Layer) graph(ctx context.Context, st *State) error {
	c := &l.code
	if c.base == nil || !l.readsProject(st.Turn.Owner) {
		return nil
	}
	t := symbolLookup{l: l, st: st, until: time.Now().Add(editWait), renewed: map[string]bool{}}
	edited := t.edited()
	t.names = mentions(&st.Signals, l.o.Root)
	if !st.Signals.Asks || len(t.names) == 0 {
		return nil
	}
	if !c.wasRead() {
		if !l.o.Foreground {
			t.note("being read")
			return nil
		}
		if _, err := l.ReadCode(ctx); err != nil {
			return err
		}
	}
	if !t.wait(ctx, edited) {
		t.note(stillRead)
	}
	t.look(ctx)
	return nil
}

// stillRead is what a turn is told that could not wait.
const stillRead = "files have changed, and are still being read"

// symbolLookup is a turn's look at the code.
type symbolLookup struct {
	l     *Layer
	st    *State
	names []mention
	until time.Time // when the turn goes on, whatever is still to be read

	touched []string        // by tool calls
	renewed map[string]bool // read again for this turn
}

// note says in the receipt what is missing. Its cause is left to the retrieval.
func (t *symbolLookup) note(why string) {
	if d, why := &t.st.Receipt.Degraded, legGraph+": "+why; !slices.Contains(*d, why) {
		*d = append(*d, why)
	}
}

// edited has the files read that the conversation's tool calls have changed. Before all
// files are, whoever reads them in the foreground sees the changes anyway.
func (t *symbolLookup) edited() <-chan struct{} {
	c := &t.l.code
	if t.l.o.Foreground && !c.wasRead() {
		return nil
	}
	if t.touched = t.l.touched(&t.st.Turn); len(t.touched) == 0 {
		return nil
	}
	stale := c.base.Stale(t.touched...)
	if len(stale) == 0 {
		return nil
	}
	t.renew(stale)
	return c.renewal.ask(stale...)
}

func (t *symbolLookup) renew(paths []string) {
	for _, p := range paths {
		t.renewed[p] = true
	}
}

// wait waits until files were read, as long as the turn may, and reports whether they
// were.
func (t *symbolLookup) wait(ctx context.Context, done <-chan struct{}) bool {
	if done == nil {
		return true
	}
	var late <-chan time.Time
	if !t.l.o.Foreground {
		timer := time.NewTimer(time.Until(t.until))
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

// look finds what there is to say, again after files have changed under it: what a turn
// is told stands in the files as they are.
func (t *symbolLookup) look(ctx context.Context) {
	for round := 1; ; round++ {
		f := t.find()
		stale := t.l.code.base.Stale(t.fresh(f.paths())...)
		if len(stale) == 0 && (round > 1 || len(f.symbols) > 0 || !t.lookAround(ctx)) {
			t.take(f)
			return
		}
		if len(stale) == 0 {
			continue
		}
		done := t.l.code.renewal.ask(stale...)
		if slices.ContainsFunc(stale, func(p string) bool { return !slices.Contains(t.touched, p) }) {
			t.lookAround(ctx) // nobody told of it: others may have changed as well
		}
		if round == readingRounds || !t.wait(ctx, done) {
			t.note(stillRead)
			t.take(f.without(stale))
			return
		}
		t.renew(stale)
	}
}

// fresh leaves out what was read for this turn.
func (t *symbolLookup) fresh(paths []string) []string {
	return slices.DeleteFunc(paths, func(p string) bool { return t.renewed[p] })
}

// lookAround has all files looked at, now and then, where nobody follows them: after a
// change of branches, or when a name is unknown. In the foreground it waits, and reports
// that they were.
func (t *symbolLookup) lookAround(ctx context.Context) bool {
	if t.l.o.Watch && t.l.cfg.Graph.Watch {
		return false
	}
	done := t.l.code.renewal.ask()
	return done != nil && t.l.o.Foreground && t.wait(ctx, done)
}

// lookupResult is what a view of the graph has for a turn.
type lookupResult struct {
	view      *codegraph.View
	symbols   []symbol // that the turn names
	cards     []card   // of those that it is told of, and behind them of what is beside them
	beside    int      // how many of cards are of what is beside
	decisions []governing
}

func (t *symbolLookup) find() lookupResult {
	v := t.l.code.base.View()
	c := t.l.settings(t.st)
	most := c.Graph.Symbols
	f := lookupResult{view: v, symbols: resolve(v, t.names, max(most, fewest))}
	for i := range f.symbols[:min(len(f.symbols), most)] {
		if c, ok := t.l.code.cards.of(v, f.symbols[i].ID); ok {
			f.cards = append(f.cards, c)
		}
	}
	if c.Middleware.Decisions {
		f.decisions = t.l.governs(f.cards)
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
		if err != nil || f.beside == most || n.How == codegraph.Guess || n.Kind == codegraph.Defines || n.Kind == codegraph.Governs || n.Test || n.External {
			continue
		}
		if c, ok := t.l.code.cards.of(v, n.ID); ok {
			f.cards = append(f.cards, c)
			f.beside++
		}
	}
	return f
}

// paths are the files that what was found rests on, each once.
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

// filePath is the file that a node is declared in; a package has none.
func filePath(n *codegraph.Node) string {
	if n.Kind == codegraph.KindPackage || n.Kind == codegraph.KindNamespace && n.Line == 0 {
		return ""
	}
	return n.Path
}

// without leaves out what rests on files that are not as they were read.
func (f lookupResult) without(stale []string) lookupResult {
	is := func(p string) bool { return slices.Contains(stale, p) }
	f.symbols = slices.DeleteFunc(f.symbols, func(s symbol) bool { return is(filePath(&s.Node)) })
	named := len(f.cards) - f.beside
	kept := f.cards[:0:0]
	for i, c := range f.cards {
		switch {
		case !slices.ContainsFunc(c.paths, is):
			kept = append(kept, c)
		case i >= named:
			f.beside--
		}
	}
	f.cards = kept
	f.decisions = slices.DeleteFunc(f.decisions, func(g governing) bool { return is(g.path) })
	return f
}

// take hands what was found on to the stages that follow.
func (t *symbolLookup) take(f lookupResult) {
	c := turnCode{decisions: f.decisions, named: byName(f.symbols), beside: beside(f.view, f.symbols)}
	named := len(f.cards) - f.beside
	for i := range f.cards {
		distance, sure := 0, perhapsStep
		if i >= named {
			distance = 1
		} else if at := slices.IndexFunc(f.symbols, func(s symbol) bool { return s.ID == f.cards[i].item.ID }); at >= 0 {
			sure = f.symbols[at].sure
		}
		c.cards = append(c.cards, f.cards[i].candidate(i+1, distance, sure))
	}
	t.st.code = c
}

const (
	// fewest is how many symbols of a turn are looked at, even if it is told of fewer:
	// rules of theirs count all the same.
	fewest = 8
	// ambiguous is how many things a name may fit and say something.
	ambiguous = 3
	// dominating is by how much one of more things has to be used more than the next to be
	// what a name means, and by how many at least.
	dominating, dominant = 4, 10
)

// How sure it is that a turn means a symbol.
const (
	sureWhole  = 1.0 // a path, or a name with what it belongs to
	sureBare   = 0.9 // a name in code marks, or that is written like one in code
	sureOfFew  = 0.7 // one of a few things that the name fits
	sureOfMany = 0.5 // what is used far more than the others
	sureWord   = 0.4 // a word with a capital
)

// symbol is a node of the graph that a turn names.
type symbol struct {
	codegraph.Node
	sure float64
}

// mention is a name that may be one of a symbol.
type mention struct {
	name   string
	word   bool // a word of prose with a capital, and not marked as code
	member bool // it was written with a dot before it
}

// mentions are the names in a turn that may be of symbols, in the order of the signals.
func mentions(s *ken.Signals, root string) (out []mention) {
	seen := map[string]bool{}
	add := func(name string, word bool) {
		member := strings.HasPrefix(name, ".")
		if name = spelling(name, root); len(name) > 1 && !seen[name] {
			seen[name] = true
			out = append(out, mention{name, word, member})
		}
	}
	for _, name := range s.Symbols {
		add(name, false)
	}
	for _, name := range s.Entities {
		if capital(name) {
			add(name, true)
		}
	}
	return out
}

// spelling writes a name as the graph does.
func spelling(name, root string) string {
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

// capital reports one word that begins with a capital letter, as types do.
func capital(name string) bool {
	return name != "" && name[0] >= 'A' && name[0] <= 'Z' && !strings.ContainsAny(name, " \t\n'\"/-+")
}

// resolve finds the symbols that names mean, the surest first and then in the order of
// the names, at most so many.
func resolve(v *codegraph.View, names []mention, most int) []symbol {
	var out []symbol
	for _, m := range names {
		for _, s := range meant(v, m) {
			if !slices.ContainsFunc(out, func(o symbol) bool { return o.ID == s.ID }) {
				out = append(out, s)
			}
		}
	}
	slices.SortStableFunc(out, func(a, b symbol) int { return cmp.Compare(b.sure, a.sure) })
	return out[:min(len(out), most)]
}

// looked is how many of the things that a name fits are looked at.
const looked = 24

// meant are the nodes that a name means. One that fits many things says nothing, unless
// one of them is used far more than the others; a common word never does.
func meant(v *codegraph.View, m mention) []symbol {
	bare := !strings.ContainsAny(m.name, "./:")
	common := bare && reading.Common(strings.ToLower(m.name))
	if common && (m.word || strings.ToLower(m.name) == m.name) {
		return nil
	}
	found, total := v.Find(m.name, looked)
	if total > len(found) {
		found = found[:min(len(found), 2)] // the two that are used most
		total = looked
	}
	found = slices.DeleteFunc(found, func(n codegraph.Node) bool { return n.Kind == codegraph.KindDecision || beyond(&n, m.name) })
	if total < looked {
		found = narrow(found, m.member)
	}
	n := len(found)
	if n == 0 {
		return nil
	}
	sure := sureBare
	switch one := n == 1 && total < looked; {
	case m.word && (!one || !thing(found[0].Kind)), common && !one, found[0].Kind == codegraph.KindProperty && !one:
		return nil
	case m.word:
		sure = sureWord
	case one && !bare:
		sure = sureWhole
	case one:
	case total < looked && n <= ambiguous:
		sure = sureOfFew
	case found[0].In < dominant || n > 1 && found[0].In < dominating*found[1].In:
		return nil
	default:
		found, sure = found[:1], sureOfMany
	}
	out := make([]symbol, len(found))
	for i := range found {
		out[i] = symbol{found[i], sure}
	}
	return out
}

// beyond reports what only its full name means: what tests declare, and packages from
// elsewhere.
func beyond(n *codegraph.Node, name string) bool {
	return (n.Test || n.External) && n.ID != name && n.Qualified != name
}

// thing reports what a word with a capital may mean.
func thing(k codegraph.Kind) bool {
	return k == codegraph.KindType || k == codegraph.KindInterface || k == codegraph.KindFunction
}

// narrow keeps the kinds that a name rather means: a type before its method of that name,
// unless it was written as a member.
func narrow(found []codegraph.Node, member bool) []codegraph.Node {
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
