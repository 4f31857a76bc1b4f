package golang

import (
	"go/ast"

	"github.com/kenlayer/ken/internal/code/codegraph"
)

func (u *user) exprs(list []ast.Expr) {
	for _, e := range list {
		u.expr(e)
	}
}

// expr notes what an expression uses; types are expressions too.
func (u *user) expr(e ast.Expr) {
	switch x := e.(type) {
	case *ast.Ident:
		u.name(x, codegraph.References)
	case *ast.SelectorExpr:
		u.selector(x, codegraph.References)
	case *ast.CallExpr:
		u.call(x)
	case *ast.CompositeLit:
		u.literal(x, typ{})
	case *ast.FuncLit:
		u.open()
		u.signature(x.Type)
		u.block(x.Body)
		u.close()
	case *ast.ParenExpr:
		u.expr(x.X)
	case *ast.StarExpr:
		u.expr(x.X)
	case *ast.UnaryExpr:
		u.expr(x.X)
	case *ast.BinaryExpr:
		u.expr(x.X)
		u.expr(x.Y)
	case *ast.KeyValueExpr:
		u.expr(x.Key)
		u.expr(x.Value)
	case *ast.IndexExpr:
		u.expr(x.X)
		u.expr(x.Index)
	case *ast.IndexListExpr:
		u.expr(x.X)
		u.exprs(x.Indices)
	case *ast.SliceExpr:
		u.exprs([]ast.Expr{x.X, x.Low, x.High, x.Max})
	case *ast.TypeAssertExpr:
		u.expr(x.X)
		u.expr(x.Type)
	case *ast.Ellipsis:
		u.expr(x.Elt)
	case *ast.ArrayType:
		u.expr(x.Len)
		u.expr(x.Elt)
	case *ast.MapType:
		u.expr(x.Key)
		u.expr(x.Value)
	case *ast.ChanType:
		u.expr(x.Value)
	case *ast.StructType:
		u.fieldTypes(x.Fields)
	case *ast.InterfaceType:
		u.fieldTypes(x.Methods)
	case *ast.FuncType:
		u.open()
		u.signature(x)
		u.close()
	}
}

// call notes a call: of a function, or of what a variable or field holds.
func (u *user) call(x *ast.CallExpr) {
	fun := ast.Unparen(x.Fun)
	switch f := fun.(type) {
	case *ast.IndexExpr: // an instance of a generic function, or one of several functions
		u.expr(f.Index)
		fun = ast.Unparen(f.X)
	case *ast.IndexListExpr:
		u.exprs(f.Indices)
		fun = ast.Unparen(f.X)
	}
	switch f := fun.(type) {
	case *ast.Ident:
		u.name(f, codegraph.Calls)
	case *ast.SelectorExpr:
		u.selector(f, codegraph.Calls)
	default:
		u.expr(f)
	}
	u.exprs(x.Args)
}

func (u *user) fieldTypes(list *ast.FieldList) {
	if list == nil {
		return
	}
	for _, f := range list.List {
		u.expr(f.Type)
	}
}

// literal notes what a composite literal uses: its type, the fields that it sets, its
// values. hint is the type where the literal leaves it out.
func (u *user) literal(x *ast.CompositeLit, hint typ) {
	t := hint
	if x.Type != nil {
		u.expr(x.Type)
		t = u.here(x.Type)
	}
	shape := u.under(t).expr
	_, row := shape.(*ast.ArrayType)
	_, table := shape.(*ast.MapType)
	for _, e := range x.Elts {
		kv, ok := e.(*ast.KeyValueExpr)
		if !ok {
			u.value(e, u.element(t, 1))
			continue
		}
		id, named := kv.Key.(*ast.Ident)
		switch {
		case row || table:
			u.value(kv.Key, u.element(t, 0))
		case !named:
			u.value(kv.Key, typ{})
		default:
			u.key(t, id, shape != nil)
		}
		u.value(kv.Value, u.element(t, 1))
	}
}

// value is an element of a literal, which may leave out its type.
func (u *user) value(e ast.Expr, t typ) {
	if lit, ok := e.(*ast.CompositeLit); ok {
		u.literal(lit, t)
		return
	}
	u.expr(e)
}

// key notes the field that a literal sets. Where the file does not show that the
// literal is a struct, a name that can only be a variable's is one.
func (u *user) key(t typ, id *ast.Ident, isStruct bool) {
	if isStruct {
		u.memberUse(t, id, codegraph.References)
		return
	}
	_, foreign := bareSelector(t.expr)
	if !id.IsExported() && (foreign || !t.known() && (u.lookup(id.Name, len(u.bound)) >= 0 || u.table.declares(id.Name))) {
		u.name(id, codegraph.References)
		return
	}
	u.memberUse(t, id, codegraph.References)
}

func bareSelector(e ast.Expr) (*ast.SelectorExpr, bool) {
	if e == nil {
		return nil, false
	}
	s, ok := bare(e).(*ast.SelectorExpr)
	return s, ok
}
