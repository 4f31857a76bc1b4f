package typed

import (
	"go/ast"
	"go/token"
	"go/types"
	"maps"
	"strings"

	"github.com/kenlayer/ken/internal/code/codegraph"
	"github.com/kenlayer/ken/internal/code/codegraph/golang"
)

// outline is the Outline of a file with the IDs of its declarations.
type outline struct {
	golang.Outline
	ids []string
}

func (p *plan) outline(n *node, s source) outline {
	o := outline{Outline: golang.NewOutline(p.fset, s.syntax, n.PkgPath)}
	for _, d := range o.Decls {
		o.ids = append(o.ids, codegraph.ID(d.Kind, d.Qualified))
	}
	return o
}

// define adds the objects that a file declares to known.
func (o *outline) define(info *types.Info, known map[types.Object]string) {
	for i, name := range o.Names {
		if obj := info.Defs[name]; obj != nil {
			known[obj] = o.ids[i]
		}
	}
}

// refine checks a node with its function bodies, and lists what its files refer to.
func (p *plan) refine(n *node, sources []source) (f nodeResult) {
	info := &types.Info{Defs: map[*ast.Ident]types.Object{}, Uses: map[*ast.Ident]types.Object{}}
	c := p.config(n, func(e types.Error) {
		if len(f.problems) < problemsEach {
			f.problems = append(f.problems, p.at(n, e.Pos, e.Msg))
		}
	})
	pkg, _ := c.Check(n.PkgPath, p.fset, syntax(sources), info)
	r := refiner{plan: p, info: info, own: map[types.Object]string{}, named: map[*types.TypeName]bool{}}
	outlines := make([]outline, len(sources))
	for i, s := range sources {
		outlines[i] = p.outline(n, s)
		outlines[i].define(info, r.own)
	}
	for i, s := range sources {
		r.file = codegraph.RefinedFile{Path: s.path, Hash: s.hash}
		r.outline = &outlines[i]
		r.seen = map[edge]int{}
		for _, part := range r.outline.Parts {
			r.part(part)
		}
		f.files = append(f.files, r.file)
	}
	p.mu.Lock()
	maps.Copy(p.named, r.named)
	p.mu.Unlock()
	if pkg != nil {
		f.implements = r.tests(pkg)
	}
	return f
}

type edge struct {
	from, to string
	kind     codegraph.EdgeKind
}

// refiner collects the edges of a node's files.
type refiner struct {
	plan  *plan
	info  *types.Info
	own   map[types.Object]string
	named map[*types.TypeName]bool

	outline *outline
	file    codegraph.RefinedFile
	seen    map[edge]int
}

// part adds the edges of one piece of a declaration.
func (r *refiner) part(part golang.Part) {
	from := codegraph.ID(codegraph.KindFile, r.file.Path)
	if part.From >= 0 {
		from = r.outline.ids[part.From]
	}
	called := map[*ast.Ident]bool{}
	var embedded *ast.Ident
	if e, ok := part.Node.(ast.Expr); ok && part.Embedded {
		embedded = golang.Named(e)
	}
	ast.Inspect(part.Node, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.CallExpr:
			if id := golang.Named(n.Fun); id != nil {
				called[id] = true
			}
		case *ast.Ident:
			kind := codegraph.References
			switch {
			case n == embedded:
				kind = codegraph.Inherits
			case called[n]:
				kind = codegraph.Calls
			}
			r.use(from, n, kind)
		}
		return true
	})
}

func (r *refiner) use(from string, id *ast.Ident, kind codegraph.EdgeKind) {
	obj := r.info.Uses[id]
	switch o := obj.(type) {
	case nil, *types.PkgName, *types.Builtin, *types.Nil, *types.Label:
		return
	case *types.Var:
		obj = o.Origin()
	case *types.Func:
		obj = o.Origin()
	case *types.TypeName:
		if kind == codegraph.Calls {
			kind = codegraph.References // a conversion
		}
		if wellKnown(o) {
			r.named[o] = true
		}
	}
	if to := r.id(obj); to != "" {
		r.add(from, to, kind, id.Pos())
	}
}

// id returns the ID of an object; "" for none.
func (r *refiner) id(obj types.Object) string {
	if id := r.own[obj]; id != "" || obj.Pkg() == nil {
		return id
	}
	return r.plan.id(obj)
}

func (r *refiner) add(from, to string, kind codegraph.EdgeKind, pos token.Pos) {
	e := edge{from, to, kind}
	if at, ok := r.seen[e]; ok {
		r.file.Edges[at].Times++
		return
	}
	r.seen[e] = len(r.file.Edges)
	line := r.plan.fset.PositionFor(pos, false).Line
	r.file.Edges = append(r.file.Edges, codegraph.RefinedEdge{From: from, To: to, Kind: kind, Line: line, Times: 1})
}

// wellKnown reports whether a type is an interface of the standard library that other types may implement.
func wellKnown(t *types.TypeName) bool {
	if !types.IsInterface(t.Type()) || !implementable(t) {
		return false
	}
	if t.Pkg() == nil {
		return t.Name() == "error"
	}
	first, _, _ := strings.Cut(t.Pkg().Path(), "/")
	return t.Exported() && !strings.Contains(first, ".")
}
