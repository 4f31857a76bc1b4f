package scip

import (
	"bytes"
	"cmp"
	"slices"

	"github.com/kenlayer/ken/internal/code/codegraph"
)

// declarationMatcher finds the nodes of the symbols that a document defines.
type declarationMatcher struct {
	in    *reader
	doc   *document
	text  *content
	known codegraph.File // what the graph has for the file
	path  string
	names map[string][]int // indices in known.Decls, by name
	lines map[int32]int32  // lines of definitions, from 1, by number of the symbol
}

// kinds stores the kinds that the index gives to its symbols.
func (p *declarationMatcher) kinds() {
	for _, s := range p.doc.symbols {
		if n := p.in.number(s.symbol); n >= 0 && s.kind != 0 {
			p.in.nodes[n].kind = s.kind
		}
	}
}

// region is the range of lines of a declaration, counted from 0, both inclusive.
type region struct {
	from, to int
	id       int32
	code     bool // a function or method
	value    bool // a variable or property of which only the line is known; within code, it does not own that line
}

// define finds or makes the nodes of the document's symbols. It returns, for each line, the index in out.from of the
// declaration that contains it; -1 for none.
func (p *declarationMatcher) define(out *indexed) []int32 {
	var regions []region
	add := func(k codegraph.Kind, id string, from, to int, value bool) {
		code := k == codegraph.KindFunction || k == codegraph.KindMethod
		regions = append(regions, region{from, to, int32(len(out.from)), code, value}) //nolint:gosec // no file has more
		out.from = append(out.from, id)
	}
	p.names = map[string][]int{}
	for i, d := range p.known.Decls {
		p.names[d.Name] = append(p.names[d.Name], i)
		if p.known.Language == "python" && p.in.known[d.Qualified] == "" {
			p.in.known[d.Qualified] = codegraph.ID(d.Kind, d.Qualified)
		}
		if d.Kind != codegraph.KindPackage {
			add(d.Kind, codegraph.ID(d.Kind, d.Qualified), d.Line-1, d.End-1, false)
		}
	}
	p.lines = map[int32]int32{}
	made := map[string]bool{}
	for _, o := range p.doc.occurrences {
		n := p.in.number(o.symbol)
		if n < 0 || o.roles&roleIsDef == 0 {
			continue
		}
		s, ok := parse(string(o.symbol))
		if !ok {
			continue
		}
		if _, twice := p.lines[n]; !twice {
			p.lines[n] = int32(o.at.line + 1) //nolint:gosec // as above
		}
		to := &p.in.nodes[n]
		if id, ok := p.place(s, o); ok {
			if !to.placed {
				p.in.report.Placed++
			}
			if to.id == "" {
				p.in.report.Symbols++
			}
			to.id, to.placed = id, true
			continue
		}
		d, ok := p.declaration(s, o, to.kind)
		if !ok {
			continue
		}
		if to.id == "" {
			p.in.report.Symbols++
			to.id = codegraph.ID(d.Kind, d.Qualified)
		}
		if d.Kind == codegraph.KindFile || made[to.id] {
			continue
		}
		made[to.id] = true
		out.decls = append(out.decls, d)
		add(d.Kind, to.id, d.Line-1, d.End-1, o.enclosing == none && (d.Kind == codegraph.KindVariable || d.Kind == codegraph.KindProperty))
	}
	return owners(regions, len(p.text.lines))
}

// place finds the graph's declaration for a definition: the innermost one around its line with its name.
func (p *declarationMatcher) place(s symbol, o occurrence) (string, bool) {
	last := s.descriptors[len(s.descriptors)-1]
	if last.suffix == parameter || last.suffix == typeParameter {
		return "", false
	}
	name, line := sourceName(last.name), o.at.line+1
	if last.name == "<constructor>" {
		name = "constructor"
	}
	best := -1
	for _, i := range p.names[name] {
		d := p.known.Decls[i]
		if line < d.Line || line > d.End || d.Kind == codegraph.KindPackage != (last.suffix == namespace) {
			continue
		}
		if best < 0 || d.Line > p.known.Decls[best].Line || d.Line == p.known.Decls[best].Line && fits(d.Kind, last.suffix) && !fits(p.known.Decls[best].Kind, last.suffix) {
			best = i
		}
	}
	if best < 0 {
		return "", false
	}
	d := p.known.Decls[best]
	return codegraph.ID(d.Kind, d.Qualified), true
}

