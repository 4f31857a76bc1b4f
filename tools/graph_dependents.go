package tools

import (
	"context"
	"strconv"

	"github.com/kenlayer/ken/internal/code/codegraph"
)

// graphDependentsIn are graph_dependents' arguments.
type graphDependentsIn struct {
	Name   string `json:"name" rule:"filled;chars=400" jsonschema:"a name (Shelf, store.Shelf, Shelf.View), a path, or an ID from graph_search"`
	Depth  int    `json:"depth,omitempty" rule:"min=1;max=32;default=3" jsonschema:"most steps away"`
	Limit  int    `json:"limit,omitempty" rule:"min=1;max=100;default=30"`
	Offset int    `json:"offset,omitempty" rule:"min=0;max=100000" jsonschema:"next of the page before"`
}

// DependentShown is something that depends on a node.
type DependentShown struct {
	Node Node   `json:"node"`
	Step int    `json:"steps" jsonschema:"how many edges away"`
	Kind string `json:"kind" jsonschema:"of the first edge"`
	Via  string `json:"via" jsonschema:"what that edge leads to"`
	How  string `json:"how" rule:"enum=exact|guess" jsonschema:"exact when every step is"`
}

// DependentsFound are what depends on a node, the nearest first.
type DependentsFound struct {
	Node       Node             `json:"node"`
	Dependents []DependentShown `json:"dependents"`
	Total      int              `json:"total"`
	Further    bool             `json:"further" jsonschema:"there are others further away"`
	Next       int              `json:"next,omitempty" jsonschema:"the offset of the next page; none when this is the last"`
}

// Write implements Output.
func (f *DependentsFound) Write(p *Page) {
	p.Part("what is depended on", []string{f.Node.line()})
	if f.Total == 0 {
		p.Line("Nothing in this project depends on it.")
		return
	}
	p.Line(strconv.Itoa(len(f.Dependents)) + " of " + strconv.Itoa(f.Total) + " dependents, the nearest first.")
	if f.Further {
		p.Line("There are others further away.")
	}
	if f.Next > 0 {
		p.Line("There is more: offset " + strconv.Itoa(f.Next))
	}
	var lines []string
	for i := range f.Dependents {
		d := &f.Dependents[i]
		if i > 0 && f.Dependents[i-1].Step != d.Step {
			listed(p, steps(f.Dependents[i-1].Step), lines)
			lines = nil
		}
		s := d.Node.ID
		if at := placed(d.Node.Path, d.Node.Line); at != "" {
			s += " at " + at
		}
		s += ", " + d.Kind + " " + d.Via
		if d.How != string(codegraph.Exact) {
			s += " (guess)"
		}
		lines = append(lines, s)
	}
	if n := len(f.Dependents); n > 0 {
		listed(p, steps(f.Dependents[n-1].Step), lines)
	}
}

func steps(n int) string {
	if n == 1 {
		return "1 step away"
	}
	return strconv.Itoa(n) + " steps away"
}

func graphDependents() Tool {
	return Define(Spec{Name: "graph_dependents", Title: "What a change may reach", Effect: Reads, Right: Read, Idempotent: true,
		Description: "List what depends on something in this project's code, directly or through others, the nearest first. Look here before you " +
			"change what others use.",
		Example: `{"name":"store.Shelf","depth":2}`},
		func(ctx context.Context, c *Call, in graphDependentsIn) (*DependentsFound, error) {
			code, err := c.code(ctx)
			if err != nil {
				return nil, err
			}
			if in.Limit == 0 {
				in.Limit = 30
			}
			if in.Depth == 0 {
				in.Depth = 3
			}
			deps, err := code.View().Dependents(in.Name, in.Depth, codegraph.Page{Limit: in.Limit, Offset: in.Offset})
			if err != nil {
				return nil, unnamed(err)
			}
			out := &DependentsFound{Node: showNode(&deps.Node), Dependents: []DependentShown{}, Total: deps.Total, Further: deps.More,
				Next: nextOf(in.Offset, len(deps.Dependents), deps.Total)}
			for i := range deps.Dependents {
				d := &deps.Dependents[i]
				out.Dependents = append(out.Dependents, DependentShown{showNode(&d.Node), d.Depth, string(d.Kind), lineOf(d.Via, maxID), string(d.How)})
			}
			return out, nil
		})
}
