package structure

import (
	"cmp"
	"context"
	"iter"
	"slices"

	"github.com/kenlayer/ken"
	"github.com/kenlayer/ken/internal/analysis"
	"github.com/kenlayer/ken/internal/knowledge/structure/reading"
	"github.com/kenlayer/ken/store"
)

// Traversal is what the focal entities contribute to a turn. Everything in it passed the
// filter.
type Traversal struct {
	// Constraints are all rules of the focal entities, of entities one dependency away in
	// either direction, and of no entity. The nearest come first, then they are in the order
	// of the focal entities, by the strength of the dependency, and as in store.Outline. At
	// each distance, rules that have a name as their entity come before those with only the
	// name in their text; common words do not count there.
	Constraints []Constraint
	// Candidates are claims that may be rules of entities that the turn itself names, in the
	// order of the focal entities. They are no rules until a person approves them. Until
	// then they are facts with a higher rank, and are among the Attributes as well.
	Candidates []store.Ref
	Attributes []Attribute // best first
	// Dependencies are those of the focal entities, strongest first for each.
	Dependencies []Step
	Tasks        []Task // open tasks about the focal entities, by name
}

// Constraint is a rule that applies.
type Constraint struct {
	Ref      store.Ref
	Entity   string // the entity whose rule it is; "" for a rule about everything
	Distance int    // 0 for a focal entity and for no entity, 1 for an entity one dependency away
	Via      *Step  // the dependency that connects the entity; nil at distance 0
	Says     string // the name that its text has; "" if the name is one of its entities
}

// Attribute is a claim under an aspect of an entity.
type Attribute struct {
	Ref      store.Ref
	Entity   string
	Aspect   string  // "" if it has none
	Distance int     // 0, or 1 with Bounds.Expand
	Weight   float64 // weight of the aspect, see Weight
	Near     float64 // how near the entity is, 0..1: Origin.Near, and half of that one dependency away
	Named    string  // the name with which the turn names it; "" if it does not
}

// Step is a dependency between a focal entity and another.
type Step struct {
	Ref      store.Ref // the claim that states it; zero for a Beside
	Focus    string
	Entity   string // the other entity
	Type     string // uses, requires, owned_by, blocks or informs; for a Beside, its Type
	Out      bool   // Focus depends on Entity; otherwise Entity depends on Focus
	Strength float64
}

// Task is a task about a focal entity.
type Task struct {
	Ref   store.Ref
	Name  string // name of the task itself
	Focus string
}

// dependencyDecay is the factor by which nearness decreases with a dependency.
const dependencyDecay = 0.5

func (g *Graph) traverse(w *walker, focal []Focus, beside []Beside, b Bounds) (Traversal, error) {
	var t Traversal
	names := []string{""}
	for i := range focal {
		names = append(names, focal[i].Names...)
	}
	if err := w.fetch(names, true); err != nil {
		return t, err
	}
	c := collector{w: w, t: &t, addedRules: map[store.Ref]bool{}, added: map[store.Ref]bool{}, general: map[store.Ref]bool{}}
	if o := w.at[""]; o != nil {
		for _, ref := range o.Constraints {
			c.general[ref] = true
		}
	}
	for i := range focal {
		c.constraints(focal[i].Name, focal[i].Names, 0, nil)
	}
	for i := range focal {
		c.mentions(focal[i].Name, focal[i].Names, 0, nil)
	}
	c.constraints("", []string{""}, 0, nil)
	steps, err := c.steps(withoutDeeds(focal), b)
	if err != nil {
		return t, err
	}
	further, err := c.beside(beside, focal, b)
	if err != nil {
		return t, err
	}
	steps = append(steps, further...)
	for i := range steps {
		c.constraints(steps[i].Entity, w.names(steps[i].Entity), 1, &steps[i].Step)
	}
	for i := range steps {
		c.mentions(steps[i].Entity, w.names(steps[i].Entity), 1, &steps[i].Step)
	}
	for i := range focal {
		if focal[i].From.Named() || focal[i].From == FromDeed {
			c.candidates(focal[i].Names)
		}
	}
	for i := range focal[:min(len(focal), b.Focal)] {
		f := &focal[i]
		if f.From == FromDeed { // only its rules are included
			continue
		}
		like := Attribute{Near: f.From.Near()}
		if f.From.Named() {
			like.Named = f.Said
		}
		g.attributes(&c, f.Name, f.Names, like, b)
		c.tasks(f)
	}
	if err := g.neighbours(&c, focal, steps, b); err != nil {
		return t, err
	}
	t.Attributes = g.order(t.Attributes)
	return t, nil
}

