package graph

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path"
	"path/filepath"
	"time"

	"github.com/spf13/cobra"

	"github.com/kenlayer/ken"
	"github.com/kenlayer/ken/internal/cli"
	"github.com/kenlayer/ken/internal/code/codegraph"
	"github.com/kenlayer/ken/internal/code/codegraph/scip"
	"github.com/kenlayer/ken/internal/knowledge/structure/draw"
	"github.com/kenlayer/ken/internal/knowledge/structure/entity"
)

func (a *commands) graphExportCommand(q *graphQuestion) *cobra.Command {
	var out string
	cmd := &cobra.Command{
		Use:   "export",
		Short: "Write the whole graph as JSON",
		Long: "Write the graph of the code as one JSON object, with a line for each node and edge: nodes have an id, a kind, a language and the places where they " +
			"are declared; edges have from, to, kind, how, and the place that says so.",
		Example: `  ken graph export | jq '.nodes | length'`,
		Args:    cli.ExactArgs(),
		RunE: func(cmd *cobra.Command, _ []string) error {
			return a.askGraph(cmd.Context(), q, func(v *codegraph.View) error {
				if out != "" && out != "-" {
					return cli.ReplaceFile(out, v.ExportJSON)
				}
				return v.ExportJSON(a.Out)
			})
		},
	}
	cmd.Flags().StringVarP(&out, "out", "o", "", "write this `FILE`, whole or not at all; default standard output")
	return cmd
}

func (a *commands) graphImportCommand() *cobra.Command {
	var folder string
	var anyTime bool
	cmd := &cobra.Command{
		Use:   "import FILE.scip",
		Short: "Import an index of a compiler",
		Long: "Take an index in the SCIP format, which indexers for many languages write, into the graph of the code: what it says of a file is exact, and stands " +
			"until the file changes. Files that were changed after the index was made are left out. A - reads standard input.",
		Example: `  scip-typescript index && ken graph import index.scip
  ken graph import web/index.scip --folder web`,
		Args: cli.ExactArgs("FILE.scip"),
		ValidArgsFunction: func(_ *cobra.Command, args []string, _ string) ([]string, cobra.ShellCompDirective) {
			if len(args) > 0 {
				return nil, cobra.ShellCompDirectiveNoFileComp
			}
			return []string{"scip"}, cobra.ShellCompDirectiveFilterFileExt
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			var o scip.Options
			if folder != "" {
				o.Folder = path.Clean(filepath.ToSlash(folder))
			}
			if anyTime {
				o.Made = time.Now()
			}
			return a.importIndex(cmd.Context(), args[0], o)
		},
	}
	cmd.Flags().StringVar(&folder, "folder", "", "the `FOLDER` of the project that the index's paths start in; default what the index says")
	cmd.Flags().BoolVar(&anyTime, "any-time", false, "take files that were changed after the index was written, too: it was copied, or the files were")
	return cmd
}

type imported struct {
	scip.Report
	Taken  int              `json:"taken"` // files
	Counts codegraph.Counts `json:"counts"`
}

func (a *commands) importIndex(ctx context.Context, name string, o scip.Options) error {
	in := io.NopCloser(a.Input(ctx))
	if name != "-" {
		f, err := os.Open(name)
		if err != nil {
			return &ken.Error{Code: ken.CodeNotFound, Field: "FILE.scip", Msg: "open the index", Err: err, Try: "Give the file that an indexer wrote, such as index.scip."}
		}
		in = f
	}
	defer in.Close() // it was only read
	c, err := a.Codebase(ctx)
	if err != nil {
		return err
	}
	refined, report, err := c.Import(ctx, in, o)
	if err == nil && refined.Files > 0 {
		err = c.Save()
	}
	if err != nil {
		return errors.Join(err, c.Close())
	}
	out := imported{report, refined.Files, c.View().Counts()}
	return errors.Join(a.printImported(&out), c.Close())
}

func (a *commands) printImported(i *imported) error {
	err := a.Show(i, func() {
		fmt.Fprintf(a.Out, "%s: %d files of %d taken, %d changed since, %d missing; %d symbols, %d edges\n",
			cli.Cell(i.Tool), i.Taken, i.Documents, i.Stale, i.Missing, i.Symbols, i.Edges)
		for _, l := range i.Left {
			fmt.Fprintf(a.Err, "ken: left out %s: %s\n", cli.Cell(l.Path), cli.Cell(l.Reason))
		}
	})
	if err == nil && i.Taken == 0 && i.Documents > 0 {
		return &ken.Error{Code: ken.CodeRefused, Msg: "not one file of the index is as it was when the index was made",
			Try: "Run the indexer again, or say with --folder where its paths start."}
	}
	return err
}

func (a *commands) graphPictureCommand(q *graphQuestion) *cobra.Command {
	var o cli.PictureFlags
	var nodes int
	cmd := &cobra.Command{
		Use:   "picture NAME",
		Short: "Draw the references around a symbol",
		Long: "Draw something of the code with what it refers to and what refers to it: of what does not fit, the nearest is drawn. An SVG is a picture " +
			"for a browser, Mermaid is for Markdown, DOT is for Graphviz. Thin lines are guesses. --json prints the nodes and edges.",
		Example: `  ken graph picture store.Shelf -o shelf.svg
  ken graph picture Shelf --format mermaid --depth 2`,
		Args:              cli.ExactArgs("NAME"),
		ValidArgsFunction: a.completesNodes,
		RunE: func(cmd *cobra.Command, args []string) error {
			drawFunc, err := o.Picture()
			if err != nil {
				return err
			}
			return a.askGraph(cmd.Context(), q, func(v *codegraph.View) error {
				id, err := graphID(v, args[0])
				if err != nil {
					return err
				}
				p, err := v.Picture(id, o.Depth, nodes)
				if err != nil {
					return cli.AsUsageError(err)
				}
				return a.DrawPicture(o.Out, func(w io.Writer) error {
					return drawFunc(w, drawable(&p), func(w *draw.Words) { w.Record, w.Constraint, w.Badge = "edge", "decision", "decision" })
				}, p, cli.Count(len(p.Nodes), "node"), p.Left)
			})
		},
	}
	f := cmd.Flags()
	f.StringVar(&o.Format, "format", "", "the `FORMAT`: svg, mermaid or dot; default what the file's name says, else svg")
	f.IntVar(&o.Depth, "depth", 1, "up to `N` edges away, 1 to 3")
	f.IntVarP(&nodes, "limit", "n", 30, "draw at most `N` boxes, 1 to 200")
	f.StringVarP(&o.Out, "out", "o", "", "write this `FILE`, whole or not at all; default standard output")
	cli.CompleteWords(cmd, "format", "svg", "mermaid", "dot")
	return cmd
}

// drawable converts a picture of code to a graph of entities, so that one function
// draws both.
func drawable(p *codegraph.Picture) entity.Graph {
	g := entity.Graph{Root: p.Root, Depth: p.Depth, Left: p.Left}
	for _, n := range p.Nodes {
		g.Nodes = append(g.Nodes, entity.Node{Name: n.ID, Display: n.Display, Type: string(n.Kind), Depth: n.Depth, Records: n.In, Constraints: n.Decisions})
	}
	for _, e := range p.Edges {
		g.Edges = append(g.Edges, entity.Edge{Source: e.Source, Target: e.Target, Type: string(e.Kind), Strength: e.Strength})
	}
	return g
}
