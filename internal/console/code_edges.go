package console

import "github.com/kenlayer/ken/internal/code/codegraph"

// edgeWords are what people call an edge of a kind: seen from what it leads to, and from
// what it comes from.
var edgeWords = map[codegraph.EdgeKind]struct{ in, out string }{
	codegraph.Defines: {"defines it", "Defines"}, codegraph.Imports: {"imports it", "Imports"}, codegraph.Inherits: {"inherits from it", "Inherits from"},
	codegraph.Implements: {"implements it", "Implements"}, codegraph.References: {"refers to it", "Refers to"}, codegraph.Calls: {"calls it", "Calls"},
	codegraph.Tests: {"tests it", "Tests"}, codegraph.DependsOn: {"depends on it", "Depends on"}, codegraph.Governs: {"governs it", "Governs"},
}

// refRow is something that leads to a symbol, as a line of a list.
type refRow struct {
	codegraph.Ref
	Says string
}

func refRows(refs []codegraph.Ref) []refRow {
	out := make([]refRow, len(refs))
	for i := range refs {
		out[i] = refRow{refs[i], edgeWords[refs[i].Kind].in}
	}
	return out
}

// outRow is how many edges of a kind a symbol has to others.
type outRow struct {
	codegraph.KindCount
	Says string
}

func outRows(counts []codegraph.KindCount) []outRow {
	out := make([]outRow, len(counts))
	for i := range counts {
		out[i] = outRow{counts[i], edgeWords[counts[i].Kind].out}
	}
	return out
}

// refKind is a kind of edges that lead to a symbol, and where its page shows those alone.
type refKind struct {
	choice
	Count int
}

// refKinds are the kinds that there are, as ways to narrow the list.
func (v *visit) refKinds(counts []codegraph.KindCount) (out []refKind) {
	chosen := v.text("kind")
	for _, k := range counts {
		here := chosen == string(k.Kind)
		path := with(v.r.URL, "kind", string(k.Kind))
		if here {
			path = without(v, "kind")
		}
		out = append(out, refKind{choice{Name: edgeWords[k.Kind].in, Path: path + "#refs", Here: here}, k.Exact + k.Guesses})
	}
	return out
}

// wantedEdges are the kinds that a list has: the one that the address names, or all but
// that something is declared somewhere, which the page says already.
func wantedEdges(name string, counts []codegraph.KindCount) (out []codegraph.EdgeKind) {
	for _, c := range counts {
		if string(c.Kind) == name {
			return []codegraph.EdgeKind{c.Kind}
		}
		out = append(out, c.Kind)
	}
	return out
}
