package golang

import "go/ast"

// what a binding is.
type role uint8

const (
	variable  role = iota
	localType      // declared in a function
	parameter      // of a type
)

// binding is a name that a function, its parameters or a block declare.
type binding struct {
	name string
	role role
	typ  typ // of a variable; what a type is made of; a type parameter's constraint
}

// scopes is a stack of blocks. It is searched from its end, because functions declare
// few names.
type scopes struct {
	bound []binding
	marks []int // where each block starts in bound
}

func (s *scopes) open() { s.marks = append(s.marks, len(s.bound)) }
func (s *scopes) close() {
	s.bound, s.marks = s.bound[:s.marks[len(s.marks)-1]], s.marks[:len(s.marks)-1]
}

// lookup finds a name among the first depth bindings, -1 for none.
func (s *scopes) lookup(name string, depth int) int {
	for i := min(depth, len(s.bound)) - 1; i >= 0; i-- {
		if s.bound[i].name == name {
			return i
		}
	}
	return -1
}

// define binds a name in the innermost block. What the block has declared before keeps
// its type, as with := and a name that is not new.
func (s *scopes) define(id *ast.Ident, r role, t typ) {
	if blank(id) {
		return
	}
	from := 0
	if n := len(s.marks); n > 0 {
		from = s.marks[n-1]
	}
	for i := len(s.bound) - 1; i >= from; i-- {
		if s.bound[i].name == id.Name {
			if s.bound[i].typ.expr == nil {
				s.bound[i].typ = t
			}
			return
		}
	}
	s.bound = append(s.bound, binding{id.Name, r, t})
}

// typ is a type as it is written, and where.
type typ struct {
	expr  ast.Expr // nil when not known
	depth int      // how many bindings could be seen there
	hide  []string // type parameters of the declaration that it was taken from
	is    bool     // not a value of the type but the type itself
}

func (t typ) known() bool { return t.expr != nil }

// part is a type that stands within t.
func (t typ) part(e ast.Expr) typ { return typ{expr: e, depth: t.depth, hide: t.hide} }
