package rules

import "go/ast"

// startsAreCheap reports regular expressions that are compiled while a program starts, even if they are never used. It
// allows them in functions, and in functions that a package-level variable calls when needed.
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

// calledAtStart returns the calls in a declaration that run before main: all except those in a function that is not
// called there.
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
