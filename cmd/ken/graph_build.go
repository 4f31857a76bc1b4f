package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"time"

	"github.com/spf13/cobra"

	"github.com/kenlayer/ken"
	"github.com/kenlayer/ken/internal/code/codebase"
	"github.com/kenlayer/ken/internal/code/codegraph"
	"github.com/kenlayer/ken/internal/code/codegraph/typed"
)

// buildFlags are those of ken graph build.
type buildFlags struct{ types, noTypes, fresh bool }

func (a *app) graphBuildCommand() *cobra.Command {
	var o buildFlags
	cmd := &cobra.Command{
		Use:   "build",
		Short: "Read what the project's files declare, and check types",
		Long: "Bring the graph of the code up to date with the project's files, check the types of Go packages where a go command is, so that who refers to " +
			"what is known exactly, and save it for the next command. Only what has changed is read. Nothing needs to be built before it can be " +
			"asked: every question reads what has changed, but checks no types.",
		Example: `  ken graph build
  ken graph build --no-types`,
		Args: takes(),
		RunE: func(cmd *cobra.Command, _ []string) error {
			if o.types && o.noTypes {
				return usagef("--types and --no-types exclude each other")
			}
			return a.buildGraph(cmd.Context(), o)
		},
	}
	cmd.Flags().BoolVar(&o.types, "types", false, "fail when the types of Go packages can't be checked; without, that is only mentioned")
	cmd.Flags().BoolVar(&o.noTypes, "no-types", false, "check no types")
	cmd.Flags().BoolVar(&o.fresh, "fresh", false, "read every file again, and forget what was imported")
	return cmd
}

// built is what a build found and did.
type built struct {
	codegraph.Report
	Types    *typed.Report `json:"types,omitempty"`
	NoTypes  string        `json:"no_types,omitempty"` // why none were checked
	Saved    string        `json:"saved,omitempty"`    // the file
	NotSaved string        `json:"not_saved,omitempty"`
	Seconds  float64       `json:"seconds"`
}

func (a *app) buildGraph(ctx context.Context, o buildFlags) error {
	begun := time.Now()
	cfg, _, err := a.configuration()
	if err != nil {
		return err
	}
	p := a.progress()
	defer p.done()
	open := a.loadCodebase
	if o.fresh {
		open = a.openCodebase
	}
	c, err := open(ctx, p)
	if err != nil {
		return err
	}
	var out built
	if out.Report, err = c.Build(ctx); err == nil {
		if o.noTypes || !cfg.Graph.Types && !o.types {
			out.NoTypes = "they were not asked for"
		} else {
			err = a.checkTypes(ctx, c, p, &out, o.types)
		}
	}
	if err != nil {
		return errors.Join(err, c.Close())
	}
	if err := c.Save(); err != nil {
		out.NotSaved = err.Error()
	} else if root, err := a.project(); err == nil {
		out.Saved = filepath.Join(cfg.State(root), codebase.FileName)
	}
	out.Seconds = time.Since(begun).Seconds()
	p.done()
	return errors.Join(a.printBuilt(&out), c.Close())
}

// checkTypes refines the graph by types. That they can't be checked fails nothing
// unless it must.
func (a *app) checkTypes(ctx context.Context, c *codebase.Codebase, p *progress, out *built, must bool) error {
	late := time.AfterFunc(patience, func() { p.update("types", 0, 1) })
	_, report, err := c.Types(ctx)
	late.Stop()
	p.update("types", max(report.Packages, 1), max(report.Packages, 1))
	switch {
	case ctx.Err() != nil:
		return ctx.Err()
	case err == nil:
		out.Types, out.Counts = &report, c.View().Counts()
	case must:
		return err
	default:
		if out.NoTypes = err.Error(); errors.Is(err, ken.ErrNotFound) {
			out.NoTypes = "there is no Go module"
		}
	}
	return nil
}

func (a *app) printBuilt(b *built) error {
	if a.json {
		return a.printJSON(b)
	}
	c := &b.Counts
	fmt.Fprintf(a.out, "%d files: %d changed, %d unchanged, %d removed\n", b.Files, b.Changed, b.Unchanged, b.Removed)
	fmt.Fprintf(a.out, "%d nodes, %d edges (%d guesses), %s; %.1f s\n", c.Nodes, c.Edges, c.Guesses, count(c.Decisions, "decision"), b.Seconds)
	switch t := b.Types; {
	case t != nil:
		fmt.Fprintf(a.out, "types: %s, %d with errors\n", count(t.Packages, "Go package"), t.Broken)
		for _, x := range t.Problems {
			fmt.Fprintf(a.err, "ken: types: %s: %s\n", cell(cmp.Or(place(x.Path, x.Line), x.Package, "the module")), cell(x.Text))
		}
	case b.NoTypes != "":
		fmt.Fprintf(a.out, "types were not checked: %s\n", cell(b.NoTypes))
	}
	a.printUnread(&b.Report)
	if b.NotSaved != "" {
		fmt.Fprintf(a.err, "ken: the graph was not saved, and is read again next time: %s\n", cell(b.NotSaved))
	}
	return nil
}

// mostUnread is how many places that could not be read are told one by one.
const mostUnread = 10

// printUnread tells what of the files is not in the graph.
func (a *app) printUnread(r *codegraph.Report) {
	for _, why := range sortedKeys(r.Skipped) {
		fmt.Fprintf(a.out, "skipped %d: %s\n", r.Skipped[why], why)
	}
	if n := len(r.HeadOnly); n > 0 {
		fmt.Fprintf(a.out, "only the imports of %s are known: generated, or too large\n", count(n, "file"))
	}
	shown := r.Problems[:min(len(r.Problems), mostUnread)]
	for _, x := range shown {
		fmt.Fprintf(a.err, "ken: could not be read: %s: %s\n", cell(place(x.Path, x.Line)), cell(x.Text))
	}
	if n := r.ProblemsTotal - len(shown); n > 0 {
		fmt.Fprintf(a.err, "ken: %d more places could not be read: --json lists them\n", n)
	}
}
