package middleware

import (
	"cmp"
	"path/filepath"
	"slices"
	"strings"

	"github.com/kenlayer/ken"
	"github.com/kenlayer/ken/internal/code/codegraph"
	"github.com/kenlayer/ken/internal/knowledge/structure/reading"
)

const (
	// fewest is how many symbols of a turn are looked at, even if it is told of fewer:
	// rules of theirs count all the same.
	fewest = 8
	// ambiguous is how many things a name may fit and say something.
	ambiguous = 3
	// dominating is by how much one of more things has to be used more than the next to be
	// what a name means, and by how many at least.
	dominating, dominant = 4, 10
)

// How sure it is that a turn means a symbol.
const (
	sureWhole  = 1.0 // a path, or a name with what it belongs to
	sureBare   = 0.9 // a name in code marks, or that is written like one in code
	sureOfFew  = 0.7 // one of a few things that the name fits
	sureOfMany = 0.5 // what is used far more than the others
	sureWord   = 0.4 // a word with a capital
)

// symbol is a node of the graph that a turn names.
type symbol struct {
	codegraph.Node
	sure float64
}

// mention is a name that may be one of a symbol.
type mention struct {
	name   string
	word   bool // a word of prose with a capital, and not marked as code
	member bool // it was written with a dot before it
}

// mentions are the names in a turn that may be of symbols, in the order of the signals.
func mentions(s *ken.Signals, root string) (out []mention) {
	seen := map[string]bool{}
	add := func(name string, word bool) {
		member := strings.HasPrefix(name, ".")
		if name = spelling(name, root); len(name) > 1 && !seen[name] {
			seen[name] = true
			out = append(out, mention{name, word, member})
		}
	}
	for _, name := range s.Symbols {
		add(name, false)
	}
	for _, name := range s.Entities {
		if capital(name) {
			add(name, true)
		}
	}
	return out
}

// spelling writes a name as the graph does.
func spelling(name, root string) string {
	name = strings.TrimLeft(strings.TrimSpace(name), "*&.([")
	name = strings.TrimRight(name, "()[]")
	if strings.Contains(name, `\`) && !strings.Contains(name, "/") {
		name = strings.ReplaceAll(name, `\`, "/")
	}
	if rest, ok := strings.CutPrefix(name, filepath.ToSlash(root)+"/"); ok {
		name = rest
	}
	if !strings.Contains(name, "/") {
		name = strings.NewReplacer("::", ".", "#", ".", "->", ".").Replace(name)
	}
	return strings.TrimRight(name, "/")
}

// capital reports one word that begins with a capital letter, as types do.
func capital(name string) bool {
	return name != "" && name[0] >= 'A' && name[0] <= 'Z' && !strings.ContainsAny(name, " \t\n'\"/-+")
}

// resolve finds the symbols that names mean, the surest first and then in the order of
// the names, at most so many.
func resolve(v *codegraph.View, names []mention, most int) []symbol {
	var out []symbol
	for _, m := range names {
		for _, s := range meant(v, m) {
			if !slices.ContainsFunc(out, func(o symbol) bool { return o.ID == s.ID }) {
				out = append(out, s)
			}
		}
	}
	slices.SortStableFunc(out, func(a, b symbol) int { return cmp.Compare(b.sure, a.sure) })
	return out[:min(len(out), most)]
}

// looked is how many of the things that a name fits are looked at.
const looked = 24

// meant are the nodes that a name means. One that fits many things says nothing, unless
// one of them is used far more than the others; a common word never does.
func meant(v *codegraph.View, m mention) []symbol {
	bare := !strings.ContainsAny(m.name, "./:")
	common := bare && reading.Common(strings.ToLower(m.name))
	if common && (m.word || strings.ToLower(m.name) == m.name) {
		return nil
	}
	found, total := v.Find(m.name, looked)
	if total > len(found) {
		found = found[:min(len(found), 2)] // the two that are used most
		total = looked
	}
	found = slices.DeleteFunc(found, func(n codegraph.Node) bool { return n.Kind == codegraph.KindDecision || beyond(&n, m.name) })
	if total < looked {
		found = narrow(found, m.member)
	}
	n := len(found)
	if n == 0 {
		return nil
	}
	sure := sureBare
	switch one := n == 1 && total < looked; {
	case m.word && (!one || !thing(found[0].Kind)), common && !one, found[0].Kind == codegraph.KindProperty && !one:
		return nil
	case m.word:
		sure = sureWord
	case one && !bare:
		sure = sureWhole
	case one:
	case total < looked && n <= ambiguous:
		sure = sureOfFew
	case found[0].In < dominant || n > 1 && found[0].In < dominating*found[1].In:
		return nil
	default:
		found, sure = found[:1], sureOfMany
	}
	out := make([]symbol, len(found))
	for i := range found {
		out[i] = symbol{found[i], sure}
	}
	return out
}

// beyond reports what only its full name means: what tests declare, and packages from
// elsewhere.
func beyond(n *codegraph.Node, name string) bool {
	return (n.Test || n.External) && n.ID != name && n.Qualified != name
}

// thing reports what a word with a capital may mean.
func thing(k codegraph.Kind) bool {
	return k == codegraph.KindType || k == codegraph.KindInterface || k == codegraph.KindFunction
}

// narrow keeps the kinds that a name rather means: a type before its method of that name,
// unless it was written as a member.
func narrow(found []codegraph.Node, member bool) []codegraph.Node {
	rank := func(k codegraph.Kind) int {
		switch k {
		case codegraph.KindMethod:
			if member {
				return 0
			}
			return 2
		case codegraph.KindType, codegraph.KindInterface, codegraph.KindFile:
			return 0
		case codegraph.KindFunction:
			return 1
		case codegraph.KindProperty:
			return 3
		}
		return 2
	}
	best := 4
	for i := range found {
		best = min(best, rank(found[i].Kind))
	}
	return slices.DeleteFunc(slices.Clone(found), func(n codegraph.Node) bool { return rank(n.Kind) > best })
}
