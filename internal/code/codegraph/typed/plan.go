package typed

import (
	"cmp"
	"context"
	"go/token"
	"go/types"
	"maps"
	"slices"
	"strings"
	"sync"

	"golang.org/x/tools/go/packages"
)

// node is a package that is read from source: as it is, as its own tests see it, or as
// the tests of another one do.
type node struct {
	*packages.Package
	files []string // from the root; of one outside of it, by their absolute paths
	own   bool     // it is the repository's
	full  bool     // its files are spoken of
	api   bool     // others import it, or compare with it
	plain bool     // as it is

	ready chan struct{}  // closed when what it declares is known
	types *types.Package // what it declares, without functions' bodies; nil when that could not be made out
}

// plan is what is to be done for a module, in order: a node comes after what it
// imports.
type plan struct {
	tree  *tree
	nodes []*node
	byID  map[string]*node
	sizes types.Sizes

	fset     *token.FileSet
	external *exporter

	mu    sync.RWMutex // guards what follows
	known map[types.Object]string
	ours  map[*types.Package]bool  // what is known of
	named map[*types.TypeName]bool // interfaces of the standard library that the code names
}

func newPlan(t *tree, l *loaded, o Options) *plan {
	p := &plan{tree: t, byID: map[string]*node{}, fset: token.NewFileSet(), known: map[types.Object]string{}, ours: map[*types.Package]bool{}, named: map[*types.TypeName]bool{}}
	roots := map[string]bool{}
	tested := map[string]bool{} // paths of packages that have tests within
	for _, r := range l.roots {
		roots[r.ID] = true
		if r.ForTest != "" && r.ForTest == r.PkgPath {
			tested[r.PkgPath] = true
		}
		if r.TypesSizes != nil {
			p.sizes = r.TypesSizes
		}
	}
	packages.Visit(l.roots, nil, func(pkg *packages.Package) {
		files, own := t.sources(pkg)
		if strings.HasSuffix(pkg.ID, ".test") || !own && !p.importsAny(pkg) {
			return
		}
		n := &node{Package: pkg, files: files, own: own, plain: pkg.ForTest == "", ready: make(chan struct{})}
		p.nodes = append(p.nodes, n)
		p.byID[pkg.ID] = n
		if !own {
			return
		}
		path := strings.TrimSuffix(pkg.PkgPath, "_test")
		wanted := len(o.Packages) == 0 || slices.Contains(o.Packages, pkg.PkgPath) || slices.Contains(o.Packages, path)
		owner := n.plain && !tested[pkg.PkgPath] || pkg.ForTest != "" && pkg.ForTest == path
		n.full = roots[pkg.ID] && owner && wanted
		n.api = n.plain
	})
	for _, n := range slices.Backward(p.nodes) {
		if !n.full && !n.api {
			continue
		}
		for _, imp := range n.Imports {
			if m := p.byID[imp.ID]; m != nil {
				m.api = true
			}
		}
	}
	p.nodes = slices.DeleteFunc(p.nodes, func(n *node) bool { return !n.full && !n.api })
	return p
}

// importsAny reports whether a package that is not the repository's imports what is, be
// it by others that do. It is read from source as well: its export data would speak of
// other types than those of the source.
func (p *plan) importsAny(pkg *packages.Package) bool {
	for _, imp := range pkg.Imports {
		if p.byID[imp.ID] != nil {
			return true
		}
	}
	return false
}

// sources lists the files of a package; own is false for one that is not the
// repository's.
func (t *tree) sources(pkg *packages.Package) (files []string, own bool) {
	for _, f := range pkg.GoFiles {
		rel, ok := t.rel(f)
		if !ok {
			return pkg.GoFiles, false
		}
		files = append(files, rel)
	}
	return files, len(files) > 0
}

// exports finds the export data of what the nodes import and is not read from source.
func (p *plan) exports(ctx context.Context, l *loaded) error {
	paths := map[string]bool{}
	for _, n := range p.nodes {
		for _, imp := range n.Imports {
			if p.byID[imp.ID] == nil && imp.PkgPath != "unsafe" && imp.PkgPath != "C" {
				paths[imp.PkgPath] = true
			}
		}
	}
	files, err := l.exportFiles(ctx, slices.Sorted(maps.Keys(paths)))
	if err != nil {
		return err
	}
	p.external = newExporter(p.fset, files)
	return nil
}

// listed are the errors that the go command has for a package, as problems.
func (p *plan) listed(n *node) (out []Problem) {
	for _, e := range n.Errors {
		if e.Kind != packages.ListError {
			continue
		}
		out = append(out, Problem{Package: n.PkgPath, Text: e.Msg})
	}
	return out
}

func byPlace(a, b Problem) int {
	return cmp.Or(cmp.Compare(a.Package, b.Package), cmp.Compare(a.Path, b.Path), cmp.Compare(a.Line, b.Line), cmp.Compare(a.Text, b.Text))
}
