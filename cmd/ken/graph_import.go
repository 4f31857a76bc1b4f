package main

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
	"github.com/kenlayer/ken/internal/code/codegraph"
	"github.com/kenlayer/ken/internal/code/codegraph/scip"
)

func (a *app) graphImportCommand() *cobra.Command {
	var folder string
	var anyTime bool
	cmd := &cobra.Command{
		Use:   "import FILE.scip",
		Short: "Take what a compiler's indexer knows",
		Long: "Take an index in the SCIP format, which indexers for many languages write, into the graph of the code: what it says of a file is exact, and stands " +
			"until the file changes. Files that were changed after the index was made are left out. A - reads standard input.",
		Example: `  scip-typescript index && ken graph import index.scip
  ken graph import web/index.scip --folder web`,
		Args: takes("FILE.scip"),
		ValidArgsFunction: func(_ *cobra.Command, args []string, _ string) ([]string, cobra.ShellCompDirective) {
			if len(args) > 0 {
				return nil, cobra.ShellCompDirectiveNoFileComp
			}
			return []string{"scip"}, cobra.ShellCompDirectiveFilterFileExt
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			o := scip.Options{Folder: path.Clean(filepath.ToSlash(folder))}
			if folder == "" {
				o.Folder = ""
			}
			if anyTime {
				o.Made = time.Now()
			}
			return a.importIndex(cmd.Context(), args[0], o)
		},
	}
	cmd.Flags().StringVar(&folder, "folder", "", "the `folder` of the project that the index's paths start in; default what the index says")
	cmd.Flags().BoolVar(&anyTime, "any-time", false, "take files that were changed after the index was written, too: it was copied, or the files were")
	return cmd
}

// imported is what came of an index.
type imported struct {
	scip.Report
	Taken  int              `json:"taken"` // files
	Counts codegraph.Counts `json:"counts"`
}

func (a *app) importIndex(ctx context.Context, name string, o scip.Options) error {
	in, err := a.scipIndex(name)
	if err != nil {
		return err
	}
	defer in.Close() // it was only read
	c, err := a.codebase(ctx)
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

// scipIndex opens an index, or standard input.
func (a *app) scipIndex(name string) (io.ReadCloser, error) {
	if name == "-" {
		return io.NopCloser(a.in), nil
	}
	f, err := os.Open(name)
	if err != nil {
		return nil, &ken.Error{Code: ken.CodeNotFound, Field: "FILE.scip", Msg: "open the index", Err: err, Try: "Give the file that an indexer wrote, such as index.scip."}
	}
	return f, nil
}

func (a *app) printImported(i *imported) error {
	switch {
	case a.json:
		if err := a.printJSON(i); err != nil {
			return err
		}
	default:
		fmt.Fprintf(a.out, "%s: %d files of %d taken, %d changed since, %d missing; %d symbols, %d edges\n",
			cell(i.Tool), i.Taken, i.Documents, i.Stale, i.Missing, i.Symbols, i.Edges)
		for _, l := range i.Left {
			fmt.Fprintf(a.err, "ken: left out %s: %s\n", cell(l.Path), cell(l.Reason))
		}
	}
	if i.Taken == 0 && i.Documents > 0 {
		return &ken.Error{Code: ken.CodeRefused, Msg: "not one file of the index is as it was when the index was made",
			Try: "Run the indexer again, or say with --folder where its paths start."}
	}
	return nil
}
