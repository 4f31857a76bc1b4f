package tools

import (
	"context"
	"strconv"

	"github.com/kenlayer/ken/internal/code/codegraph"
)

// graphRefsIn are graph_refs' arguments.
type graphRefsIn struct {
	Name   string   `json:"name" rule:"filled;chars=400" jsonschema:"a name (Shelf, store.Shelf, Shelf.View), a path, or an ID from graph_search"`
	Kinds  []string `json:"kinds,omitempty" rule:"items=9;enum=implements|inherits|calls|references|imports|depends_on|tests|adr_governs|defines" jsonschema:"only these; adr_governs are decisions about it"`
	Limit  int      `json:"limit,omitempty" rule:"min=1;max=100;default=30"`
	Offset int      `json:"offset,omitempty" rule:"min=0;max=100000" jsonschema:"next of the page before"`
}

// RefShown is an edge that leads to a node.
type RefShown struct {
	Kind string `json:"kind"`
	How  string `json:"how" rule:"enum=exact|guess" jsonschema:"guess: by a name that fits; look before you rely on it"`
	Path string `json:"path,omitempty"`
	Line int    `json:"line,omitempty" jsonschema:"the first place in the file"`
	From Node   `json:"from"`
}

// RefsFound are what refers to a node.
type RefsFound struct {
	Node   Node        `json:"node"`
	Counts []EdgeCount `json:"counts"`
	Refs   []RefShown  `json:"refs"`
	Total  int         `json:"total"`
	Next   int         `json:"next,omitempty" jsonschema:"the offset of the next page; none when this is the last"`
}

// Write implements Output.
func (f *RefsFound) Write(p *Page) {
	p.Part("what is referred to", []string{f.Node.line()})
	if f.Total == 0 {
		p.Line("Nothing refers to it.")
		return
	}
	p.Line(strconv.Itoa(len(f.Refs)) + " of " + strconv.Itoa(f.Total) + " edges: " + edgeWords(f.Counts) + ".")
	if f.Next > 0 {
		p.Line("There is more: offset " + strconv.Itoa(f.Next))
	}
	var lines []string
	for i := range f.Refs {
		r := &f.Refs[i]
		if i > 0 && f.Refs[i-1].Kind != r.Kind {
			listed(p, f.Refs[i-1].Kind, lines)
			lines = nil
		}
		s := r.From.ID
		if at := placed(r.Path, r.Line); at != "" {
			s += " at " + at
		}
		if r.How != string(codegraph.Exact) {
			s += " (guess)"
		}
		lines = append(lines, s)
	}
	if n := len(f.Refs); n > 0 {
		listed(p, f.Refs[n-1].Kind, lines)
	}
}

func graphRefs() Tool {
	return Define(Spec{Name: "graph_refs", Title: "Who refers to it", Effect: Reads, Right: Read, Idempotent: true,
		Description: "List what implements, inherits, calls, references, imports, tests, governs or defines something in this project's code, with places, " +
			"as the files are now. Each edge is exact or a guess by name.",
		Example: `{"name":"store.Shelf","kinds":["calls","implements"]}`},
		func(ctx context.Context, c *Call, in graphRefsIn) (*RefsFound, error) {
			code, err := c.code(ctx)
			if err != nil {
				return nil, err
			}
			if in.Limit == 0 {
				in.Limit = 30
			}
			refs, err := code.View().Refs(in.Name, edgeKinds(in.Kinds), codegraph.Page{Limit: in.Limit, Offset: in.Offset})
			if err != nil {
				return nil, unnamed(err)
			}
			out := &RefsFound{Node: showNode(&refs.Node), Counts: countEdges(refs.Kinds), Refs: []RefShown{}, Total: refs.Total,
				Next: nextOf(in.Offset, len(refs.Refs), refs.Total)}
			for i := range refs.Refs {
				r := &refs.Refs[i]
				out.Refs = append(out.Refs, RefShown{string(r.Kind), string(r.How), lineOf(r.Path, maxID), r.Line, showNode(&r.From)})
			}
			return out, nil
		})
}
