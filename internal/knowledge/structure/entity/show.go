package entity

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"strings"

	"github.com/kenlayer/ken"
	"github.com/kenlayer/ken/internal/knowledge/structure"
	"github.com/kenlayer/ken/internal/knowledge/structure/task"
	"github.com/kenlayer/ken/store"
)

// Show returns what is known of the entity that a name stands for: of the first one
// in byte order when the name is ambiguous. Constraints are all there, whatever the
// bounds. change sets options. Errors: ErrInvalid; ErrNotFound with the nearest names;
// the store's.
func Show(ctx context.Context, p store.Projections, name string, f *ken.Filter, change ...func(*Options)) (View, error) {
	if f == nil {
		f = &ken.Filter{Unscoped: true}
	}
	found, err := Find(ctx, p, name, f)
	if err != nil {
		return View{}, err
	}
	v := &viewer{ctx: ctx, p: p, f: f, o: options(change), names: found[0].Names(), seen: map[string]bool{}}
	v.view = View{Name: found[0].Name, Display: found[0].Name, Type: Unknown, Aliases: append([]string{}, found[0].Aliases...),
		Constraints: []Constraint{}, Aspects: []Aspect{}, Dependencies: []Dependency{}, Dependents: []Dependency{},
		Tasks: []task.Task{}, Evidence: map[ken.EvidenceKind]int{}, Descriptions: []Claim{}}
	for _, o := range found[1:] {
		v.view.Others = append(v.view.Others, o.Name)
	}
	if err := v.fill(); err != nil {
		return View{}, err
	}
	return v.view, nil
}

// viewer makes a view.
type viewer struct {
	ctx   context.Context
	p     store.Projections
	f     *ken.Filter
	o     Options
	names []string
	view  View
	seen  map[string]bool // claims whose evidence was counted
}

// whole is more links than there are: tasks and descriptions are among them.
const whole = 1 << 20

func (v *viewer) fill() error {
	outlines, err := v.p.Outlines(v.ctx, v.names, v.f, store.OutlineOptions{Aspects: 256, Top: v.o.Attributes, Links: whole})
	if err != nil {
		return err
	}
	for _, step := range []func([]store.Outline) error{v.links, v.rules, v.aspects, v.replaced} {
		if err := step(outlines); err != nil {
			return err
		}
	}
	return nil
}

// read reads a record once more for the view; false for one that is gone.
func (v *viewer) read(ref store.Ref) (Claim, bool, error) {
	c, err := v.p.Claim(v.ctx, ref)
	if errors.Is(err, ken.ErrNotFound) {
		return Claim{}, false, nil
	}
	if err != nil {
		return Claim{}, false, err
	}
	if !v.seen[c.ID] {
		v.seen[c.ID] = true
		for _, e := range c.Evidence {
			v.view.Evidence[e.Kind]++
		}
	}
	return v.claim(c), true, nil
}

func (v *viewer) links(outlines []store.Outline) error {
	refs := map[store.Ref]bool{}
	var out, in []store.Link
	for i := range outlines {
		v.view.Records += outlines[i].Records
		for _, l := range outlines[i].Links {
			if refs[l.Ref] {
				continue // it carries two of the names
			}
			refs[l.Ref] = true
			switch {
			case l.Kind == ken.KindDependency && len(l.Names) == 2:
				from, to := slices.Contains(v.names, l.Names[0]), slices.Contains(v.names, l.Names[1])
				if from && !to {
					out = append(out, l)
				} else if to && !from {
					in = append(in, l)
				}
			default:
				if err := v.described(l); err != nil {
					return err
				}
			}
		}
	}
	slices.SortFunc(v.view.Tasks, func(a, b task.Task) int {
		return cmp.Or(compareBool(a.Status.Over(), b.Status.Over()), cmp.Compare(task.Number(a.ID), task.Number(b.ID)))
	})
	var err error
	if v.view.Dependencies, err = v.depends(out, 1); err != nil {
		return err
	}
	v.view.Dependents, err = v.depends(in, 0)
	return err
}