// fits reports whether a node's kind agrees with a suffix.
func fits(k codegraph.Kind, s suffix) bool {
	switch k {
	case codegraph.KindType, codegraph.KindInterface:
		return s == typeName
	case codegraph.KindFunction, codegraph.KindMethod:
		return s == method
	}
	return s == term
}

// declaration makes a declaration for a definition. Its lines are those that the indexer gives or follow from the
// indentation.
func (p *declarationMatcher) declaration(s symbol, o occurrence, kind uint64) (codegraph.Decl, bool) {
	before, _, _, _ := p.text.at(o.at)
	k := kindOf(s, kind, p.language(), lastWord(before))
	if k == "" {
		return codegraph.Decl{}, false
	}
	if k == codegraph.KindNamespace || k == codegraph.KindPackage {
		if o.at.line == 0 && o.at.col == 0 { // the file itself
			return codegraph.Decl{Kind: codegraph.KindFile, Name: p.path, Qualified: p.path, Parent: -1, Line: 1, End: 1}, true
		}
	}
	d := codegraph.Decl{Kind: k, Name: sourceName(s.descriptors[len(s.descriptors)-1].name), Qualified: qualified(s, p.path, p.language()), Parent: -1, Line: o.at.line + 1}
	if d.Name == "" || d.Qualified == "" {
		return codegraph.Decl{}, false
	}
	last := o.at.line
	if o.enclosing != none {
		d.Line, last = min(o.enclosing.line, o.at.line)+1, o.enclosing.endLine
		if o.enclosing.endCol == 0 {
			last--
		}
	} else if k != codegraph.KindVariable && k != codegraph.KindProperty {
		last = p.text.extent(o.at.line)
	}
	d.End = min(max(last+1, d.Line), len(p.text.lines))
	return d, true
}

func (p *declarationMatcher) language() string {
	return cmp.Or(languages[p.doc.language], p.known.Language, byExtension(p.path))
}

// lastWord returns the last word of a text.
func lastWord(b []byte) string {
	b = bytes.TrimRight(b, " \t")
	return string(b[bytes.LastIndexAny(b, " \t(;{")+1:])
}

// owners returns, for each line, the index of the innermost region that contains it; -1 for none.
func owners(regions []region, lines int) []int32 {
	slices.SortStableFunc(regions, func(a, b region) int { return cmp.Or(cmp.Compare(a.from, b.from), cmp.Compare(b.to, a.to)) })
	out := make([]int32, lines)
	var open []region
	for n := range out {
		out[n] = -1
		for len(open) > 0 && open[len(open)-1].to < n {
			open = open[:len(open)-1]
		}
		for ; len(regions) > 0 && regions[0].from <= n; regions = regions[1:] {
			if regions[0].to >= n {
				open = append(open, regions[0])
			}
		}
		if i := len(open) - 1; i > 0 && open[i].value && open[i-1].code && open[i-1].to >= n {
			out[n] = open[i-1].id
		} else if i >= 0 {
			out[n] = open[i].id
		}
	}
	return out
}

// relate stores the relations of the document's symbols.
func (p *declarationMatcher) relate(out *indexed) {
	for _, s := range p.doc.symbols {
		from := p.in.number(s.symbol)
		if from < 0 {
			continue
		}
		for _, r := range s.relations {
			if to := p.in.number(r.symbol); to >= 0 && (r.implementation || r.reference || r.typeOfIts) {
				out.relations = append(out.relations, symbolRelation{from, to, max(p.lines[from], 1), r.implementation})
			}
		}
	}
}
