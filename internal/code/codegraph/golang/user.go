package golang

import (
	"go/ast"
	"go/token"

	"github.com/kenlayer/ken/internal/code/codegraph"
)

// user walks through a file and notes which names it uses.
type user struct {
	scopes
	tokens  *token.File
	syntax  *ast.File
	outline *Outline
	pkg     string
	table   table
	imports imports

	from   int // the declaration that is being read
	uses   []codegraph.Use
	seen   map[codegraph.Use]struct{} // without lines
	joined map[string]string          // qualified names, each kept once
	buf    []byte
}

func newUser(tokens *token.File, file *ast.File, o *Outline, pkg string) *user {
	u := &user{tokens: tokens, syntax: file, outline: o, pkg: pkg, table: newTable(file, o),
		seen: map[codegraph.Use]struct{}{}, joined: map[string]string{}}
	u.imports = newImports(file, pkg, func(n ast.Node) int { return u.line(n.Pos()) })
	return u
}

func (u *user) line(p token.Pos) int {
	if u.tokens == nil || !p.IsValid() {
		return 0
	}
	return u.tokens.PositionFor(p, false).Line
}

// file reads all parts of the outline.
func (u *user) file() {
	for _, p := range u.outline.Parts {
		u.from = p.From
		u.bound, u.marks = u.bound[:0], u.marks[:0]
		u.open()
		u.params(p.Params)
		switch n := p.Node.(type) {
		case *ast.FuncDecl:
			u.function(n)
		case *ast.FieldList:
			u.fieldTypes(n)
		case ast.Expr:
			if p.Embedded {
				u.embedded(n)
			} else {
				u.expr(n)
			}
		}
		u.close()
	}
	u.assertions()
}

// add notes a use, once for each declaration, kind and name.
func (u *user) add(kind codegraph.EdgeKind, name string, qualified bool, p token.Pos) {
	use := codegraph.Use{From: u.from, Kind: kind, Name: name, Qualified: qualified}
	if _, ok := u.seen[use]; ok {
		return
	}
	u.seen[use] = struct{}{}
	use.Line = u.line(p)
	u.uses = append(u.uses, use)
}

// join makes "before.name" without making it again.
func (u *user) join(before, name string) string {
	u.buf = append(append(append(u.buf[:0], before...), '.'), name...)
	if s, ok := u.joined[string(u.buf)]; ok {
		return s
	}
	s := string(u.buf)
	u.joined[s] = s
	return s
}

// own is the qualified name of something of the package.
func (u *user) own(name string) string { return u.join(u.pkg, name) }

// universe reports whether a name is the language's here.
func (u *user) universe(name string) bool {
	return predeclared[name] && u.lookup(name, len(u.bound)) < 0 && !u.table.declares(name)
}

// foreign reports whether an identifier before a dot is the name of a package.
func (u *user) foreign(id *ast.Ident) bool {
	if u.lookup(id.Name, len(u.bound)) >= 0 || u.table.declares(id.Name) {
		return false
	}
	_, ok := u.imports.find(id.Name)
	return ok
}

// name notes the use of an identifier.
func (u *user) name(id *ast.Ident, kind codegraph.EdgeKind) {
	n := id.Name
	if n == "_" || n == "" || u.lookup(n, len(u.bound)) >= 0 {
		return
	}
	if u.table.declares(n) {
		if _, ok := u.table.types[n]; ok && kind == codegraph.Calls {
			kind = codegraph.References // a conversion
		}
		u.add(kind, u.own(n), true, id.Pos())
		return
	}
	if predeclared[n] && !late[n] {
		return
	}
	if _, ok := u.imports.names[n]; ok {
		return
	}
	if len(u.imports.dots) > 0 && !predeclared[n] {
		u.add(kind, u.join("", n)[1:], false, id.Pos())
		return
	}
	u.add(kind, u.own(n), true, id.Pos())
}

// selector notes the use of x.Sel, and those in x.
func (u *user) selector(x *ast.SelectorExpr, kind codegraph.EdgeKind) {
	if id, ok := ast.Unparen(x.X).(*ast.Ident); ok && u.foreign(id) {
		if path, _ := u.imports.find(id.Name); path != "" && !blank(x.Sel) {
			u.add(kind, u.join(path, x.Sel.Name), true, x.Sel.Pos())
		}
		return
	}
	u.expr(x.X)
	u.memberUse(u.typeOf(x.X, fuel), x.Sel, kind)
}

// memberUse notes the use of a member of a value of this type.
func (u *user) memberUse(t typ, sel *ast.Ident, kind codegraph.EdgeKind) {
	if blank(sel) {
		return
	}
	switch owner, _ := u.member(t, sel.Name, fuel); owner {
	case "":
	case unknown:
		u.add(kind, u.join("", sel.Name), false, sel.Pos())
	default:
		u.add(kind, u.join(owner, sel.Name), true, sel.Pos())
	}
}

// embedded notes what a struct or interface embeds.
func (u *user) embedded(e ast.Expr) {
	for {
		switch x := e.(type) {
		case *ast.StarExpr:
			e = x.X
		case *ast.ParenExpr:
			e = x.X
		case *ast.IndexExpr:
			u.expr(x.Index)
			e = x.X
		case *ast.IndexListExpr:
			u.exprs(x.Indices)
			e = x.X
		case *ast.Ident:
			u.name(x, codegraph.Inherits)
			return
		case *ast.SelectorExpr:
			u.selector(x, codegraph.Inherits)
			return
		default:
			u.expr(e)
			return
		}
	}
}