// described takes in what is said of the entity itself, and tasks about it.
func (v *viewer) described(l store.Link) error {
	c, ok, err := v.read(l.Ref)
	if err != nil || !ok || len(l.Names) == 0 {
		return err
	}
	own := slices.Contains(v.names, l.Names[0])
	if t, is := task.Of(c.Whole, v.o.Now()); is && !own {
		v.view.Tasks = append(v.view.Tasks, t)
		return nil
	}
	if !own || l.Kind == ken.KindDependency {
		return nil
	}
	// The description of the name that it goes by counts; those of other names do
	// where it has none.
	if l.Kind == ken.KindEntity && (l.Names[0] == v.view.Name || v.view.Type == Unknown && v.view.About == "") {
		v.view.Type = cmp.Or(l.Type, Unknown)
		v.view.Display, v.view.About = display(c.Text, l.Names[0])
	}
	v.view.Descriptions = append(v.view.Descriptions, c)
	return nil
}

// display tells the name from what it is, as in "Payments: moves the money".
func display(text, name string) (shown, about string) {
	first, rest, both := strings.Cut(text, ":")
	if s, err := Spell(first); err == nil && s == name {
		if both {
			return strings.TrimSpace(first), strings.TrimSpace(rest)
		}
		return strings.TrimSpace(first), ""
	}
	return name, text
}

func compareBool(a, b bool) int {
	switch {
	case a == b:
		return 0
	case a:
		return 1
	}
	return -1
}

// depends makes dependencies of links: strongest first, then by name.
func (v *viewer) depends(links []store.Link, other int) ([]Dependency, error) {
	slices.SortFunc(links, func(a, b store.Link) int {
		return cmp.Or(cmp.Compare(b.Strength, a.Strength), cmp.Compare(a.Names[other], b.Names[other]), cmp.Compare(a.Type, b.Type), cmp.Compare(a.Ref, b.Ref))
	})
	out := []Dependency{}
	for _, l := range links[:min(len(links), v.o.Links)] {
		c, ok, err := v.read(l.Ref)
		if err != nil {
			return nil, err
		}
		if ok {
			out = append(out, Dependency{l.Names[other], l.Type, l.Strength, c})
		}
	}
	return out, nil
}

// rules are those that a turn about the entity has, those of everything apart, and what
// is behind dependencies that are too weak for a turn.
func (v *viewer) rules([]store.Outline) error {
	focal := []structure.Focus{{Name: v.view.Name, Names: v.names}}
	t, err := structure.New(v.p, nil).Traverse(v.ctx, focal, v.f, structure.Bounds{Aspects: 1, Attributes: 1, Dependencies: 1, MinStrength: -1})
	if err != nil {
		return err
	}
	for _, r := range t.Constraints {
		if r.Entity == "" {
			continue
		}
		c, ok, err := v.read(r.Ref)
		if err != nil {
			return err
		}
		if !ok {
			continue
		}
		rule := Constraint{Claim: c, Distance: r.Distance, Says: r.Says}
		if r.Distance > 0 {
			rule.Via = r.Entity
		}
		v.view.Constraints = append(v.view.Constraints, rule)
	}
	return nil
}

// replaced are claims about the entity that something else has replaced.
func (v *viewer) replaced([]store.Outline) error {
	if !v.o.Superseded {
		return nil
	}
	f := *v.f
	f.Statuses = []ken.Status{ken.StatusSuperseded}
	outlines, err := v.p.Outlines(v.ctx, v.names, &f, store.OutlineOptions{Aspects: 256, Top: v.o.Links, Links: 1})
	if err != nil {
		return err
	}
	seen := map[store.Ref]bool{}
	for i := range outlines {
		refs := slices.Clone(outlines[i].Constraints)
		for _, a := range outlines[i].Aspects {
			refs = append(refs, a.Top...)
		}
		for _, r := range refs {
			if seen[r] {
				continue
			}
			seen[r] = true
			c, ok, err := v.read(r)
			if err != nil {
				return err
			}
			if ok {
				v.view.Superseded = append(v.view.Superseded, c)
			}
		}
	}
	slices.SortFunc(v.view.Superseded, func(a, b Claim) int {
		return cmp.Or(b.CreatedAt.Compare(a.CreatedAt), cmp.Compare(a.ID, b.ID))
	})
	v.view.Superseded = v.view.Superseded[:min(len(v.view.Superseded), v.o.Links)]
	return nil
}
