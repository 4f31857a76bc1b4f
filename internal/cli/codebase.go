package cli

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"time"

	"github.com/kenlayer/ken"
	"github.com/kenlayer/ken/config"
	"github.com/kenlayer/ken/internal/code/codebase"
	"github.com/kenlayer/ken/internal/code/codegraph"
	"github.com/kenlayer/ken/internal/code/drift"
	"github.com/kenlayer/ken/internal/code/plan"
	"github.com/kenlayer/ken/internal/code/repository"
	"github.com/kenlayer/ken/internal/projectfile"
)

// ImportGraph reads what the project's files import. It reads only the files and no saved
// graph, so the result is the same on every machine.
func (a *App) ImportGraph(ctx context.Context) (*codegraph.View, codegraph.Report, error) {
	p := a.Progress()
	defer p.Done()
	c, err := a.OpenCodebase(ctx, p)
	if err != nil {
		return nil, codegraph.Report{}, err
	}
	read, err := c.Build(ctx)
	return c.View(), read, errors.Join(err, c.Close())
}

// WriteArchitecture writes a manifest of the project's layers, unless there is one.
func (a *App) WriteArchitecture(ctx context.Context, root string) (WrittenFile, error) {
	w := WrittenFile{Path: filepath.Join(root, filepath.FromSlash(drift.DefaultManifest))}
	dir, err := projectfile.Open(root)
	if err != nil {
		return w, err
	}
	defer dir.Close() // the file was closed after writing
	if _, err := dir.Stat(drift.DefaultManifest); !errors.Is(err, fs.ErrNotExist) {
		return w, err
	}
	g, _, err := a.ImportGraph(ctx)
	if err != nil {
		return w, fmt.Errorf("find the project's layers: %w", err)
	}
	err = dir.Commit(projectfile.Change{Path: drift.DefaultManifest, Now: drift.Propose(g)})
	if errors.Is(err, ken.ErrExists) {
		return w, nil // another process created it first
	}
	if err != nil {
		return w, fmt.Errorf("write the project's layers: %w", err)
	}
	w.Created = true
	return w, nil
}

// ProgressDelay is how long reading files may take before progress is shown.
const ProgressDelay = 700 * time.Millisecond

// Codebase opens the saved graph of the project's code and updates it from the files that
// changed. It saves the graph when many did. The caller closes it.
func (a *App) Codebase(ctx context.Context) (*codebase.Codebase, error) {
	c, _, err := a.ReadCodebase(ctx)
	return c, err
}

// ReadCodebase is Codebase with a report of what was read.
func (a *App) ReadCodebase(ctx context.Context) (*codebase.Codebase, codegraph.Report, error) {
	p := a.Progress()
	defer p.Done()
	c, err := a.LoadCodebase(ctx, p)
	if err != nil {
		return nil, codegraph.Report{}, err
	}
	report, err := c.Build(ctx)
	if err != nil {
		return nil, report, errors.Join(err, c.Close())
	}
	if report.Changed+report.Removed > 16+report.Files/50 {
		_ = c.Save() // ken graph build reports why it can't be saved
	}
	return c, report, nil
}

// LoadCodebase opens the graph of the project's code as it was saved, without an update
// from the files. The caller closes it.
func (a *App) LoadCodebase(ctx context.Context, p *Progress) (*codebase.Codebase, error) {
	c, err := a.OpenCodebase(ctx, p)
	if err != nil {
		return nil, err
	}
	switch err := c.Load(ctx); {
	case ctx.Err() != nil:
		return nil, errors.Join(ctx.Err(), c.Close())
	case err != nil && !a.Quiet:
		fmt.Fprintf(a.Err, "ken: %v; %s\n", err, ken.Hint(err))
	}
	return c, nil
}

// OpenCodebase opens an empty graph of the project's code. Long reads later report their
// progress to p. The caller closes it.
func (a *App) OpenCodebase(ctx context.Context, p *Progress) (*codebase.Codebase, error) {
	if err := a.ConfirmReading(ctx); err != nil {
		return nil, err
	}
	r, err := a.Configuration()
	if err != nil {
		return nil, err
	}
	cfg, begun := r.Config, time.Now()
	return codebase.Open(ctx, codebase.Options{Root: r.Root, State: cfg.State(r.Root), Generated: cfg.Graph.Generated,
		Exclude: cfg.Repository.Exclude, Folders: cfg.Decisions.Folders,
		Progress: func(r repository.Progress) {
			if time.Since(begun) > ProgressDelay {
				p.Update(string(r.Stage), r.Done, r.Total)
			}
		}})
}

// Plan returns the current plan of the project, or nil if no agent declares anything.
func (a *App) Plan(ctx context.Context, cfg *config.Config) (*plan.Plan, error) {
	root, err := a.Project()
	if err != nil {
		return nil, err
	}
	files, err := projectfile.Open(root)
	if err != nil {
		return nil, err
	}
	defer files.Close()         // it was only read
	var code *codebase.Codebase // opened by the first symbol
	var failed error
	p, err := plan.New(cfg.Agents, func(t plan.Token) bool {
		switch t.Kind {
		case plan.File:
			_, err := files.Stat(t.Name)
			return err == nil
		case plan.Symbol:
			if code == nil && failed == nil {
				if code, failed = a.Codebase(ctx); failed != nil {
					failed = fmt.Errorf("look for symbols: %w", failed)
				}
			}
			if failed != nil {
				return false
			}
			found, _ := code.View().Find(t.Name, 1)
			return len(found) > 0 && found[0].Kind != codegraph.KindFile
		}
		return false
	})
	if code != nil {
		failed = errors.Join(failed, code.Close())
	}
	if failed != nil {
		return nil, failed // not the plan's errors, which follow from the failed lookup
	}
	return p, err
}
