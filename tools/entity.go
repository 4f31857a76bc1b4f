package tools

import (
	"context"
	"fmt"
	"strconv"

	"github.com/kenlayer/ken/internal/analysis"
	"github.com/kenlayer/ken/internal/knowledge/structure/entity"
)

// entitySearchIn are entity_search's arguments.
type entitySearchIn struct {
	Query  string `json:"query,omitempty" rule:"chars=200" jsonschema:"a name or part of one; default: all"`
	Limit  int    `json:"limit,omitempty" rule:"min=1;max=50;default=20"`
	Offset int    `json:"offset,omitempty" rule:"min=0;max=100000" jsonschema:"next of the page before"`
}

// entityHit is an entity that a search found.
type entityHit struct {
	Name        string   `json:"name"`
	Display     string   `json:"display,omitempty" jsonschema:"as people write it"`
	Type        string   `json:"type"`
	Of          []string `json:"of,omitempty" jsonschema:"what the name is another name of"`
	Match       string   `json:"match" rule:"enum=exact|prefix|word|part|near|any" jsonschema:"how the name matches"`
	Records     int      `json:"records" jsonschema:"how many claims are about it or mention it"`
	Constraints int      `json:"constraints,omitempty" jsonschema:"how many of these are rules"`
}

// entitySearchResult holds the entities that a search found, best first.
type entitySearchResult struct {
	Entities []entityHit `json:"entities"`
	Total    int         `json:"total"`
	Next     int         `json:"next,omitempty" jsonschema:"the offset of the next page; none when this is the last"`
}

// Write implements Output.
func (f *entitySearchResult) Write(p *Page) {
	if len(f.Entities) == 0 {
		p.Line("No entity of such a name is known.")
		return
	}
	p.Line(strconv.Itoa(len(f.Entities)) + " of " + strconv.Itoa(f.Total) + " entities, best first. See one with entity_show.")
	p.next(f.Next)
	lines := make([]string, len(f.Entities))
	for i := range f.Entities {
		e := &f.Entities[i]
		s := e.Name + " (" + e.Type + ")"
		if e.Display != "" && e.Display != e.Name {
			s = e.Display + " = " + s
		}
		if len(e.Of) > 0 {
			s += ", another name of " + nameList(e.Of)
		}
		s += ": " + strconv.Itoa(e.Records) + " records"
		if e.Constraints > 0 {
			s += ", " + strconv.Itoa(e.Constraints) + " constraints"
		}
		lines[i] = s
	}
	p.Part("entities", lines)
}

func entitySearch() Tool {
	return Define(Spec{Name: "entity_search", Title: "Find entities", Effect: Reads, Right: Read, Idempotent: true,
		Description: "Find known things (services, people, files, concepts, tools) by a name or part of one, misspelled ones too. " +
			"Then see one with entity_show.",
		Example: `{"query":"payments"}`},
		func(ctx context.Context, c *Call, in entitySearchIn) (*entitySearchResult, error) {
			found, err := entity.SearchFrom(ctx, c.Store, in.Query, c.visibleFilter(), in.Offset, in.Limit)
			if err != nil {
				return nil, err
			}
			out := &entitySearchResult{Entities: []entityHit{}, Total: found.Total, Next: nextOffset(in.Offset, len(found.Hits), found.Total)}
			for _, h := range found.Hits {
				out.Entities = append(out.Entities, entityHit{Name: h.Name, Display: oneLine(h.Display, maxName), Type: oneLine(h.Type, maxName), Of: h.Of,
					Match: h.Match, Records: h.Records, Constraints: h.Constraints})
			}
			return out, nil
		})
}

// entityShowIn are entity_show's arguments.
type entityShowIn struct {
	Name       string `json:"name" rule:"filled;chars=200" jsonschema:"any name of the entity"`
	Superseded bool   `json:"superseded,omitempty" jsonschema:"also show replaced claims"`
}

// ruleView is a constraint that holds for an entity.
type ruleView struct {
	Claim claimView `json:"claim"`
	Via   string    `json:"via,omitempty" jsonschema:"the entity one dependency away that the rule is about; none when it is this one"`
}

// aspectView is an aspect of an entity with its claims.
type aspectView struct {
	Name   string      `json:"name" jsonschema:"empty for what has no aspect yet"`
	Weight float64     `json:"weight" jsonschema:"how much it counts, 0 to 1"`
	Total  int         `json:"total" jsonschema:"how many claims are under it, rules included"`
	Claims []claimView `json:"claims" jsonschema:"without rules"`
}

