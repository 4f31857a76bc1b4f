package repository

import (
	"go/ast"
	"go/parser"
	"go/token"
	"slices"
	"strings"
)

// cutGo cuts a Go file by declaration, each with its doc comment, and reports
// false for a file that does not parse. The package comment is a chunk; a
// package clause without one, build constraints, licence headers and imports
// are not. A declaration that is too long is cut where its indentation is least,
// and each further part starts with the declaration's first line.
func cutGo(src string, lines []line, lim limits) ([]line, []piece, bool) {
	src = strings.TrimPrefix(src, byteOrderMark)
	fset := token.NewFileSet()
	file, err := parser.ParseFile(fset, "", src, parser.ParseComments|parser.SkipObjectResolution)
	if err != nil {
		return nil, nil, false
	}
	g := goFile{lines: lines, lim: lim, line: func(p token.Pos) int {
		return fset.PositionFor(p, false).Line - 1 // as the file lies on disk, whatever //line says
	}}
	g.preamble(file)
	for _, d := range file.Decls {
		g.declaration(d)
	}
	g.comments(span{g.done, len(lines)})
	return lines, merge(lines, g.pieces, lim), true
}

type goFile struct {
	lines  []line
	lim    limits
	line   func(token.Pos) int // index into lines
	pieces []piece
	done   int // lines before this one are dealt with
}

func (g *goFile) preamble(file *ast.File) {
	clause := g.line(file.Name.End())
	path := []string{"package " + file.Name.Name}
	if file.Doc != nil {
		g.add(span{g.line(file.Doc.Pos()), clause + 1}, "", path, nil)
	}
	g.done = clause + 1
}

// declaration adds one declaration and the loose comments before it.
func (g *goFile) declaration(d ast.Decl) {
	doc, title, names := describe(d)
	from, to := g.line(d.Pos()), g.line(d.End()-1)+1
	head := from
	if doc != nil {
		from = g.line(doc.Pos())
	}
	from = max(from, g.done) // two declarations on one line
	if from >= to {
		if n := len(g.pieces); n > 0 {
			g.pieces[n-1].names = append(g.pieces[n-1].names, names...)
		}
		return
	}
	g.comments(span{g.done, from})
	g.done = to
	if gen, ok := d.(*ast.GenDecl); ok && gen.Tok == token.IMPORT {
		return
	}
	g.add(span{from, to}, g.lines[head].text, []string{title}, names)
}

// comments adds what stands between two declarations.
func (g *goFile) comments(s span) {
	if s = s.trim(g.lines); !s.empty() {
		g.add(s, "", nil, nil)
	}
}

// add appends a span as one piece, or as several that start with lead.
func (g *goFile) add(s span, lead string, path, names []string) {
	for _, run := range runs(g.lines[s.from:s.to], false, g.lim.line()) {
		run = span{run.from + s.from, run.to + s.from}
		first := g.lim.max
		if run.from > s.from {
			first = g.lim.rest()
		}
		for _, part := range cut(g.lines, run, first, g.lim.rest()) {
			p := piece{span: part, path: path, names: names}
			if part.from > s.from && !strings.HasPrefix(g.lines[part.from].text, "//") && g.lines[part.from].text != lead {
				p.lead = clip(lead, g.lim.lead())
			}
			g.pieces = append(g.pieces, p)
		}
	}
}

// describe returns a declaration's doc comment, its title in a heading, and the
// names that it declares: a method both with its receiver's type and without.
func describe(d ast.Decl) (doc *ast.CommentGroup, title string, names []string) {
	switch d := d.(type) {
	case *ast.FuncDecl:
		if d.Recv == nil || len(d.Recv.List) == 0 {
			return d.Doc, "func " + d.Name.Name, declared(d.Name.Name)
		}
		recv := d.Recv.List[0]
		variable := ""
		if len(recv.Names) > 0 {
			variable = recv.Names[0].Name + " "
		}
		star, typ := receiver(recv.Type)
		names = declared(typ+"."+d.Name.Name, d.Name.Name)
		return d.Doc, "func (" + variable + star + typ + ") " + d.Name.Name, names
	case *ast.GenDecl:
		for _, s := range d.Specs {
			switch s := s.(type) {
			case *ast.TypeSpec:
				names = append(names, declared(s.Name.Name)...)
			case *ast.ValueSpec:
				for _, n := range s.Names {
					names = append(names, declared(n.Name)...)
				}
			}
		}
		shown := names
		if len(shown) > 3 {
			shown = append(slices.Clone(shown[:3]), "…")
		}
		return d.Doc, strings.TrimSpace(d.Tok.String() + " " + strings.Join(shown, ", ")), names
	}
	return nil, "", nil
}

// receiver returns "*" or "" and the name of a receiver's type, without its type
// parameters.
func receiver(t ast.Expr) (star, name string) {
	for {
		switch x := t.(type) {
		case *ast.StarExpr:
			star, t = "*", x.X
		case *ast.ParenExpr:
			t = x.X
		case *ast.IndexExpr:
			t = x.X
		case *ast.IndexListExpr:
			t = x.X
		case *ast.Ident:
			return star, x.Name
		default:
			return star, ""
		}
	}
}

func declared(names ...string) []string {
	return slices.DeleteFunc(names, func(n string) bool { return n == "_" })
}
