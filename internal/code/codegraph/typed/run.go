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

// nodeResult is what was found out about a node.
type nodeResult struct {
	files      []codegraph.RefinedFile
	implements []implementation // by types of tests
	lines      int
	problems   []Problem
}

// run checks the nodes, each after what it imports: a worker takes the next one in
// order and waits for those before it, which others have taken.
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
					close(p.nodes[i].ready) // nobody is to wait for it
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
		if !n.full {
			continue
		}
		f := found[i]
		r.Packages++
		r.Lines += f.lines
		if len(f.problems) > 0 {
			r.Broken++
			slices.SortStableFunc(f.problems, byPlace)
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
	return r, nil
}

// check reads a node, makes known what it declares, and looks through its functions.
func (p *plan) check(n *node) (f nodeResult) {
	published := false
	publish := func() {
		if !published {
			published = true
			close(n.ready)
		}
	}
	defer publish()
	defer func() { // the type checker meets code that nobody has written before
		if r := recover(); r != nil {
			f.problems = append(f.problems, Problem{Package: n.PkgPath, Text: fmt.Sprintf("the type checker gave up: %v", r)})
		}
	}()
	f.problems = p.listed(n)
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
	if n.full {
		r := p.refine(n, sources)
		f.files, f.implements, f.problems = r.files, r.implements, append(f.problems, r.problems...)
	}
	return f
}

var goVersion = lazyregexp.New(`^1(\.\d+)*$`)

// config is how a node is checked.
func (p *plan) config(n *node, report func(types.Error)) *types.Config {
	c := &types.Config{
		Importer: importer{p, n}, Sizes: p.sizes, FakeImportC: true, DisableUnusedImportCheck: true,
		Error: func(err error) {
			if e, ok := err.(types.Error); ok && report != nil && !e.Soft { //nolint:errorlint // it comes bare
				report(e)
			}
		},
	}
	if n.Module != nil && goVersion.MatchString(n.Module.GoVersion) {
		c.GoVersion = "go" + n.Module.GoVersion
	}
	return c
}

// declare checks what a node declares, without what functions do.
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
	for obj, id := range known {
		p.known[obj] = id
	}
}

func syntax(sources []source) (files []*ast.File) {
	for _, s := range sources {
		files = append(files, s.syntax)
	}
	return files
}

// exporter reads packages from the export data that the compiler left. It is safe for
// concurrent use.
type exporter struct {
	fset  *token.FileSet
	files map[string]string // by import path

	mu     sync.Mutex // guards what follows
	pkgs   map[string]*types.Package
	failed map[string]error
}

func newExporter(fset *token.FileSet, files map[string]string) *exporter {
	return &exporter{fset: fset, files: files, pkgs: map[string]*types.Package{}, failed: map[string]error{}}
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

// importer finds what one node imports.
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
		return nil, fmt.Errorf("%s is not to be had", path)
	}
	m := i.plan.byID[imp.ID]
	if m == nil {
		return i.plan.external.find(imp.PkgPath)
	}
	<-m.ready
	if m.types == nil {
		return nil, fmt.Errorf("%s can't be checked", path)
	}
	return m.types, nil
}

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

	mu           sync.RWMutex // guards what follows
	known        map[types.Object]string
	inRepository map[*types.Package]bool  // what is known of
	named        map[*types.TypeName]bool // interfaces of the standard library that the code names
}

func newPlan(t *tree, l *loaded, o Options) *plan {
	p := &plan{tree: t, byID: map[string]*node{}, fset: token.NewFileSet(), known: map[types.Object]string{}, inRepository: map[*types.Package]bool{}, named: map[*types.TypeName]bool{}}
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
