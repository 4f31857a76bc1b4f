package tools

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/kenlayer/ken"
	"github.com/kenlayer/ken/internal/code/codegraph"
)

// Node is a thing in the project's code as an answer shows it.
type Node struct {
	ID        string `json:"id" jsonschema:"names it in other calls"`
	Kind      string `json:"kind"`
	Path      string `json:"path,omitempty"`
	Line      int    `json:"line,omitempty"`
	Signature string `json:"signature,omitempty" jsonschema:"of a decision, its title"`
	Uses      int    `json:"edges_in" jsonschema:"how many edges lead to it: how much hangs on it"`
	Test      bool   `json:"test,omitempty" jsonschema:"only tests declare it"`
	External  bool   `json:"external,omitempty" jsonschema:"it is not in this project"`
}

// Bounds of what is shown of code, in code points.
const (
	maxID        = 400
	maxSignature = 200
)

func showNode(n *codegraph.Node) Node {
	return Node{ID: lineOf(n.ID, maxID), Kind: string(n.Kind), Path: lineOf(n.Path, maxID), Line: n.Line, Signature: lineOf(n.Signature, maxSignature),
		Uses: n.In, Test: n.Test, External: n.External}
}

// line is a node in one line.
func (n *Node) line() string {
	s := n.ID
	if at := placed(n.Path, n.Line); at != "" {
		s += " at " + at
	}
	if n.Signature != "" {
		s += ": " + n.Signature
	}
	return s
}

func placed(path string, line int) string {
	if line == 0 {
		return path
	}
	return path + ":" + strconv.Itoa(line)
}

// EdgeCount is how many edges of a kind there are.
type EdgeCount struct {
	Kind    string `json:"kind"`
	Exact   int    `json:"exact" jsonschema:"by syntax, types or a compiler's index"`
	Guesses int    `json:"guesses" jsonschema:"by a name that fits"`
}

func countEdges(counts []codegraph.KindCount) []EdgeCount {
	out := make([]EdgeCount, len(counts))
	for i, c := range counts {
		out[i] = EdgeCount{string(c.Kind), c.Exact, c.Guesses}
	}
	return out
}

func edgeWords(counts []EdgeCount) string {
	parts := make([]string, len(counts))
	for i, c := range counts {
		parts[i] = fmt.Sprintf("%d %s", c.Exact+c.Guesses, c.Kind)
		if c.Guesses > 0 {
			parts[i] += fmt.Sprintf(" (%d guessed)", c.Guesses)
		}
	}
	return strings.Join(parts, ", ")
}

// nodeKinds and edgeKinds make kinds of what the schema has let through.
func nodeKinds(names []string) (out []codegraph.Kind) {
	for _, n := range names {
		if k := codegraph.Kind(n); !slices.Contains(out, k) {
			out = append(out, k)
		}
	}
	return out
}

func edgeKinds(names []string) (out []codegraph.EdgeKind) {
	for _, n := range names {
		if k := codegraph.EdgeKind(n); !slices.Contains(out, k) {
			out = append(out, k)
		}
	}
	return out
}

// nextOf is the offset of the page behind one with so many; 0 when there is none.
func nextOf(offset, shown, total int) int {
	if n := offset + shown; shown > 0 && n < total {
		return n
	}
	return 0
}

// unnamed tells a model what to do about a name that stands for nothing, or for several.
func unnamed(err error) error {
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

// listed adds lines under a title, some at a time, so that the first fit where all don't.
func listed(p *Page, title string, lines []string) {
	for some := range slices.Chunk(lines, 6) {
		p.Part(title, some)
	}
}
