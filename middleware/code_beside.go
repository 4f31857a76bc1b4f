package middleware

import (
	"path"
	"strings"

	"github.com/kenlayer/ken/internal/analysis"
	"github.com/kenlayer/ken/internal/code/codegraph"
	"github.com/kenlayer/ken/internal/knowledge/structure"
	"github.com/kenlayer/ken/internal/knowledge/structure/reading"
)

const (
	maxBeside     = 50  // names of what is one step from a turn's symbols
	sureStep      = 0.9 // strength of a step along an edge that is exact
	perhapsStep   = 0.4 // and along one that is a guess
	maxNeighbours = 24
)

// byName is the names of symbols under which somebody may have filed a rule.
func byName(symbols []symbol) (names []string) {
	for i := range symbols {
		names = append(names, CalledBy(&symbols[i].Node)...)
	}
	return names
}

// CalledBy are the names under which something may be known of a node of the code, the
// surest first: with its package or type, whole, and bare where that is no common word.
func CalledBy(n *codegraph.Node) []string {
	short := shortName(n)
	switch n.Kind {
	case codegraph.KindFile:
		return []string{n.Path}
	case codegraph.KindPackage, codegraph.KindNamespace:
		return plain(n.Qualified, n.Path, n.Name)
	case codegraph.KindMethod, codegraph.KindProperty:
		if owner := path.Ext(strings.TrimSuffix(short, "."+n.Name)); owner != "" {
			return plain(short, n.Qualified, owner[1:]+"."+n.Name)
		}
		return plain(short, n.Qualified)
	}
	return plain(short, n.Qualified, n.Name)
}

// plain leaves out what is a common word by itself, and what is there already.
func plain(names ...string) (out []string) {
	for i, n := range names {
		if n == "" || n == "." || reading.Common(analysis.Entity(n)) || i > 0 && n == names[0] {
			continue
		}
		out = append(out, n)
	}
	return out
}

// shortName is the end of a qualified name: store.Shelf, Shelf.View in a file that is its
// own scope. Of a file it is the path.
func shortName(n *codegraph.Node) string {
	if n.Kind == codegraph.KindFile {
		return n.Path
	}
	return n.Qualified[strings.LastIndexByte(n.Qualified, '/')+1:]
}

// owner is the type that a method or property belongs to, as a node has it; false for
// what belongs to none.
func owner(n *codegraph.Node) (codegraph.Node, bool) {
	if n.Kind != codegraph.KindMethod && n.Kind != codegraph.KindProperty {
		return codegraph.Node{}, false
	}
	q, ok := strings.CutSuffix(n.Qualified, "."+n.Name)
	if !ok || !strings.Contains(q[strings.LastIndexByte(q, '/')+1:], ".") {
		return codegraph.Node{}, false
	}
	return codegraph.Node{Kind: codegraph.KindType, Qualified: q, Name: q[strings.LastIndexByte(q, '.')+1:]}, true
}

// beside are the things one step from symbols: what they are defined in, and what they
// depend on or depends on them, the nearest first.
func beside(v *codegraph.View, symbols []symbol) (out []structure.Beside) {
	left := maxBeside
	add := func(b structure.Beside) {
		if len(b.Names) > 0 && left > 0 {
			b.Names = b.Names[:min(len(b.Names), left)]
			left -= len(b.Names)
			out = append(out, b)
		}
	}
	ids := make([]string, len(symbols))
	for i := range symbols {
		n := &symbols[i].Node
		ids[i] = n.ID
		if names := around(n); len(names) > 0 {
			add(structure.Beside{Focus: shortName(n), Names: names, Type: string(codegraph.Defines), Strength: sureStep})
		}
	}
	near, _, err := v.Neighbours(ids[:min(len(ids), codegraph.MaxNeighbourhood)], maxNeighbours)
	if err != nil {
		return out
	}
	for i := range near {
		n := &near[i]
		if n.Kind == codegraph.Defines || n.Kind == codegraph.Governs || n.Kind == codegraph.Tests || n.Test {
			continue
		}
		b := structure.Beside{Focus: focusOf(symbols, n.Of), Names: CalledBy(&n.Node), Type: string(n.Kind), Out: n.Out, Strength: sureStep}
		if n.How == codegraph.Guess {
			b.Strength = perhapsStep
		}
		if of, ok := owner(&n.Node); ok {
			b.Names = append(b.Names, CalledBy(&of)...)
		}
		add(b)
	}
	return out
}

// around are the names of what a node lies in: its type, file and package.
func around(n *codegraph.Node) (names []string) {
	if of, ok := owner(n); ok {
		names = append(names, CalledBy(&of)...)
	}
	if n.Path == "" || n.Kind == codegraph.KindPackage || n.Kind == codegraph.KindNamespace {
		return names
	}
	if n.Kind != codegraph.KindFile {
		names = append(names, n.Path)
	}
	names = append(names, plain(path.Dir(n.Path))...)
	if at := strings.LastIndexByte(n.Qualified, '/'); n.Language == "go" && n.Kind != codegraph.KindFile {
		end := strings.IndexByte(n.Qualified[at+1:], '.')
		if end > 0 {
			names = append(names, plain(n.Qualified[:at+1+end], n.Qualified[at+1:at+1+end])...)
		}
	}
	return names
}

func focusOf(symbols []symbol, id string) string {
	for i := range symbols {
		if symbols[i].ID == id {
			return shortName(&symbols[i].Node)
		}
	}
	return id
}
