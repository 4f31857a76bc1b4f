package typed_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"go/types"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/tools/go/packages"
)

// reference says that a top-level declaration names a symbol. Both are qualified names.
type reference struct{ path, from, to string }

// truth holds the references found by go/types in another way than in Check: everything is read from source at once,
// and symbols are identified by their position.
type truth struct {
	root    string
	fset    *token.FileSet
	symbols map[string]string // qualified names by place of declaration
	refs    map[reference]bool
	files   map[string]bool
}

// loadTruth reads a module completely, and its imports without function bodies.
func loadTruth(t *testing.T, root string) *truth {
	t.Helper()
	root, err := filepath.Abs(root)
	if err != nil {
		t.Fatal(err)
	}
	tr := &truth{root: root, fset: token.NewFileSet(), symbols: map[string]string{}, refs: map[reference]bool{}, files: map[string]bool{}}
	pkgs, err := packages.Load(&packages.Config{
		Mode: packages.LoadAllSyntax | packages.NeedForTest, Dir: root, Tests: true, Fset: tr.fset, Context: t.Context(), BuildFlags: []string{"-mod=readonly"},
		ParseFile: func(fset *token.FileSet, name string, src []byte) (*ast.File, error) {
			f, err := parser.ParseFile(fset, name, src, parser.SkipObjectResolution)
			if f != nil && !strings.HasPrefix(name, root+"/") {
				for _, d := range f.Decls {
					if fn, ok := d.(*ast.FuncDecl); ok {
						fn.Body = nil
					}
				}
			}
			return f, err
		},
	}, "./...")
	if err != nil || len(pkgs) == 0 {
		t.Fatalf("%d packages, %v", len(pkgs), err)
	}
	for _, p := range pkgs {
		for _, f := range p.Syntax {
			if name := tr.fset.File(f.FileStart).Name(); strings.HasPrefix(name, root+"/") {
				tr.files[filepath.ToSlash(name[len(root)+1:])] = true
				tr.declare(p, f)
			}
		}
	}
	for _, p := range pkgs {
		for _, f := range p.Syntax {
			if name := tr.fset.File(f.FileStart).Name(); strings.HasPrefix(name, root+"/") {
				tr.use(p, f)
			}
		}
	}
	return tr
}

func (tr *truth) at(p token.Pos) string { return tr.fset.PositionFor(p, false).String() }

// declare records the declarations of a file with the enclosing syntax.
func (tr *truth) declare(p *packages.Package, f *ast.File) {
	for _, d := range f.Decls {
		switch d := d.(type) {
		case *ast.FuncDecl:
			tr.symbols[tr.at(d.Name.Pos())] = p.PkgPath + "." + function(d)
		case *ast.GenDecl:
			for _, s := range d.Specs {
				switch s := s.(type) {
				case *ast.ValueSpec:
					for _, id := range s.Names {
						tr.symbols[tr.at(id.Pos())] = p.PkgPath + "." + id.Name
					}
				case *ast.TypeSpec:
					own := p.PkgPath + "." + s.Name.Name
					tr.symbols[tr.at(s.Name.Pos())] = own
					var members *ast.FieldList
					switch x := s.Type.(type) {
					case *ast.StructType:
						members = x.Fields
					case *ast.InterfaceType:
						members = x.Methods
					}
					if members == nil {
						continue
					}
					for _, m := range members.List {
						for _, id := range m.Names {
							tr.symbols[tr.at(id.Pos())] = own + "." + id.Name
						}
					}
				}
			}
		}
	}
}

// function returns the name of a function after that of its package.
func function(d *ast.FuncDecl) string {
	if d.Recv == nil {
		return d.Name.Name
	}
	t := types.ExprString(d.Recv.List[0].Type)
	t, _, _ = strings.Cut(strings.TrimLeft(t, "(*"), "[")
	return strings.TrimRight(t, ")") + "." + d.Name.Name
}

// use records the references in a file, by top-level declaration.
func (tr *truth) use(p *packages.Package, f *ast.File) {
	path := filepath.ToSlash(tr.fset.File(f.FileStart).Name()[len(tr.root)+1:])
	for _, d := range f.Decls {
		var from []string
		var within []ast.Node
		switch d := d.(type) {
		case *ast.FuncDecl:
			from, within = []string{p.PkgPath + "." + function(d)}, []ast.Node{d}
		case *ast.GenDecl:
			for _, s := range d.Specs {
				switch s := s.(type) {
				case *ast.TypeSpec:
					from, within = append(from, p.PkgPath+"."+s.Name.Name), append(within, s)
				case *ast.ValueSpec: // several names share what they are made of
					from, within = append(from, p.PkgPath+"."+s.Names[0].Name), append(within, s)
				}
			}
		}
		for i, n := range within {
			ast.Inspect(n, func(x ast.Node) bool {
				if id, ok := x.(*ast.Ident); ok {
					if obj := p.TypesInfo.Uses[id]; obj != nil {
						if to, ok := tr.symbols[tr.at(obj.Pos())]; ok {
							tr.refs[reference{path, from[i], to}] = true
						}
					}
				}
				return true
			})
		}
	}
}