// neighbours adds the dependencies and, if they are to be expanded, the attributes of the
// entities that they lead to.
func (g *Graph) neighbours(c *collector, focal []Focus, steps []step, b Bounds) error {
	told := map[string]int{}
	var expand []step
	for _, s := range steps {
		if s.focus == noFocus { // no claim states it, so it is not returned
			if b.Expand && told[""] < b.Dependencies {
				told[""]++
				expand = append(expand, s)
			}
			continue
		}
		if told[s.Focus]++; told[s.Focus] > b.Dependencies {
			continue
		}
		c.t.Dependencies = append(c.t.Dependencies, s.Step)
		if b.Expand && focal[s.focus].From.Named() && s.focus < b.Focal {
			expand = append(expand, s)
		}
	}
	var names []string
	for _, s := range expand {
		names = append(names, c.w.names(s.Entity)...)
	}
	if err := c.w.fetch(names, true); err != nil {
		return err
	}
	for _, s := range expand {
		near := FromCode.Near()
		if s.focus != noFocus {
			near = focal[s.focus].From.Near()
		}
		g.attributes(c, s.Entity, c.w.names(s.Entity), Attribute{Distance: 1, Near: dependencyDecay * near}, b)
	}
	return nil
}

// withoutDeeds returns the focal entities without the names of those that only an action
// involves. Indices do not change.
func withoutDeeds(focal []Focus) []Focus {
	out := slices.Clone(focal)
	for i := range out {
		if out[i].From == FromDeed {
			out[i].Names = nil
		}
	}
	return out
}

// collector builds a traversal; it adds each record once.
type collector struct {
	w          *walker
	t          *Traversal
	addedRules map[store.Ref]bool
	added      map[store.Ref]bool
	// general holds the rules about everything.
	general map[store.Ref]bool
}

func (c *collector) constraints(entity string, names []string, distance int, via *Step) {
	for _, o := range c.w.outlines(names) {
		for _, ref := range o.Constraints[:len(o.Constraints)-o.Mentioned] {
			c.constraint(Constraint{Ref: ref, Entity: entity, Distance: distance, Via: via})
		}
	}
}

// maxCandidates bounds the candidate rules in a turn.
const maxCandidates = 8

// candidates adds claims that may be rules of the entity.
func (c *collector) candidates(names []string) {
	for _, o := range c.w.outlines(names) {
		for _, ref := range o.Candidates {
			if len(c.t.Candidates) < maxCandidates && !c.addedRules[ref] && !slices.Contains(c.t.Candidates, ref) {
				c.t.Candidates = append(c.t.Candidates, ref)
			}
		}
	}
}

// mentions adds the rules that have a name of the entity in their text. A rule without
// entities is a rule about everything, whatever its text says.
func (c *collector) mentions(entity string, names []string, distance int, via *Step) {
	for n, o := range c.w.outlines(names) {
		for _, ref := range o.Constraints[len(o.Constraints)-o.Mentioned:] {
			if !c.general[ref] {
				c.constraint(Constraint{Ref: ref, Entity: entity, Distance: distance, Via: via, Says: n})
			}
		}
	}
}

func (c *collector) constraint(rule Constraint) {
	if !c.addedRules[rule.Ref] {
		c.addedRules[rule.Ref] = true
		c.t.Constraints = append(c.t.Constraints, rule)
	}
}

// step is a dependency with the index of its focal entity, or noFocus.
type step struct {
	Step
	focus int
}

