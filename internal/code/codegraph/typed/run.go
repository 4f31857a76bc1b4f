package typed

import (
	"context"
	"fmt"
	"go/ast"
	"go/types"
	"slices"
	"sync"
	"sync/atomic"

	"github.com/kenlayer/ken/internal/code/codegraph"
	"github.com/kenlayer/ken/internal/lazyregexp"
)

// finding is what was found out about a node.
type finding struct {
	files      []codegraph.RefinedFile
	implements []implementation // by types of tests
	lines      int
	problems   []Problem
}

// run checks the nodes, each after what it imports: a worker takes the next one in
// order and waits for those before it, which others have taken.
func (p *plan) run(ctx context.Context, workers int, files map[string]codegraph.RefinedFile) (Report, error) {
	found := make([]finding, len(p.nodes))
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
func (p *plan) check(n *node) (f finding) {
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
	p.ours[pkg] = true
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