// dependencyView is one dependency of an entity.
type dependencyView struct {
	Name     string  `json:"name" jsonschema:"the other end"`
	Type     string  `json:"type"`
	Strength float64 `json:"strength"`
	ID       string  `json:"id" jsonschema:"of the claim"`
	Trust    string  `json:"trust"`
}

// entityResult is everything that is known about an entity.
type entityResult struct {
	Name         string           `json:"name"`
	Display      string           `json:"display,omitempty" jsonschema:"as people write it"`
	Type         string           `json:"type"`
	About        string           `json:"about,omitempty"`
	Aliases      []string         `json:"aliases,omitempty" jsonschema:"other names of it"`
	Others       []string         `json:"others,omitempty" jsonschema:"other entities that the name may mean"`
	Records      int              `json:"records"`
	Constraints  []ruleView       `json:"constraints" jsonschema:"rules that must be kept: its own, then those of what is one dependency away"`
	More         int              `json:"more_constraints,omitempty" jsonschema:"constraints that are left out here"`
	Aspects      []aspectView     `json:"aspects" jsonschema:"what counts most first"`
	Dependencies []dependencyView `json:"dependencies" jsonschema:"what it depends on"`
	Dependents   []dependencyView `json:"dependents" jsonschema:"what depends on it"`
	Tasks        []taskView       `json:"tasks"`
	Superseded   []claimView      `json:"superseded,omitempty"`
}

// Bounds of what entity_show shows. The text form has less space.
const (
	maxRules      = 200
	shownAspects  = 10
	shownOfAspect = 10
	shownLinks    = 40
)

// Write implements Output.
func (s *entityResult) Write(p *Page) {
	head := "What is known of " + s.Name + " (" + s.Type + "): " + strconv.Itoa(s.Records) + " records."
	if len(s.Aliases) > 0 {
		head += " Other names: " + nameList(s.Aliases) + "."
	}
	p.Line(head)
	if len(s.Others) > 0 {
		p.Line("The name may also mean " + nameList(s.Others) + ".")
	}
	if s.More > 0 {
		p.Line(strconv.Itoa(s.More) + " more constraints are left out.")
	}
	if s.About != "" {
		p.Part("what it is", []string{s.About})
	}
	for i := range s.Constraints {
		p.claim(&s.Constraints[i].Claim)
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
			p.claim(&a.Claims[j])
		}
	}
	p.claims(s.Superseded)
}

func links(p *Page, title string, all []dependencyView) {
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
		func(ctx context.Context, c *Call, in entityShowIn) (*entityResult, error) {
			v, err := entity.Show(ctx, c.Store, in.Name, c.visibleFilter(), func(o *entity.Options) {
				o.Now, o.Superseded, o.Aspects, o.Attributes, o.Links = c.Now, in.Superseded, shownAspects, shownOfAspect, shownLinks
			})
			if err != nil {
				return nil, err
			}
			return c.showEntity(&v), nil
		})
}

func (c *Call) showEntity(v *entity.View) *entityResult {
	out := &entityResult{Name: v.Name, Display: oneLine(v.Display, maxName), Type: oneLine(v.Type, maxName), About: analysis.Clip(neutralize(v.About), maxItem),
		Aliases: v.Aliases, Others: v.Others, Records: v.Records, Constraints: []ruleView{}, Aspects: []aspectView{}, Dependencies: c.showLinks(v.Dependencies),
		Dependents: c.showLinks(v.Dependents), Tasks: []taskView{}, More: max(0, len(v.Constraints)-maxRules)}
	for _, r := range v.Constraints[:min(len(v.Constraints), maxRules)] {
		out.Constraints = append(out.Constraints, ruleView{c.show(r.Whole), r.Via})
	}
	for _, a := range v.Aspects {
		shown := aspectView{oneLine(a.Name, maxName), a.Weight, a.Claims, []claimView{}}
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

func (c *Call) showLinks(all []entity.Dependency) []dependencyView {
	out := []dependencyView{}
	for _, d := range all {
		k := c.show(d.Claim.Whole)
		out = append(out, dependencyView{oneLine(d.Name, maxName), oneLine(d.Type, maxName), d.Strength, k.ID, k.Trust})
	}
	return out
}
