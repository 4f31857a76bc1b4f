package tools

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/kenlayer/ken"
	"github.com/kenlayer/ken/internal/code/codebase"
	"github.com/kenlayer/ken/internal/code/codegraph"
)

// nodeView is the form of a symbol, file or decision of the project in answers.
type nodeView struct {
	ID        string `json:"id" jsonschema:"names it in other calls"`
	Kind      string `json:"kind"`
	Path      string `json:"path,omitempty"`
	Line      int    `json:"line,omitempty"`
	Signature string `json:"signature,omitempty" jsonschema:"of a decision, its title"`
	Uses      int    `json:"edges_in" jsonschema:"how many edges lead to it: how much hangs on it"`
	Test      bool   `json:"test,omitempty" jsonschema:"only tests declare it"`
	External  bool   `json:"external,omitempty" jsonschema:"it is not in this project"`
}

// Bounds in code points of what is shown of code.
const (
	maxID        = 400
	maxSignature = 200
)

func showNode(n *codegraph.Node) nodeView {
	return nodeView{ID: fileLine(n.ID, maxID), Kind: string(n.Kind), Path: fileLine(n.Path, maxID), Line: n.Line, Signature: fileLine(n.Signature, maxSignature),
		Uses: n.In, Test: n.Test, External: n.External}
}

func (n *nodeView) line() string {
	s := n.ID
	if at := location(n.Path, n.Line); at != "" {
		s += " at " + at
	}
	if n.Signature != "" {
		s += ": " + n.Signature
	}
	return s
}

func location(path string, line int) string {
	if line == 0 {
		return path
	}
	return path + ":" + strconv.Itoa(line)
}

// edgeCount counts the edges of one kind.
type edgeCount struct {
	Kind    string `json:"kind"`
	Exact   int    `json:"exact" jsonschema:"by syntax, types or a compiler's index"`
	Guesses int    `json:"guesses" jsonschema:"by a name that fits"`
}

func countEdges(counts []codegraph.KindCount) []edgeCount {
	out := make([]edgeCount, len(counts))
	for i, c := range counts {
		out[i] = edgeCount{string(c.Kind), c.Exact, c.Guesses}
	}
	return out
}

func edgeWords(counts []edgeCount) string {
	parts := make([]string, len(counts))
	for i, c := range counts {
		parts[i] = fmt.Sprintf("%d %s", c.Exact+c.Guesses, c.Kind)
		if c.Guesses > 0 {
			parts[i] += fmt.Sprintf(" (%d guessed)", c.Guesses)
		}
	}
	return strings.Join(parts, ", ")
}

// nextOffset returns the offset of the next page; 0 if there is none.
func nextOffset(offset, shown, total int) int {
	if n := offset + shown; shown > 0 && n < total {
		return n
	}
	return 0
}

// nameError adds advice for the model to an error about an unknown or ambiguous name.
func nameError(err error) error {
	var e *ken.Error
	if !errors.As(err, &e) || e.Field != "id" {
		return err
	}
	told := *e
	told.Field = "name"
	if e.Code == ken.CodeNotFound {
		told.Try = "Find it by a part of its name with graph_search."
	}
	return &told
}

// addList adds lines under a title, a few at a time, so that some are shown even if not all fit.
func addList(p *Page, title string, lines []string) {
	for some := range slices.Chunk(lines, 6) {
		p.Part(title, some)
	}
}

// graphSearchIn are graph_search's arguments.
type graphSearchIn struct {
	Query    string   `json:"query" rule:"filled;chars=200" jsonschema:"a name or parts of one, such as Shelf, open store, store.Shelf or a path"`
	Kinds    []string `json:"kinds,omitempty" rule:"items=10;enum=file|package|namespace|type|interface|method|property|function|variable|adr" jsonschema:"only these; adr are decisions"`
	Path     string   `json:"path,omitempty" rule:"chars=400" jsonschema:"only this file or folder, from the root, or a pattern such as *.go"`
	Exported bool     `json:"exported,omitempty" jsonschema:"only what other packages or files can use"`
	Limit    int      `json:"limit,omitempty" rule:"min=1;max=50;default=20"`
	Offset   int      `json:"offset,omitempty" rule:"min=0;max=1000" jsonschema:"next of the page before"`
}

// graphSearchResult holds the symbols that a search found, best first.
type graphSearchResult struct {
	Nodes []nodeView `json:"nodes"`
	Total int        `json:"total"`
	Next  int        `json:"next,omitempty" jsonschema:"the offset of the next page; none when this is the last"`
}