// steps returns the dependencies between focal entities and others, by focal entity,
// strongest first. Each has the primary name of its entity, whatever name the claim has.
func (c *collector) steps(focal []Focus, b Bounds) ([]step, error) {
	type raw struct {
		step
		other string
	}
	var found []raw
	var others []string
	for i := range focal {
		for _, n := range focal[i].Names {
			for l := range c.w.links(n, ken.KindDependency) {
				if l.Strength < b.MinStrength {
					continue
				}
				s := raw{step{Step{Ref: l.Ref, Focus: focal[i].Name, Type: l.Type, Strength: l.Strength}, i}, ""}
				switch n {
				case l.Names[0]:
					s.Out, s.other = true, l.Names[1]
				case l.Names[1]:
					s.other = l.Names[0]
				default: // a name of the claim other than its two ends
					continue
				}
				if !slices.Contains(focal[i].Names, s.other) {
					found, others = append(found, s), append(others, s.other)
				}
			}
		}
	}
	if err := c.w.known(others, false); err != nil {
		return nil, err
	}
	out := make([]step, 0, len(found))
	for _, s := range found {
		for _, entity := range c.w.aliasTargets(s.other) {
			s.Entity = entity
			out = append(out, s.step)
		}
	}
	slices.SortFunc(out, func(a, b step) int {
		return cmp.Or(cmp.Compare(a.focus, b.focus), cmp.Compare(b.Strength, a.Strength), cmp.Compare(a.Entity, b.Entity),
			cmp.Compare(a.Type, b.Type), cmp.Compare(a.Ref, b.Ref))
	})
	out = slices.CompactFunc(out, func(a, b step) bool { return a.Step == b.Step })
	return out, nil
}

func (c *collector) tasks(f *Focus) {
	from := len(c.t.Tasks)
	seen := map[store.Ref]bool{}
	for _, o := range c.w.outlines(f.Names) {
		for i := range o.Links {
			l := &o.Links[i]
			if l.Kind == ken.KindEntity && l.Type == "task" && l.Strength > 0 && len(l.Names) > 0 && !seen[l.Ref] {
				seen[l.Ref] = true
				c.t.Tasks = append(c.t.Tasks, Task{l.Ref, l.Names[0], f.Name})
			}
		}
	}
	slices.SortFunc(c.t.Tasks[from:], func(a, b Task) int { return cmp.Or(cmp.Compare(a.Name, b.Name), cmp.Compare(a.Ref, b.Ref)) })
}

// allLinks is more links than any entity has, since rules follow every link.
const allLinks = 1 << 20

// manyAspects is how many aspects of a name are weighed. The index returns those with most
// claims, but the weight decides.
const manyAspects = 256

// walker reads outlines and caches them.
type walker struct {
	ctx  context.Context
	src  Source
	f    *ken.Filter
	full store.OutlineOptions
	at   map[string]*outline

	targets  map[string][]string // see aliasTargets
	allNames map[string][]string // see names
}

// outline is the outline of a name. full says whether all of it was read.
type outline struct {
	store.Outline
	full    bool
	aliases []store.Link // part of Links
}

func newWalker(ctx context.Context, src Source, f *ken.Filter, b Bounds) *walker {
	if f == nil {
		f = &ken.Filter{}
	}
	return &walker{ctx: ctx, src: src, f: f, at: map[string]*outline{}, targets: map[string][]string{}, allNames: map[string][]string{},
		full: store.OutlineOptions{Aspects: manyAspects, Top: b.Attributes, Links: allLinks}}
}

// fetch reads the outlines that are missing, in one call. A full outline has more than rules
// and aliases. It includes rules whose text has the name, unless the name is a common word:
// a rule may be older than a name in its text, or filed under another name.
func (w *walker) fetch(names []string, full bool) error {
	var want []string
	for _, n := range names {
		if o := w.at[n]; o == nil || full && !o.full {
			want = append(want, n)
		}
	}
	if len(want) == 0 {
		return nil
	}
	slices.Sort(want)
	want = slices.Compact(want)
	o := w.full
	for _, n := range want {
		if !reading.Common(n) {
			o.Mentioned = append(o.Mentioned, n)
		}
	}
	if !full {
		o.Brief = true
	}
	got, err := w.src.Outlines(w.ctx, want, w.f, o)
	if err != nil {
		return err
	}
	all := make([]outline, len(want))
	for i, n := range want {
		all[i].full = full
		if i < len(got) {
			all[i].set(got[i])
		}
		w.at[n] = &all[i]
	}
	return nil
}

func (o *outline) set(got store.Outline) {
	o.Outline = got
	if i := slices.IndexFunc(got.Links, func(l store.Link) bool { return l.Kind == ken.KindAlias }); i >= 0 { // aliases are last
		o.aliases = got.Links[i:]
	}
}

