package codebase

import (
	"context"
	"io"
	"path"
	"strings"

	"github.com/kenlayer/ken/internal/code/codegraph"
	"github.com/kenlayer/ken/internal/code/codegraph/scip"
	"github.com/kenlayer/ken/internal/code/codegraph/typed"
	"github.com/kenlayer/ken/internal/code/repository"
)

// Types checks the types of the project's Go packages, and refines the graph with what
// they say. It takes seconds; questions and updates go on meanwhile, and what is said of
// a file that has changed by then is left out. Errors: ken.ErrNotFound where there is no
// Go module, ken.ErrUnavailable where there is no toolchain, and that of ctx.
func (c *Codebase) Types(ctx context.Context) (codegraph.Refined, typed.Report, error) {
	r, report, err := typed.Check(ctx, c.o.Root, typed.Options{})
	if err != nil {
		return codegraph.Refined{}, report, err
	}
	return c.refine(r), report, nil
}

// Import refines the graph with an index in the SCIP format, which a compiler's indexer
// has made; see scip.Options for folder and made. The graph has to be built before.
// Errors are those of scip.Read, and that of ctx.
func (c *Codebase) Import(ctx context.Context, in io.Reader, o scip.Options) (codegraph.Refined, scip.Report, error) {
	r, err := findReaders(ctx, c.o.Root, c.o.Exclude)
	if err != nil {
		return codegraph.Refined{}, scip.Report{}, err
	}
	tree, err := repository.Files(ctx, c.o.Root, repository.Options{Exclude: c.o.Exclude})
	if err != nil {
		return codegraph.Refined{}, scip.Report{}, err
	}
	defer tree.Close() // it was only read
	extractors := r.extractors()
	o.File = func(p string) (codegraph.File, bool) {
		extract := extractors[strings.ToLower(path.Ext(p))]
		if extract == nil || !r.files[p] || ctx.Err() != nil {
			return codegraph.File{}, false
		}
		content, err := tree.Read(p, maxIndexed)
		if err != nil || content.Size > maxIndexed {
			return codegraph.File{}, false
		}
		f := extract(p, content.Bytes)
		f.Hash = content.Hash
		return f, true
	}
	refinement, report, err := scip.Read(in, c.o.Root, o)
	if err != nil {
		return codegraph.Refined{}, report, err
	}
	return c.refine(refinement), report, ctx.Err()
}

// maxIndexed is the largest file that an index's symbols are looked for in, in bytes.
const maxIndexed = 1 << 20

func (c *Codebase) refine(r codegraph.Refinement) codegraph.Refined {
	c.changing.Lock()
	defer c.changing.Unlock()
	return c.graph.Load().Refine(r)
}
