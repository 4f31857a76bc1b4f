// Package graph provides the commands that read the graph of the code: graph and drift.
package graph

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/kenlayer/ken"
	"github.com/kenlayer/ken/internal/cli"
	"github.com/kenlayer/ken/internal/code/codebase"
	"github.com/kenlayer/ken/internal/code/codegraph"
	"github.com/kenlayer/ken/internal/code/codegraph/typed"
)

type commands struct{ *cli.App }

// Commands returns the commands of this group.
func Commands(app *cli.App) []*cobra.Command {
	c := &commands{app}
	return []*cobra.Command{c.graphCommand(), c.driftCommand()}
}

// graphCommand groups the commands for the graph of the project's code.
func (a *commands) graphCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "graph",
		Short: "Query the declarations of the code, and how they are connected",
		Example: `  ken graph search retry
  ken graph dependents pay/retry.go`,
		Long: "Query what the project's files declare, and how it is connected: files, packages, types, methods, functions, and the decisions " +
			"that govern them. Every query first updates the graph from the files; --stale uses it as it was saved. " +
			"A NAME is a bare name (Shelf), the end of a longer one (store.Shelf, Shelf.View), a path, or an ID such as " +
			"type:example.com/shop/cart.Line. Each edge is exact (from syntax, types or an index) or guessed from a name.",
	}
	var q graphQuestion
	cmd.PersistentFlags().BoolVar(&q.stale, "stale", false, "use the graph as it was saved, without reading the files")
	return cli.WithSubcommands(cmd, a.graphBuildCommand(), a.graphRefsCommand(&q), a.graphDependentsCommand(&q), a.graphSearchCommand(&q), a.graphShowCommand(&q),
		a.graphNeighboursCommand(&q), a.graphPictureCommand(&q), a.graphStatusCommand(&q), a.graphImportCommand(), a.graphExportCommand(&q))
}

// graphQuestion holds the flag that all queries of the graph share.
type graphQuestion struct{ stale bool }

// askGraph runs fn on the project's graph: updated from the files, or as it was
// saved.
func (a *commands) askGraph(ctx context.Context, q *graphQuestion, fn func(*codegraph.View) error) error {
	p := a.Progress()
	defer p.Done()
	open := a.Codebase
	if q.stale {
		open = func(ctx context.Context) (*codebase.Codebase, error) { return a.LoadCodebase(ctx, p) }
	}
	c, err := open(ctx)
	if err != nil {
		return err
	}
	err = fn(c.View())
	return errors.Join(err, c.Close())
}

// nameChoices is how many matches of an ambiguous name are listed.
const nameChoices = 10

// graphID returns the ID of the only node that a name matches. Of a name whose beginning a table cut off,
// it uses the whole parts that are left.
func graphID(v *codegraph.View, name string) (string, error) {
	if _, rest, cut := strings.Cut(name, "…"); cut {
		_, name, _ = strings.Cut(rest, "/")
	}
	found, total := v.Find(name, nameChoices)
	switch total {
	case 1:
		return found[0].ID, nil
	case 0:
		err := &ken.Error{Code: ken.CodeNotFound, Field: "NAME", Msg: "there is nothing in the code called " + strconv.Quote(cli.Truncate(cli.Cell(name), 80)),
			Try: "ken graph search finds names by their parts."}
		if near, _ := v.Search(name, nil, 3); len(near) > 0 {
			ids := cli.Map(near, func(r *codegraph.Result) string { return r.ID })
			err.Try = "ken graph search finds names by their parts; near this one are " + strings.Join(ids, ", ") + "."
		}
		return "", err
	}
	var b strings.Builder
	b.WriteString("say which one:")
	for i := range found {
		fmt.Fprintf(&b, "\n  %s", found[i].ID)
		if at := location(found[i].Path, found[i].Line); at != "" {
			b.WriteString("  (" + at + ")")
		}
	}
	if total > len(found) {
		fmt.Fprintf(&b, "\n  … and %d more; ken graph search lists them", total-len(found))
	}
	return "", cli.Invalid("NAME", fmt.Sprintf("%q may be %d things", cli.Truncate(cli.Cell(name), 80), total), b.String())
}

