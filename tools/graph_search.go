package tools

import (
	"context"
	"fmt"
	"strconv"

	"github.com/kenlayer/ken/codebase"
	"github.com/kenlayer/ken/codegraph"
)

// graphSearchIn are graph_search's arguments.
type graphSearchIn struct {
	Query    string   `json:"query" rule:"filled;chars=200" jsonschema:"a name or parts of one: Shelf, open store, store.Shelf, an ID, a path"`
	Kinds    []string `json:"kinds,omitempty" rule:"items=10;enum=file|package|namespace|type|interface|method|property|function|variable|adr" jsonschema:"only these; adr are decisions"`
	Path     string   `json:"path,omitempty" rule:"chars=400" jsonschema:"only what lies in this file or folder, from the root, or in files of such a pattern as *.go"`
	Exported bool     `json:"exported,omitempty" jsonschema:"only what can be seen from outside of its package or file"`
	Limit    int      `json:"limit,omitempty" rule:"min=1;max=50;default=20" jsonschema:"the most to list"`
	Offset   int      `json:"offset,omitempty" rule:"min=0;max=1000" jsonschema:"how many to leave out at the beginning: next of the list before"`
}

// NodesFound are what a search of the code found, best first.
type NodesFound struct {
	Nodes []Node `json:"nodes"`
	Total int    `json:"total"`
	Next  int    `json:"next,omitempty" jsonschema:"the offset of the next page; none when this is the last"`
	Note  string `json:"note"`
}

// Write implements Output.
func (f *NodesFound) Write(p *Page) {
	if len(f.Nodes) == 0 {
		p.Line("Nothing in the code has such a name. Try a part of it, or fewer words.")
		return
	}
	p.Line(strconv.Itoa(len(f.Nodes)) + " of " + strconv.Itoa(f.Total) + " names, best first. See who refers to one with graph_refs.")
	if f.Next > 0 {
		p.Line("There is more: offset " + strconv.Itoa(f.Next))
	}
	lines := make([]string, len(f.Nodes))
	for i := range f.Nodes {
		lines[i] = fmt.Sprintf("%s (%d edges in)", f.Nodes[i].line(), f.Nodes[i].Uses)
	}
	listed(p, "in the code", lines)
}

func graphSearch() Tool {
	return Define(Spec{Name: "graph_search", Title: "Search the code", Effect: Reads, Right: Read, Idempotent: true,
		Description: "Find files, packages, types, functions, methods and decisions of this project by parts of their names, with the place of each. It knows what " +
			"is declared, as the files are now; it does not read texts. Then graph_refs tells who uses one.",
		Example: `{"query":"open store","kinds":["function"]}`},
		func(ctx context.Context, c *Call, in graphSearchIn) (*NodesFound, error) {
			code, err := c.code(ctx)
			if err != nil {
				return nil, err
			}
			if in.Limit == 0 {
				in.Limit = 20
			}
			found := codebase.Search(code.View(), codebase.Query{Words: in.Query, Kinds: nodeKinds(in.Kinds), Path: in.Path, Exported: in.Exported},
				codegraph.Page{Limit: in.Limit, Offset: in.Offset})
			out := &NodesFound{Nodes: []Node{}, Total: found.Total, Next: nextOf(in.Offset, len(found.Results), min(found.Total, codegraph.MaxLimit)), Note: note}
			for i := range found.Results {
				out.Nodes = append(out.Nodes, showNode(&found.Results[i].Node))
			}
			return out, nil
		})
}
