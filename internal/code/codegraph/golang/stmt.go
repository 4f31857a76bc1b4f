package golang

import (
	"go/ast"
	"go/token"

	"github.com/kenlayer/ken/internal/code/codegraph"
)

// Visit implements ast.Visitor. It records what a node uses. It returns nil for a node whose parts it has visited, and
// otherwise the visitor for the parts.
func (u *usageWalker) Visit(n ast.Node) ast.Visitor {
	switch n := n.(type) {
	case *ast.BlockStmt, *ast.IfStmt, *ast.ForStmt, *ast.SwitchStmt, *ast.CaseClause, *ast.CommClause:
		u.open()
		return blockWalker{u}
	case *ast.FuncLit:
		u.open()
		u.signature(n.Type)
		u.walk(n.Body)
		u.close()
	case *ast.FuncType:
		u.open()
		u.signature(n)
		u.close()
	case *ast.StructType:
		u.fieldTypes(n.Fields)
	case *ast.InterfaceType:
		u.fieldTypes(n.Methods)
	case *ast.Ident:
		u.name(n, codegraph.References)
	case *ast.SelectorExpr:
		u.selector(n, codegraph.References)
	case *ast.CallExpr:
		u.call(n)
	case *ast.CompositeLit:
		u.literal(n, typ{})
	case *ast.AssignStmt:
		u.assign(n)
	case *ast.DeclStmt:
		u.declare(n)
	case *ast.RangeStmt:
		u.ranges(n)
	case *ast.TypeSwitchStmt:
		u.typeSwitch(n)
	case *ast.LabeledStmt:
		u.walk(n.Stmt)
	case nil, *ast.BranchStmt:
	default:
		return u
	}
	return nil
}

// blockWalker visits the parts of a node that is a block, and closes the block after them.
type blockWalker struct{ *usageWalker }

// Visit implements ast.Visitor.
func (b blockWalker) Visit(n ast.Node) ast.Visitor {
	if n == nil {
		b.close()
		return nil
	}
	return b.usageWalker.Visit(n)
}

// walk records what a node uses. Types are expressions, too.
func (u *usageWalker) walk(n ast.Node) {
	if n != nil {
		ast.Walk(u, n)
	}
}

func walkAll[N ast.Node](u *usageWalker, list []N) {
	for _, n := range list {
		u.walk(n)
	}
}

// typeSwitch binds the variable of a type switch in each clause, with the type of the clause if it has one.
func (u *usageWalker) typeSwitch(s *ast.TypeSwitchStmt) {
	u.open()
	defer u.close()
	u.walk(s.Init)
	var name *ast.Ident
	var what ast.Expr
	switch a := s.Assign.(type) {
	case *ast.AssignStmt:
		if len(a.Lhs) == 1 && len(a.Rhs) == 1 {
			name, _ = a.Lhs[0].(*ast.Ident)
			what = a.Rhs[0]
		}
	case *ast.ExprStmt:
		what = a.X
	}
	u.walk(what)
	for _, st := range s.Body.List {
		c, ok := st.(*ast.CaseClause)
		if !ok {
			continue
		}
		walkAll(u, c.List)
		t := typ{}
		if len(c.List) == 1 {
			t = u.typeHere(c.List[0])
		} else if a, ok := what.(*ast.TypeAssertExpr); ok {
			t = u.typeOf(a.X, maxTypeSteps)
		}
		u.open()
		u.define(name, variable, t)
		walkAll(u, c.Body)
		u.close()
	}
}

func (u *usageWalker) ranges(s *ast.RangeStmt) {
	u.walk(s.X)
	u.open()
	defer u.close()
	t := u.typeOf(s.X, maxTypeSteps)
	for i, e := range []ast.Expr{s.Key, s.Value} {
		id, ok := e.(*ast.Ident)
		if s.Tok != token.DEFINE || !ok {
			u.walk(e)
			continue
		}
		if _, channel := u.underlying(t).expr.(*ast.ChanType); channel {
			i = 1
		}
		u.define(id, variable, u.element(t, i))
	}
	u.walk(s.Body)
}

func (u *usageWalker) assign(s *ast.AssignStmt) {
	walkAll(u, s.Rhs)
	if s.Tok != token.DEFINE {
		walkAll(u, s.Lhs)
		return
	}
	types := make([]typ, len(s.Lhs)) // computed before any name is bound
	for i := range s.Lhs {
		types[i] = u.nthType(s.Rhs, i, len(s.Lhs))
	}
	for i, e := range s.Lhs {
		if id, ok := e.(*ast.Ident); ok {
			u.define(id, variable, types[i])
		} else {
			u.walk(e)
		}
	}
}

// nthType returns the type of the i-th of n variables that are set to values.
func (u *usageWalker) nthType(values []ast.Expr, i, n int) typ {
	if len(values) == n {
		return u.typeOf(values[i], maxTypeSteps)
	}
	if len(values) != 1 {
		return typ{}
	}
	if call, ok := ast.Unparen(values[0]).(*ast.CallExpr); ok {
		return u.result(call, i, maxTypeSteps)
	}
	if i > 0 { // the ok of x, ok
		return typ{}
	}
	return u.typeOf(values[0], maxTypeSteps)
}

