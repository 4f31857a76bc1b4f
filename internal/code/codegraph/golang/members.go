package golang

import (
	"go/ast"
	"go/token"

	"github.com/kenlayer/ken/internal/code/codegraph"
)

func (o *outliner) typeSpec(d *ast.GenDecl, s *ast.TypeSpec, from, to token.Pos) {
	if blank(s.Name) || s.Type == nil {
		return
	}
	kind := codegraph.KindType
	if _, ok := ast.Unparen(s.Type).(*ast.InterfaceType); ok {
		kind = codegraph.KindInterface
	}
	at := o.add(s, d, s.Name, codegraph.Decl{Kind: kind, Name: s.Name.Name, Qualified: o.pkg + "." + s.Name.Name, Parent: -1, Exported: s.Name.IsExported()}, from, to)
	o.types[s.Name.Name] = at
	if s.TypeParams != nil {
		o.part(at, s.TypeParams, s.TypeParams)
	}
	switch t := ast.Unparen(s.Type).(type) {
	case *ast.StructType:
		o.members(at, codegraph.KindProperty, t.Fields, s.TypeParams)
	case *ast.InterfaceType:
		o.members(at, codegraph.KindMethod, t.Methods, s.TypeParams)
	default:
		o.part(at, s.Type, s.TypeParams)
	}
}

// members declares the fields of a struct or the methods of an interface.
func (o *outliner) members(owner int, kind codegraph.Kind, list *ast.FieldList, params *ast.FieldList) {
	if list == nil {
		return
	}
	for _, f := range list.List {
		if f.Type == nil {
			continue
		}
		for _, id := range f.Names {
			at := owner
			if !blank(id) {
				at = o.member(owner, kind, f, id)
			}
			o.part(at, f.Type, params)
		}
		if len(f.Names) > 0 {
			continue
		}
		id := embedded(f.Type)
		if kind == codegraph.KindProperty && !blank(id) {
			o.member(owner, kind, f, id)
		}
		o.Parts = append(o.Parts, Part{From: owner, Node: f.Type, Params: params, Embedded: id != nil})
	}
}

func (o *outliner) member(owner int, kind codegraph.Kind, f *ast.Field, id *ast.Ident) int {
	t := o.Decls[owner]
	return o.add(f, nil, id, codegraph.Decl{Kind: kind, Name: id.Name, Qualified: t.Qualified + "." + id.Name, Parent: owner,
		Exported: t.Exported && id.IsExported()}, f.Pos(), f.End())
}

// embedded returns the name of what is embedded, and nil for a union.
func embedded(e ast.Expr) *ast.Ident {
	switch x := bare(e).(type) {
	case *ast.Ident:
		return x
	case *ast.SelectorExpr:
		return x.Sel
	}
	return nil
}
