package golang

import (
	"go/ast"
	"go/token"
	"go/types"
	"slices"
)

// role is the kind of a binding.
type role uint8

const (
	variable  role = iota
	localType      // a type declared in a function
	parameter      // a type parameter
)

// binding is a name declared by a function, its parameters or a block.
type binding struct {
	name string
	role role
	typ  typ // type of a variable, definition of a type, or constraint of a type parameter
}

// scopes is a stack of blocks. Lookups search it linearly from the end, because functions declare few names.
type scopes struct {
	bound []binding
	marks []int // index in bound at which each block begins
}

func (s *scopes) open() { s.marks = append(s.marks, len(s.bound)) }
func (s *scopes) close() {
	s.bound, s.marks = s.bound[:s.marks[len(s.marks)-1]], s.marks[:len(s.marks)-1]
}

// lookup returns the index of a name among the first depth bindings; -1 for none.
func (s *scopes) lookup(name string, depth int) int {
	for i := min(depth, len(s.bound)) - 1; i >= 0; i-- {
		if s.bound[i].name == name {
			return i
		}
	}
	return -1
}

// define binds a name in the innermost block. If the block has declared the name already, the first type stays, as with
// := for a name that is not new.
func (s *scopes) define(id *ast.Ident, r role, t typ) {
	if blank(id) {
		return
	}
	if i := s.lookup(id.Name, len(s.bound)); i >= 0 && (len(s.marks) == 0 || i >= s.marks[len(s.marks)-1]) {
		if s.bound[i].typ.expr == nil {
			s.bound[i].typ = t
		}
		return
	}
	s.bound = append(s.bound, binding{id.Name, r, t})
}

// typ is a type expression and the place where it is written.
type typ struct {
	expr       ast.Expr // nil if unknown
	depth      int      // number of bindings visible at that place
	typeParams []string // type parameters of the declaration from which it was taken
	isType     bool     // the expression denotes the type itself rather than a value of it
}

// part returns a type expression within t.
func (t typ) part(e ast.Expr) typ { return typ{expr: e, depth: t.depth, typeParams: t.typeParams} }

// function reads a function or method with its receiver.
func (u *usageWalker) function(d *ast.FuncDecl) {
	for _, id := range receiverParams(d) {
		u.define(id, parameter, typ{})
	}
	u.fieldTypes(d.Recv)
	u.open() // a receiver may have its type's name
	u.values(d.Recv, len(u.bound))
	u.signature(d.Type)
	if d.Body != nil {
		u.walk(d.Body)
	}
	u.close()
}

// params binds type parameters to their constraints.
func (u *usageWalker) params(list *ast.FieldList) {
	from := len(u.bound)
	for _, f := range fields(list) {
		for _, id := range f.Names {
			u.define(id, parameter, typ{expr: f.Type})
		}
	}
	for i := from; i < len(u.bound); i++ { // each sees all of them
		u.bound[i].typ.depth = len(u.bound)
	}
}

// signature reads the types in a function's signature and binds its parameters and results in the open block.
func (u *usageWalker) signature(t *ast.FuncType) {
	if t == nil {
		return
	}
	u.params(t.TypeParams)
	u.fieldTypes(t.TypeParams)
	u.fieldTypes(t.Params)
	u.fieldTypes(t.Results)
	u.open()
	depth := len(u.bound)
	u.values(t.Params, depth)
	u.values(t.Results, depth)
	u.marks = u.marks[:len(u.marks)-1] // the names stay for the body
}

// values binds parameters or results. depth is the number of bindings that their types see.
func (u *usageWalker) values(list *ast.FieldList, depth int) {
	for _, f := range fields(list) {
		for _, id := range f.Names {
			u.define(id, variable, typ{expr: f.Type, depth: depth})
		}
	}
}

// declare reads a declaration within a function.
func (u *usageWalker) declare(s *ast.DeclStmt) {
	d, ok := s.Decl.(*ast.GenDecl)
	if !ok {
		return
	}
	for _, spec := range d.Specs {
		switch spec := spec.(type) {
		case *ast.ValueSpec:
			u.walk(spec.Type)
			walkAll(u, spec.Values)
			types := make([]typ, len(spec.Names))
			for i := range spec.Names {
				if types[i] = u.typeHere(spec.Type); spec.Type == nil {
					types[i] = u.nthType(spec.Values, i, len(spec.Names))
				}
			}
			for i, id := range spec.Names {
				u.define(id, variable, types[i])
			}
		case *ast.TypeSpec:
			u.define(spec.Name, localType, typ{expr: spec.Type, depth: len(u.bound) + 1})
			u.open()
			u.params(spec.TypeParams)
			u.fieldTypes(spec.TypeParams)
			u.walk(spec.Type)
			u.close()
		}
	}
}

