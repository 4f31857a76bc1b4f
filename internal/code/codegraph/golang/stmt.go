package golang

import (
	"go/ast"
	"go/token"
)

func (u *user) block(b *ast.BlockStmt) {
	if b == nil {
		return
	}
	u.open()
	u.stmts(b.List)
	u.close()
}

func (u *user) stmts(list []ast.Stmt) {
	for _, s := range list {
		u.stmt(s)
	}
}

func (u *user) stmt(s ast.Stmt) {
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

func (u *user) clauses(body *ast.BlockStmt) {
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

// typeSwitch binds the name of a type switch in each clause, to its type where it
// has one.
func (u *user) typeSwitch(s *ast.TypeSwitchStmt) {
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
			t = u.here(c.List[0])
		} else if a, ok := what.(*ast.TypeAssertExpr); ok {
			t = u.typeOf(a.X, fuel)
		}
		u.open()
		u.define(name, variable, t)
		u.stmts(c.Body)
		u.close()
	}
}

func (u *user) ranges(s *ast.RangeStmt) {
	u.expr(s.X)
	u.open()
	defer u.close()
	t := u.typeOf(s.X, fuel)
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
		if _, channel := u.under(t).expr.(*ast.ChanType); channel {
			n = 1
		}
		u.define(id, variable, u.element(t, n))
	}
	u.block(s.Body)
}

func (u *user) assign(s *ast.AssignStmt) {
	u.exprs(s.Rhs)
	if s.Tok != token.DEFINE {
		u.exprs(s.Lhs)
		return
	}
	types := make([]typ, len(s.Lhs)) // before any is bound
	for i := range s.Lhs {
		types[i] = u.nth(s.Rhs, i, len(s.Lhs))
	}
	for i, e := range s.Lhs {
		if id, ok := e.(*ast.Ident); ok {
			u.define(id, variable, types[i])
		} else {
			u.expr(e)
		}
	}
}

// nth is the type of the i-th of n values.
func (u *user) nth(values []ast.Expr, i, n int) typ {
	if len(values) == n {
		return u.typeOf(values[i], fuel)
	}
	if len(values) != 1 {
		return typ{}
	}
	if call, ok := ast.Unparen(values[0]).(*ast.CallExpr); ok {
		return u.result(call, i, fuel)
	}
	if i > 0 { // the ok of x, ok
		return typ{}
	}
	return u.typeOf(values[0], fuel)
}
