package main

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/kenlayer/ken"
	"github.com/kenlayer/ken/internal/code/codebase"
	"github.com/kenlayer/ken/internal/code/codegraph"
	"github.com/kenlayer/ken/internal/code/repository"
)

// patience is how long reading files may take before a person is told how far it is.
const patience = 700 * time.Millisecond

// codebase opens the project's code and brings it up to date with its files; what was
// saved is not read again. It is kept for the next command when reading it took long.
// The caller closes it.
func (a *app) codebase(ctx context.Context) (*codebase.Codebase, error) {
	c, _, err := a.readCodebase(ctx)
	return c, err
}

// readCodebase is codebase, and says what was found.
func (a *app) readCodebase(ctx context.Context) (*codebase.Codebase, codegraph.Report, error) {
	p := a.progress()
	defer p.done()
	c, err := a.loadCodebase(ctx, p)
	if err != nil {
		return nil, codegraph.Report{}, err
	}
	report, err := c.Build(ctx)
	if err != nil {
		return nil, report, errors.Join(err, c.Close())
	}
	if report.Changed+report.Removed > 16+report.Files/50 {
		_ = c.Save() // ken graph build says why it can't be
	}
	return c, report, nil
}

// loadCodebase opens the project's code as it was saved, whatever its files say now.
// The caller closes it.
func (a *app) loadCodebase(ctx context.Context, p *progress) (*codebase.Codebase, error) {
	c, err := a.openCodebase(ctx, p)
	if err != nil {
		return nil, err
	}
	switch err := c.Load(ctx); {
	case ctx.Err() != nil:
		return nil, errors.Join(ctx.Err(), c.Close())
	case err != nil && !a.quiet:
		fmt.Fprintf(a.err, "ken: %v; %s\n", err, ken.Hint(err))
	}
	return c, nil
}

// openCodebase opens the project's code with nothing in it. What is read afterwards is
// told to p, if it takes long. The caller closes it.
func (a *app) openCodebase(ctx context.Context, p *progress) (*codebase.Codebase, error) {
	if err := a.mayRead(); err != nil {
		return nil, err
	}
	root, err := a.project()
	if err != nil {
		return nil, err
	}
	cfg, _, err := a.configuration()
	if err != nil {
		return nil, err
	}
	begun := time.Now()
	return codebase.Open(ctx, codebase.Options{Root: root, State: cfg.State(root), Generated: cfg.Graph.Generated,
		Exclude: cfg.Repository.Exclude, Folders: cfg.Decisions.Folders,
		Progress: func(r repository.Progress) {
			if time.Since(begun) > patience {
				p.update(string(r.Stage), r.Done, r.Total)
			}
		}})
}