// table holds the file-level declarations of a file, to find the types of values.
type table struct {
	types   map[string]*ast.TypeSpec
	funcs   map[string]*ast.FuncDecl
	methods map[string]*ast.FuncDecl // by "Type.Method"
	values  map[string]global
	places  map[string]int // indices of types in the outline
}

// global is a file-level variable or constant: its declared type, or its value.
type global struct {
	typ    ast.Expr
	value  ast.Expr
	result int // index of the result, if the value is a call
}

func newTable(file *ast.File, o *Outline) table {
	t := table{map[string]*ast.TypeSpec{}, map[string]*ast.FuncDecl{}, map[string]*ast.FuncDecl{}, map[string]global{}, map[string]int{}}
	for i, n := range o.nodes {
		if s, ok := n.(*ast.TypeSpec); ok {
			t.places[s.Name.Name] = i
		}
	}
	for _, d := range file.Decls {
		switch d := d.(type) {
		case *ast.FuncDecl:
			if d.Recv == nil {
				t.funcs[d.Name.Name] = d
			} else {
				t.methods[receiverName(d)+"."+d.Name.Name] = d
			}
		case *ast.GenDecl:
			for _, s := range d.Specs {
				switch s := s.(type) {
				case *ast.TypeSpec:
					t.types[s.Name.Name] = s
				case *ast.ValueSpec:
					t.value(d.Tok, s)
				}
			}
		}
	}
	return t
}

func (t *table) value(tok token.Token, s *ast.ValueSpec) {
	for i, id := range s.Names {
		v := global{typ: s.Type}
		switch {
		case tok == token.CONST && s.Type == nil: // untyped, or repeated: not needed
		case len(s.Values) == len(s.Names):
			v.value = s.Values[i]
		case len(s.Values) == 1:
			v.value, v.result = s.Values[0], i
		}
		t.values[id.Name] = v
	}
}

// declares reports whether the file declares a name at file level.
func (t *table) declares(name string) bool {
	_, isFunc := t.funcs[name]
	_, isType := t.types[name]
	_, isValue := t.values[name]
	return isType || name != "_" && (isValue || isFunc && name != "init")
}

// hiddenNames returns the names of type parameters.
func hiddenNames(list *ast.FieldList) (names []string) {
	for _, f := range fields(list) {
		for _, id := range f.Names {
			names = append(names, id.Name)
		}
	}
	return names
}

// receiverParams returns the type parameters that a receiver declares.
func receiverParams(d *ast.FuncDecl) (out []*ast.Ident) {
	if len(fields(d.Recv)) == 0 {
		return nil
	}
	e, args := peel(d.Recv.List[0].Type)
	for e != nil && args == nil {
		e, args = peel(e)
	}
	for _, a := range args {
		if id, ok := a.(*ast.Ident); ok {
			out = append(out, id)
		}
	}
	return out
}

// typeParamNames returns the names of the type parameters of a function or method.
func typeParamNames(d *ast.FuncDecl) []string {
	names := hiddenNames(d.Type.TypeParams)
	for _, id := range receiverParams(d) {
		names = append(names, id.Name)
	}
	return names
}

// predeclared reports whether a name is in the universe scope of the language.
func predeclared(name string) bool { return types.Universe.Lookup(name) != nil }

// predeclaredLate reports whether a predeclared name was added late, so that packages may have declarations with the name.
// A use is recorded as one of the package; if the package has no such declaration, the graph ignores it.
func predeclaredLate(name string) bool { return name == "clear" || name == "max" || name == "min" }

// member finds a member of a type. owner is the qualified name of the type that declares it, "" if that has no node (a
// local type, a struct without a name), "?" if it is unknown. m is the member's type as far as the file shows it.
func (u *usageWalker) member(t typ, name string, fuel int) (owner string, m typ) {
	if fuel <= 0 || t.expr == nil {
		return unknown, typ{}
	}
	switch x := bare(t.expr).(type) {
	case *ast.SelectorExpr:
		return u.typeName(t, x), typ{}
	case *ast.Ident:
		return u.memberOfName(t, x, name, fuel)
	case *ast.StructType, *ast.InterfaceType:
		owner, m, _ = u.within(t.part(x), "", name, fuel)
		return owner, m
	}
	return "", typ{} // arrays, maps, functions have none
}

