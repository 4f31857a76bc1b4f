package structure

import (
	"cmp"
	"slices"

	"github.com/kenlayer/ken"
	"github.com/kenlayer/ken/store"
)

// Traversal is what entities bring to a turn. Everything in it passed the filter.
type Traversal struct {
	// Constraints are all rules of the focal entities, of what is one dependency away
	// in either direction, and those of no entity; the nearest first, then in the order
	// of the focal entities and by the strength of the dependency, then as of
	// store.Outline. Behind those that carry a name are, at each distance, those that
	// only say one which is no common word.
	Constraints []Constraint
	Attributes  []Attribute // best first
	// Dependencies are those of the focal entities, strongest first within each.
	Dependencies []Step
	Tasks        []Task // of the focal entities, by name; without those that are over, which have no importance
}

// Constraint is a rule that applies.
type Constraint struct {
	Ref      store.Ref
	Entity   string // whose rule it is; "" for a rule of everything
	Distance int    // 0 for a focal entity and for no entity, 1 for one hop
	Via      *Step  // the dependency that leads there; nil at distance 0
	Says     string // the name that is found in its words; "" when it carries one
}

// Attribute is a claim under an aspect of an entity.
type Attribute struct {
	Ref      store.Ref
	Entity   string
	Aspect   string  // "" for none yet
	Distance int     // 0, or 1 with Bounds.Expand
	Weight   float64 // of the aspect: see Weight
	Near     float64 // how near the entity is, 0..1: Origin.Near, and half of it one hop away
	Named    string  // the name by which the turn says it; "" when it does not
}

// Step is a dependency between a focal entity and another.
type Step struct {
	Ref      store.Ref // the claim that says so; zero for a Beside
	Focus    string
	Entity   string // the other one
	Type     string // uses, requires, owned_by, blocks or informs; of a Beside, its own
	Out      bool   // Focus depends on Entity; else the other way round
	Strength float64
}

// Task is a work item that is about a focal entity.
type Task struct {
	Ref   store.Ref
	Name  string // the task's own
	Focus string
}

// hop is what one dependency further is worth.
const hop = 0.5

func (g *Graph) traverse(w *walker, focal []Focus, beside []Beside, b Bounds) (Traversal, error) {
	var t Traversal
	names := []string{""}
	for i := range focal {
		names = append(names, focal[i].Names...)
	}
	if err := w.fetch(names, true); err != nil {
		return t, err
	}
	c := collector{w: w, t: &t, ruled: map[store.Ref]bool{}, had: map[store.Ref]bool{}, general: map[store.Ref]bool{}}
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
	steps, err := c.steps(focal, b)
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
	for i := range focal[:min(len(focal), b.Focal)] {
		f := &focal[i]
		said := ""
		if f.From.Named() {
			said = f.Said
		}
		g.attributes(&c, f.Name, f.Names, Attribute{Near: f.From.Near(), Named: said}, b)
		c.tasks(f)
	}
	if err := g.surroundings(&c, focal, steps, b); err != nil {
		return t, err
	}
	t.Attributes = g.order(t.Attributes)
	return t, nil
}

// surroundings tells the dependencies, and where they are to be expanded, the
// attributes of what they lead to.
func (g *Graph) surroundings(c *collector, focal []Focus, steps []step, b Bounds) error {
	told := map[string]int{}
	var expand []step
	for _, s := range steps {
		if s.focus == noFocus { // no claim says so: it is not told
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
		g.attributes(c, s.Entity, c.w.names(s.Entity), Attribute{Distance: 1, Near: hop * near}, b)
	}
	return nil
}

// collector gathers a traversal; what is there already is not added again.
type collector struct {
	w     *walker
	t     *Traversal
	ruled map[store.Ref]bool
	had   map[store.Ref]bool
	// general are the rules of everything.
	general map[store.Ref]bool
}

func (c *collector) constraints(entity string, names []string, distance int, via *Step) {
	for _, n := range names {
		o := c.w.at[n]
		if o == nil {
			continue
		}
		for _, ref := range o.Constraints[:len(o.Constraints)-o.Mentioned] {
			c.constraint(Constraint{Ref: ref, Entity: entity, Distance: distance, Via: via})
		}
	}
}

// mentions adds the rules that say a name of the entity. One that names nothing is a
// rule of everything, whatever it says.
func (c *collector) mentions(entity string, names []string, distance int, via *Step) {
	for _, n := range names {
		o := c.w.at[n]
		if o == nil {
			continue
		}
		for _, ref := range o.Constraints[len(o.Constraints)-o.Mentioned:] {
			if !c.general[ref] {
				c.constraint(Constraint{Ref: ref, Entity: entity, Distance: distance, Via: via, Says: n})
			}
		}
	}
}

func (c *collector) constraint(rule Constraint) {
	if !c.ruled[rule.Ref] {
		c.ruled[rule.Ref] = true
		c.t.Constraints = append(c.t.Constraints, rule)
	}
}

// step is a dependency of a focal entity, by its place, or noFocus.
type step struct {
	Step
	focus int
}

// steps are the dependencies of the focal entities to others, focal ones left out:
// by focal entity, strongest first. Each leads to an entity, whatever name of it the
// claim has.
func (c *collector) steps(focal []Focus, b Bounds) ([]step, error) {
	type raw struct {
		step
		other string
	}
	var found []raw
	var others []string
	for i := range focal {
		for _, n := range focal[i].Names {
			for l := range c.w.dependencies(n) {
				if l.Strength < b.MinStrength {
					continue
				}
				s := raw{step{Step{Ref: l.Ref, Focus: focal[i].Name, Type: l.Type, Strength: l.Strength}, i}, ""}
				switch n {
				case l.Names[0]:
					s.Out, s.other = true, l.Names[1]
				case l.Names[1]:
					s.other = l.Names[0]
				default: // a name of the claim beside its two ends
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
		for _, entity := range c.w.meant(s.other) {
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
	for _, n := range f.Names {
		o := c.w.at[n]
		if o == nil {
			continue
		}
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
