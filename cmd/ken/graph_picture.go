package main

import (
	"bufio"
	"errors"
	"fmt"
	"io"

	"github.com/spf13/cobra"

	"github.com/kenlayer/ken/internal/code/codegraph"
	"github.com/kenlayer/ken/internal/knowledge/structure/draw"
	"github.com/kenlayer/ken/internal/knowledge/structure/entity"
)

func (a *app) graphPictureCommand(q *graphQuestion) *cobra.Command {
	var o graphOptions
	var nodes int
	cmd := &cobra.Command{
		Use:   "picture NAME",
		Short: "Draw what hangs on what around something",
		Long: "Draw something of the code with what it refers to and what refers to it: of what does not fit, the nearest is drawn. An SVG is a picture " +
			"for a browser, Mermaid is for Markdown, DOT is for Graphviz. Thin lines are guesses. --json prints the nodes and edges.",
		Example: `  ken graph picture store.Shelf -o shelf.svg
  ken graph picture Shelf --format mermaid --depth 2`,
		Args:              takes("NAME"),
		ValidArgsFunction: a.completesNodes,
		RunE: func(cmd *cobra.Command, args []string) error {
			draw, err := o.picture()
			if err != nil {
				return err
			}
			return a.askGraph(cmd.Context(), q, func(v *codegraph.View) error {
				id, err := graphID(v, args[0])
				if err != nil {
					return err
				}
				p, err := v.Picture(id, o.depth, nodes)
				if err != nil {
					return badUsage(err)
				}
				return a.writePicture(&p, draw, o.out)
			})
		},
	}
	f := cmd.Flags()
	f.StringVar(&o.format, "format", "", "the `format`: svg, mermaid or dot; default what the file's name says, else svg")
	f.IntVar(&o.depth, "depth", 1, "how `many` edges away, 1 to 3")
	f.IntVarP(&nodes, "limit", "n", 30, "the `most` boxes, 1 to 200")
	f.StringVarP(&o.out, "out", "o", "", "write this `file`, whole or not at all; default standard output")
	completeWith(cmd, "format", []string{"svg", "mermaid", "dot"})
	return cmd
}

// writePicture draws into a file, or on standard output, where --json prints what would
// be drawn.
func (a *app) writePicture(p *codegraph.Picture, draws drawing, out string) error {
	write := func(w io.Writer) error {
		return draws(w, drawable(p), func(w *draw.Words) { w.Record, w.Constraint, w.Badge = "edge", "decision", "decision" })
	}
	toFile := out != "" && out != "-"
	switch {
	case toFile:
		if err := replaceFile(out, write); err != nil {
			return err
		}
		if !a.json {
			fmt.Fprintf(a.err, "%s drawn in %s\n", count(len(p.Nodes), "node"), out)
		}
	case !a.json:
		w := bufio.NewWriter(a.out)
		if err := errors.Join(write(w), w.Flush()); err != nil {
			return err
		}
	}
	if a.json {
		return a.printJSON(p)
	}
	if p.Left > 0 {
		fmt.Fprintf(a.err, "ken: %d more did not fit\n", p.Left)
	}
	return nil
}

// drawable is a picture of code as one of entities, which are drawn alike.
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