// Write implements Output.
func (f *graphSearchResult) Write(p *Page) {
	if len(f.Nodes) == 0 {
		p.Line("Nothing in the code has such a name. Try a part of it, or fewer words.")
		return
	}
	p.Line(strconv.Itoa(len(f.Nodes)) + " of " + strconv.Itoa(f.Total) + " names, best first. See who refers to one with graph_refs.")
	p.next(f.Next)
	lines := make([]string, len(f.Nodes))
	for i := range f.Nodes {
		lines[i] = fmt.Sprintf("%s (%d edges in)", f.Nodes[i].line(), f.Nodes[i].Uses)
	}
	addList(p, "in the code", lines)
}

func graphSearch() Tool {
	return Define(Spec{Name: "graph_search", Title: "Search the code", Effect: Reads, Right: Read, Idempotent: true,
		Description: "Find files, packages, types, functions, methods and decisions of this project by parts of their names, with their places. " +
			"It knows declarations as the files are now, not other text. Then see who uses one with graph_refs.",
		Example: `{"query":"open store","kinds":["function"]}`},
		func(ctx context.Context, c *Call, in graphSearchIn) (*graphSearchResult, error) {
			code, err := c.code(ctx)
			if err != nil {
				return nil, err
			}
			found := codebase.Search(code.View(), codebase.Query{Words: in.Query, Kinds: named[codegraph.Kind](in.Kinds), Path: in.Path, Exported: in.Exported},
				codegraph.Page{Limit: in.Limit, Offset: in.Offset})
			out := &graphSearchResult{Nodes: []nodeView{}, Total: found.Total, Next: nextOffset(in.Offset, len(found.Results), min(found.Total, codegraph.MaxLimit))}
			for i := range found.Results {
				out.Nodes = append(out.Nodes, showNode(&found.Results[i].Node))
			}
			return out, nil
		})
}

// graphRefsIn are graph_refs' arguments.
type graphRefsIn struct {
	Name   string   `json:"name" rule:"filled;chars=400" jsonschema:"a name (Shelf, store.Shelf, Shelf.View), a path, or an ID from graph_search"`
	Kinds  []string `json:"kinds,omitempty" rule:"items=9;enum=implements|inherits|calls|references|imports|depends_on|tests|adr_governs|defines" jsonschema:"only these; adr_governs are decisions about it"`
	Limit  int      `json:"limit,omitempty" rule:"min=1;max=100;default=30"`
	Offset int      `json:"offset,omitempty" rule:"min=0;max=100000" jsonschema:"next of the page before"`
}

// refView is an edge to a node.
type refView struct {
	Kind string   `json:"kind"`
	How  string   `json:"how" rule:"enum=exact|guess" jsonschema:"guess: by a name that fits; look before you rely on it"`
	Path string   `json:"path,omitempty"`
	Line int      `json:"line,omitempty" jsonschema:"the first place in the file"`
	From nodeView `json:"from"`

	Times int `json:"times,omitempty" jsonschema:"how many such places there are; none when nobody counted"`
}

// graphRefsResult holds the edges that lead to a node.
type graphRefsResult struct {
	Node   nodeView    `json:"node"`
	Counts []edgeCount `json:"counts"`
	Refs   []refView   `json:"refs"`
	Total  int         `json:"total"`
	Next   int         `json:"next,omitempty" jsonschema:"the offset of the next page; none when this is the last"`
}

// Write implements Output.
func (f *graphRefsResult) Write(p *Page) {
	p.Part("what is referred to", []string{f.Node.line()})
	if f.Total == 0 {
		p.Line("Nothing refers to it.")
		return
	}
	p.Line(strconv.Itoa(len(f.Refs)) + " of " + strconv.Itoa(f.Total) + " edges: " + edgeWords(f.Counts) + ".")
	p.next(f.Next)
	addGroups(p, f.Refs, func(r *refView) (group, line string) {
		s := r.From.ID
		if at := location(r.Path, r.Line); at != "" {
			s += " at " + at
		}
		if r.Times > 1 {
			s += " and " + strconv.Itoa(r.Times-1) + " more there"
		}
		if r.How != string(codegraph.Exact) {
			s += " (guess)"
		}
		return r.Kind, s
	})
}

// addGroups adds a list for each run of entries with the same group.
func addGroups[T any](p *Page, list []T, show func(*T) (group, line string)) {
	last, lines := "", []string(nil)
	for i := range list {
		group, line := show(&list[i])
		if group != last {
			addList(p, last, lines)
			last, lines = group, nil
		}
		lines = append(lines, line)
	}
	addList(p, last, lines)
}