// location formats a path and a line.
func location(path string, line int) string {
	if path == "" || line == 0 {
		return path
	}
	return path + ":" + strconv.Itoa(line)
}

// edgeKinds and nodeKinds are the kinds of edges and of nodes, as flags accept them.
var (
	edgeKinds = cli.Words([]codegraph.EdgeKind{codegraph.Implements, codegraph.Inherits, codegraph.Calls, codegraph.References, codegraph.Imports,
		codegraph.DependsOn, codegraph.Tests, codegraph.Governs, codegraph.Defines})
	nodeKinds = cli.Words([]codegraph.Kind{codegraph.KindFile, codegraph.KindPackage, codegraph.KindNamespace, codegraph.KindType, codegraph.KindInterface,
		codegraph.KindMethod, codegraph.KindProperty, codegraph.KindFunction, codegraph.KindVariable, codegraph.KindDecision})
)

type buildFlags struct{ types, noTypes, fresh bool }

func (a *commands) graphBuildCommand() *cobra.Command {
	var o buildFlags
	cmd := &cobra.Command{
		Use:   "build",
		Short: "Read what the project's files declare, and check types",
		Long: "Bring the graph of the code up to date with the project's files, check the types of Go packages where a go command is, so that who refers to " +
			"what is known exactly, and save it for the next command. Only what has changed is read. Nothing needs to be built before it can be " +
			"asked: every question reads what has changed, but checks no types.",
		Example: `  ken graph build
  ken graph build --no-types`,
		Args: cli.ExactArgs(),
		RunE: func(cmd *cobra.Command, _ []string) error {
			if o.types && o.noTypes {
				return cli.Usagef("--types and --no-types exclude each other")
			}
			return a.buildGraph(cmd.Context(), o)
		},
	}
	cmd.Flags().BoolVar(&o.types, "types", false, "fail when the types of Go packages can't be checked; without, that is only mentioned")
	cmd.Flags().BoolVar(&o.noTypes, "no-types", false, "check no types")
	cmd.Flags().BoolVar(&o.fresh, "fresh", false, "read every file again, and forget what was imported")
	return cmd
}

type built struct {
	codegraph.Report
	Types    *typed.Report `json:"types,omitempty"`
	NoTypes  string        `json:"no_types,omitempty"` // why types were not checked
	Saved    string        `json:"saved,omitempty"`    // the file
	NotSaved string        `json:"not_saved,omitempty"`
	Seconds  float64       `json:"seconds"`
}

