package golang

import (
	"go/ast"
	"go/token"
	"io/fs"
	"path"
	"slices"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/kenlayer/ken/internal/code/codegraph"
)

// imports holds the imports of a file and the names under which it uses them.
type imports struct {
	list      []codegraph.Import
	names     map[string]string // paths by the name that the file gives them, or that follows from the path
	uncertain []string          // paths from which the package name does not follow for certain
	dots      []string          // paths of dot imports
}

func newImports(file *ast.File, pkg string, line func(ast.Node) int) imports {
	m := imports{names: map[string]string{}}
	var assumed []string
	for _, s := range file.Imports {
		if s.Path == nil {
			continue
		}
		p, err := strconv.Unquote(s.Path.Value)
		if err != nil || p == "" {
			continue
		}
		imp := codegraph.Import{Path: p, Line: line(s)}
		target := p
		switch {
		case p == "C":
			target = ""
		case strings.HasPrefix(p, "./") || strings.HasPrefix(p, "../"):
			target = path.Join(strings.TrimSuffix(pkg, "_test"), p)
		}
		if target != "" {
			imp.Target = codegraph.ID(codegraph.KindPackage, target)
		}
		if s.Name != nil {
			imp.Name = s.Name.Name
		}
		m.list = append(m.list, imp)
		switch imp.Name {
		case "":
			assumed = append(assumed, target)
		case ".":
			m.dots = append(m.dots, target)
		case "_":
		default:
			m.names[imp.Name] = target
		}
	}
	for _, target := range assumed { // explicit names take precedence
		name := assumedName(target)
		if _, taken := m.names[name]; !taken {
			m.names[name] = target
		}
		if target != "" && strings.Contains(target, ".") { // in the standard library, the name follows from the path
			m.uncertain = append(m.uncertain, target)
		}
	}
	return m
}

// find returns the path of the package with a name in the file; "" for cgo's C.
func (m *imports) find(name string) (target string, ok bool) {
	if target, ok = m.names[name]; ok {
		return target, true
	}
	if strings.ContainsFunc(name, func(r rune) bool { return !unicode.IsLower(r) && !unicode.IsDigit(r) && r != '_' }) {
		return "", false
	}
	i := slices.IndexFunc(m.uncertain, func(p string) bool { return mayBeNamed(p, name) })
	if i < 0 {
		return "", false
	}
	m.names[name] = m.uncertain[i]
	return m.uncertain[i], true
}

// assumedName returns the usual name of the package with a path: the last part, without a version, a prefix "go-" and
// characters that a name can't have.
func assumedName(p string) string {
	if p == "" {
		return "C"
	}
	base := path.Base(p)
	if version(base) && path.Dir(p) != "." {
		base = path.Base(path.Dir(p))
	}
	base = strings.TrimPrefix(base, "go-")
	end := strings.IndexFunc(base+".", func(r rune) bool { return !unicode.IsLetter(r) && !unicode.IsDigit(r) && r != '_' })
	return base[:end]
}

func version(s string) bool {
	_, err := strconv.Atoi(strings.TrimPrefix(s, "v"))
	return err == nil && strings.HasPrefix(s, "v")
}

// mayBeNamed reports whether a package with this path may have this name: "index" for
// "github.com/blevesearch/bleve_index_api", "v1" for "k8s.io/api/core/v1".
func mayBeNamed(p, name string) bool {
	base := path.Base(p)
	if base == name {
		return true
	}
	if utf8.RuneCountInString(name) < 3 {
		return false
	}
	if version(base) {
		base = path.Base(path.Dir(p))
	}
	return strings.Contains(base, name) || strings.Contains(strings.NewReplacer("-", "", ".", "", "_", "").Replace(base), name)
}

const maxModFile = 16 << 20 // bytes; the limit of the go command

// skippedFolders are the names of folders that contain no module of the project.
var skippedFolders = map[string]bool{"node_modules": true, "vendor": true, "testdata": true}

