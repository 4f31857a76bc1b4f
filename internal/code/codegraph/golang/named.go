package golang

import (
	"go/ast"
	"slices"
)

// member finds a member of a type: the qualified name of what declares it, "" when it
// has none (a local type, a struct without a name), "?" when it is not known; and the
// member's own type as far as the file shows it.
func (u *user) member(t typ, name string, fuel int) (owner string, m typ) {
	if fuel <= 0 || !t.known() {
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

// unknown stands for a type of which nothing is known.
const unknown = "?"

func (u *user) memberOfName(t typ, x *ast.Ident, name string, fuel int) (string, typ) {
	if slices.Contains(t.hide, x.Name) {
		return unknown, typ{}
	}
	if i := u.lookup(x.Name, t.depth); i >= 0 {
		b := u.bound[i]
		switch b.role {
		case parameter:
			return u.member(b.typ, name, fuel-1)
		case localType:
			owner, m, found := u.within(u.under(b.typ), "", name, fuel)
			if !found {
				return "", typ{}
			}
			return owner, m
		}
		return unknown, typ{}
	}
	s, ok := u.table.types[x.Name]
	if !ok {
		return u.typeName(t, x), typ{}
	}
	inner := typ{expr: s.Type, hide: hidden(s.TypeParams)}
	if s.Assign.IsValid() {
		return u.member(inner, name, fuel-1)
	}
	own := u.own(x.Name)
	if f, ok := u.table.methods[x.Name+"."+name]; ok {
		return own, typ{expr: f.Type, hide: hides(f)}
	}
	owner, m, _ := u.within(inner, own, name, fuel)
	return owner, m
}

// within looks for a member in what a type is made of: its fields or methods, then
// those of what it embeds. When it is not there, it is taken for a method of the
// type's own that another file declares.
func (u *user) within(t typ, own, name string, fuel int) (owner string, m typ, found bool) {
	var list *ast.FieldList
	switch x := bare(t.expr).(type) {
	case *ast.StructType:
		list = x.Fields
	case *ast.InterfaceType:
		list = x.Methods
	}
	if list == nil {
		return own, typ{}, false
	}
	for _, f := range list.List {
		for _, id := range f.Names {
			if id.Name == name {
				return own, t.part(f.Type), true
			}
		}
		if id := embedded(f.Type); len(f.Names) == 0 && id != nil && id.Name == name {
			return own, t.part(f.Type), true
		}
	}
	looked := 0
	for _, f := range list.List {
		if len(f.Names) > 0 || fuel <= 0 || looked == widest {
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
				return u.own(x.Name), typ{expr: d.Type, hide: hides(d)}, true
			}
			inner, ok := u.behind(e, x)
			if !ok {
				continue
			}
			if owner, m, found = u.within(inner, u.own(x.Name), name, fuel/2); found {
				return owner, m, true
			}
		case *ast.SelectorExpr:
			if own == "" && only(list) { // struct{ *testing.T }: nothing else can have it
				return u.typeName(e, x), typ{}, true
			}
		}
	}
	return own, typ{}, false
}

// widest is how many embedded types are looked into, level by level.
const widest = 16

// only reports whether a struct has one field, or an interface one entry.
func only(list *ast.FieldList) bool { return len(list.List) == 1 }

// typeName is the qualified name of a type, "" for those of the language and for
// local ones, "?" when it is not known.
func (u *user) typeName(t typ, e ast.Expr) string {
	switch x := e.(type) {
	case *ast.Ident:
		switch {
		case slices.Contains(t.hide, x.Name):
			return unknown
		case u.lookup(x.Name, t.depth) >= 0:
			return ""
		case u.table.declares(x.Name):
			return u.own(x.Name)
		case predeclared[x.Name]:
			return ""
		case len(u.imports.dots) > 0:
			return unknown
		}
		return u.own(x.Name)
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
		return u.join(path, x.Sel.Name)
	}
	return unknown
}
