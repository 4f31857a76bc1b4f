package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"github.com/kenlayer/ken"
	"github.com/kenlayer/ken/internal/knowledge/structure/draw"
	"github.com/kenlayer/ken/internal/knowledge/structure/entity"
	"github.com/kenlayer/ken/middleware"
	"github.com/kenlayer/ken/store"
)

type graphOptions struct {
	format, out string
	depth       int
	scopes      []string
}

// drawing draws a graph in some format.
type drawing = func(io.Writer, entity.Graph, ...func(*draw.Words)) error

// pictures are the formats of a graph.
var pictures = map[string]drawing{"svg": draw.SVG, "mermaid": draw.Mermaid, "dot": draw.DOT}

// endings are what files of these formats are called.
var endings = map[string]string{".svg": "svg", ".mmd": "mermaid", ".mermaid": "mermaid", ".dot": "dot", ".gv": "dot"}

func (a *app) entityGraphCommand() *cobra.Command {
	var o graphOptions
	cmd := &cobra.Command{
		Use:   "graph NAME",
		Short: "Draw what depends on what around an entity",
		Long: "Draw an entity with what it depends on, what depends on it, and the tasks about it, at most 60 boxes: of what does not fit, " +
			"the nearest and then the strongest is drawn. An SVG is a picture for a browser, Mermaid is for Markdown, DOT is for Graphviz. " +
			"--json prints the graph itself.",
		Example: `  ken entity graph payments -o payments.svg
  ken entity graph payments --format mermaid --depth 1`,
		Args:              takes("NAME"),
		ValidArgsFunction: a.completes(entityNames),
		RunE:              func(cmd *cobra.Command, args []string) error { return a.drawEntity(cmd.Context(), args[0], &o) },
	}
	f := cmd.Flags()
	f.StringVar(&o.format, "format", "", "the `format`: svg, mermaid or dot; default what the file's name says, else svg")
	f.IntVar(&o.depth, "depth", 2, "how `many` dependencies away, 1 to 3")
	f.StringVarP(&o.out, "out", "o", "", "write this `file`, whole or not at all; default standard output")
	f.StringArrayVar(&o.scopes, "scope", nil, "only what is known in this scope, as `type:id`, or in all (repeatable)")
	a.completeFlag(cmd, "format", words("svg", "mermaid", "dot"))
	return cmd
}

// picture chooses the format.
func (o *graphOptions) picture() (drawing, error) {
	format := strings.ToLower(o.format)
	if format == "" {
		format = endings[strings.ToLower(filepath.Ext(o.out))]
	}
	if format == "" {
		format = "svg"
	}
	draw := pictures[format]
	if draw == nil {
		return nil, usage{&ken.Error{Code: ken.CodeInvalid, Field: "--format", Msg: fmt.Sprintf("unknown format %q", o.format), Try: "Use svg, mermaid or dot."}}
	}
	return draw, nil
}

func (a *app) drawEntity(ctx context.Context, name string, o *graphOptions) error {
	draw, err := o.picture()
	if err != nil {
		return err
	}
	f, err := standing(o.scopes)
	if err != nil {
		return err
	}
	return a.withStore(ctx, func(_ *middleware.Layer, s store.Engine) error {
		g, err := entity.Neighbourhood(ctx, s, name, o.depth, f)
		if err != nil {
			return badUsage(err)
		}
		toFile := o.out != "" && o.out != "-"
		write := func(w io.Writer) error { return draw(w, g) }
		switch {
		case toFile:
			if err := replaceFile(o.out, write); err != nil {
				return err
			}
			if !a.json {
				fmt.Fprintf(a.err, "%d entities drawn in %s\n", len(g.Nodes), o.out)
			}
		case !a.json:
			w := bufio.NewWriter(a.out)
			if err := errors.Join(write(w), w.Flush()); err != nil {
				return err
			}
		}
		if a.json {
			return a.printJSON(g)
		}
		if g.Left > 0 {
			fmt.Fprintf(a.err, "ken: %d more did not fit\n", g.Left)
		}
		return nil
	})
}