// usageWalker visits a file and records which names it uses.
type usageWalker struct {
	scopes
	tokens  *token.File
	syntax  *ast.File
	outline *Outline
	pkg     string
	table   table
	imports imports

	from   int // the declaration being read
	uses   []codegraph.Use
	seen   map[codegraph.Use]struct{} // uses recorded so far, without lines
	joined map[string]string          // qualified names, each stored once
	buf    []byte
}

func newUsageWalker(tokens *token.File, file *ast.File, o *Outline, pkg string) *usageWalker {
	u := &usageWalker{tokens: tokens, syntax: file, outline: o, pkg: pkg, table: newTable(file, o),
		seen: map[codegraph.Use]struct{}{}, joined: map[string]string{}}
	u.imports = newImports(file, pkg, func(n ast.Node) int { return u.line(n.Pos()) })
	return u
}

func (u *usageWalker) line(p token.Pos) int {
	if u.tokens == nil || !p.IsValid() {
		return 0
	}
	return u.tokens.PositionFor(p, false).Line
}

// file visits all parts of the outline.
func (u *usageWalker) file() {
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
				u.walk(n)
			}
		}
		u.close()
	}
	u.assertions()
}

// addUse records a use, once for each declaration, kind and name.
func (u *usageWalker) addUse(kind codegraph.EdgeKind, name string, qualified bool, p token.Pos) {
	use := codegraph.Use{From: u.from, Kind: kind, Name: name, Qualified: qualified}
	if _, ok := u.seen[use]; ok {
		return
	}
	u.seen[use] = struct{}{}
	use.Line = u.line(p)
	u.uses = append(u.uses, use)
}

// qualify returns "before.name". It allocates each result only once.
func (u *usageWalker) qualify(before, name string) string {
	u.buf = append(append(append(u.buf[:0], before...), '.'), name...)
	if s, ok := u.joined[string(u.buf)]; ok {
		return s
	}
	s := string(u.buf)
	u.joined[s] = s
	return s
}

// ownName returns the qualified name of a declaration in the package.
func (u *usageWalker) ownName(name string) string { return u.qualify(u.pkg, name) }

// isPredeclared reports whether a name refers to the universe scope here.
func (u *usageWalker) isPredeclared(name string) bool {
	return predeclared(name) && !u.isLocal(name) && !u.table.declares(name)
}

// isLocal reports whether a function, its parameters or a block declare a name that is visible here.
func (u *usageWalker) isLocal(name string) bool { return u.lookup(name, len(u.bound)) >= 0 }

// isPackageName reports whether an identifier before a dot is the name of an imported package.
func (u *usageWalker) isPackageName(id *ast.Ident) bool {
	if u.isLocal(id.Name) || u.table.declares(id.Name) {
		return false
	}
	_, ok := u.imports.find(id.Name)
	return ok
}

// name records the use of an identifier.
func (u *usageWalker) name(id *ast.Ident, kind codegraph.EdgeKind) {
	n := id.Name
	_, imported := u.imports.names[n]
	switch {
	case blank(id) || u.isLocal(n):
	case u.table.declares(n):
		if _, ok := u.table.types[n]; ok && kind == codegraph.Calls {
			kind = codegraph.References // a conversion
		}
		u.addUse(kind, u.ownName(n), true, id.Pos())
	case imported || predeclared(n) && !predeclaredLate(n):
	case len(u.imports.dots) > 0 && !predeclared(n):
		u.addUse(kind, u.qualify("", n)[1:], false, id.Pos())
	default:
		u.addUse(kind, u.ownName(n), true, id.Pos())
	}
}

// selector records the use of x.Sel, and the uses within x.
func (u *usageWalker) selector(x *ast.SelectorExpr, kind codegraph.EdgeKind) {
	if id, ok := ast.Unparen(x.X).(*ast.Ident); ok && u.isPackageName(id) {
		if path, _ := u.imports.find(id.Name); path != "" && !blank(x.Sel) {
			u.addUse(kind, u.qualify(path, x.Sel.Name), true, x.Sel.Pos())
		}
		return
	}
	u.walk(x.X)
	u.memberUse(u.typeOf(x.X, maxTypeSteps), x.Sel, kind)
}

// memberUse records the use of a member of a value with this type.
func (u *usageWalker) memberUse(t typ, sel *ast.Ident, kind codegraph.EdgeKind) {
	if blank(sel) {
		return
	}
	switch owner, _ := u.member(t, sel.Name, maxTypeSteps); owner {
	case "":
	case unknown:
		u.addUse(kind, u.qualify("", sel.Name), false, sel.Pos())
	default:
		u.addUse(kind, u.qualify(owner, sel.Name), true, sel.Pos())
	}
}

// embedded records the use of a type embedded in a struct or interface.
func (u *usageWalker) embedded(e ast.Expr) {
	inner, args := peel(e)
	for ; inner != nil; inner, args = peel(e) {
		walkAll(u, args)
		e = inner
	}
	u.used(e, codegraph.Inherits)
}
