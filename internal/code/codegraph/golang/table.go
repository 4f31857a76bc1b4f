package golang

import (
	"go/ast"
	"go/token"
)

// table is what a file declares at its top, for finding out what its values are.
type table struct {
	types   map[string]*ast.TypeSpec
	funcs   map[string]*ast.FuncDecl
	methods map[string]*ast.FuncDecl // by "Type.Method"
	values  map[string]global
	places  map[string]int // of types in the outline
}

// global is a variable or constant: its type as declared, or its value.
type global struct {
	typ    ast.Expr
	value  ast.Expr
	result int // which of the values of a call
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

// declares reports whether the file declares a name at its top.
func (t *table) declares(name string) bool {
	if _, ok := t.funcs[name]; ok && name != "init" && name != "_" {
		return true
	}
	if _, ok := t.types[name]; ok {
		return true
	}
	_, ok := t.values[name]
	return ok && name != "_"
}

// hidden are the names of type parameters.
func hidden(list *ast.FieldList) []string {
	if list == nil {
		return nil
	}
	var names []string
	for _, f := range list.List {
		for _, id := range f.Names {
			names = append(names, id.Name)
		}
	}
	return names
}

// receiverParams are the identifiers of a receiver's type arguments, which declare
// them.
func receiverParams(d *ast.FuncDecl) []*ast.Ident {
	if d.Recv == nil || len(d.Recv.List) == 0 {
		return nil
	}
	e := d.Recv.List[0].Type
	for {
		switch x := e.(type) {
		case *ast.StarExpr:
			e = x.X
		case *ast.ParenExpr:
			e = x.X
		case *ast.IndexExpr:
			return idents(x.Index)
		case *ast.IndexListExpr:
			return idents(x.Indices...)
		default:
			return nil
		}
	}
}

func idents(list ...ast.Expr) (out []*ast.Ident) {
	for _, e := range list {
		if id, ok := e.(*ast.Ident); ok {
			out = append(out, id)
		}
	}
	return out
}

// hides are the type parameters of a function or method.
func hides(d *ast.FuncDecl) []string {
	names := hidden(d.Type.TypeParams)
	for _, id := range receiverParams(d) {
		names = append(names, id.Name)
	}
	return names
}
