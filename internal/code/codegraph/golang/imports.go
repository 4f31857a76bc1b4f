package golang

import (
	"go/ast"
	"path"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/kenlayer/ken/internal/code/codegraph"
)

// imports are what a file imports, and by which names.
type imports struct {
	list  []codegraph.Import
	names map[string]string // the paths by the names that the file gives them, or that follow from the path
	loose []string          // the paths whose name does not surely follow from them
	dots  []string          // the paths of dot imports
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
		if strings.HasPrefix(p, "./") || strings.HasPrefix(p, "../") {
			target = path.Join(strings.TrimSuffix(pkg, "_test"), p)
		}
		if p != "C" {
			imp.Target = codegraph.ID(codegraph.KindPackage, target)
		} else {
			target = ""
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
	for _, target := range assumed { // what the file says goes first
		name := assumedName(target)
		if _, taken := m.names[name]; !taken {
			m.names[name] = target
		}
		if target != "" && strings.Contains(target, ".") { // the standard library's follow
			m.loose = append(m.loose, target)
		}
	}
	return m
}

// find returns the path of the package that a name stands for, "" for that of cgo.
func (m *imports) find(name string) (target string, ok bool) {
	if target, ok = m.names[name]; ok {
		return target, true
	}
	for _, r := range name {
		if !unicode.IsLower(r) && !unicode.IsDigit(r) && r != '_' {
			return "", false
		}
	}
	for _, p := range m.loose {
		if fits(p, name) {
			m.names[name] = p
			return p, true
		}
	}
	return "", false
}

// assumedName is what a package at this path is called by custom: its last part, less a
// version, "go-" before it, and what can't stand in a name.
func assumedName(p string) string {
	if p == "" {
		return "C"
	}
	base := path.Base(p)
	if version(base) && path.Dir(p) != "." {
		base = path.Base(path.Dir(p))
	}
	base = strings.TrimPrefix(base, "go-")
	if i := strings.IndexFunc(base, func(r rune) bool { return !unicode.IsLetter(r) && !unicode.IsDigit(r) && r != '_' }); i >= 0 {
		base = base[:i]
	}
	return base
}

func version(s string) bool {
	_, err := strconv.Atoi(strings.TrimPrefix(s, "v"))
	return err == nil && strings.HasPrefix(s, "v")
}

// fits reports whether a package at this path may be called name: "index" at
// "github.com/blevesearch/bleve_index_api", "v1" at "k8s.io/api/core/v1".
func fits(p, name string) bool {
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
