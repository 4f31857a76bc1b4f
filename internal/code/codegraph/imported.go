package codegraph

import (
	"cmp"
	"slices"
	"strings"
)

// Source is a file in a language that an extractor reads, and what it imports of the
// repository.
type Source struct {
	Path      string
	Hash      string // of its content
	Language  string
	Test      bool       // it holds tests
	Generated bool       // a program wrote it
	Imports   []Imported // by line and ID, each ID once
}

// Imported is a file, package, namespace or declaration that a file imports.
type Imported struct {
	ID   string
	Line int
	How  How

	// Files are the paths of the files in which it lies. Used are those of them that
	// declare what the importing file uses, as far as that is known: empty for what lies
	// in one folder. Both are in order; Files is shared and must not be changed.
	Files, Used []string
}

// Sources yields the source files, by path.
func (v *View) Sources(yield func(Source) bool) {
	var units []int32
	for i := range v.units.n {
		if u := v.unit(i); u != nil && u.decision == nil && u.lang != 0 {
			units = append(units, i)
		}
	}
	slices.SortFunc(units, func(a, b int32) int { return strings.Compare(v.text(v.unit(a).path), v.text(v.unit(b).path)) })
	homes := map[int32]*lying{}
	for _, i := range units {
		u := v.unit(i)
		s := Source{Path: v.text(u.path), Hash: u.hash, Language: v.text(u.lang), Test: u.has(forTests), Generated: u.has(generated)}
		for at := u.firstFrom(u.node); at < len(u.edges) && u.edges[at].from == u.node; at++ {
			e := u.edges[at]
			if e.meta.kind() != eImports || v.nodes.at(e.to).flags&inRepo == 0 {
				continue
			}
			l := homes[e.to]
			if l == nil {
				l = v.lies(e.to)
				homes[e.to] = l
			}
			s.Imports = append(s.Imports, Imported{v.id(e.to), int(e.meta.line()), e.meta.how(), l.files, v.usedOf(u, l)})
		}
		slices.SortFunc(s.Imports, func(a, b Imported) int { return cmp.Or(cmp.Compare(a.Line, b.Line), strings.Compare(a.ID, b.ID)) })
		if !yield(s) {
			return
		}
	}
}

// lying is where a node lies.
type lying struct {
	units     []int32 // by number
	files     []string
	scattered bool // in several folders
}

func (v *View) lies(i int32) *lying {
	l := &lying{units: v.unitsOf(i)}
	for _, p := range l.units {
		path := v.text(v.unit(p).path)
		l.scattered = l.scattered || len(l.files) > 0 && folder(path) != folder(l.files[0])
		l.files = append(l.files, path)
	}
	slices.Sort(l.files)
	return l
}

// unitsOf lists the files that declare a node, or are within it.
func (v *View) unitsOf(i int32) []int32 {
	var out []int32
	for _, p := range v.nodes.at(i).places {
		if p.decl != onlyEdges && v.unit(p.unit).decision == nil {
			out = append(out, p.unit)
		}
	}
	slices.Sort(out)
	return slices.Compact(out)
}

// usedOf lists the files of a scattered node whose declarations a unit uses.
func (v *View) usedOf(u *unit, l *lying) []string {
	if !l.scattered {
		return nil
	}
	var out []string
	for _, e := range u.edges {
		switch e.meta.kind() {
		case eReferences, eCalls, eInherits, eImplements:
		default:
			continue
		}
		if n := v.nodes.at(e.to); n.kind.space() || n.kind == kFile {
			continue
		}
		for _, i := range v.unitsOf(e.to) {
			if _, in := slices.BinarySearch(l.units, i); in && v.unit(i) != u {
				out = append(out, v.text(v.unit(i).path))
			}
		}
	}
	slices.Sort(out)
	return slices.Compact(out)
}
