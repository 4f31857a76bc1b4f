package structure

import (
	"cmp"
	"context"
	"slices"
	"sort"
	"strings"

	"github.com/kenlayer/ken"
	"github.com/kenlayer/ken/internal/knowledge/structure/reading"
	"github.com/kenlayer/ken/store"
)

// Source is what a graph reads from: an owner's store.Projections.
type Source interface {
	store.Structure
	// Row is as of store.Projections.
	Row(ref store.Ref) (store.Row, bool)
}

// Utility knows what came of showing claims of an aspect. Implementations are safe
// for concurrent use, and answer from memory.
type Utility interface {
	// Counts returns how often claims of the entity's aspect were put before a model,
	// and how often it used them: shown >= used >= 0. Counts may be damped by age.
	Counts(entity, aspect string) (shown, used float64)
}

// Graph reads one owner's structure. It keeps no state of its own and is safe for
// concurrent use.
type Graph struct {
	src     Source
	utility Utility
}

// New returns the graph of a source. A nil utility counts nothing.
func New(src Source, u Utility) *Graph { return &Graph{src, u} }

// Bounds limit a traversal; constraints they don't limit. Zero values mean the
// defaults.
type Bounds struct {
	Focal        int     // most focal entities whose attributes are looked at; default DefaultFocal
	Aspects      int     // most aspects of an entity; default DefaultAspects
	Attributes   int     // most attributes of an aspect; default DefaultAttributes
	Dependencies int     // most dependencies of an entity that are told, and followed for attributes; default DefaultDependencies
	MinStrength  float64 // of a dependency that is followed, 0..1; 0 means DefaultMinStrength, < 0 follows all
	// Expand looks at the attributes of what is one hop from the entities that the
	// turn itself names, too.
	Expand bool
}

// Defaults of Bounds: those of S1's traversal.
const (
	DefaultFocal        = 8
	DefaultAspects      = 10
	DefaultAttributes   = 20
	DefaultDependencies = 30
	DefaultMinStrength  = 0.3
)

func (b Bounds) withDefaults() Bounds {
	for _, d := range []struct {
		n   *int
		def int
	}{{&b.Focal, DefaultFocal}, {&b.Aspects, DefaultAspects}, {&b.Attributes, DefaultAttributes}, {&b.Dependencies, DefaultDependencies}} {
		if *d.n <= 0 {
			*d.n = d.def
		}
	}
	if b.MinStrength == 0 {
		b.MinStrength = DefaultMinStrength
	}
	return b
}

// Focal returns the entities that a turn is about, strongest first: those that its
// text names, what the session carries, and its scopes and project. Every entity
// that the text names is there; see Signs for how names are told from words. Only
// links that pass the filter are followed.
func (g *Graph) Focal(ctx context.Context, s Signs, f *ken.Filter) ([]Focus, error) {
	return g.focal(newWalker(ctx, g.src, f, Bounds{}.withDefaults()), &s)
}

// Traverse collects what the focal entities bring: see Traversal. The same store,
// focal entities, filter and bounds give the same result.
func (g *Graph) Traverse(ctx context.Context, focal []Focus, f *ken.Filter, b Bounds) (Traversal, error) {
	b = b.withDefaults()
	return g.traverse(newWalker(ctx, g.src, f, b), focal, nil, b)
}

// Look is Focal and Traverse in one, which asks the store less.
func (g *Graph) Look(ctx context.Context, s Signs, f *ken.Filter, b Bounds) ([]Focus, Traversal, error) {
	b = b.withDefaults()
	w := newWalker(ctx, g.src, f, b)
	focal, err := g.focal(w, &s)
	if err != nil {
		return nil, Traversal{}, err
	}
	t, err := g.traverse(w, focal, s.Beside, b)
	return focal, t, err
}

