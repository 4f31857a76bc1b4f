package entity

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"strings"
	"time"

	"github.com/kenlayer/ken"
	"github.com/kenlayer/ken/internal/knowledge/structure"
	"github.com/kenlayer/ken/internal/knowledge/structure/reading"
	"github.com/kenlayer/ken/internal/knowledge/structure/task"
	"github.com/kenlayer/ken/store"
)

// Show returns what is known about the entity that a name stands for. If the name is
// ambiguous, it is the first entity in byte order. All constraints are returned,
// whatever the limits. change sets options. Errors: ErrInvalid; ErrNotFound with the
// nearest names; the store's.
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
	if v.view.Type == Unknown && slices.ContainsFunc(v.view.Dependents, func(d Dependency) bool { return d.Type == reading.OwnedBy }) {
		v.view.Type = string(reading.Person) // also a team
	}
	v.view.Type = guessed(v.view.Type, v.view.Name)
	return v.view, nil
}

// Constraints returns all rules that a filter selects, whatever they are about. change sets
// options.
func Constraints(ctx context.Context, s store.Engine, f *ken.Filter, change ...func(*Options)) ([]Constraint, error) {
	o, out := options(change), []Constraint{}
	for c, err := range s.Scan(ctx, f, nil) {
		if err != nil {
			return nil, err
		}
		if c.Constraint && !c.Kind.Structural() {
			out = append(out, Constraint{Claim: o.claim(c)})
		}
	}
	return out, nil
}

// Dependencies returns all dependencies that a filter selects, sorted by their ends. change sets
// options; Links limits their number.
func Dependencies(ctx context.Context, s store.Engine, f *ken.Filter, change ...func(*Options)) ([]Dependency, error) {
	o, out, own := options(change), []Dependency{}, *f
	own.Kinds = []ken.Kind{ken.KindDependency}
	for c, err := range s.Scan(ctx, &own, nil) {
		if err != nil {
			return nil, err
		}
		if len(c.Entities) == 2 {
			out = append(out, Dependency{Source: c.Entities[0], Name: c.Entities[1], Type: c.Aspect, Strength: c.Importance, Claim: o.claim(c)})
		}
	}
	slices.SortFunc(out, func(a, b Dependency) int {
		return cmp.Or(cmp.Compare(a.Source, b.Source), cmp.Compare(a.Name, b.Name), cmp.Compare(a.Type, b.Type), cmp.Compare(a.Claim.ID, b.Claim.ID))
	})
	return out[:min(len(out), o.Links)], nil
}

// viewer builds a view.
type viewer struct {
	ctx   context.Context
	p     store.Projections
	f     *ken.Filter
	o     Options
	names []string
	view  View
	seen  map[string]bool // ids of claims whose evidence was counted
}

// allLinks is a limit that includes all links, which tasks and descriptions are among.
const allLinks = 1 << 20

func (v *viewer) fill() error {
	outlines, err := v.p.Outlines(v.ctx, v.names, v.f, store.OutlineOptions{Aspects: 256, Top: v.o.Attributes, Links: allLinks})
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

// readAll reads records for the view, without those that were deleted.
func (v *viewer) readAll(refs []store.Ref) ([]Claim, error) {
	out := []Claim{}
	for _, r := range refs {
		c, ok, err := v.read(r)
		if err != nil {
			return nil, err
		}
		if ok {
			out = append(out, c)
		}
	}
	return out, nil
}

// read reads a record for the view. ok is false if it was deleted.
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
	return v.o.claim(c), true, nil
}

