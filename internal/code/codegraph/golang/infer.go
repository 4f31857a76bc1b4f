package golang

import (
	"go/ast"
	"go/token"
	"slices"

	"github.com/kenlayer/ken/internal/code/codegraph"
)

// maxTypeSteps is the maximum number of steps for the type of a value. It ends cycles and long chains of calls in
// generated code.
const maxTypeSteps = 12

// typeOf returns the type of a value as far as the file shows it. fuel is the number of steps left.
func (u *usageWalker) typeOf(e ast.Expr, fuel int) typ {
	if fuel == 0 {
		return typ{}
	}
	switch x := e.(type) {
	case *ast.Ident:
		return u.identType(x, fuel)
	case *ast.ParenExpr, *ast.StarExpr:
		inner, _ := peel(x)
		return u.typeOf(inner, fuel-1)
	case *ast.UnaryExpr:
		t := u.typeOf(x.X, fuel-1)
		switch x.Op {
		case token.AND:
			return t
		case token.ARROW:
			return u.element(t, 1)
		}
	case *ast.SelectorExpr:
		if id, ok := x.X.(*ast.Ident); ok && u.isPackageName(id) {
			return typ{}
		}
		_, t := u.member(u.typeOf(x.X, fuel-1), x.Sel.Name, fuel-1)
		return t
	case *ast.CallExpr:
		return u.result(x, 0, fuel-1)
	case *ast.IndexExpr, *ast.IndexListExpr: // an element, or an instance of a generic type or function
		inner, _ := peel(x)
		t := u.typeOf(inner, fuel-1)
		if _, ok := t.expr.(*ast.FuncType); ok || t.isType {
			return t
		}
		return u.element(t, 1)
	case *ast.SliceExpr:
		return u.typeOf(x.X, fuel-1)
	case *ast.CompositeLit:
		return u.typeHere(x.Type)
	case *ast.FuncLit:
		return u.typeHere(x.Type)
	case *ast.TypeAssertExpr:
		return u.typeHere(x.Type)
	case *ast.ArrayType, *ast.MapType, *ast.ChanType, *ast.FuncType, *ast.StructType, *ast.InterfaceType:
		t := u.typeHere(x)
		t.isType = true
		return t
	}
	return typ{}
}

// typeHere returns a type written at the present place.
func (u *usageWalker) typeHere(e ast.Expr) typ {
	if f, ok := e.(*ast.FuncType); e == nil || ok && f == nil {
		return typ{}
	}
	return typ{expr: e, depth: len(u.bound)}
}

func (u *usageWalker) identType(x *ast.Ident, fuel int) typ {
	if i := u.lookup(x.Name, len(u.bound)); i >= 0 {
		if b := u.bound[i]; b.role == variable {
			return b.typ
		}
		return typ{expr: x, depth: i + 1, isType: true}
	}
	if _, ok := u.table.types[x.Name]; ok {
		return typ{expr: x, isType: true}
	}
	if f, ok := u.table.funcs[x.Name]; ok {
		return typ{expr: f.Type, typeParams: typeParamNames(f)}
	}
	v := u.table.values[x.Name]
	if v.typ != nil {
		return typ{expr: v.typ}
	}
	defer func(bound []binding) { u.bound = bound }(u.bound)
	u.bound = nil // the value is at file level
	if call, ok := ast.Unparen(v.value).(*ast.CallExpr); ok {
		return u.result(call, v.result, fuel-1)
	}
	if v.value == nil || v.result > 0 {
		return typ{}
	}
	return u.typeOf(v.value, fuel-1)
}

// result returns the type of the n-th result of a call.
func (u *usageWalker) result(call *ast.CallExpr, n, fuel int) typ {
	if fuel <= 0 {
		return typ{}
	}
	if id, ok := ast.Unparen(call.Fun).(*ast.Ident); ok && u.isPredeclared(id.Name) && len(call.Args) > 0 {
		switch id.Name {
		case "new", "make":
			return u.typeHere(call.Args[0])
		case "append", "min", "max":
			return u.typeOf(call.Args[0], fuel-1)
		}
		return typ{}
	}
	t := u.typeOf(call.Fun, fuel-1)
	if t.isType { // a conversion
		t.isType = false
		return t
	}
	f, ok := u.underlying(t).expr.(*ast.FuncType)
	if !ok || f.Results == nil {
		return typ{}
	}
	for _, r := range f.Results.List {
		if n -= max(1, len(r.Names)); n < 0 {
			return u.underlying(t).part(r.Type)
		}
	}
	return typ{}
}

