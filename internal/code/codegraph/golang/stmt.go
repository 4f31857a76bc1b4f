package golang

import (
	"go/ast"
	"go/token"

	"github.com/kenlayer/ken/internal/code/codegraph"
)

func (u *usageWalker) block(b *ast.BlockStmt) {
	if b == nil {
		return
	}
	u.open()
	u.stmts(b.List)
	u.close()
}

func (u *usageWalker) stmts(list []ast.Stmt) {
	for _, s := range list {
		u.stmt(s)
	}
}

func (u *usageWalker) stmt(s ast.Stmt) {
	switch s := s.(type) {
	case *ast.ExprStmt:
		u.expr(s.X)
	case *ast.AssignStmt:
		u.assign(s)
	case *ast.DeclStmt:
		u.declare(s)
	case *ast.ReturnStmt:
		u.exprs(s.Results)
	case *ast.BlockStmt:
		u.block(s)
	case *ast.IfStmt:
		u.open()
		u.stmt(s.Init)
		u.expr(s.Cond)
		u.block(s.Body)
		u.stmt(s.Else)
		u.close()
	case *ast.ForStmt:
		u.open()
		u.stmt(s.Init)
		u.expr(s.Cond)
		u.stmt(s.Post)
		u.block(s.Body)
		u.close()
	case *ast.RangeStmt:
		u.ranges(s)
	case *ast.SwitchStmt:
		u.open()
		u.stmt(s.Init)
		u.expr(s.Tag)
		u.clauses(s.Body)
		u.close()
	case *ast.TypeSwitchStmt:
		u.typeSwitch(s)
	case *ast.SelectStmt:
		u.clauses(s.Body)
	case *ast.GoStmt:
		u.expr(s.Call)
	case *ast.DeferStmt:
		u.expr(s.Call)
	case *ast.SendStmt:
		u.expr(s.Chan)
		u.expr(s.Value)
	case *ast.IncDecStmt:
		u.expr(s.X)
	case *ast.LabeledStmt:
		u.stmt(s.Stmt)
	}
}

func (u *usageWalker) clauses(body *ast.BlockStmt) {
	if body == nil {
		return
	}
	for _, s := range body.List {
		u.open()
		switch c := s.(type) {
		case *ast.CaseClause:
			u.exprs(c.List)
			u.stmts(c.Body)
		case *ast.CommClause:
			u.stmt(c.Comm)
			u.stmts(c.Body)
		default:
			u.stmt(s)
		}
		u.close()
	}
}

// typeSwitch binds the variable of a type switch in each clause, with the type of the clause if it has one.
func (u *usageWalker) typeSwitch(s *ast.TypeSwitchStmt) {
	u.open()
	defer u.close()
	u.stmt(s.Init)
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
	u.expr(what)
	if s.Body == nil {
		return
	}
	for _, st := range s.Body.List {
		c, ok := st.(*ast.CaseClause)
		if !ok {
			continue
		}
		u.exprs(c.List)
		t := typ{}
		if len(c.List) == 1 {
			t = u.typeHere(c.List[0])
		} else if a, ok := what.(*ast.TypeAssertExpr); ok {
			t = u.typeOf(a.X, maxTypeSteps)
		}
		u.open()
		u.define(name, variable, t)
		u.stmts(c.Body)
		u.close()
	}
}

func (u *usageWalker) ranges(s *ast.RangeStmt) {
	u.expr(s.X)
	u.open()
	defer u.close()
	t := u.typeOf(s.X, maxTypeSteps)
	for i, e := range []ast.Expr{s.Key, s.Value} {
		if e == nil {
			continue
		}
		id, ok := e.(*ast.Ident)
		if s.Tok != token.DEFINE || !ok {
			u.expr(e)
			continue
		}
		n := i
		if _, channel := u.underlying(t).expr.(*ast.ChanType); channel {
			n = 1
		}
		u.define(id, variable, u.element(t, n))
	}
	u.block(s.Body)
}

func (u *usageWalker) assign(s *ast.AssignStmt) {
	u.exprs(s.Rhs)
	if s.Tok != token.DEFINE {
		u.exprs(s.Lhs)
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
			u.expr(e)
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
				u.expr(n)
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
	return predeclared[name] && u.lookup(name, len(u.bound)) < 0 && !u.table.declares(name)
}

// isPackageName reports whether an identifier before a dot is the name of an imported package.
func (u *usageWalker) isPackageName(id *ast.Ident) bool {
	if u.lookup(id.Name, len(u.bound)) >= 0 || u.table.declares(id.Name) {
		return false
	}
	_, ok := u.imports.find(id.Name)
	return ok
}

// name records the use of an identifier.
func (u *usageWalker) name(id *ast.Ident, kind codegraph.EdgeKind) {
	n := id.Name
	if n == "_" || n == "" || u.lookup(n, len(u.bound)) >= 0 {
		return
	}
	if u.table.declares(n) {
		if _, ok := u.table.types[n]; ok && kind == codegraph.Calls {
			kind = codegraph.References // a conversion
		}
		u.addUse(kind, u.ownName(n), true, id.Pos())
		return
	}
	if predeclared[n] && !newPredeclared[n] {
		return
	}
	if _, ok := u.imports.names[n]; ok {
		return
	}
	if len(u.imports.dots) > 0 && !predeclared[n] {
		u.addUse(kind, u.qualify("", n)[1:], false, id.Pos())
		return
	}
	u.addUse(kind, u.ownName(n), true, id.Pos())
}

// selector records the use of x.Sel, and the uses within x.
func (u *usageWalker) selector(x *ast.SelectorExpr, kind codegraph.EdgeKind) {
	if id, ok := ast.Unparen(x.X).(*ast.Ident); ok && u.isPackageName(id) {
		if path, _ := u.imports.find(id.Name); path != "" && !blank(x.Sel) {
			u.addUse(kind, u.qualify(path, x.Sel.Name), true, x.Sel.Pos())
		}
		return
	}
	u.expr(x.X)
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
