package main

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"github.com/kenlayer/ken"
	"github.com/kenlayer/ken/internal/code/codebase"
	"github.com/kenlayer/ken/internal/code/codegraph"
)

// graphCommand groups what is about the code in the project's files.
func (a *app) graphCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "graph",
		Short: "Ask what the code declares, and how it hangs together",
		Long: "Ask what the project's files declare, and how it hangs together: files, packages, types, methods, functions, and the decisions " +
			"that govern them. Every question first brings the graph up to date with the files; --stale asks it as it was saved. " +
			"A NAME is a bare name (Shelf), the end of a longer one (store.Shelf, Shelf.View), a path, or an ID such as " +
			"type:example.com/shop/cart.Line. What an edge is known by is exact (syntax, types, an index), or a guess by its name.",
		Args: onlySubcommands,
		RunE: func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	var q graphQuestion
	cmd.PersistentFlags().BoolVar(&q.stale, "stale", false, "ask the graph as it was saved, without looking at the files")
	cmd.AddCommand(a.graphBuildCommand(), a.graphRefsCommand(&q), a.graphDependentsCommand(&q), a.graphSearchCommand(&q), a.graphShowCommand(&q),
		a.graphNeighboursCommand(&q), a.graphPictureCommand(&q), a.graphStatusCommand(&q), a.graphImportCommand(), a.graphExportCommand(&q))
	return cmd
}

// graphQuestion is what all commands share that ask the graph.
type graphQuestion struct{ stale bool }

// askGraph runs fn on the project's graph, as it is with its files, or as it was saved.
func (a *app) askGraph(ctx context.Context, q *graphQuestion, fn func(*codegraph.View) error) error {
	p := a.progress()
	defer p.done()
	open := a.codebase
	if q.stale {
		open = func(ctx context.Context) (*codebase.Codebase, error) { return a.loadCodebase(ctx, p) }
	}
	c, err := open(ctx)
	if err != nil {
		return err
	}
	err = fn(c.View())
	return errors.Join(err, c.Close())
}

// nameChoices is how many things a name may stand for are listed.
const nameChoices = 10

// graphID returns the ID of the one thing that a name stands for.
func graphID(v *codegraph.View, name string) (string, error) {
	found, total := v.Find(name, nameChoices)
	switch total {
	case 1:
		return found[0].ID, nil
	case 0:
		err := &ken.Error{Code: ken.CodeNotFound, Field: "NAME", Msg: "nothing in the code is called " + strconv.Quote(fit(cell(name), 80)),
			Try: "ken graph search finds names by their parts."}
		if near, _ := v.Search(name, nil, 3); len(near) > 0 {
			var ids []string
			for i := range near {
				ids = append(ids, near[i].ID)
			}
			err.Try = "ken graph search finds names by their parts; near this one are " + strings.Join(ids, ", ") + "."
		}
		return "", err
	}
	var b strings.Builder
	b.WriteString("say which one:")
	for i := range found {
		fmt.Fprintf(&b, "\n  %s", found[i].ID)
		if at := place(found[i].Path, found[i].Line); at != "" {
			b.WriteString("  (" + at + ")")
		}
	}
	if total > len(found) {
		fmt.Fprintf(&b, "\n  … and %d more; ken graph search lists them", total-len(found))
	}
	return "", usage{&ken.Error{Code: ken.CodeInvalid, Field: "NAME", Msg: fmt.Sprintf("%q may be %d things", fit(cell(name), 80), total), Try: b.String()}}
}

// place is where something stands in a file.
func place(path string, line int) string {
	if path == "" || line == 0 {
		return path
	}
	return path + ":" + strconv.Itoa(line)
}

// edgeKinds are the kinds of edges, as flags take them.
func edgeKinds() []string {
	var out []string
	for _, k := range []codegraph.EdgeKind{codegraph.Implements, codegraph.Inherits, codegraph.Calls, codegraph.References, codegraph.Imports,
		codegraph.DependsOn, codegraph.Tests, codegraph.Governs, codegraph.Defines} {
		out = append(out, string(k))
	}
	return out
}

// nodeKinds are the kinds of nodes, as flags take them.
func nodeKinds() []string {
	var out []string
	for _, k := range []codegraph.Kind{codegraph.KindFile, codegraph.KindPackage, codegraph.KindNamespace, codegraph.KindType, codegraph.KindInterface,
		codegraph.KindMethod, codegraph.KindProperty, codegraph.KindFunction, codegraph.KindVariable, codegraph.KindDecision} {
		out = append(out, string(k))
	}
	return out
}
