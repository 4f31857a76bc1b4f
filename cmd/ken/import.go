package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"iter"
	"os"
	"path/filepath"

	"github.com/spf13/cobra"

	"github.com/kenlayer/ken"
	"github.com/kenlayer/ken/internal/store/jsonl"
	"github.com/kenlayer/ken/middleware"
	"github.com/kenlayer/ken/store"
)

func (a *app) importCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "import FILE|- …",
		Short: "Read claims from JSON lines",
		Long: "Read claims from files with one JSON object a line, as ken export writes them or any other program: only text is " +
			"required. A claim that is there already, known by its id or its key, changes nothing; one with a known key and other " +
			"content is a new version. The claims become the owner's, whoever they belonged to where they come from.\n\n" +
			"A line that can't be read is reported and the rest is imported; the exit status is then 1. When it is stopped, whole batches " +
			"of lines are in and the rest is not.",
		Example: `  ken import claims.jsonl
  ken export --owner alice | ken import --owner bob -`,
		Args: func(_ *cobra.Command, args []string) error {
			if len(args) == 0 {
				return errors.New("import: FILE is missing; - is standard input")
			}
			return nil
		},
		RunE: func(cmd *cobra.Command, args []string) error { return a.importFiles(cmd.Context(), args) },
	}
}

func (a *app) importFiles(ctx context.Context, files []string) error {
	for _, file := range files { // a misspelled one must not show half way
		if err := a.check(file); err != nil {
			return err
		}
	}
	return a.withStore(ctx, func(_ *middleware.Layer, s store.Engine) error {
		p := a.progress()
		defer p.done()
		im := &importer{s: s, tell: a.err, progress: p, hints: map[string]bool{}}
		im.sum.Owner = s.Owner()
		before, err := im.candidates(ctx)
		if err != nil {
			return err
		}
		err = a.importAll(ctx, im, files)
		im.settleAll()
		err = errors.Join(im.stopped, err)
		if after, err := im.candidates(context.WithoutCancel(ctx)); err == nil {
			im.sum.Candidates = max(after-before, 0)
		}
		p.done()
		if err == nil && ctx.Err() == nil {
			im.embed(ctx)
		}
		if a.json {
			err = errors.Join(err, a.printJSON(im.sum))
		} else {
			fmt.Fprintln(a.err, im.sum)
		}
		switch {
		case err != nil:
			return err
		case im.sum.Failed > 0:
			return &ken.Error{Code: ken.CodeInvalid, Msg: fmt.Sprintf("%d lines were not imported", im.sum.Failed),
				Try: "Put those lines into a file of their own, correct them there, and import that."}
		}
		return ctx.Err()
	})
}

// importAll reads the files until they or ctx end. A last batch that is not
// full when ctx ends is dropped.
func (a *app) importAll(ctx context.Context, im *importer, files []string) error {
	for _, file := range files {
		if err := a.importFile(ctx, im, file); err != nil {
			im.flush(ctx) // the files before it are good
			return err
		}
		if ctx.Err() != nil {
			return ctx.Err()
		}
	}
	im.flush(ctx)
	return nil
}

func (a *app) importFile(ctx context.Context, im *importer, file string) error {
	in, err := a.open(file)
	if err != nil {
		return err
	}
	defer in.Close()
	for line := range until(ctx, jsonl.Read(in, filepath.Base(file))) {
		if im.stopped != nil {
			break
		}
		im.add(ctx, file, line)
	}
	return nil
}

// check reports a file that can't be opened as one.
func (a *app) check(file string) error {
	if file == "-" {
		return nil
	}
	fi, err := os.Stat(file)
	if err == nil && fi.IsDir() {
		err = fmt.Errorf("%s is a folder", file)
	}
	if err != nil {
		return &ken.Error{Code: ken.CodeNotFound, Msg: "read input", Err: err, Try: "Check the path; - is standard input."}
	}
	return nil
}

// open opens a file for reading; - is standard input, which stays open.
func (a *app) open(file string) (io.ReadCloser, error) {
	if file == "-" {
		return io.NopCloser(a.in), nil
	}
	if err := a.check(file); err != nil {
		return nil, err
	}
	f, err := os.Open(file)
	if err != nil {
		return nil, &ken.Error{Code: ken.CodeNotFound, Msg: "read input", Err: err, Try: "Check the file's permissions."}
	}
	return f, nil
}

// until yields what seq yields, and ends when ctx does although seq may still
// wait for a terminal or a pipe: seq runs in a goroutine of its own, which ends
// with the next value that comes.
func until[T any](ctx context.Context, seq iter.Seq[T]) iter.Seq[T] {
	return func(yield func(T) bool) {
		ctx, cancel := context.WithCancel(ctx)
		defer cancel()
		values := make(chan T, 256)
		go func() {
			defer close(values)
			for v := range seq {
				select {
				case values <- v:
				case <-ctx.Done():
					return
				}
			}
		}()
		for {
			select {
			case v, ok := <-values:
				if !ok || !yield(v) {
					return
				}
			case <-ctx.Done():
				return
			}
		}
	}
}
