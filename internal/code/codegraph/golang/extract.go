package golang

import (
	"cmp"
	"errors"
	"go/ast"
	"go/parser"
	"go/scanner"
	"go/token"
	"path"
	"slices"
	"strings"

	"github.com/kenlayer/ken/internal/code/codegraph"
)

// Language is the value of File.Language for files read here.
const Language = "go"

// New returns the Extractor of Go files for a tree with the given modules: paths of modules by folder, as [FindModules]
// returns them. The map is not copied and must not change.
func New(modules map[string]string) codegraph.Extractor {
	return func(path string, src []byte) codegraph.File { return extract(modules, path, src) }
}

func packagePath(modules map[string]string, file, name string) string {
	pkg := importPath(modules, path.Dir(file))
	test := strings.HasSuffix(file, "_test.go") && strings.HasSuffix(name, "_test")
	switch {
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
	if name := file.Name.Name; name != pkg[strings.LastIndexAny(pkg, "/.")+1:] && name != "_" && name != "main" && !out.Test {
		out.Aliases = []codegraph.Alias{{Name: name, Target: pkg}} // nats for nats.go, yaml for yaml/v3
	}
	out.Generated = ast.IsGenerated(file)

	o := NewOutline(fset, file, pkg)
	if file.Name.Name == placeholderPackage {
		o.withoutClause()
	}
	o.describe()
	out.Decls = o.Decls
	u := newUsageWalker(fset.File(file.FileStart), file, &o, pkg)
	u.file()
	if out.Test {
		u.tests()
	}
	out.Imports, out.Scopes, out.Uses = u.imports.list, append([]string{pkg}, u.imports.dots...), u.uses
	return out
}

// withoutClause removes the package clause from the declarations of a file that has none.
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

const (
	byteOrderMark      = "\uFEFF"
	mode               = parser.ParseComments | parser.SkipObjectResolution | parser.AllErrors
	placeholderPackage = "_" // the package name in a file whose package clause can't be read
	maxProblems        = 50  // per file; one mistake can cause an error on each of the following lines
)

// parse parses as much of a file as possible. If there are errors, it repairs the text and parses that: the parser
// skips what follows an error, in particular functions.
func parse(fset *token.FileSet, src []byte) (*ast.File, []codegraph.Problem) {
	if strings.HasPrefix(string(src[:min(len(byteOrderMark), len(src))]), byteOrderMark) {
		src = src[len(byteOrderMark):]
	}
	file, err := parser.ParseFile(fset, "", src, mode)
	if err == nil {
		return file, nil
	}
	mended, problems := repair(string(src))
	file, _ = parser.ParseFile(fset, "", mended, mode)
	slices.SortStableFunc(problems, func(a, b codegraph.Problem) int { return cmp.Compare(a.Line, b.Line) })
	problems = slices.CompactFunc(problems, func(a, b codegraph.Problem) bool { return a.Line == b.Line })
	if len(problems) == 0 { // each piece is valid, but the file is not
		problems = syntaxErrors(err, 0, "")
	}
	if len(problems) > maxProblems {
		problems = append(problems[:maxProblems:maxProblems], codegraph.Problem{Line: problems[maxProblems].Line, Text: "and more"})
	}
	return file, problems
}

// syntaxErrors lists the first error of each line of a piece of a file. after is the number of lines before the piece.
// prefix is text in front of the piece's first line that is not in the file.
func syntaxErrors(err error, after int, prefix string) (out []codegraph.Problem) {
	var list scanner.ErrorList
	if !errors.As(err, &list) {
		return nil
	}
	list.Sort()
	for _, e := range list {
		if e.Pos.Offset < len(prefix) {
			continue
		}
		if line := after + max(e.Pos.Line, 1); len(out) == 0 || out[len(out)-1].Line != line {
			out = append(out, codegraph.Problem{Line: line, Text: strings.Clone(e.Msg)})
		}
	}
	return out
}

// Outline lists the declarations of a file, with their syntax.
type Outline struct {
	// Decls are the declarations in the order of the file. The first is the package clause. Signatures and comments are
	// not set.
	Decls []codegraph.Decl

	// Names are the declaring identifiers, in the same order.
	Names []*ast.Ident

	// Parts are the pieces of syntax in which declarations use names.
	Parts []Part

	nodes []ast.Node     // the syntax for each signature and comment
	specs []*ast.GenDecl // the group that contains each declaration; nil if it has none
}

// Part is a piece of syntax in which a declaration uses names. Two declarations may share one: "a, b int".
type Part struct {
	From     int // index in Outline.Decls; -1 if nothing is declared, as in "var _ = x"
	Node     ast.Node
	Params   *ast.FieldList // type parameters of the enclosing declaration; nil for none and for functions, whose Node has its own
	Embedded bool           // it is embedded in a struct or interface
}

// NewOutline lists the declarations of a parsed file. pkg is the path of its package. Placeholders that the parser
// inserted for unreadable places are left out.
func NewOutline(fset *token.FileSet, file *ast.File, pkg string) Outline {
	o := outliner{file: fset.File(file.FileStart), pkg: pkg, types: map[string]int{}}
	o.add(file, nil, file.Name, codegraph.Decl{Kind: codegraph.KindPackage, Name: file.Name.Name, Qualified: pkg, Parent: -1, Exported: true},
		file.Package, file.Name.End())
	for _, d := range file.Decls {
		switch d := d.(type) {
		case *ast.FuncDecl:
			o.function(d)
		case *ast.GenDecl:
			for _, s := range d.Specs {
				o.spec(d, s)
			}
		}
	}
	for i, n := range o.nodes {
		if f, ok := n.(*ast.FuncDecl); ok && f.Recv != nil {
			if t, ok := o.types[receiverName(f)]; ok {
				o.Decls[i].Parent = t
			}
		}
	}
	return o.Outline
}

type outliner struct {
	Outline
	file  *token.File
	pkg   string
	types map[string]int // indices of types in Decls, by name
}

func (o *outliner) line(p token.Pos) int { return o.file.PositionFor(p, false).Line }

// add appends a declaration and returns its index.
func (o *outliner) add(n ast.Node, within *ast.GenDecl, id *ast.Ident, d codegraph.Decl, from, to token.Pos) int {
	d.Line, d.End = o.line(from), o.line(max(from, to-1))
	o.Decls = append(o.Decls, d)
	o.Names = append(o.Names, id)
	o.nodes = append(o.nodes, n)
	o.specs = append(o.specs, within)
	return len(o.Decls) - 1
}

func (o *outliner) part(from int, n ast.Node, params *ast.FieldList) {
	o.Parts = append(o.Parts, Part{From: from, Node: n, Params: params})
}

func blank(id *ast.Ident) bool { return id == nil || id.Name == "_" || id.Name == "" }

func (o *outliner) function(d *ast.FuncDecl) {
	at := -1
	if !blank(d.Name) {
		decl := codegraph.Decl{Kind: codegraph.KindFunction, Name: d.Name.Name, Qualified: o.pkg + "." + d.Name.Name, Parent: -1, Exported: d.Name.IsExported()}
		if d.Recv != nil {
			recv := receiverName(d)
			decl.Kind, decl.Qualified = codegraph.KindMethod, o.pkg+"."+recv+"."+d.Name.Name
			decl.Exported = decl.Exported && ast.IsExported(recv)
			if recv == "" || recv == "_" {
				o.part(-1, d, nil)
				return
			}
		}
		at = o.add(d, nil, d.Name, decl, d.Pos(), d.End())
	}
	o.part(at, d, nil)
}

func (o *outliner) spec(d *ast.GenDecl, s ast.Spec) {
	from, to := s.Pos(), s.End()
	if !d.Lparen.IsValid() {
		from, to = d.Pos(), d.End()
	}
	switch s := s.(type) {
	case *ast.TypeSpec:
		o.typeSpec(d, s, from, to)
	case *ast.ValueSpec:
		o.valueSpec(d, s, from, to)
	}
}

func (o *outliner) valueSpec(d *ast.GenDecl, s *ast.ValueSpec, from, to token.Pos) {
	first := -1
	for i, id := range s.Names {
		at := -1
		if !blank(id) {
			at = o.add(s, d, id, codegraph.Decl{Kind: codegraph.KindVariable, Name: id.Name, Qualified: o.pkg + "." + id.Name, Parent: -1, Exported: id.IsExported()}, from, to)
		}
		if i == 0 {
			first = at
		}
		if s.Type != nil {
			o.part(at, s.Type, nil)
		}
		if len(s.Values) == len(s.Names) {
			o.part(at, s.Values[i], nil)
		}
	}
	if len(s.Values) != len(s.Names) {
		for _, v := range s.Values {
			o.part(first, v, nil)
		}
	}
}

// receiverName returns the name of a method's type without type parameters; "" for an invalid receiver.
func receiverName(d *ast.FuncDecl) string {
	if len(fields(d.Recv)) > 0 {
		if id, ok := bare(d.Recv.List[0].Type).(*ast.Ident); ok {
			return id.Name
		}
	}
	return ""
}

// peel removes a star, parentheses or arguments from an expression, and returns the arguments, too. It returns nil for an
// expression without them.
func peel(e ast.Expr) (inner ast.Expr, args []ast.Expr) {
	switch x := e.(type) {
	case *ast.StarExpr:
		return x.X, nil
	case *ast.ParenExpr:
		return x.X, nil
	case *ast.IndexExpr:
		return x.X, []ast.Expr{x.Index}
	case *ast.IndexListExpr:
		return x.X, x.Indices
	}
	return nil, nil
}

// bare strips parentheses, stars and type arguments.
func bare(e ast.Expr) ast.Expr {
	for {
		inner, _ := peel(e)
		if inner == nil {
			return e
		}
		e = inner
	}
}
