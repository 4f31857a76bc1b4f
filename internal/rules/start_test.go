package rules

import "go/ast"

// startsAreCheap refuses what compiles a regular expression while a program starts,
// whether or not it is ever matched with. In a function it may stand, and in one
// that a package-level variable calls when it is needed.
func startsAreCheap(tr *tree) (faults []string) {
	for _, f := range tr.files {
		if f.test {
			continue
		}
		for _, decl := range f.ast.Decls {
			if vars, ok := decl.(*ast.GenDecl); ok {
				for _, call := range calledAtStart(vars) {
					if calls(call, "regexp", "MustCompile") {
						faults = append(faults, tr.at(call)+": compiled at every start; use internal/lazyregexp, in a leaf sync.OnceValue")
					}
				}
			}
		}
	}
	return faults
}

// calledAtStart returns the calls of a declaration that run before main: all but
// those in a function that is not called on the spot.
func calledAtStart(n ast.Node) (found []*ast.CallExpr) {
	ast.Inspect(n, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.CallExpr:
			found = append(found, n)
			if on, ok := n.Fun.(*ast.FuncLit); ok {
				found = append(found, calledAtStart(on.Body)...)
			}
		case *ast.FuncLit:
			return false
		}
		return true
	})
	return found
}