func graphRefs() Tool {
	return Define(Spec{Name: "graph_refs", Title: "Who refers to it", Effect: Reads, Right: Read, Idempotent: true,
		Description: "List what implements, inherits, calls, references, imports, tests, governs or defines something in this project's code, with places, " +
			"as the files are now. Each edge is exact or a guess by name.",
		Example: `{"name":"store.Shelf","kinds":["calls","implements"]}`},
		func(ctx context.Context, c *Call, in graphRefsIn) (*graphRefsResult, error) {
			code, err := c.code(ctx)
			if err != nil {
				return nil, err
			}
			refs, err := code.View().Refs(in.Name, named[codegraph.EdgeKind](in.Kinds), codegraph.Page{Limit: in.Limit, Offset: in.Offset})
			if err != nil {
				return nil, nameError(err)
			}
			out := &graphRefsResult{Node: showNode(&refs.Node), Counts: countEdges(refs.Kinds), Refs: []refView{}, Total: refs.Total,
				Next: nextOffset(in.Offset, len(refs.Refs), refs.Total)}
			for i := range refs.Refs {
				r := &refs.Refs[i]
				out.Refs = append(out.Refs, refView{string(r.Kind), string(r.How), fileLine(r.Path, maxID), r.Line, showNode(&r.From), r.Times})
			}
			return out, nil
		})
}

// graphDependentsIn are graph_dependents' arguments.
type graphDependentsIn struct {
	Name   string `json:"name" rule:"filled;chars=400" jsonschema:"a name (Shelf, store.Shelf, Shelf.View), a path, or an ID from graph_search"`
	Depth  int    `json:"depth,omitempty" rule:"min=1;max=32;default=3" jsonschema:"most steps away"`
	Limit  int    `json:"limit,omitempty" rule:"min=1;max=100;default=30"`
	Offset int    `json:"offset,omitempty" rule:"min=0;max=100000" jsonschema:"next of the page before"`
}

// dependentView is something that depends on a node.
type dependentView struct {
	Node nodeView `json:"node"`
	Step int      `json:"steps" jsonschema:"how many edges away"`
	Kind string   `json:"kind" jsonschema:"of the first edge"`
	Via  string   `json:"via" jsonschema:"what that edge leads to"`
	How  string   `json:"how" rule:"enum=exact|guess" jsonschema:"exact when every step is"`
}

// graphDependentsResult holds the dependents of a node, the nearest first.
type graphDependentsResult struct {
	Node       nodeView        `json:"node"`
	Dependents []dependentView `json:"dependents"`
	Total      int             `json:"total"`
	Further    bool            `json:"further" jsonschema:"there are others further away"`
	Next       int             `json:"next,omitempty" jsonschema:"the offset of the next page; none when this is the last"`
}

// Write implements Output.
func (f *graphDependentsResult) Write(p *Page) {
	p.Part("what is depended on", []string{f.Node.line()})
	if f.Total == 0 {
		p.Line("Nothing in this project depends on it.")
		return
	}
	p.Line(strconv.Itoa(len(f.Dependents)) + " of " + strconv.Itoa(f.Total) + " dependents, the nearest first.")
	if f.Further {
		p.Line("There are others further away.")
	}
	p.next(f.Next)
	addGroups(p, f.Dependents, func(d *dependentView) (group, line string) {
		s := d.Node.ID
		if at := location(d.Node.Path, d.Node.Line); at != "" {
			s += " at " + at
		}
		s += ", " + d.Kind + " " + d.Via
		if d.How != string(codegraph.Exact) {
			s += " (guess)"
		}
		return steps(d.Step), s
	})
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
		func(ctx context.Context, c *Call, in graphDependentsIn) (*graphDependentsResult, error) {
			code, err := c.code(ctx)
			if err != nil {
				return nil, err
			}
			deps, err := code.View().Dependents(in.Name, in.Depth, codegraph.Page{Limit: in.Limit, Offset: in.Offset})
			if err != nil {
				return nil, nameError(err)
			}
			out := &graphDependentsResult{Node: showNode(&deps.Node), Dependents: []dependentView{}, Total: deps.Total, Further: deps.More,
				Next: nextOffset(in.Offset, len(deps.Dependents), deps.Total)}
			for i := range deps.Dependents {
				d := &deps.Dependents[i]
				out.Dependents = append(out.Dependents, dependentView{showNode(&d.Node), d.Depth, string(d.Kind), fileLine(d.Via, maxID), string(d.How)})
			}
			return out, nil
		})
}