// outlines yields names with their outlines, as far as these were read.
func (w *walker) outlines(names []string) iter.Seq2[string, *outline] {
	return func(yield func(string, *outline) bool) {
		for _, n := range names {
			if o := w.at[n]; o != nil && !yield(n, o) {
				return
			}
		}
	}
}

// links yields the aliases or the dependencies of a name that connect two names.
func (w *walker) links(name string, kind ken.Kind) iter.Seq[*store.Link] {
	return func(yield func(*store.Link) bool) {
		o := w.at[name]
		if o == nil {
			return
		}
		links := o.Links
		if kind == ken.KindAlias {
			links = o.aliases
		}
		for i := range links {
			if l := &links[i]; l.Kind == kind && len(l.Names) >= 2 && l.Names[0] != l.Names[1] && !yield(l) {
				return
			}
		}
	}
}

// Beside is a thing that is connected to one that the turn names, by something other than a
// claim, such as a call in the code. It counts as one dependency away for the duration of
// the turn.
type Beside struct {
	Focus    string   // the thing that the turn names, in the form to show
	Names    []string // names of the connected thing, in any spelling; those that claims have count
	Type     string   // kind of connection: "calls"
	Out      bool     // Focus calls it; otherwise it calls Focus
	Strength float64  // 0..1, as for a dependency
}

// noFocus is the index in a step without a focal entity.
const noFocus = -1

// beside returns steps to things that are connected to the turn's names, the strongest
// first, then in their order. Each entity is returned once, and focal ones are left out.
func (c *collector) beside(list []Beside, focal []Focus, b Bounds) ([]step, error) {
	type raw struct {
		at   int
		name string
	}
	var all []raw
	var names []string
	for i := range list {
		if list[i].Strength < b.MinStrength {
			continue
		}
		for _, n := range list[i].Names {
			if n = analysis.Entity(n); n != "" {
				all, names = append(all, raw{i, n}), append(names, n)
			}
		}
	}
	if len(all) == 0 {
		return nil, nil
	}
	known := all[:0]
	var wanted []string
	for i, ok := range c.w.src.Known(names) {
		if ok {
			known, wanted = append(known, all[i]), append(wanted, all[i].name)
		}
	}
	if err := c.w.known(wanted, false); err != nil {
		return nil, err
	}
	var out []step
	for _, r := range known {
		l := &list[r.at]
		for _, entity := range c.w.aliasTargets(r.name) {
			if !slices.ContainsFunc(focal, func(f Focus) bool { return f.Name == entity }) {
				out = append(out, step{Step{Focus: l.Focus, Entity: entity, Type: l.Type, Out: l.Out, Strength: l.Strength}, noFocus})
			}
		}
	}
	slices.SortStableFunc(out, func(a, b step) int { return cmp.Compare(b.Strength, a.Strength) })
	seen := map[string]bool{}
	return slices.DeleteFunc(out, func(s step) bool {
		was := seen[s.Entity]
		seen[s.Entity] = true
		return was
	}), nil
}

// Weight returns the weight of an aspect among those of its entity, 0..1:
//
//	weight      = centrality/2 + utility/2
//	centrality  = degree of the aspect / largest degree of the entity's aspects
//	degree      = other names that its claims carry + constraints under it
//	utility     = (used + 1) / (shown + 2)
//
// Centrality is degree centrality (L. C. Freeman, Centrality in social networks: conceptual
// clarification, Social Networks 1, 1979). An aspect that connects its entity to many
// others, or that has many rules, is central to it. Freeman divides by the largest possible
// degree. This function divides by the largest actual degree, so that entities of any size
// can be compared. The number of claims of an aspect does not count, since claims that are
// repeated often are not more important.
//
// Utility is the posterior mean with a Beta prior with both parameters 1 (Laplace's rule of
// succession): the probability that a model uses a claim of the aspect that it is shown. It
// is 0.5 if none was shown.
//
// Claims without an aspect have no centrality.
func Weight(a *store.AspectOutline, largest int, shown, used float64) float64 {
	centrality := 0.0
	if d := degree(a); d > 0 && largest > 0 {
		centrality = min(1, float64(d)/float64(largest))
	}
	used = max(0, used)
	shown = max(used, shown)
	return centrality/2 + (used+1)/(shown+2)/2
}

// degree returns the degree of an aspect; see Weight.
func degree(a *store.AspectOutline) int {
	if a.Name == "" {
		return 0
	}
	return a.Others + a.Constraints
}
