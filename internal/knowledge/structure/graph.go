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

// Source is what a graph reads from; store.Projections implements it for one owner.
type Source interface {
	store.Structure
	// Row is as in store.Projections.
	Row(ref store.Ref) (store.Row, bool)
}

// Utility reports how useful claims of an aspect were when shown. Implementations must
// be safe for concurrent use and answer from memory.
type Utility interface {
	// Counts returns how often claims of the entity's aspect were shown to a model, and
	// how often it used them: shown >= used >= 0. Older counts may have a lower weight.
	Counts(entity, aspect string) (shown, used float64)
}

// Graph reads one owner's structure. It has no state of its own and is safe for
// concurrent use.
type Graph struct {
	src     Source
	utility Utility
}

// New returns the graph of a source. utility may be nil.
func New(src Source, u Utility) *Graph { return &Graph{src, u} }

// Bounds limits a traversal, except for constraints. Zero values mean the defaults.
type Bounds struct {
	Focal        int     // maximum number of focal entities whose attributes are read; default DefaultFocal
	Aspects      int     // maximum number of aspects per entity; default DefaultAspects
	Attributes   int     // maximum number of attributes per aspect; default DefaultAttributes
	Dependencies int     // maximum number of dependencies per entity that are returned, and followed for attributes; default DefaultDependencies
	MinStrength  float64 // minimum strength of dependencies to follow, 0..1; 0 means DefaultMinStrength, < 0 follows all
	// Expand also reads the attributes of entities that are one dependency away from
	// those that the turn itself names.
	Expand bool
}

// Defaults of Bounds, which are those of S1's traversal.
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
	b.MinStrength = cmp.Or(b.MinStrength, DefaultMinStrength)
	return b
}

// Traverse collects what the focal entities contribute to a turn. The same store, focal
// entities, filter and bounds give the same result.
func (g *Graph) Traverse(ctx context.Context, focal []Focus, f *ken.Filter, b Bounds) (Traversal, error) {
	b = b.withDefaults()
	return g.traverse(newWalker(ctx, g.src, f, b), focal, nil, b)
}

// Look returns the entities that a turn is about, strongest first, and traverses them. The
// entities are those that its text names, those that the session carries, and its scopes
// and project. Every entity that the text names is included; see Signs for how names are
// recognised. Only links that pass the filter are followed.
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

// Clause describes how the step leads to its entity, for use after the entity's name:
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

// Resolve returns the entities that a name stands for, each as the list of its names:
// the primary one first, the others sorted. The result is one entity unless the name is
// ambiguous, and only the name itself if it is unknown. name is in the form of
// analysis.Entity. Only aliases that pass the filter are followed.
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

// DependencyTypes returns the types of dependencies. The caller owns the slice.
func DependencyTypes() []string {
	return []string{reading.Uses, reading.Requires, reading.OwnedBy, reading.Blocks, reading.Informs}
}

// DependencyKey returns the key of the claim that source depends on target in that way.
// There is one such claim in each scope, whoever writes it. Names are in the form of
// analysis.Entity.
func DependencyKey(source, typ, target string, scope ken.Scope) string {
	return Scoped("dependency:"+source+separator+typ+separator+target, scope)
}

// Scoped returns a key within a scope: what one scope says about a name must not
// overwrite what another one says. Without a scope it is the key itself.
func Scoped(key string, scope ken.Scope) string {
	if scope.IsZero() {
		return key
	}
	return key + separator + scope.String()
}

// separator separates the parts of a key. No name contains it.
const separator = "\x1f"

// Sentence returns a dependency as a sentence: payments is owned by ada.
func Sentence(source, typ, target string) string {
	if typ == reading.OwnedBy {
		typ = "is owned by"
	}
	return source + " " + typ + " " + target
}

// known fetches the names and all other names of the same entities.
func (w *walker) known(names []string, full bool) error {
	seen := make(map[string]bool, len(names))
	for len(names) > 0 {
		if err := w.fetch(names, full); err != nil {
			return err
		}
		var next []string
		for _, n := range names {
			if !seen[n] {
				seen[n] = true
				for l := range w.links(n, ken.KindAlias) {
					next = append(next, l.Names[:2]...)
				}
			}
		}
		names = next
	}
	return nil
}

// aliasTargets returns the primary names of the entities that a name stands for, sorted.
// These are the ends of its aliases, or the name itself if it is not an alias. A cycle of
// aliases is one entity, whose primary name is the first in byte order.
func (w *walker) aliasTargets(name string) []string {
	if w.hasNoAliases(name) {
		return []string{name}
	}
	if ends, ok := w.targets[name]; ok {
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
	w.targets[name] = ends
	return ends
}

// names returns all names of an entity: the primary one first, the others sorted.
func (w *walker) names(entity string) []string {
	if w.hasNoAliases(entity) {
		return []string{entity}
	}
	if out, ok := w.allNames[entity]; ok {
		return out
	}
	out := w.reach(entity, down)
	slices.Sort(out[1:])
	w.allNames[entity] = out
	return out
}

// hasNoAliases reports whether a name has no aliases, which is the usual case.
func (w *walker) hasNoAliases(name string) bool {
	o := w.at[name]
	return o == nil || len(o.aliases) == 0
}

// Directions of an alias. They index the names of its claim.
const (
	up   = 0 // to the entity that the name is an alias of
	down = 1 // to its other names
)

// next returns the names one alias away.
func (w *walker) next(name string, dir int) (out []string) {
	for l := range w.links(name, ken.KindAlias) {
		if l.Names[1-dir] == name && !slices.Contains(out, l.Names[dir]) {
			out = append(out, l.Names[dir])
		}
	}
	return out
}

// reach returns the names that can be reached by aliases, the name itself first.
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

// focal returns the entities among the mentions.
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

// anyPasses reports whether any record that passes the filter has one of the names. A
// name that only claims out of scope or disputed claims have does not count.
func (w *walker) anyPasses(names []string) bool {
	return slices.ContainsFunc(names, func(n string) bool { o := w.at[n]; return o != nil && o.Records > 0 })
}

// Understanding says how a claim was understood, for its author.
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

// Understand returns how a claim was understood.
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
