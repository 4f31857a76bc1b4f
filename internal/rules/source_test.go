package rules

import (
	"fmt"
	"go/ast"
	"go/token"
	"slices"
	"strings"
	"unicode"
)

const maxLines = 600

func shortFiles(tr *tree) (faults []string) {
	for _, f := range tr.files {
		if f.lines > maxLines && !ast.IsGenerated(f.ast) {
			faults = append(faults, fmt.Sprintf("%s: %d lines; split it by idea, at most %d", f.path, f.lines, maxLines))
		}
	}
	return faults
}

// maxBranches is the maximum number of branches of a function: one, and one for each if, for, case and operator && or ||. It is
// the limit at which linters warn of the cyclomatic complexity. Tests may have more.
const maxBranches = 30

func functionsBranchLittle(tr *tree) (faults []string) {
	for _, f := range tr.files {
		if f.test || ast.IsGenerated(f.ast) {
			continue
		}
		for _, d := range f.ast.Decls {
			if fn, ok := d.(*ast.FuncDecl); ok {
				if n := branches(fn); n > maxBranches {
					faults = append(faults, fmt.Sprintf("%s: %s has %d branches; name its steps, at most %d", f.path, fn.Name.Name, n, maxBranches))
				}
			}
		}
	}
	return faults
}

func branches(fn *ast.FuncDecl) int {
	n := 1
	ast.Inspect(fn, func(x ast.Node) bool {
		switch x := x.(type) {
		case *ast.IfStmt, *ast.ForStmt, *ast.RangeStmt, *ast.CaseClause, *ast.CommClause:
			n++
		case *ast.BinaryExpr:
			if x.Op == token.LAND || x.Op == token.LOR {
				n++
			}
		}
		return true
	})
	return n
}

func namesSaySomething(tr *tree) (faults []string) {
	empty := []string{"util", "utils", "common", "types", "helper", "helpers", "misc"}
	for _, f := range tr.files {
		if name := f.ast.Name.Name; slices.Contains(empty, name) {
			faults = append(faults, fmt.Sprintf("%s: package %s; name it for what it provides", f.path, name))
		}
	}
	return faults
}

func packageComments(tr *tree) (faults []string) {
	comments := map[string][]string{} // by folder
	names := map[string]string{}
	for _, f := range tr.files {
		if f.test {
			continue
		}
		names[f.dir] = f.ast.Name.Name
		if f.ast.Doc != nil {
			comments[f.dir] = append(comments[f.dir], f.ast.Doc.Text())
		}
	}
	for dir, name := range names {
		prefix := "Package " + name + " "
		if name == "main" {
			prefix = "Command "
		}
		switch {
		case len(comments[dir]) == 0:
			faults = append(faults, dir+": no package comment")
		case !slices.ContainsFunc(comments[dir], func(c string) bool { return strings.HasPrefix(c, prefix) }):
			faults = append(faults, fmt.Sprintf("%s: the package comment starts with something else than %q", dir, prefix))
		}
	}
	slices.Sort(faults)
	return faults
}

func exportedNamesHaveDoc(tr *tree) (faults []string) {
	missing := func(n ast.Node, name string) {
		faults = append(faults, fmt.Sprintf("%s: %s has no comment", tr.at(n), name))
	}
	for _, f := range tr.files {
		if f.test || f.ast.Name.Name == "main" {
			continue
		}
		for _, decl := range f.ast.Decls {
			switch d := decl.(type) {
			case *ast.FuncDecl:
				if d.Name.IsExported() && d.Doc == nil && (d.Recv == nil || ast.IsExported(receiver(d))) {
					missing(d, d.Name.Name)
				}
			case *ast.GenDecl:
				for _, spec := range d.Specs {
					switch s := spec.(type) {
					case *ast.TypeSpec:
						if s.Name.IsExported() && s.Doc == nil && d.Doc == nil {
							missing(s, s.Name.Name)
						}
					case *ast.ValueSpec: // the group's comment, its own, or one behind it
						if s.Names[0].IsExported() && s.Doc == nil && s.Comment == nil && d.Doc == nil {
							missing(s, s.Names[0].Name)
						}
					}
				}
			}
		}
	}
	return faults
}

// commentsNameTheirDeclaration finds comments that begin with another identifier than the one
// they belong to, as is left by a rename. A first word in lower case or with a capital inside
// counts as an identifier.
func commentsNameTheirDeclaration(tr *tree) (faults []string) {
	check := func(doc *ast.CommentGroup, name string) {
		if doc == nil {
			return
		}
		first, _, _ := strings.Cut(strings.TrimSpace(doc.Text()), " ")
		first = strings.TrimSuffix(strings.TrimRight(first, ".,:;"), "'s")
		identifier := first != "" && first == strings.TrimFunc(first, func(r rune) bool { return !unicode.IsLetter(r) }) &&
			(unicode.IsLower(rune(first[0])) || strings.ContainsFunc(first[1:], unicode.IsUpper) && strings.ContainsFunc(first, unicode.IsLower))
		if identifier && first != name {
			faults = append(faults, fmt.Sprintf("%s: the comment of %s begins with %s", tr.at(doc), name, first))
		}
	}
	for _, f := range tr.files {
		if f.test {
			continue
		}
		for _, decl := range f.ast.Decls {
			switch d := decl.(type) {
			case *ast.FuncDecl:
				check(d.Doc, d.Name.Name)
			case *ast.GenDecl:
				if len(d.Specs) != 1 {
					continue
				}
				switch s := d.Specs[0].(type) {
				case *ast.TypeSpec:
					check(d.Doc, s.Name.Name)
				case *ast.ValueSpec:
					check(d.Doc, s.Names[0].Name)
				}
			}
		}
	}
	return faults
}

// receiver returns the name of a method's type.
func receiver(d *ast.FuncDecl) string {
	typ := d.Recv.List[0].Type
	for {
		switch t := typ.(type) {
		case *ast.StarExpr:
			typ = t.X
		case *ast.IndexExpr:
			typ = t.X
		case *ast.IndexListExpr:
			typ = t.X
		case *ast.Ident:
			return t.Name
		default:
			return ""
		}
	}
}

// testsDoNotSleep reports sleeps in tests. It allows a sleep inside synctest.Test, where it takes no time.
func testsDoNotSleep(tr *tree) (faults []string) {
	for _, f := range tr.files {
		if !f.test {
			continue
		}
		ast.Inspect(f.ast, func(n ast.Node) bool {
			call, ok := n.(*ast.CallExpr)
			if !ok {
				return true
			}
			if calls(call, "time", "Sleep") {
				faults = append(faults, tr.at(call)+": time.Sleep in a test; use testing/synctest, a channel or a fake clock")
			}
			return !calls(call, "synctest", "Test")
		})
	}
	return faults
}

func calls(call *ast.CallExpr, pkg, name string) bool {
	sel, ok := call.Fun.(*ast.SelectorExpr)
	if !ok || sel.Sel.Name != name {
		return false
	}
	id, ok := sel.X.(*ast.Ident)
	return ok && id.Name == pkg
}