// Clause says in words how the step leads to its entity, to stand behind its name:
// "which payments requires".
func (s *Step) Clause() string {
	switch {
	case s.Type == "owned_by" && s.Out:
		return "which owns " + s.Focus
	case s.Type == "owned_by":
		return "which " + s.Focus + " owns"
	case s.Out:
		return "which " + s.Focus + " " + strings.ReplaceAll(s.Type, "_", " ")
	}
	return "which " + strings.ReplaceAll(s.Type, "_", " ") + " " + s.Focus
}

// Resolve returns what a name stands for, spelled as analysis.Entity does: the names of
// each entity, the one that it goes by first, the others sorted. It is one entity unless
// the name is ambiguous, and the name alone where nobody knows it. Only aliases that
// pass the filter are followed.
func (g *Graph) Resolve(ctx context.Context, name string, f *ken.Filter) ([][]string, error) {
	w := newWalker(ctx, g.src, f, Bounds{}.withDefaults())
	if err := w.known([]string{name}, false); err != nil {
		return nil, err
	}
	var out [][]string
	for _, entity := range w.aliasTargets(name) {
		out = append(out, w.names(entity))
	}
	return out, nil
}

// DependencyTypes lists how one thing may depend on another. The caller owns the
// slice.
func DependencyTypes() []string {
	return []string{reading.Uses, reading.Requires, reading.OwnedBy, reading.Blocks, reading.Informs}
}

// DependencyKey is the key of the claim that source depends on target in that way, so
// that there is one in each scope, whoever writes it. Both are spelled as
// analysis.Entity does.
func DependencyKey(source, typ, target string, scope ken.Scope) string {
	return Scoped("dependency:"+source+separator+typ+separator+target, scope)
}

// Scoped is a key within a scope: what one says of a name must not overwrite what
// another does. Without a scope it is the key itself.
func Scoped(key string, scope ken.Scope) string {
	if scope.IsZero() {
		return key
	}
	return key + separator + scope.String()
}

// separator stands between the parts of a key: no name holds it.
const separator = "\x1f"

// Sentence says a dependency in words: payments is owned by ada.
func Sentence(source, typ, target string) string {
	if typ == reading.OwnedBy {
		typ = "is owned by"
	}
	return source + " " + typ + " " + target
}

// known reads the names and all that are names of the same things.
func (w *walker) known(names []string, full bool) error {
	seen := make(map[string]bool, len(names))
	var round []string
	add := func(n string) {
		if !seen[n] {
			seen[n] = true
			round = append(round, n)
		}
	}
	for _, n := range names {
		add(n)
	}
	for len(round) > 0 {
		now := round
		if err := w.fetch(now, full); err != nil {
			return err
		}
		round = nil
		for _, n := range now {
			for l := range w.aliases(n) {
				add(l.Names[0])
				add(l.Names[1])
			}
		}
	}
	return nil
}

// aliasTargets are the names of what a name is a name of: the ends of its aliases, itself
// when it is none. A circle of aliases is one thing, by its first name in byte
// order. They are sorted.
func (w *walker) aliasTargets(name string) []string {
	if w.hasNoAliases(name) {
		return []string{name}
	}
	if ends, ok := w.ends[name]; ok {
		return ends
	}
	reach := w.reach(name, up)
	var ends []string
	for _, n := range reach {
		if len(w.next(n, up)) == 0 {
			ends = append(ends, n)
		}
	}
	if ends == nil {
		least := slices.MinFunc(reach, func(a, b string) int {
			return cmp.Or(cmp.Compare(len(w.reach(a, up)), len(w.reach(b, up))), cmp.Compare(a, b))
		})
		ends = []string{least}
	}
	slices.Sort(ends)
	w.ends[name] = ends
	return ends
}

// names are all names of an entity: itself first, the others sorted.
func (w *walker) names(entity string) []string {
	if w.hasNoAliases(entity) {
		return []string{entity}
	}
	if out, ok := w.whole[entity]; ok {
		return out
	}
	out := w.reach(entity, down)
	slices.Sort(out[1:])
	w.whole[entity] = out
	return out
}

