package tools

import (
	"context"
	"fmt"
	"strconv"

	"github.com/kenlayer/ken/internal/code/codebase"
	"github.com/kenlayer/ken/internal/code/codegraph"
)

// graphSearchIn are graph_search's arguments.
type graphSearchIn struct {
	Query    string   `json:"query" rule:"filled;chars=200" jsonschema:"a name or parts of one, such as Shelf, open store, store.Shelf or a path"`
	Kinds    []string `json:"kinds,omitempty" rule:"items=10;enum=file|package|namespace|type|interface|method|property|function|variable|adr" jsonschema:"only these; adr are decisions"`
	Path     string   `json:"path,omitempty" rule:"chars=400" jsonschema:"only this file or folder, from the root, or a pattern such as *.go"`
	Exported bool     `json:"exported,omitempty" jsonschema:"only what other packages or files can use"`
	Limit    int      `json:"limit,omitempty" rule:"min=1;max=50;default=20"`
	Offset   int      `json:"offset,omitempty" rule:"min=0;max=1000" jsonschema:"next of the page before"`
}

// NodesFound are what a search of the code found, best first.
type NodesFound struct {
	Nodes []Node `json:"nodes"`
	Total int    `json:"total"`
	Next  int    `json:"next,omitempty" jsonschema:"the offset of the next page; none when this is the last"`
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
		Description: "Find files, packages, types, functions, methods and decisions of this project by parts of their names, with their places. " +
			"It knows declarations as the files are now, not other text. Then see who uses one with graph_refs.",
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
			out := &NodesFound{Nodes: []Node{}, Total: found.Total, Next: nextOf(in.Offset, len(found.Results), min(found.Total, codegraph.MaxLimit))}
			for i := range found.Results {
				out.Nodes = append(out.Nodes, showNode(&found.Results[i].Node))
			}
			return out, nil
		})
}
