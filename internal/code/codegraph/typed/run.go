package typed

import (
	"bufio"
	"cmp"
	"context"
	"fmt"
	"go/ast"
	"go/token"
	"go/types"
	"maps"
	"os"
	"slices"
	"strings"
	"sync"
	"sync/atomic"

	"golang.org/x/tools/go/gcexportdata"
	"golang.org/x/tools/go/packages"

	"github.com/kenlayer/ken/internal/code/codegraph"
	"github.com/kenlayer/ken/internal/lazyregexp"
)

// nodeResult is the result of checking a node.
type nodeResult struct {
	files      []codegraph.RefinedFile
	implements []implementation // implementations by types that tests declare
	lines      int
	problems   []Problem
}

// run checks the nodes, each after the nodes that it imports. Workers take nodes in order. A worker waits for the
// imports of its node, which other workers took before.
func (p *plan) run(ctx context.Context, workers int, files map[string]codegraph.RefinedFile) (Report, error) {
	found := make([]nodeResult, len(p.nodes))
	var next atomic.Int64
	var wg sync.WaitGroup
	for range workers {
		wg.Go(func() {
			for {
				i := int(next.Add(1)) - 1
				if i >= len(p.nodes) {
					return
				}
				if ctx.Err() != nil {
					close(p.nodes[i].ready) // no other worker may wait for it
					continue
				}
				found[i] = p.check(p.nodes[i])
			}
		})
	}
	wg.Wait()
	if err := ctx.Err(); err != nil {
		return Report{}, err
	}
	r := Report{Modules: 1}
	var all []implementation
	for i, n := range p.nodes {
		if !n.reported {
			continue
		}
		f := found[i]
		r.Packages++
		r.Lines += f.lines
		if len(f.problems) > 0 {
			r.Broken++
			slices.SortStableFunc(f.problems, byPlace)
			for k := range f.problems {
				f.problems[k].Follows = n.lacks.Load()
			}
			r.Problems = append(r.Problems, f.problems[:min(problemsEach, len(f.problems))]...)
		}
		for _, file := range f.files {
			files[file.Path] = file
		}
		all = append(all, f.implements...)
	}
	for path, edges := range byFile(append(all, p.implements(files)...)) {
		if f, ok := files[path]; ok {
			f.Edges = append(f.Edges, edges...)
			files[path] = f
		}
	}
	slices.SortStableFunc(r.Problems, byPlace)
	r.Missing = slices.Sorted(maps.Keys(p.missing))
	return r, nil
}

// check reads a node, publishes what it declares, and checks its functions.
func (p *plan) check(n *node) (f nodeResult) {
	publish := sync.OnceFunc(func() { close(n.ready) })
	defer publish()
	defer func() { // a panic of the type checker must affect only this package
		if r := recover(); r != nil {
			f.problems = append(f.problems, Problem{Package: n.PkgPath, Text: fmt.Sprintf("the type checker gave up: %v", r)})
		}
	}()
	for _, e := range n.Errors {
		if e.Kind == packages.ListError {
			f.problems = append(f.problems, Problem{Package: n.PkgPath, Text: e.Msg})
		}
	}
	var sources []source
	for _, path := range n.files {
		src, problems := p.read(n, path)
		f.problems = append(f.problems, problems...)
		if src.syntax != nil {
			f.lines += src.lines
			sources = append(sources, src)
		}
	}
	if n.api {
		p.declare(n, sources)
	}
	publish()
	if n.reported {
		r := p.refine(n, sources)
		f.files, f.implements, f.problems = r.files, r.implements, append(f.problems, r.problems...)
	}
	return f
}

var goVersion = lazyregexp.New(`^1(\.\d+)*$`)

// config returns the configuration for checking a node. report may be nil.
func (p *plan) config(n *node, report func(types.Error)) *types.Config {
	c := &types.Config{
		Importer: importer{p, n}, Sizes: p.sizes, FakeImportC: true, DisableUnusedImportCheck: true,
		Error: func(err error) {
			if e, ok := err.(types.Error); ok && report != nil && !e.Soft { //nolint:errorlint // it is never wrapped
				report(e)
			}
		},
	}
	if n.Module != nil && goVersion.MatchString(n.Module.GoVersion) {
		c.GoVersion = "go" + n.Module.GoVersion
	}
	return c
}

// declare checks the declarations of a node without function bodies.
func (p *plan) declare(n *node, sources []source) {
	info := &types.Info{Defs: map[*ast.Ident]types.Object{}}
	c := p.config(n, nil)
	c.IgnoreFuncBodies = true
	pkg, _ := c.Check(n.PkgPath, p.fset, syntax(sources), info)
	if pkg == nil {
		return
	}
	n.types = pkg
	if !n.own {
		return
	}
	known := map[types.Object]string{}
	for _, s := range sources {
		o := p.outline(n, s)
		o.define(info, known)
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.inRepository[pkg] = true
	maps.Copy(p.known, known)
}

func syntax(sources []source) (files []*ast.File) {
	for _, s := range sources {
		files = append(files, s.syntax)
	}
	return files
}

// exporter reads packages from the compiler's export data. It is safe for concurrent use.
type exporter struct {
	fset  *token.FileSet
	files map[string]string // by import path

	mu     sync.Mutex // guards the following fields
	pkgs   map[string]*types.Package
	failed map[string]error
}

func (e *exporter) find(path string) (*types.Package, error) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if err := e.failed[path]; err != nil {
		return nil, err
	}
	if pkg := e.pkgs[path]; pkg != nil && pkg.Complete() {
		return pkg, nil
	}
	pkg, err := e.read(path)
	if err != nil {
		e.failed[path] = err
	}
	return pkg, err
}

