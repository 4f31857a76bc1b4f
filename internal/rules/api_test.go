package rules

import (
	"bytes"
	"fmt"
	"go/ast"
	"go/printer"
	"go/token"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"
)

const apiFile = "../../docs/api.txt"

// TestAPI checks docs/api.txt, which lists every name that other programs may use, one per line. Changing a line
// changes what Ken promises.
func TestAPI(t *testing.T) {
	text := strings.Join(api(load(t, os.DirFS("../.."))), "\n") + "\n"
	if *update {
		if err := os.WriteFile(apiFile, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	was, err := os.ReadFile(apiFile)
	if err != nil {
		t.Fatal(err)
	}
	if text != string(was) {
		t.Errorf("docs/api.txt is out of date: look at what changes, and run go test ./internal/rules -run API -update")
	}
}

// public reports whether other programs can import a folder's package.
func public(dir string) bool {
	top, _, _ := strings.Cut(dir, "/")
	return !slices.Contains([]string{"cmd", "examples", "clients"}, top) && !slices.Contains(strings.Split(dir, "/"), "internal")
}

// api lists the exported names of all public packages.
func api(tr *tree) (lines []string) {
	for _, f := range tr.files {
		if f.test || !public(f.dir) || f.ast.Name.Name == "main" {
			continue
		}
		pkg := f.dir
		if pkg == "." {
			pkg = "ken"
		}
		for _, d := range f.ast.Decls {
			for _, n := range exported(tr.fset, d) {
				if !kens.MatchString(pkg + ": " + n) {
					lines = append(lines, fmt.Sprintf("%s: %s", pkg, n))
				}
			}
		}
	}
	slices.Sort(lines)
	return lines
}

// kens matches the names that only Ken's own programs can use, because they take or give internal types.
// Their doc comments say so.
var kens = regexp.MustCompile(`^harvest: .*\b(Harvester|Options|Model|Store)\b|^middleware: .*\bExchange\b`)

// unnamed lists public fields and methods with internal types that no program has to name, with the reason.
var unnamed = map[string]string{
	"config: type Config struct, Agents []plan.Agent":                     "agents are written in a file",
	"middleware: type Forgotten struct, Given []forgotten.Given":          "a result",
	"retriever: type Result struct, Focal []structure.Focus":              "a result",
	"retriever: type Result struct, Structure structure.Traversal":        "a result",
	"retriever: type Structure struct, Bounds structure.Bounds":           "has a default",
	"retriever: type Structure struct, Utility structure.Utility":         "has a default",
	"retriever: type Turn struct, Beside []structure.Beside":              "a layer fills it in",
	"store: type Projections interface, Form func(ref Ref) analysis.Form": "Ken's engines return what internal/analysis found",
}

// A program can name every type that it needs to call Ken: no parameter, field or interface has one of an
// internal package.
func TestPublicNamesNeedNoInternalType(t *testing.T) {
	tr := load(t, os.DirFS("../.."))
	internal := map[string][]string{} // the names of internal packages, by file
	for _, f := range tr.files {
		for _, im := range f.ast.Imports {
			if path := strings.Trim(im.Path.Value, `"`); strings.Contains(path, "/internal/") {
				name := path[strings.LastIndex(path, "/")+1:]
				if im.Name != nil {
					name = im.Name.Name
				}
				internal[f.dir] = append(internal[f.dir], name)
			}
		}
	}
	for _, line := range api(tr) {
		pkg, decl, _ := strings.Cut(line, ": ")
		if pkg == "ken" {
			pkg = "."
		}
		if fn, ok := strings.CutPrefix(decl, "func "); ok {
			decl = parameters(fn)
		}
		if unnamed[line] != "" {
			continue
		}
		for _, name := range internal[pkg] {
			if regexp.MustCompile(`\b` + name + `\.[A-Z]`).MatchString(decl) {
				t.Errorf("%s: no other program can name a type of internal package %s", line, name)
			}
		}
	}
}

// parameters returns a function's declaration without its results.
func parameters(fn string) string {
	depth, lists := 0, 0
	method := strings.HasPrefix(fn, "(")
	for i, r := range fn {
		switch r {
		case '(':
			depth++
		case ')':
			if depth--; depth == 0 {
				if lists++; lists == 2 || !method {
					return fn[:i+1]
				}
			}
		}
	}
	return fn
}

// exported returns the names that a declaration exports, with their types.
func exported(fset *token.FileSet, d ast.Decl) (names []string) {
	show := func(n ast.Node) string {
		var b bytes.Buffer
		if err := printer.Fprint(&b, fset, n); err != nil {
			return err.Error()
		}
		return strings.Join(strings.Fields(b.String()), " ")
	}
	switch d := d.(type) {
	case *ast.FuncDecl:
		if !d.Name.IsExported() || d.Recv != nil && !ast.IsExported(receiver(d)) {
			return nil
		}
		bare := *d
		bare.Doc, bare.Body = nil, nil
		return []string{show(&bare)}
	case *ast.GenDecl:
		for _, s := range d.Specs {
			switch s := s.(type) {
			case *ast.ValueSpec:
				for _, n := range s.Names {
					if n.IsExported() {
						names = append(names, d.Tok.String()+" "+n.Name)
					}
				}
			case *ast.TypeSpec:
				if s.Name.IsExported() {
					names = append(names, typeLines(show, s)...)
				}
			}
		}
	}
	return names
}

// typeLines returns a line for a type and one for each of its exported fields or methods.
func typeLines(show func(ast.Node) string, s *ast.TypeSpec) (lines []string) {
	var members *ast.FieldList
	kind := ""
	switch t := s.Type.(type) {
	case *ast.StructType:
		kind, members = "struct", t.Fields
	case *ast.InterfaceType:
		kind, members = "interface", t.Methods
	default:
		return []string{"type " + s.Name.Name + " " + show(s.Type)}
	}
	lines = append(lines, "type "+s.Name.Name+" "+kind)
	for _, m := range members.List {
		if len(m.Names) == 0 {
			lines = append(lines, "type "+s.Name.Name+" "+kind+", embedded "+show(m.Type))
		}
		for _, n := range m.Names {
			if n.IsExported() {
				lines = append(lines, "type "+s.Name.Name+" "+kind+", "+n.Name+" "+show(m.Type))
			}
		}
	}
	return lines
}