// unknown is the owner of a member if the type is unknown.
const unknown = "?"

func (u *usageWalker) memberOfName(t typ, x *ast.Ident, name string, fuel int) (string, typ) {
	if slices.Contains(t.typeParams, x.Name) {
		return unknown, typ{}
	}
	if i := u.lookup(x.Name, t.depth); i >= 0 {
		switch b := u.bound[i]; b.role {
		case parameter:
			return u.member(b.typ, name, fuel-1)
		case localType:
			if owner, m, found := u.within(u.underlying(b.typ), "", name, fuel); found {
				return owner, m
			}
			return "", typ{}
		}
		return unknown, typ{}
	}
	s, ok := u.table.types[x.Name]
	if !ok {
		return u.typeName(t, x), typ{}
	}
	inner := typ{expr: s.Type, typeParams: hiddenNames(s.TypeParams)}
	if s.Assign.IsValid() {
		return u.member(inner, name, fuel-1)
	}
	own := u.ownName(x.Name)
	if f, ok := u.table.methods[x.Name+"."+name]; ok {
		return own, typ{expr: f.Type, typeParams: typeParamNames(f)}
	}
	owner, m, _ := u.within(inner, own, name, fuel)
	return owner, m
}

// within searches a type's definition for a member: its fields or methods, then those of embedded types. If the member
// is not found, it is assumed to be a method of the type that another file declares.
func (u *usageWalker) within(t typ, own, name string, fuel int) (owner string, m typ, found bool) {
	var list []*ast.Field
	switch x := bare(t.expr).(type) {
	case *ast.StructType:
		list = fields(x.Fields)
	case *ast.InterfaceType:
		list = fields(x.Methods)
	}
	for _, f := range list {
		named := func(id *ast.Ident) bool { return id.Name == name }
		if id := Named(f.Type); slices.ContainsFunc(f.Names, named) || len(f.Names) == 0 && id != nil && named(id) {
			return own, t.part(f.Type), true
		}
	}
	looked := 0
	for _, f := range list {
		if len(f.Names) > 0 || fuel <= 0 || looked == maxEmbedded {
			continue
		}
		looked++
		e := t.part(f.Type)
		switch x := bare(f.Type).(type) {
		case *ast.Ident:
			if s := u.table.types[x.Name]; s == nil || s.Assign.IsValid() || u.lookup(x.Name, t.depth) >= 0 {
				continue
			}
			if d, ok := u.table.methods[x.Name+"."+name]; ok {
				return u.ownName(x.Name), typ{expr: d.Type, typeParams: typeParamNames(d)}, true
			}
			if inner, ok := u.underlyingOf(e, x); ok {
				if owner, m, found = u.within(inner, u.ownName(x.Name), name, fuel/2); found {
					return owner, m, true
				}
			}
		case *ast.SelectorExpr:
			if own == "" && len(list) == 1 { // struct{ *testing.T }: nothing else can have it
				return u.typeName(e, x), typ{}, true
			}
		}
	}
	return own, typ{}, false
}

// maxEmbedded is the maximum number of embedded types that are searched.
const maxEmbedded = 16

// typeName returns the qualified name of a type; "" for predeclared and local types, "?" if it is unknown.
func (u *usageWalker) typeName(t typ, e ast.Expr) string {
	switch x := e.(type) {
	case *ast.Ident:
		switch {
		case slices.Contains(t.typeParams, x.Name):
			return unknown
		case u.lookup(x.Name, t.depth) >= 0:
			return ""
		case u.table.declares(x.Name):
			return u.ownName(x.Name)
		case predeclared(x.Name):
			return ""
		case len(u.imports.dots) > 0:
			return unknown
		}
		return u.ownName(x.Name)
	case *ast.SelectorExpr:
		id, ok := x.X.(*ast.Ident)
		if !ok || u.lookup(id.Name, t.depth) >= 0 || u.table.declares(id.Name) {
			return unknown
		}
		path, ok := u.imports.find(id.Name)
		switch {
		case !ok:
			return unknown
		case path == "": // C
			return ""
		}
		return u.qualify(path, x.Sel.Name)
	}
	return unknown
}
