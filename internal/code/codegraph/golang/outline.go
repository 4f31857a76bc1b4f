package golang

import (
	"go/ast"
	"go/token"

	"github.com/kenlayer/ken/internal/code/codegraph"
)

// Outline is what a file declares, with the syntax of each declaration.
type Outline struct {
	// Decls are the declarations in the order of the file, the package clause first,
	// without signatures and comments.
	Decls []codegraph.Decl

	// Names are the identifiers that declare them, in the same order.
	Names []*ast.Ident

	// Parts are where the declarations use names.
	Parts []Part

	nodes []ast.Node     // what each signature and comment is made of
	specs []*ast.GenDecl // the declaration around each, if it is one of several
}

// Part is a piece of syntax in which a declaration uses names. The parts of two
// declarations may be the same piece: "a, b int".
type Part struct {
	From     int // place in Outline.Decls; -1 for what declares nothing, as "var _ = x"
	Node     ast.Node
	Params   *ast.FieldList // the type parameters around it; nil for none, and for functions, which have their own
	Embedded bool           // it is what a struct or interface embeds
}

// NewOutline lists the declarations of a parsed file. pkg is the path by which its
// package is known. What the parser made up for a place that it could not read is left
// out.
func NewOutline(fset *token.FileSet, file *ast.File, pkg string) Outline {
	o := outliner{file: fset.File(file.FileStart), pkg: pkg, types: map[string]int{}}
	o.add(file, nil, file.Name, codegraph.Decl{Kind: codegraph.KindPackage, Name: file.Name.Name, Qualified: pkg, Parent: -1, Exported: true},
		file.Package, file.Name.End())
	for _, d := range file.Decls {
		switch d := d.(type) {
		case *ast.FuncDecl:
			o.function(d)
		case *ast.GenDecl:
			for _, s := range d.Specs {
				o.spec(d, s)
			}
		}
	}
	for i, n := range o.nodes {
		if f, ok := n.(*ast.FuncDecl); ok && f.Recv != nil {
			if t, ok := o.types[receiverName(f)]; ok {
				o.Decls[i].Parent = t
			}
		}
	}
	return o.Outline
}

type outliner struct {
	Outline
	file  *token.File
	pkg   string
	types map[string]int // by name, the places of types in Decls
}

func (o *outliner) line(p token.Pos) int { return o.file.PositionFor(p, false).Line }

// add appends a declaration, and returns its place, or other for a name that can't
// be used.
func (o *outliner) add(n ast.Node, within *ast.GenDecl, id *ast.Ident, d codegraph.Decl, from, to token.Pos) int {
	d.Line, d.End = o.line(from), o.line(max(from, to-1))
	o.Decls = append(o.Decls, d)
	o.Names = append(o.Names, id)
	o.nodes = append(o.nodes, n)
	o.specs = append(o.specs, within)
	return len(o.Decls) - 1
}

func (o *outliner) part(from int, n ast.Node, params *ast.FieldList) {
	o.Parts = append(o.Parts, Part{From: from, Node: n, Params: params})
}

func blank(id *ast.Ident) bool { return id == nil || id.Name == "_" || id.Name == "" }

func (o *outliner) function(d *ast.FuncDecl) {
	at := -1
	if !blank(d.Name) {
		decl := codegraph.Decl{Kind: codegraph.KindFunction, Name: d.Name.Name, Qualified: o.pkg + "." + d.Name.Name, Parent: -1, Exported: d.Name.IsExported()}
		if d.Recv != nil {
			recv := receiverName(d)
			decl.Kind, decl.Qualified = codegraph.KindMethod, o.pkg+"."+recv+"."+d.Name.Name
			decl.Exported = decl.Exported && ast.IsExported(recv)
			if recv == "" || recv == "_" {
				o.part(-1, d, nil)
				return
			}
		}
		at = o.add(d, nil, d.Name, decl, d.Pos(), d.End())
	}
	o.part(at, d, nil)
}

func (o *outliner) spec(d *ast.GenDecl, s ast.Spec) {
	from, to := s.Pos(), s.End()
	if !d.Lparen.IsValid() {
		from, to = d.Pos(), d.End()
	}
	switch s := s.(type) {
	case *ast.TypeSpec:
		o.typeSpec(d, s, from, to)
	case *ast.ValueSpec:
		o.valueSpec(d, s, from, to)
	}
}

func (o *outliner) valueSpec(d *ast.GenDecl, s *ast.ValueSpec, from, to token.Pos) {
	first := -1
	for i, id := range s.Names {
		at := -1
		if !blank(id) {
			at = o.add(s, d, id, codegraph.Decl{Kind: codegraph.KindVariable, Name: id.Name, Qualified: o.pkg + "." + id.Name, Parent: -1, Exported: id.IsExported()}, from, to)
		}
		if i == 0 {
			first = at
		}
		if s.Type != nil {
			o.part(at, s.Type, nil)
		}
		if len(s.Values) == len(s.Names) {
			o.part(at, s.Values[i], nil)
		}
	}
	if len(s.Values) != len(s.Names) {
		for _, v := range s.Values {
			o.part(first, v, nil)
		}
	}
}

// receiverName returns the name of a method's type without its parameters, and "" for
// what is no receiver.
func receiverName(d *ast.FuncDecl) string {
	if d.Recv == nil || len(d.Recv.List) == 0 {
		return ""
	}
	if id, ok := bare(d.Recv.List[0].Type).(*ast.Ident); ok {
		return id.Name
	}
	return ""
}

// bare strips parentheses, stars and type arguments.
func bare(e ast.Expr) ast.Expr {
	for {
		switch x := e.(type) {
		case *ast.StarExpr:
			e = x.X
		case *ast.ParenExpr:
			e = x.X
		case *ast.IndexExpr:
			e = x.X
		case *ast.IndexListExpr:
			e = x.X
		default:
			return e
		}
	}
}