func (v *viewer) links(outlines []store.Outline) error {
	refs := map[store.Ref]bool{}
	var out, in []store.Link
	for i := range outlines {
		v.view.Records += outlines[i].Records
		for _, l := range outlines[i].Links {
			if refs[l.Ref] {
				continue // the record has two of the names
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
	over := func(t task.Task) int {
		if t.Status.Over() {
			return 1
		}
		return 0
	}
	slices.SortFunc(v.view.Tasks, func(a, b task.Task) int {
		return cmp.Or(over(a)-over(b), cmp.Compare(task.Number(a.ID), task.Number(b.ID)))
	})
	var err error
	if v.view.Dependencies, err = v.depends(out, 1); err != nil {
		return err
	}
	v.view.Dependents, err = v.depends(in, 0)
	return err
}

// described adds descriptions of the entity itself, and tasks about it.
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
	// The description of the primary name counts. If there is none, that of another name
	// does, without that name.
	if primary := l.Names[0] == v.view.Name; l.Kind == ken.KindEntity && (primary || v.view.Type == Unknown && v.view.About == "") {
		shown, about := display(c.Text, l.Names[0])
		v.view.Type, v.view.About = cmp.Or(l.Type, Unknown), about
		if primary {
			v.view.Display = shown
		}
	}
	v.view.Descriptions = append(v.view.Descriptions, c)
	return nil
}

// display splits a description into name and text, as in "Payments: moves the money".
func display(text, name string) (shown, about string) {
	first, rest, _ := strings.Cut(text, ":")
	if s, err := Spell(first); err == nil && s == name {
		return strings.TrimSpace(first), strings.TrimSpace(rest)
	}
	return name, text
}

// depends converts links to dependencies, the strongest first, then by name.
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
			out = append(out, Dependency{Name: l.Names[other], Type: l.Type, Strength: l.Strength, Claim: c})
		}
	}
	return out, nil
}

// rules collects the rules that a turn about the entity gets, without those about
// everything, and the rules behind dependencies that are too weak for a turn.
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

// replaced collects claims about the entity that were superseded.
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
	var refs []store.Ref
	for i := range outlines {
		refs = append(refs, outlines[i].Constraints...)
		for _, a := range outlines[i].Aspects {
			refs = append(refs, a.Top...)
		}
	}
	slices.Sort(refs)
	all, err := v.readAll(slices.Compact(refs))
	if err != nil {
		return err
	}
	slices.SortFunc(all, func(a, b Claim) int {
		return cmp.Or(b.CreatedAt.Compare(a.CreatedAt), cmp.Compare(a.ID, b.ID))
	})
	v.view.Superseded = all[:min(len(all), v.o.Links)]
	return nil
}

// View is what is known about an entity. Lists are never nil.
type View struct {
	Name    string   `json:"name"`    // primary name, in the form in which names are compared
	Display string   `json:"display"` // as people write it
	Type    string   `json:"type"`    // one of Types
	About   string   `json:"about,omitempty"`
	Aliases []string `json:"aliases"`
	// Others holds other entities that the requested name stands for as well.
	Others  []string `json:"others,omitempty"`
	Records int      `json:"records"` // records with its names, links included; a record with two of its names counts twice

	Constraints  []Constraint `json:"constraints"` // its own first, then those of entities one dependency away; without rules about everything
	Aspects      []Aspect     `json:"aspects"`     // by weight
	Dependencies []Dependency `json:"dependencies"`
	Dependents   []Dependency `json:"dependents"`
	Tasks        []task.Task  `json:"tasks"` // tasks about it; those that are over are last
	// Evidence counts the pieces of evidence of the claims shown, by kind.
	Evidence map[ken.EvidenceKind]int `json:"evidence"`
	// Superseded holds claims that were superseded, if Options asks for them.
	Superseded []Claim `json:"superseded,omitempty"`

	// Descriptions holds the claims that say what it is and which other names it has.
	Descriptions []Claim `json:"descriptions"`
}

// Constraint is a rule that applies to an entity.
type Constraint struct {
	Claim
	Distance int    `json:"distance"`      // 0 for its own; 1 for rules of entities that it depends on or that depend on it
	Via      string `json:"via,omitempty"` // at distance 1, the entity that the rule is about
	// Says is the name in the rule's text that matches the entity, if the rule is filed
	// under other names.
	Says string `json:"says,omitempty"`
}

// Aspect is one aspect of an entity, with its claims.
type Aspect struct {
	Name        string  `json:"name"` // "" for claims without an aspect
	Weight      float64 `json:"weight"`
	Claims      int     `json:"claims"`      // number of claims, constraints included
	Constraints int     `json:"constraints"` // number of constraints, which are not among the attributes
	Attributes  []Claim `json:"attributes"`
}

