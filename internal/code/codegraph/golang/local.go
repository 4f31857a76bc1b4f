package golang

import "go/ast"

// function reads a function or method with its receiver.
func (u *user) function(d *ast.FuncDecl) {
	for _, id := range receiverParams(d) {
		u.define(id, parameter, typ{})
	}
	if d.Recv != nil {
		for _, f := range d.Recv.List {
			u.expr(f.Type)
		}
		u.open() // a receiver may have its type's name
		u.values(d.Recv)
	}
	u.signature(d.Type)
	u.block(d.Body)
	if d.Recv != nil {
		u.close()
	}
}

// params binds type parameters to their constraints.
func (u *user) params(list *ast.FieldList) {
	if list == nil {
		return
	}
	from := len(u.bound)
	for _, f := range list.List {
		for _, id := range f.Names {
			u.define(id, parameter, typ{expr: f.Type})
		}
	}
	for i := from; i < len(u.bound); i++ { // each sees all of them
		u.bound[i].typ.depth = len(u.bound)
	}
}

// signature reads the types of a function and binds its parameters and results in the
// block that is open.
func (u *user) signature(t *ast.FuncType) {
	if t == nil {
		return
	}
	u.params(t.TypeParams)
	for _, list := range []*ast.FieldList{t.TypeParams, t.Params, t.Results} {
		u.fieldTypes(list)
	}
	u.open()
	depth := len(u.bound)
	for _, list := range []*ast.FieldList{t.Params, t.Results} {
		u.valuesAt(list, depth)
	}
	u.marks = u.marks[:len(u.marks)-1] // the names stay for the body
}

func (u *user) values(list *ast.FieldList) { u.valuesAt(list, len(u.bound)) }

func (u *user) valuesAt(list *ast.FieldList, depth int) {
	if list == nil {
		return
	}
	for _, f := range list.List {
		for _, id := range f.Names {
			u.define(id, variable, typ{expr: f.Type, depth: depth})
		}
	}
}

// declare reads a declaration inside a function.
func (u *user) declare(s *ast.DeclStmt) {
	d, ok := s.Decl.(*ast.GenDecl)
	if !ok {
		return
	}
	for _, spec := range d.Specs {
		switch spec := spec.(type) {
		case *ast.ValueSpec:
			u.expr(spec.Type)
			u.exprs(spec.Values)
			types := make([]typ, len(spec.Names))
			for i := range spec.Names {
				if spec.Type != nil {
					types[i] = u.here(spec.Type)
				} else {
					types[i] = u.nth(spec.Values, i, len(spec.Names))
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
			u.expr(spec.Type)
			u.close()
		}
	}
}