func (e *exporter) read(path string) (pkg *types.Package, err error) {
	name, ok := e.files[path]
	if !ok {
		return nil, fmt.Errorf("no export data of %s: it can't be built, or is not downloaded", path)
	}
	f, err := os.Open(name)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	//lint:ignore SA1019 the toolchain in PATH writes archives, and go/packages reads them like this itself
	r, err := gcexportdata.NewReader(bufio.NewReader(f)) //nolint:staticcheck // as above
	if err != nil {
		return nil, fmt.Errorf("read export data of %s: %w", path, err)
	}
	return gcexportdata.Read(r, e.fset, e.pkgs, path)
}

// importer resolves the imports of one node.
type importer struct {
	plan *plan
	node *node
}

// Import implements types.Importer.
func (i importer) Import(path string) (*types.Package, error) {
	if path == "unsafe" {
		return types.Unsafe, nil
	}
	imp := i.node.Imports[path]
	if imp == nil {
		return nil, fmt.Errorf("%s is not available", path)
	}
	m := i.plan.byID[imp.ID]
	if m == nil {
		pkg, err := i.plan.external.find(imp.PkgPath)
		if err != nil && slices.ContainsFunc(imp.Errors, func(e packages.Error) bool { return notDownloaded(e.Msg) }) {
			i.node.lacks.Store(true)
			i.plan.mu.Lock()
			i.plan.missing[imp.PkgPath] = true
			i.plan.mu.Unlock()
		}
		return pkg, err
	}
	<-m.ready
	if m.lacks.Load() {
		i.node.lacks.Store(true)
	}
	if m.types == nil {
		return nil, fmt.Errorf("%s can't be checked", path)
	}
	return m.types, nil
}

// node is a package that is read from source: in its plain form, or in a variant for its own tests or another package's
// tests.
type node struct {
	*packages.Package
	files    []string // paths from the root; absolute for a package outside of it
	own      bool     // it belongs to the repository
	reported bool     // its function bodies are checked and its files are in the result
	api      bool     // other nodes import it, or compare types with it
	plain    bool     // it is not a variant for tests

	lacks atomic.Bool    // it imports a package that is not downloaded, perhaps through others
	ready chan struct{}  // closed when its declarations are known
	types *types.Package // its declarations, without function bodies; nil if they could not be checked
}

// plan lists the work for a module. A node comes after the nodes that it imports.
type plan struct {
	tree  *tree
	nodes []*node
	byID  map[string]*node
	sizes types.Sizes

	fset     *token.FileSet
	external *exporter

	mu           sync.RWMutex // guards the following fields
	known        map[types.Object]string
	inRepository map[*types.Package]bool  // packages of the repository whose objects are in known
	named        map[*types.TypeName]bool // interfaces of the standard library that the code names
	missing      map[string]bool          // import paths of packages that are not downloaded
}

func newPlan(t *tree, l *loaded, o Options) *plan {
	p := &plan{tree: t, byID: map[string]*node{}, fset: token.NewFileSet(), known: map[types.Object]string{}, inRepository: map[*types.Package]bool{}, named: map[*types.TypeName]bool{}, missing: map[string]bool{}}
	roots := map[string]bool{}
	tested := map[string]bool{} // paths of packages with internal tests
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
		absent := pkg.Name == "" && !roots[pkg.ID] // its files are those that import it
		if absent || strings.HasSuffix(pkg.ID, ".test") || !own && !p.importsAny(pkg) {
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
		n.reported = roots[pkg.ID] && owner && wanted
		n.api = n.plain
	})
	for _, n := range slices.Backward(p.nodes) {
		for _, imp := range n.Imports {
			if m := p.byID[imp.ID]; m != nil && (n.reported || n.api) {
				m.api = true
			}
		}
	}
	p.nodes = slices.DeleteFunc(p.nodes, func(n *node) bool { return !n.reported && !n.api })
	return p
}

// importsAny reports whether a package from outside the repository imports packages of the repository, also indirectly.
// Such a package is read from source as well, because its export data would refer to different type objects.
func (p *plan) importsAny(pkg *packages.Package) bool {
	for _, imp := range pkg.Imports {
		if p.byID[imp.ID] != nil {
			return true
		}
	}
	return false
}

// sources lists the files of a package. own is false for a package from outside the repository.
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

// exports finds the export data of imported packages that are not read from source.
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
	p.external = &exporter{fset: p.fset, files: files, pkgs: map[string]*types.Package{}, failed: map[string]error{}}
	return nil
}

func byPlace(a, b Problem) int {
	return cmp.Or(cmp.Compare(a.Package, b.Package), cmp.Compare(a.Path, b.Path), cmp.Compare(a.Line, b.Line), cmp.Compare(a.Text, b.Text))
}