// Dependency is a dependency of an entity, or on it.
type Dependency struct {
	Source   string  `json:"source,omitempty"` // the entity that depends; only in a list of all dependencies
	Name     string  `json:"name"`             // the other entity
	Type     string  `json:"type"`
	Strength float64 `json:"strength"`
	Claim    Claim   `json:"claim"`
}

// Options configures a view; the zero value is valid.
type Options struct {
	Now       func() time.Time  // default time.Now
	DecayDays int               // as for ken.Support.At
	Utility   structure.Utility // for the weight of aspects; may be nil

	Aspects    int // maximum number of aspects; default DefaultAspects
	Attributes int // maximum number of attributes per aspect; default DefaultAttributes
	Links      int // maximum number of dependencies in each direction; default DefaultLinks
	// Superseded also shows claims that were superseded, at most Links.
	Superseded bool
}

// Defaults of Options.
const (
	DefaultAspects    = 20
	DefaultAttributes = 20
	DefaultLinks      = 64
)

func options(change []func(*Options)) Options {
	o := Options{Aspects: DefaultAspects, Attributes: DefaultAttributes, Links: DefaultLinks}
	for _, f := range change {
		f(&o)
	}
	if o.Now == nil {
		o.Now = time.Now
	}
	return o
}

// Claim is a claim as a view shows it.
type Claim struct {
	ID         string       `json:"id"`
	Kind       ken.Kind     `json:"kind"`
	Status     ken.Status   `json:"status"`
	Tier       string       `json:"tier"`
	Trust      string       `json:"trust"`
	Text       string       `json:"text"`
	Entities   []string     `json:"entities,omitempty"`
	Aspect     string       `json:"aspect,omitempty"`
	Constraint bool         `json:"constraint,omitempty"`
	AssignedBy ken.Assigner `json:"assigned_by,omitempty"`
	Source     string       `json:"source,omitempty"`
	Scope      string       `json:"scope,omitempty"`
	CreatedAt  time.Time    `json:"created_at"`
	ExpiresAt  time.Time    `json:"expires_at,omitzero"`
	Evidence   int          `json:"evidence"` // number of pieces of evidence
	// SupersededBy is the id of the claim that replaced it.
	SupersededBy string `json:"superseded_by,omitempty"`

	// Whole is the claim itself.
	Whole ken.Claim `json:"-"`
}

func (o *Options) claim(c ken.Claim) Claim {
	support := c.Support(nil)
	return Claim{ID: c.ID, Kind: c.Kind, Status: c.Status, Tier: support.At(o.Now(), o.DecayDays).String(),
		Trust: max(support.Trust, ken.TrustExternal).String(), Text: strings.TrimSpace(c.Text), Entities: c.Entities, Aspect: c.Aspect,
		Constraint: c.Constraint, AssignedBy: c.AssignedBy, Source: cmp.Or(c.Source, c.SourceType), Scope: c.Scope.String(),
		CreatedAt: c.CreatedAt, ExpiresAt: c.ExpiresAt, Evidence: len(c.Evidence), SupersededBy: c.SupersededBy, Whole: c}
}

// aspects collects the aspects of all names of the entity, by weight, each with its
// claims.
func (v *viewer) aspects(outlines []store.Outline) error {
	var ofNames [][]store.AspectOutline
	for i := range outlines {
		ofNames = append(ofNames, outlines[i].Aspects)
	}
	list := structure.Aspects(v.view.Name, ofNames, v.o.Utility, func(a, b []store.Ref) []store.Ref { return slices.Concat(a, b) })
	for _, a := range list[:min(len(list), v.o.Aspects)] {
		claims, err := v.readAll(a.Top[:min(len(a.Top), v.o.Attributes)])
		if err != nil {
			return err
		}
		v.view.Aspects = append(v.view.Aspects, Aspect{a.Name, a.Weight, a.Claims, a.Constraints, claims})
	}
	return nil
}
