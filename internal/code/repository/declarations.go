package repository

import (
	"cmp"
	"slices"
	"strings"
)

// Declaration is something that a source file declares.
type Declaration struct {
	Name      string // as a reader writes it, with its type: "res.send", "Flask.url_for"
	Line, End int    // from 1, both inclusive, without the comment above
	Body      bool   // it has code: a function or a method
	Container bool   // it may contain others: a type, a namespace
}

// cutDeclared cuts a file by its declarations. A function is one chunk together with the comment above it. So is a
// type, unless it is longer than a chunk and contains functions; these are chunks of their own then. The text between
// declarations is cut as blocks.
func cutDeclared(lines []line, decls []Declaration, lim limits) []piece {
	d := declaredFile{lines: lines, lim: lim}
	for _, decl := range decls {
		if decl.Line >= 1 && decl.Line <= decl.End && decl.End <= lines[len(lines)-1].no {
			d.decls = append(d.decls, decl)
		}
	}
	// If two begin on the same line, the outer one comes first.
	slices.SortStableFunc(d.decls, func(a, b Declaration) int { return cmp.Or(a.Line-b.Line, b.End-a.End) })
	d.region(span{0, len(lines)}, d.decls, nil)
	return merge(lines, d.pieces, lim)
}

// declaredFile is the state of cutDeclared.
type declaredFile struct {
	lines  []line
	lim    limits
	decls  []Declaration // sorted by line
	pieces []piece
}

// region cuts the lines of s, which contain decls. outer is the enclosing declaration, or nil for a file.
func (d *declaredFile) region(s span, decls []Declaration, outer *Declaration) {
	at := s.from
	for i, decl := range decls {
		own := d.spanOf(decl)
		if own.from < at || own.to > s.to || !decl.Body && !decl.Container {
			continue // part of another declaration, or a small declaration between functions
		}
		inner := within(decls[i+1:], decl)
		limit := d.lim.max
		if decl.Body {
			limit = d.lim.maxDeclaration
		}
		opened := width(d.lines[own.from:own.to]) > limit && slices.ContainsFunc(inner, func(x Declaration) bool { return x.Body })
		if !decl.Body && !opened && width(d.lines[own.from:own.to]) <= d.lim.min {
			continue
		}
		from := d.withComment(own.from, at)
		d.between(span{at, from}, decls, outer)
		if whole := (span{from, own.to}); opened {
			d.region(whole, inner, &decl)
		} else {
			d.unit(whole, decl)
		}
		at = own.to
	}
	d.between(span{at, s.to}, decls, outer)
}

// within returns the declarations of decls that lie within outer.
func within(decls []Declaration, outer Declaration) []Declaration {
	end := slices.IndexFunc(decls, func(x Declaration) bool { return x.Line > outer.End })
	if end < 0 {
		end = len(decls)
	}
	return decls[:end]
}

// spanOf returns the span of a declaration.
func (d *declaredFile) spanOf(decl Declaration) span {
	from, _ := slices.BinarySearchFunc(d.lines, decl.Line, func(l line, no int) int { return l.no - no })
	to, _ := slices.BinarySearchFunc(d.lines, decl.End+1, func(l line, no int) int { return l.no - no })
	return span{from, to}
}

// withComment returns the line at which the comment and the decorators above line i begin. It does not go above line
// at. A block comment may be followed by a blank line, unless it is at the beginning of the file.
func (d *declaredFile) withComment(i, at int) int {
	for i > at {
		t := d.lines[i-1].trimmed()
		if t == "" && i-1 > at && strings.HasSuffix(d.lines[i-2].trimmed(), "*/") {
			if from := d.startOfComment(i-2, at); from > 0 {
				i = from
				continue
			}
		}
		switch {
		case strings.HasSuffix(t, "*/"):
			i = d.startOfComment(i-1, at)
		case t != "" && (comment(t) || attribute(t)):
			i--
		default:
			return i
		}
	}
	return i
}

// startOfComment returns the line at which the block comment that ends on line i begins.
func (d *declaredFile) startOfComment(i, at int) int {
	for i > at && !strings.HasPrefix(d.lines[i].trimmed(), "/*") {
		i--
	}
	return i
}

// attribute reports whether a trimmed line is an attribute of the next declaration, in Rust, C# or C++.
func attribute(t string) bool {
	return strings.HasPrefix(t, "#[") || strings.HasPrefix(t, "[") && strings.HasSuffix(t, "]")
}

// unit adds lines of a declaration: as one piece, or as several that begin with the declaration's first line.
func (d *declaredFile) unit(s span, decl Declaration) {
	names := []string{decl.Name}
	if i := strings.LastIndexAny(decl.Name, ".:#"); i >= 0 && i+1 < len(decl.Name) {
		names = append(names, decl.Name[i+1:])
	}
	lead := d.lines[d.spanOf(decl).from].text
	d.pieces = append(d.pieces, declarationParts(d.lines, s, lead, []string{clip(decl.Name, maxTitle)}, names, d.lim)...)
}

// between adds the text between declarations: as blocks in a file, as part of the enclosing declaration otherwise.
func (d *declaredFile) between(s span, decls []Declaration, outer *Declaration) {
	if outer != nil {
		if s = s.trim(d.lines); !s.empty() {
			d.unit(s, *outer)
		}
		return
	}
	for _, run := range runs(d.lines, s, false, d.lim.line()) {
		for _, p := range blocksOf(d.lines, run, false, d.lim) {
			first, last := d.lines[p.from].no, d.lines[p.to-1].no
			for _, decl := range decls {
				if decl.Line >= first && decl.End <= last {
					p.names = append(p.names, decl.Name)
				}
			}
			d.pieces = append(d.pieces, p)
		}
	}
}

// declarationParts cuts one declaration. It is one piece if it is at most lim.maxDeclaration long. Otherwise it is cut where the
// indentation is least, and each further part begins with lead, the declaration's first line. Lines that are too long
// for a chunk are left out.
func declarationParts(lines []line, s span, lead string, path, names []string, lim limits) []piece {
	var out []piece
	rest := lim.maxDeclaration - lim.lead() - 2
	for _, run := range runs(lines, s, false, lim.line()) {
		first := lim.maxDeclaration
		if run.from > s.from {
			first = rest
		}
		for _, part := range cut(lines, run, first, rest) {
			p := piece{span: part, path: path, names: names}
			if part.from > s.from && !comment(lines[part.from].trimmed()) && lines[part.from].text != lead {
				p.lead = clip(lead, lim.lead())
			}
			out = append(out, p)
		}
	}
	return out
}
