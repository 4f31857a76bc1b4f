package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"

	"github.com/spf13/cobra"

	"github.com/kenlayer/ken"
	"github.com/kenlayer/ken/internal/store/jsonl"
	"github.com/kenlayer/ken/middleware"
	"github.com/kenlayer/ken/store"
)

type exportOptions struct {
	out                     string
	statuses, kinds, scopes []string
}

func (a *app) exportCommand() *cobra.Command {
	var o exportOptions
	cmd := &cobra.Command{
		Use:   "export",
		Short: "Write claims as JSON lines",
		Long: "Write every claim with its history, one JSON object a line, whatever its status and whether it has expired. " +
			"ken import reads it back, into this store or another one, and nothing is lost. Pieces of the repository are left out: " +
			"ken index makes them anew.",
		Example: `  ken export --out claims.jsonl
  ken export --status verified --kind playbook`,
		Args: takes(),
		RunE: func(cmd *cobra.Command, _ []string) error { return a.export(cmd.Context(), &o) },
	}
	f := cmd.Flags()
	f.StringVarP(&o.out, "out", "o", "", "write this `file`, whole or not at all; default standard output")
	f.StringArrayVar(&o.statuses, "status", nil, "only claims of this `status` (repeatable)")
	f.StringArrayVar(&o.kinds, "kind", nil, "only claims of this `kind` (repeatable)")
	f.StringArrayVar(&o.scopes, "scope", nil, "only claims of this scope, as `type:id` (repeatable)")
	return cmd
}

func (a *app) export(ctx context.Context, o *exportOptions) error {
	f := ken.Filter{}
	if err := filterFlags(&f, o.statuses, o.kinds, o.scopes); err != nil {
		return err
	}
	return a.withStore(ctx, func(_ *middleware.Layer, s store.Engine) error {
		p := a.progress()
		defer p.done()
		n := 0
		write := func(w io.Writer) (err error) {
			n, err = jsonl.Export(ctx, s, f, w, func(n int) { p.update("export", n, 0) })
			return err
		}
		if o.out == "" || o.out == "-" {
			w := bufio.NewWriter(a.out)
			if err := errors.Join(write(w), w.Flush()); err != nil {
				return err
			}
			p.done()
			return nil
		}
		if err := replaceFile(o.out, write); err != nil {
			return err
		}
		p.done()
		if a.json {
			return a.printJSON(map[string]any{"claims": n, "file": o.out})
		}
		fmt.Fprintf(a.err, "%d claims written to %s\n", n, o.out)
		return nil
	})
}

// replaceFile writes a file next to path and puts it in path's place once it is
// whole and on the disk; until then path is what it was.
func replaceFile(path string, write func(io.Writer) error) (err error) {
	if fi, err := os.Stat(path); err == nil && !fi.Mode().IsRegular() {
		return usage{&ken.Error{Code: ken.CodeInvalid, Field: "--out", Msg: path + " is not a regular file",
			Try: "Leave --out away to write to standard output."}}
	}
	f, err := os.CreateTemp(filepath.Dir(path), "."+filepath.Base(path)+".*")
	if err != nil {
		return &ken.Error{Code: ken.CodeNotFound, Field: "--out", Msg: "create file", Err: err, Try: "Check that the folder is there and writable."}
	}
	defer func() {
		if err != nil { // which matters more than what is left of the new file
			_ = f.Close()
			_ = os.Remove(f.Name())
		}
	}()
	w := bufio.NewWriter(f)
	if err := errors.Join(write(w), w.Flush(), f.Sync()); err != nil {
		return err
	}
	if err := f.Close(); err != nil {
		return fmt.Errorf("close %s: %w", path, err)
	}
	if err := os.Rename(f.Name(), path); err != nil {
		return fmt.Errorf("put %s into place: %w", path, err)
	}
	return nil
}
