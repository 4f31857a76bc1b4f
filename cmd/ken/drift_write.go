package main

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"time"

	"github.com/kenlayer/ken"
	"github.com/kenlayer/ken/internal/code/drift"
	"github.com/kenlayer/ken/internal/projectfile"
	"github.com/kenlayer/ken/middleware"
	"github.com/kenlayer/ken/store"
)

// baselineView says what became of a baseline.
type baselineView struct {
	Path    string        `json:"path"`
	Changed bool          `json:"changed"`
	Added   int           `json:"added"`
	Kept    int           `json:"kept"`
	Fixed   []drift.Entry `json:"fixed"`
}

func (a *app) updateBaseline(root string, o *driftOptions, r *drift.Report) error {
	changed, err := drift.WriteBaseline(root, o.baseline, drift.NewBaseline(r))
	if err != nil {
		return unusable(err)
	}
	if o.format == "json" {
		return a.printJSON(baselineView{o.baseline, changed, len(r.Violations), len(r.Known), r.Fixed})
	}
	fmt.Fprintf(a.out, "%s: %s; %d added, %d fixed\n", o.baseline, count(len(r.Violations)+len(r.Known), "violation"), len(r.Violations), len(r.Fixed))
	return nil
}

// recordDrift keeps violations as claims.
func (a *app) recordDrift(ctx context.Context, r *drift.Report) error {
	return a.withStore(ctx, func(_ *middleware.Layer, s store.Engine) error {
		done, err := drift.Record(ctx, s, r, time.Now().UTC())
		if err == nil && !a.quiet {
			fmt.Fprintf(a.err, "recorded: %d new, %d seen again, %d fixed\n", len(done.Written), len(done.Again), len(done.Fixed))
		}
		return err
	})
}

// writeArchitecture writes a manifest of the project as it is, unless there is one.
func (a *app) writeArchitecture(ctx context.Context, root string) (written, error) {
	w := written{Path: filepath.Join(root, filepath.FromSlash(drift.DefaultManifest))}
	dir, err := projectfile.Open(root)
	if err != nil {
		return w, err
	}
	defer dir.Close() // what was written is closed
	if _, err := dir.Stat(drift.DefaultManifest); !errors.Is(err, fs.ErrNotExist) {
		return w, err
	}
	g, _, err := a.importGraph(ctx)
	if err != nil {
		return w, fmt.Errorf("find the project's layers: %w", err)
	}
	err = dir.Commit(projectfile.Change{Path: drift.DefaultManifest, Now: drift.Propose(g)})
	if errors.Is(err, ken.ErrExists) {
		return w, nil // somebody was faster
	}
	if err != nil {
		return w, fmt.Errorf("write the project's layers: %w", err)
	}
	w.Created = true
	return w, nil
}
