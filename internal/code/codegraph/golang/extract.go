package golang

import (
	"cmp"
	"go/ast"
	"go/token"
	"slices"
	"strings"

	"github.com/kenlayer/ken/internal/code/codegraph"
)

// Language is how files read here are marked.
const Language = "go"

// New returns the Extractor of Go files, for a tree with these modules: their paths by
// folder, as [FindModules] has them. The map is not copied and must not change.
func New(modules map[string]string) codegraph.Extractor {
	return func(path string, src []byte) codegraph.File { return extract(modules, path, src) }
}

// Package returns the ID of the package that a file in this folder belongs to, when
// its package clause says name; modules are as for [New].
func Package(modules map[string]string, file, name string) string {
	return codegraph.ID(codegraph.KindPackage, packagePath(modules, file, name))
}

func packagePath(modules map[string]string, file, name string) string {
	dir := "."
	if i := strings.LastIndexByte(file, '/'); i >= 0 {
		dir = file[:i]
	}
	pkg := importPath(modules, dir)
	test := strings.HasSuffix(file, "_test.go") && strings.HasSuffix(name, "_test")
	switch {
	case pkg == "" && test:
		pkg = name
	case pkg == "":
		pkg = cmp.Or(name, "main")
	case test:
		pkg += "_test"
	}
	return pkg
}

func extract(modules map[string]string, path string, src []byte) codegraph.File {
	out := codegraph.File{Path: path, Language: Language, Test: strings.HasSuffix(path, "_test.go")}
	if slices.Contains([]string{"\xFE\xFF", "\xFF\xFE"}, string(src[:min(2, len(src))])) {
		out.Problems = []codegraph.Problem{{Text: "UTF-16; Go files are UTF-8"}}
		return out
	}
	fset := token.NewFileSet()
	file, problems := parse(fset, src)
	out.Problems = problems
	pkg := packagePath(modules, path, file.Name.Name)
	out.Within = codegraph.ID(codegraph.KindPackage, pkg)
	out.Generated = ast.IsGenerated(file)

	o := NewOutline(fset, file, pkg)
	if file.Name.Name == madeUp {
		o.withoutClause()
	}
	o.describe()
	out.Decls = o.Decls
	u := newUser(fset.File(file.FileStart), file, &o, pkg)
	u.file()
	if out.Test {
		u.tests()
	}
	out.Imports, out.Scopes, out.Uses = u.imports.list, append([]string{pkg}, u.imports.dots...), u.uses
	return out
}

// withoutClause takes back the package clause of a file that has none.
func (o *Outline) withoutClause() {
	o.Decls, o.Names, o.nodes, o.specs = o.Decls[1:], o.Names[1:], o.nodes[1:], o.specs[1:]
	for i := range o.Decls {
		if o.Decls[i].Parent >= 0 {
			o.Decls[i].Parent--
		}
	}
	for i := range o.Parts {
		if o.Parts[i].From >= 0 {
			o.Parts[i].From--
		}
	}
}