// element returns the type of the keys (n is 0) or the values (n is 1) of t.
func (u *usageWalker) element(t typ, n int) typ {
	t = u.underlying(t)
	var elements [2]ast.Expr
	switch x := t.expr.(type) {
	case *ast.ArrayType:
		elements[1] = x.Elt
	case *ast.Ellipsis:
		elements[1] = x.Elt
	case *ast.MapType:
		elements = [2]ast.Expr{x.Key, x.Value}
	case *ast.ChanType:
		elements[1] = x.Value
	}
	if elements[n] == nil {
		return typ{}
	}
	return t.part(elements[n])
}

// underlying follows named types that the file declares to their definitions. It removes stars, because fields and
// methods are found through pointers, too.
func (u *usageWalker) underlying(t typ) typ {
	for range maxTypeSteps {
		if t.expr == nil {
			break
		}
		x, ok := bare(t.expr).(*ast.Ident)
		if !ok {
			if _, foreign := bare(t.expr).(*ast.SelectorExpr); foreign {
				break
			}
			return t.part(bare(t.expr))
		}
		if t, ok = u.underlyingOf(t, x); !ok {
			break
		}
	}
	return typ{}
}

// underlyingOf returns the definition of a named type. ok is false if the file does not have it.
func (u *usageWalker) underlyingOf(t typ, x *ast.Ident) (typ, bool) {
	if slices.Contains(t.typeParams, x.Name) {
		return typ{}, false
	}
	if i := u.lookup(x.Name, t.depth); i >= 0 {
		return u.bound[i].typ, u.bound[i].role != variable
	}
	s, ok := u.table.types[x.Name]
	if !ok {
		return typ{}, false
	}
	return typ{expr: s.Type, typeParams: hiddenNames(s.TypeParams)}, true
}

// call records a call of a function, or of the value of a variable or field.
func (u *usageWalker) call(x *ast.CallExpr) {
	fun := ast.Unparen(x.Fun)
	if inner, args := peel(fun); args != nil { // an instance of a generic function, or an element of a list of functions
		walkAll(u, args)
		fun = ast.Unparen(inner)
	}
	u.used(fun, codegraph.Calls)
	walkAll(u, x.Args)
}

// used records the use of what an expression names, in one way, and what else it uses.
func (u *usageWalker) used(e ast.Expr, kind codegraph.EdgeKind) {
	switch x := e.(type) {
	case *ast.Ident:
		u.name(x, kind)
	case *ast.SelectorExpr:
		u.selector(x, kind)
	default:
		u.walk(e)
	}
}

func (u *usageWalker) fieldTypes(list *ast.FieldList) {
	for _, f := range fields(list) {
		u.walk(f.Type)
	}
}

func fields(list *ast.FieldList) []*ast.Field {
	if list == nil {
		return nil
	}
	return list.List
}

// literal records what a composite literal uses: its type, the fields that it sets, and its values. hint is its type if
// the literal omits it.
func (u *usageWalker) literal(x *ast.CompositeLit, hint typ) {
	t := hint
	if x.Type != nil {
		u.walk(x.Type)
		t = u.typeHere(x.Type)
	}
	shape := u.underlying(t).expr
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

// value reads an element of a literal, which may omit its type.
func (u *usageWalker) value(e ast.Expr, t typ) {
	if lit, ok := e.(*ast.CompositeLit); ok {
		u.literal(lit, t)
	} else {
		u.walk(e)
	}
}

// key records the field that a literal sets. If the file does not show that the literal is a struct, a name that can
// only be that of a variable is one.
func (u *usageWalker) key(t typ, id *ast.Ident, isStruct bool) {
	foreign := false
	if t.expr != nil {
		_, foreign = bare(t.expr).(*ast.SelectorExpr)
	}
	if !isStruct && !id.IsExported() && (foreign || t.expr == nil && (u.isLocal(id.Name) || u.table.declares(id.Name))) {
		u.name(id, codegraph.References)
		return
	}
	u.memberUse(t, id, codegraph.References)
}