// FindModules finds the go.mod files of a tree. It returns the paths of the modules by folder, with slashes, "." for
// the root. Like the go command, it skips vendor, testdata, node_modules and folders whose names begin with a dot or an
// underscore, and does not follow links. Files that can't be read or that name no module are ignored: their folders
// belong to the enclosing module.
func FindModules(root fs.FS) map[string]string {
	found := map[string]string{}
	_ = fs.WalkDir(root, ".", func(p string, d fs.DirEntry, err error) error {
		switch {
		case err != nil && d != nil && d.IsDir():
			return fs.SkipDir
		case err != nil:
			return nil //nolint:nilerr // what can't be read names no module
		case d.IsDir() && p != "." && (skippedFolders[d.Name()] || strings.ContainsAny(d.Name()[:1], "._")):
			return fs.SkipDir
		case d.Name() == "go.mod" && d.Type().IsRegular():
			if info, err := d.Info(); err != nil || info.Size() > maxModFile {
				return nil //nolint:nilerr // as above
			}
			text, err := fs.ReadFile(root, p)
			if m := ModulePath(text); err == nil && m != "" {
				found[path.Dir(p)] = m
			}
		}
		return nil
	})
	return found
}

// ModulePath returns the path of the module in a go.mod file; "" if it names none.
func ModulePath(gomod []byte) string {
	for line := range strings.SplitSeq(strings.TrimPrefix(string(gomod), byteOrderMark), "\n") {
		line, _, _ = strings.Cut(line, "//")
		rest, ok := strings.CutPrefix(strings.TrimSpace(line), "module")
		if !ok || rest == "" || !strings.ContainsAny(rest[:1], " \t\"`") {
			continue
		}
		rest = strings.TrimSpace(rest)
		if unquoted, err := strconv.Unquote(rest); err == nil {
			rest = unquoted
		}
		if strings.ContainsFunc(rest, foreignToPaths) {
			return ""
		}
		return strings.Clone(rest)
	}
	return ""
}

// foreignToPaths reports whether c can't occur in a module path.
func foreignToPaths(c rune) bool {
	return c == utf8.RuneError || unicode.IsSpace(c) || unicode.IsControl(c) || strings.ContainsRune("\"`()", c)
}

// importPath returns the import path of the package in a folder. It is "" for the root of a tree without a module
// there. The name of the module "std", the standard library, is not part of import paths.
func importPath(modules map[string]string, dir string) string {
	if i := strings.LastIndex("/"+dir, "/vendor/"); i >= 0 {
		return dir[i+len("vendor/"):]
	}
	for at := dir; ; at = path.Dir(at) {
		if m, ok := modules[at]; ok {
			rest := dir
			if at != "." {
				rest = strings.TrimPrefix(strings.TrimPrefix(dir, at), "/")
			} else if dir == "." {
				rest = ""
			}
			if m == "std" {
				m = ""
			}
			return path.Join(m, rest)
		}
		if at == "." || at == "/" {
			break
		}
	}
	if dir == "." {
		return ""
	}
	return dir
}

// assertions records what "var _ I = (*T)(nil)" states: T implements I.
func (u *usageWalker) assertions() {
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
			id, ok := bare(assertedType(v.Values[0])).(*ast.Ident)
			if !ok {
				continue
			}
			at, declared := u.table.places[id.Name]
			i := u.typeName(typ{}, bare(v.Type))
			if declared && i != "" && i != unknown {
				u.from = at
				u.addUse(codegraph.Implements, i, true, v.Pos())
			}
		}
	}
}

// assertedType returns the type in the value of an assertion: T{}, &T{}, (*T)(nil), new(T), T(0).
func assertedType(e ast.Expr) ast.Expr {
	switch x := ast.Unparen(e).(type) {
	case *ast.UnaryExpr:
		if x.Op == token.AND {
			return assertedType(x.X)
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

// tests records what a test is for, by its name. TestX_Y is for the method Y of X, or for X. The same holds for
// examples, for which the toolchain requires it. The graph ignores names that nothing has.
func (u *usageWalker) tests() {
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
				u.addUse(codegraph.Tests, u.qualify(pkg, name), true, d.Name.Pos())
			}
		}
	}
}

// subjects returns the names for which the rest of a test's name may stand, exported or not.
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