// hasNoAliases reports a name without aliases, as most are.
func (w *walker) hasNoAliases(name string) bool {
	o := w.at[name]
	return o == nil || len(o.aliases) == 0
}

// Directions of an alias.
const (
	up   = 0 // to what the name is a name of
	down = 1 // to the other names
)

// next are the names one alias away.
func (w *walker) next(name string, dir int) (out []string) {
	for l := range w.aliases(name) {
		if l.Names[1-dir] == name && !slices.Contains(out, l.Names[dir]) {
			out = append(out, l.Names[dir])
		}
	}
	return out
}

// reach are the names that aliases lead to, the name itself first.
func (w *walker) reach(name string, dir int) []string {
	out, seen := []string{name}, map[string]bool{name: true}
	for i := 0; i < len(out); i++ {
		for _, n := range w.next(out[i], dir) {
			if !seen[n] {
				seen[n] = true
				out = append(out, n)
			}
		}
	}
	return out
}

// focal finds the entities among the mentions.
func (g *Graph) focal(w *walker, s *Signs) ([]Focus, error) {
	ms := mentionsOf(s)
	names := make([]string, len(ms.list))
	for i := range ms.list {
		names[i] = ms.list[i].name
	}
	if len(names) == 0 {
		return nil, nil
	}
	var found []mention
	for i, ok := range g.src.Known(names) {
		if ok && ms.means(&ms.list[i]) {
			found = append(found, ms.list[i])
		}
	}
	sort.SliceStable(found, func(i, j int) bool { return found[i].better(&found[j]) })
	names = make([]string, len(found))
	for i := range found {
		names[i] = found[i].name
	}
	if err := w.known(names, true); err != nil {
		return nil, err
	}
	var out []Focus
	at := map[string]bool{}
	for i := range found {
		m := &found[i]
		for _, entity := range w.aliasTargets(m.name) {
			if at[entity] {
				continue
			}
			at[entity] = true
			f := Focus{Name: entity, Names: w.names(entity), From: m.from, Said: m.name}
			if w.anyPasses(f.Names) {
				out = append(out, f)
			}
		}
	}
	return out, nil
}

// anyPasses reports whether anything that passes the filter carries one of the names: a
// name that only what is out of scope, or disputed, carries is none.
func (w *walker) anyPasses(names []string) bool {
	for _, n := range names {
		if o := w.at[n]; o != nil && o.Records > 0 {
			return true
		}
	}
	return false
}

// Understanding says what was understood of a claim, for who wrote it.
type Understanding struct {
	State string   `json:"state" rule:"enum=rule|candidate|fact" jsonschema:"candidate: it may be a rule, which a person decides; it is shown as a fact until then"`
	About []string `json:"about,omitempty" jsonschema:"what it is about, the main thing first"`
	Reach string   `json:"reach" jsonschema:"in which turns it is shown"`
}

// The states of a claim.
const (
	StateRule      = "rule"
	StateCandidate = "candidate"
	StateFact      = "fact"
)

// Understand says what was understood of a claim.
func Understand(c *ken.Claim) Understanding {
	u := Understanding{State: StateFact, About: c.Entities, Reach: "turns that it bears on"}
	about := ""
	if len(c.Entities) > 0 {
		about = "every turn about " + strings.Join(c.Entities, ", ") + " and what is one dependency away"
	}
	switch {
	case c.Constraint && about == "":
		u.State, u.Reach = StateRule, "every turn, since it is about nothing in particular"
	case c.Constraint:
		u.State, u.Reach = StateRule, about
	case c.RuleCandidate && about == "":
		u.State, u.Reach = StateCandidate, "turns that it bears on; every turn, once a person approves it as a rule"
	case c.RuleCandidate:
		u.State, u.Reach = StateCandidate, "turns that name "+strings.Join(c.Entities, ", ")+", as a fact; "+about+", once a person approves it as a rule"
	}
	return u
}
