package tools

import (
	"context"
	"fmt"
	"strconv"

	"github.com/kenlayer/ken/internal/knowledge/structure/entity"
)

// entityShowIn are entity_show's arguments.
type entityShowIn struct {
	Name       string `json:"name" rule:"filled;chars=200" jsonschema:"any name of the entity"`
	Superseded bool   `json:"superseded,omitempty" jsonschema:"also show replaced claims"`
}

// Rule is a constraint that holds for an entity.
type Rule struct {
	Claim Claim  `json:"claim"`
	Via   string `json:"via,omitempty" jsonschema:"the entity one dependency away that the rule is about; none when it is this one"`
}

// AspectShown is a side of an entity.
type AspectShown struct {
	Name   string  `json:"name" jsonschema:"empty for what has no aspect yet"`
	Weight float64 `json:"weight" jsonschema:"how much it counts, 0 to 1"`
	Total  int     `json:"total" jsonschema:"how many claims are under it, rules included"`
	Claims []Claim `json:"claims" jsonschema:"without rules"`
}

// LinkShown is a dependency.
type LinkShown struct {
	Name     string  `json:"name" jsonschema:"the other end"`
	Type     string  `json:"type"`
	Strength float64 `json:"strength"`
	ID       string  `json:"id" jsonschema:"of the claim"`
	Trust    string  `json:"trust"`
}

// EntityShown is what is known of an entity.
type EntityShown struct {
	Name         string        `json:"name"`
	Display      string        `json:"display,omitempty" jsonschema:"as people write it"`
	Type         string        `json:"type"`
	About        string        `json:"about,omitempty"`
	Aliases      []string      `json:"aliases,omitempty" jsonschema:"other names of it"`
	Others       []string      `json:"others,omitempty" jsonschema:"other entities that the name may mean"`
	Records      int           `json:"records"`
	Constraints  []Rule        `json:"constraints" jsonschema:"rules that must be kept: its own, then those of what is one dependency away"`
	More         int           `json:"more_constraints,omitempty" jsonschema:"constraints that are left out here"`
	Aspects      []AspectShown `json:"aspects" jsonschema:"what counts most first"`
	Dependencies []LinkShown   `json:"dependencies" jsonschema:"what it depends on"`
	Dependents   []LinkShown   `json:"dependents" jsonschema:"what depends on it"`
	Tasks        []Task        `json:"tasks"`
	Superseded   []Claim       `json:"superseded,omitempty"`
}

// Bounds of what entity_show shows. A page of text has less room still.
const (
	maxRules      = 200
	shownAspects  = 10
	shownOfAspect = 10
	shownLinks    = 40
)

// Write implements Output.
func (s *EntityShown) Write(p *Page) {
	head := "What is known of " + s.Name + " (" + s.Type + "): " + strconv.Itoa(s.Records) + " records."
	if len(s.Aliases) > 0 {
		head += " Other names: " + names(s.Aliases) + "."
	}
	p.Line(head)
	if len(s.Others) > 0 {
		p.Line("The name may also mean " + names(s.Others) + ".")
	}
	if s.More > 0 {
		p.Line(strconv.Itoa(s.More) + " more constraints are left out.")
	}
	if s.About != "" {
		p.Part("what it is", []string{s.About})
	}
	for i := range s.Constraints {
		p.Item(&s.Constraints[i].Claim)
	}
	links(p, "depends on", s.Dependencies)
	links(p, "what depends on it", s.Dependents)
	if len(s.Tasks) > 0 {
		lines := make([]string, len(s.Tasks))
		for i := range s.Tasks {
			lines[i] = s.Tasks[i].line()
		}
		p.Part("tasks", lines)
	}
	for i := range s.Aspects {
		a := &s.Aspects[i]
		for j := range a.Claims {
			p.Item(&a.Claims[j])
		}
	}
	for i := range s.Superseded {
		p.Item(&s.Superseded[i])
	}
}

func links(p *Page, title string, all []LinkShown) {
	if len(all) == 0 {
		return
	}
	lines := make([]string, len(all))
	for i, l := range all {
		lines[i] = fmt.Sprintf("%s: %s (%.2g)", l.Type, l.Name, l.Strength)
		if l.Trust == external {
			lines[i] += " external"
		}
	}
	p.Part(title, lines)
}

func entityShow() Tool {
	return Define(Spec{Name: "entity_show", Title: "Show an entity", Effect: Reads, Right: Read, Idempotent: true,
		Description: "Show what is known of one thing: its rules and those of its neighbours, its dependencies, tasks and facts. " +
			"Look here before you change it.",
		Example: `{"name":"payments"}`},
		func(ctx context.Context, c *Call, in entityShowIn) (*EntityShown, error) {
			v, err := entity.Show(ctx, c.Store, in.Name, c.seen(), func(o *entity.Options) {
				o.Now, o.Superseded, o.Aspects, o.Attributes, o.Links = c.Now, in.Superseded, shownAspects, shownOfAspect, shownLinks
			})
			if err != nil {
				return nil, err
			}
			return c.showEntity(&v), nil
		})
}

func (c *Call) showEntity(v *entity.View) *EntityShown {
	out := &EntityShown{Name: v.Name, Display: oneLine(v.Display, maxName), Type: oneLine(v.Type, maxName), About: bounded(safe(v.About), maxItem),
		Aliases: v.Aliases, Others: v.Others, Records: v.Records, Constraints: []Rule{}, Aspects: []AspectShown{}, Dependencies: c.showLinks(v.Dependencies),
		Dependents: c.showLinks(v.Dependents), Tasks: []Task{}, More: max(0, len(v.Constraints)-maxRules)}
	for _, r := range v.Constraints[:min(len(v.Constraints), maxRules)] {
		out.Constraints = append(out.Constraints, Rule{c.show(r.Whole), r.Via})
	}
	for _, a := range v.Aspects {
		shown := AspectShown{oneLine(a.Name, maxName), a.Weight, a.Claims, []Claim{}}
		for _, k := range a.Attributes {
			shown.Claims = append(shown.Claims, c.show(k.Whole))
		}
		out.Aspects = append(out.Aspects, shown)
	}
	for _, t := range v.Tasks[:min(len(v.Tasks), shownLinks)] {
		out.Tasks = append(out.Tasks, c.showTask(t))
	}
	for _, k := range v.Superseded {
		out.Superseded = append(out.Superseded, c.show(k.Whole))
	}
	return out
}

func (c *Call) showLinks(all []entity.Dependency) []LinkShown {
	out := []LinkShown{}
	for _, d := range all {
		k := c.show(d.Claim.Whole)
		out = append(out, LinkShown{oneLine(d.Name, maxName), oneLine(d.Type, maxName), d.Strength, k.ID, k.Trust})
	}
	return out
}
