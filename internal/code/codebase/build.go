package codebase

import (
	"context"
	"fmt"
	"slices"

	"github.com/kenlayer/ken/internal/code/codegraph"
	"github.com/kenlayer/ken/internal/code/repository"
)

// Build brings graph and decisions up to date with all files of the project. Only what
// has changed is read. Files that can't be read are in the report. The error is that of
// ctx, or of the root; nothing has changed then.
func (c *Codebase) Build(ctx context.Context) (codegraph.Report, error) {
	c.changing.Lock()
	defer c.changing.Unlock()
	r, err := findReaders(ctx, c.o.Root, c.o.Exclude)
	if err != nil {
		return codegraph.Report{}, err
	}
	o := c.options(r)
	o.Reread = r.otherThan(c.read)
	report, err := c.graph.Load().Build(ctx, c.o.Root, o)
	if err != nil {
		return report, err
	}
	c.readers, c.read = r, r.signs
	report.Counts, err = c.govern(ctx)
	return report, err
}

// Update brings graph and decisions up to date with some files, or folders with what is
// in them, by paths from the root with slashes: those that were changed, made, moved or
// deleted. It is meant for right after an edit, and takes some milliseconds. What the
// edit changes for the meaning of other files, such as a module's path, waits for Build.
// The error is that of ctx; nothing has changed then.
func (c *Codebase) Update(ctx context.Context, paths ...string) (codegraph.Report, error) {
	c.changing.Lock()
	defer c.changing.Unlock()
	if len(paths) == 0 {
		return codegraph.Report{Counts: c.View().Counts()}, ctx.Err()
	}
	seen := c.glance(paths)
	r, err := c.readersFor(ctx, paths)
	if err != nil {
		return codegraph.Report{}, err
	}
	o := c.options(r)
	if also := importers(c.View(), r, paths); len(also) > 0 {
		o.Reread = func(p string) bool { _, found := slices.BinarySearch(also, p); return found }
		paths = append(slices.Clone(paths), also...)
	}
	report, err := c.graph.Load().Update(ctx, c.o.Root, paths, o)
	if err != nil {
		return report, err
	}
	c.readers = r
	if report.Counts, err = c.govern(ctx); err == nil {
		c.note(seen)
	}
	return report, err
}

func (c *Codebase) options(r *readers) codegraph.Options {
	return codegraph.Options{Extractors: r.extractors(), Generated: c.o.Generated, Exclude: c.o.Exclude, Progress: c.o.Progress, Now: c.o.Now}
}

// Prune finds what is in the graph and whose files are no more; with apply, it goes.
func (c *Codebase) Prune(ctx context.Context, apply bool) (codegraph.Pruned, error) {
	c.changing.Lock()
	defer c.changing.Unlock()
	tree, err := repository.Files(ctx, c.o.Root, repository.Options{Exclude: c.o.Exclude})
	if err != nil {
		return codegraph.Pruned{}, fmt.Errorf("prune the graph: %w", err)
	}
	defer tree.Close() // it was only read
	there := make(map[string]bool, len(tree.Files))
	for i := range tree.Files {
		there[tree.Files[i].Path] = true
	}
	return c.graph.Load().Prune(func(path string) bool { return there[path] }, apply), nil
}
