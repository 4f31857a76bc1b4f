package golang

import (
	"go/ast"
	"go/token"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/kenlayer/ken/internal/code/codegraph"
)

// assertions notes what "var _ I = (*T)(nil)" says: that T implements I.
func (u *user) assertions() {
	u.bound = u.bound[:0]
	for _, d := range u.syntax.Decls {
		gen, ok := d.(*ast.GenDecl)
		if !ok || gen.Tok != token.VAR {
			continue
		}
		for _, s := range gen.Specs {
			v, ok := s.(*ast.ValueSpec)
			if !ok || v.Type == nil || len(v.Names) != 1 || len(v.Values) != 1 || v.Names[0].Name != "_" {
				continue
			}
			id, ok := bare(made(v.Values[0])).(*ast.Ident)
			if !ok {
				continue
			}
			at, declared := u.table.places[id.Name]
			i := u.typeName(typ{}, bare(v.Type))
			if declared && i != "" && i != unknown {
				u.from = at
				u.add(codegraph.Implements, i, true, v.Pos())
			}
		}
	}
}

// made is the type of the value in an assertion: T{}, &T{}, (*T)(nil), new(T), T(0).
func made(e ast.Expr) ast.Expr {
	switch x := ast.Unparen(e).(type) {
	case *ast.UnaryExpr:
		if x.Op == token.AND {
			return made(x.X)
		}
	case *ast.CompositeLit:
		if x.Type != nil {
			return x.Type
		}
	case *ast.CallExpr:
		if len(x.Args) != 1 {
			break
		}
		if id, ok := x.Fun.(*ast.Ident); ok && id.Name == "new" {
			return x.Args[0]
		}
		return x.Fun
	}
	return &ast.BadExpr{}
}

// tests notes what a test is for, by its name: TestX_Y is for the method Y of X, or for
// X; as with examples, where the toolchain insists on it. Names that nothing has lead
// nowhere.
func (u *user) tests() {
	pkg := strings.TrimSuffix(u.pkg, "_test")
	for i, n := range u.outline.nodes {
		d, ok := n.(*ast.FuncDecl)
		if !ok || d.Recv != nil {
			continue
		}
		for _, prefix := range []string{"Test", "Benchmark", "Fuzz", "Example"} {
			rest, ok := strings.CutPrefix(d.Name.Name, prefix)
			if !ok || rest == "" {
				continue
			}
			u.from = i
			for _, name := range subjects(rest) {
				u.add(codegraph.Tests, u.join(pkg, name), true, d.Name.Pos())
			}
		}
	}
}

// subjects are what the rest of a test's name may stand for, exported or not.
func subjects(rest string) []string {
	if rest[0] == '_' {
		if rest = rest[1:]; rest == "" {
			return nil
		}
		return []string{rest}
	}
	first, size := utf8.DecodeRuneInString(rest)
	if unicode.IsLower(first) {
		return nil
	}
	owner, method, _ := strings.Cut(rest, "_")
	small := func(s string) string { return string(unicode.ToLower(first)) + s[size:] }
	out := []string{owner, small(owner)}
	if method != "" && !strings.Contains(method, "_") {
		out = append(out, owner+"."+method, small(owner)+"."+method)
	}
	return out
}
