package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"path/filepath"
	"regexp"
	"slices"

	"github.com/spf13/cobra"

	"github.com/kenlayer/ken"
	"github.com/kenlayer/ken/config"
	"github.com/kenlayer/ken/evals/cases"
)

// casesOptions are eval test's flags.
type casesOptions struct {
	store, export, config string
	junit, run            string
}

func (a *app) evalTestCommand() *cobra.Command {
	var o casesOptions
	cmd := &cobra.Command{
		Use:   "test FILE.yaml …",
		Short: "Run memory tests: what must and must not come of a question",
		Long: "Run the cases of YAML files, each as a turn: what is known, what is asked, what must be found and injected, and what must " +
			"not. docs/memory-tests.md describes the files. A case that brings its knowledge with it, under given, starts from nothing; " +
			"any other runs on a copy of the project's store, with the project's files as they are now. With --store or --export, every case " +
			"runs on a copy of that, given on top. No store is written to.\n\n" +
			"The exit status is 0 when every case is green, 1 when one is red, and 2 for a file that can't be used.",
		Example: `  ken eval test memory.yaml
  ken eval test --export claims.jsonl --junit memory.xml tests/*.yaml
  ken eval test --run 'retries|deploys' --json memory.yaml`,
		Args: func(_ *cobra.Command, args []string) error {
			if len(args) == 0 {
				return errors.New("eval test: FILE.yaml is missing")
			}
			return nil
		},
		RunE: func(cmd *cobra.Command, args []string) error { return a.evalTest(cmd.Context(), args, &o) },
	}
	f := cmd.Flags()
	f.StringVar(&o.store, "store", "", "run on a copy of the store in this `folder`, a project's or its state folder")
	f.StringVar(&o.export, "export", "", "run on the claims of this `file`, as ken export writes it")
	f.StringVar(&o.config, "config", "", "the configuration `file`; default the project's")
	f.StringVar(&o.junit, "junit", "", "write the results as JUnit XML to this `file`")
	f.StringVar(&o.run, "run", "", "only cases whose name matches this regular `expression`")
	return cmd
}

func (a *app) evalTest(ctx context.Context, files []string, o *casesOptions) error {
	list, err := o.load(files)
	if err != nil {
		return usage{err}
	}
	opts, err := a.casesOptions(o)
	if err != nil {
		return usage{err}
	}
	p := a.progress()
	defer p.done()
	opts.Progress = p.update
	var results []cases.Result
	err = cases.Run(ctx, list, opts, func(r cases.Result) { results = append(results, r) })
	p.done()
	switch {
	case err == nil:
	case errors.Is(err, ken.ErrInvalid), errors.Is(err, ken.ErrNotFound), errors.Is(err, ken.ErrExists):
		return usage{err} // given claims, or an export, that can't be used
	default:
		return err
	}
	if o.junit != "" {
		if err := writeFile(o.junit, func(w io.Writer) error { return cases.WriteJUnit(w, results) }); err != nil {
			return err
		}
	}
	red := 0
	for i := range results {
		if !results[i].OK() {
			red++
		}
	}
	if a.json {
		err = a.printJSON(map[string]any{"cases": results, "green": len(results) - red, "red": red})
	} else {
		err = cases.WriteText(a.out, results, isTerminal(a.out) && os.Getenv("NO_COLOR") == "")
	}
	if err == nil && red > 0 {
		err = errTold
	}
	return err
}

// load reads the files' cases, as far as --run wants them.
func (o *casesOptions) load(files []string) (list []cases.Case, err error) {
	only, err := regexp.Compile(o.run)
	if err != nil {
		return nil, &ken.Error{Code: ken.CodeInvalid, Field: "--run", Msg: err.Error(), Try: "Give a regular expression in the syntax of Go, such as 'retries|deploys'."}
	}
	for _, path := range files {
		f, err := cases.Load(path)
		if err != nil {
			return nil, err
		}
		list = append(list, f.Cases...)
	}
	list = slices.DeleteFunc(list, func(c cases.Case) bool { return !only.MatchString(c.Name) })
	if len(list) == 0 {
		return nil, &ken.Error{Code: ken.CodeInvalid, Field: "--run", Msg: fmt.Sprintf("no case has a name that matches %q", o.run), Try: "Leave --run away to see the names."}
	}
	return list, nil
}

// casesOptions says what the cases stand on.
func (a *app) casesOptions(o *casesOptions) (opts cases.Options, err error) {
	if o.store != "" && o.export != "" {
		return opts, &ken.Error{Code: ken.CodeInvalid, Field: "--store", Msg: "given beside --export", Try: "Keep one of the two."}
	}
	cfg, _, err := a.configurationOr(o.config)
	if err != nil {
		return opts, err
	}
	if a.owner != "" {
		cfg.Knowledge.Owner = a.owner
	}
	root, err := a.project()
	if err != nil {
		return opts, err
	}
	opts = cases.Options{Root: root, Config: &cfg, Export: o.export, Unseen: []string{o.junit}, Log: slog.New(logLines{a.err})}
	switch {
	case o.export != "":
	case o.store != "":
		opts.State, err = stateFolder(o.store)
	default:
		opts.GivenAlone, opts.State = true, cfg.State(root)
	}
	return opts, err
}

// stateFolder finds the folder of the owners' stores: dir, or the usual place in it.
func stateFolder(dir string) (string, error) {
	for _, d := range []string{dir, filepath.Join(dir, filepath.FromSlash(config.Default().Knowledge.DBPath))} {
		found, err := filepath.Glob(filepath.Join(d, "*", "ken.db"))
		if err == nil && len(found) > 0 {
			return d, nil
		}
	}
	return "", &ken.Error{Code: ken.CodeNotFound, Field: "--store", Msg: "no store in " + dir, Try: "Name a project's folder, or the one in its knowledge.db_path."}
}