func (a *commands) buildGraph(ctx context.Context, o buildFlags) error {
	begun := time.Now()
	r, err := a.Configuration()
	if err != nil {
		return err
	}
	p := a.Progress()
	defer p.Done()
	open := a.LoadCodebase
	if o.fresh {
		open = a.OpenCodebase
	}
	c, err := open(ctx, p)
	if err != nil {
		return err
	}
	var out built
	if out.Report, err = c.Build(ctx); err == nil {
		if o.noTypes || !r.Config.Graph.Types && !o.types {
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
	} else {
		out.Saved = filepath.Join(r.Config.State(r.Root), codebase.FileName)
	}
	out.Seconds = time.Since(begun).Seconds()
	p.Done()
	return errors.Join(a.printBuilt(&out), c.Close())
}

// checkTypes refines the graph by types. If must is false, it only reports why
// types can't be checked.
func (a *commands) checkTypes(ctx context.Context, c *codebase.Codebase, p *cli.Progress, out *built, must bool) error {
	late := time.AfterFunc(cli.ProgressDelay, func() { p.Update("types", 0, 1) })
	_, report, err := c.Types(ctx)
	late.Stop()
	p.Update("types", max(report.Packages, 1), max(report.Packages, 1))
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

func (a *commands) printBuilt(b *built) error {
	if a.JSON {
		return a.PrintJSON(b)
	}
	c := &b.Counts
	fmt.Fprintf(a.Out, "%s: %d changed, %d unchanged, %d removed\n", cli.Count(b.Files, "file"), b.Changed, b.Unchanged, b.Removed)
	fmt.Fprintf(a.Out, "%s, %s (%d guessed), %s; %.1f s\n", cli.Count(c.Nodes, "node"), cli.Count(c.Edges, "edge"), c.Guesses, cli.Count(c.Decisions, "decision"), b.Seconds)
	switch t := b.Types; {
	case t != nil:
		fmt.Fprintf(a.Out, "types: %s, %d with errors\n", cli.Count(t.Packages, "Go package"), t.Broken)
		a.printTypeErrors(t)
	case b.NoTypes != "":
		fmt.Fprintf(a.Out, "types were not checked: %s\n", cli.Cell(b.NoTypes))
	}
	a.printUnread(&b.Report)
	if b.NotSaved != "" {
		fmt.Fprintf(a.Err, "ken: the graph was not saved, and is read again next time: %s\n", cli.Cell(b.NotSaved))
	}
	return nil
}

// printTypeErrors prints what could not be checked. Errors in packages that import what is missing are left out, because
// most of them follow from that.
func (a *commands) printTypeErrors(t *typed.Report) {
	if a.Quiet {
		return
	}
	if n := len(t.Missing); n > 0 {
		fmt.Fprintf(a.Err, "ken: types: %s can't be imported: run go mod download; --json lists them\n", cli.Count(n, "package"))
	}
	own := slices.DeleteFunc(slices.Clone(t.Problems), func(x typed.Problem) bool { return x.Follows })
	for _, x := range own[:min(len(own), mostTypeErrors)] {
		fmt.Fprintf(a.Err, "ken: types: %s: %s\n", cli.Cell(cmp.Or(location(x.Path, x.Line), x.Package, "the module")), cli.Cell(x.Text))
	}
	if n := len(own) - mostTypeErrors; n > 0 {
		fmt.Fprintf(a.Err, "ken: types: %s more: --json lists them\n", cli.Count(n, "error"))
	}
}

const (
	mostUnread     = 10 // unreadable files that are listed
	mostTypeErrors = 20 // errors of types that are listed
)

// printUnread prints the files that are missing from the graph.
func (a *commands) printUnread(r *codegraph.Report) {
	for _, why := range cli.SortedKeys(r.Skipped) {
		fmt.Fprintf(a.Out, "skipped %d: %s\n", r.Skipped[why], why)
	}
	if n := len(r.HeadOnly); n > 0 {
		fmt.Fprintf(a.Out, "only the imports of %s are known: generated, or too large\n", cli.Count(n, "file"))
	}
	shown := r.Problems[:min(len(r.Problems), mostUnread)]
	for _, x := range shown {
		fmt.Fprintf(a.Err, "ken: could not be read: %s: %s\n", cli.Cell(location(x.Path, x.Line)), cli.Cell(x.Text))
	}
	if n := r.ProblemsTotal - len(shown); n > 0 {
		fmt.Fprintf(a.Err, "ken: %d more places could not be read: --json lists them\n", n)
	}
}

func pageFlags(cmd *cobra.Command, p *codegraph.Page) {
	cmd.Flags().IntVarP(&p.Limit, "limit", "n", codegraph.DefaultLimit, "list at most `N`, 1 to 1000")
	cmd.Flags().IntVar(&p.Offset, "offset", 0, "leave out the first `N`")
}

func checkPage(p codegraph.Page) error {
	return cmp.Or(cli.Between("--limit", p.Limit, 1, codegraph.MaxLimit), cli.Between("--offset", p.Offset, 0, codegraph.MaxOffset))
}

func kindFlag(cmd *cobra.Command, kinds *[]string, what string, all []string) {
	cmd.Flags().StringSliceVar(kinds, "kind", nil, "only "+what+" of this `KIND`: "+strings.Join(all, ", ")+" (repeatable)")
	cli.CompleteWords(cmd, "kind", all...)
}

func checkKinds[K ~string](said, all []string) (out []K, err error) {
	for _, s := range said {
		if !slices.Contains(all, s) {
			return nil, cli.Invalid("--kind", fmt.Sprintf("there is no kind %q", s), "Use "+strings.Join(all, ", ")+".")
		}
		out = append(out, K(s))
	}
	return out, nil
}

func (a *commands) noteMore(shown int, p codegraph.Page, total int) {
	switch next := p.Offset + shown; {
	case total == 0:
		fmt.Fprintln(a.Err, "ken: nothing found")
	case shown == 0:
		fmt.Fprintf(a.Err, "ken: there are only %d\n", total)
	case next < total:
		fmt.Fprintf(a.Err, "ken: %d of %d: --offset %d shows the next\n", next, total, next)
	}
}

type graphStatus struct {
	Counts   codegraph.Counts        `json:"counts"`
	Changed  int                     `json:"changed"` // files changed since it was saved
	Removed  int                     `json:"removed"` // files removed since then
	Problems []codegraph.FileProblem `json:"problems"`
	Unread   int                     `json:"problems_total"`
	File     string                  `json:"file"`
	Saved    time.Time               `json:"saved,omitzero"`
	Bytes    int64                   `json:"bytes"`
}

func (a *commands) graphStatusCommand(q *graphQuestion) *cobra.Command {
	return &cobra.Command{
		Use:     "status",
		Short:   "Show how large the graph is, and what could not be read",
		Example: `  ken graph status`,
		Long: "Show how many files, nodes and edges the graph of the code has, how many of the edges are guesses, when it was saved and how many files have " +
			"changed since, and the places in files that could not be read.",
		Args: cli.ExactArgs(),
		RunE: func(cmd *cobra.Command, _ []string) error {
			s, err := a.graphStatus(cmd, q)
			if err != nil {
				return err
			}
			return a.Show(s, func() {
				c := &s.Counts
				fmt.Fprintf(a.Out, "%d files, %d nodes (%d external packages), %s\n", c.Files, c.Nodes, c.External, cli.Count(c.Decisions, "decision"))
				fmt.Fprintf(a.Out, "%d edges: %d exact, %d guesses\n", c.Edges, c.Edges-c.Guesses, c.Guesses)
				if s.Saved.IsZero() {
					fmt.Fprintln(a.Out, "it is not saved yet: run ken graph build")
				} else {
					fmt.Fprintf(a.Out, "saved %s in %s, %d bytes; %d files changed since, %d removed\n", s.Saved.UTC().Format(cli.TimeFormat), s.File, s.Bytes, s.Changed, s.Removed)
				}
				a.printUnread(&codegraph.Report{Problems: s.Problems, ProblemsTotal: s.Unread})
			})
		},
	}
}

func (a *commands) graphStatus(cmd *cobra.Command, q *graphQuestion) (s graphStatus, err error) {
	r, err := a.Configuration()
	if err != nil {
		return s, err
	}
	s.File, s.Problems = filepath.Join(r.Config.State(r.Root), codebase.FileName), []codegraph.FileProblem{}
	if info, err := os.Stat(s.File); err == nil { // its time before it is saved again
		s.Saved, s.Bytes = info.ModTime().UTC(), info.Size()
	}
	if q.stale {
		return s, a.askGraph(cmd.Context(), q, func(v *codegraph.View) error {
			s.Counts = v.Counts()
			return nil
		})
	}
	c, report, err := a.ReadCodebase(cmd.Context())
	if err != nil {
		return s, err
	}
	s.Counts, s.Changed, s.Removed, s.Unread = report.Counts, report.Changed, report.Removed, report.ProblemsTotal
	s.Problems = append(s.Problems, report.Problems...)
	return s, errors.Join(err, c.Close())
}
