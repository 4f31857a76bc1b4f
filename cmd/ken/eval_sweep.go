package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"github.com/kenlayer/ken"
	"github.com/kenlayer/ken/config"
	"github.com/kenlayer/ken/evals"
	"github.com/kenlayer/ken/internal/evals/dataset"
	"github.com/kenlayer/ken/internal/evals/report"
)

// sweepOptions are sweep's flags.
type sweepOptions struct {
	data                         string
	modes, config                string
	vary, set                    []string
	limit, workers               int
	seed                         uint64
	split, questions, level      string
	judged, smallTalk, ablate    bool
	noAnswer, htmlFile, perQuery string
	keep                         string
}

func (a *app) evalSweepCommand() *cobra.Command {
	var o sweepOptions
	cmd := &cobra.Command{
		Use:   "sweep --data PATH",
		Short: "Compare modes and settings on a data set",
		Long: "Remember a data set in a temporary store, ask every question as a turn would, and print how much of what is relevant was " +
			"found, with 95 % intervals and latency. PATH is a BEIR folder, a LoCoMo or LongMemEval JSON file, a folder with " +
			"an export of claims and queries.jsonl, or a folder of such sets, which are swept one after the other.\n\n" +
			"The project's configuration is in force in everything that is not varied; nothing is written to the project, unless --keep " +
			"is there: the report is then kept beside the project's stores, and the console of ken serve shows it side by side with " +
			"others. Every --vary multiplies the modes by its values. Keys may be short where only one is meant, such as rrf_k, " +
			"top_k or floor.",
		Example: `  ken eval sweep --data locomo
  ken eval sweep --data .ken/eval --keep today
  ken eval sweep --data locomo --modes hybrid --vary floor=0.1,0.2,0.3 --small-talk --html floor.html
  ken eval sweep --data beam --json > before.json`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return a.evalSweep(cmd.Context(), &o) },
	}
	f := cmd.Flags()
	f.StringVar(&o.data, "data", "", "the data set's `path`")
	f.StringVar(&o.modes, "modes", "keyword,vector,hybrid", "the modes to compare: some of keyword, vector, hybrid, rrf and wrrf")
	f.StringArrayVar(&o.vary, "vary", nil, "try values of a configuration key, as `key=value,value` (repeatable: every combination)")
	f.StringArrayVar(&o.set, "set", nil, "set a configuration key for the whole sweep, as `key=value` (repeatable)")
	f.StringVar(&o.config, "config", "", "the configuration `file` to start from; default the project's")
	f.IntVar(&o.limit, "limit", 0, "ask only so `many` of the questions, drawn by --seed; 0 asks all")
	f.Uint64Var(&o.seed, "seed", 1, "the seed of --limit and of the intervals")
	f.IntVar(&o.workers, "workers", 0, "turns at `once`; 0 is one for each processor")
	f.StringVar(&o.split, "split", "", "the qrels `name` to read; default test, else all there are")
	f.StringVar(&o.questions, "questions", "", "ask the questions of this `file` instead of the set's own")
	f.StringVar(&o.level, "level", "", "what counts as found: record or session; default as the set says")
	f.BoolVar(&o.judged, "judged", false, "leave out questions for which nothing is known to be relevant")
	f.StringVar(&o.noAnswer, "no-answer", "", "add the questions of this `file`, one a line, for which nothing should be injected")
	f.BoolVar(&o.smallTalk, "small-talk", false, "add greetings, thanks and other messages that ask for nothing")
	f.BoolVar(&o.ablate, "ablate", false, "run each mode again without each of the ranker's signals, one at a time")
	f.StringVar(&o.htmlFile, "html", "", "write a report with charts to this `file`")
	f.StringVar(&o.perQuery, "per-query", "", "write one JSON line for each question and mode to this `file`")
	f.StringVar(&o.keep, "keep", "", "keep the report in the project under this `name`, for the console; of several sets, each with the set's name behind")
	return cmd
}

func (a *app) evalSweep(ctx context.Context, o *sweepOptions) error {
	if o.data == "" {
		return usagef("--data is missing: the path of a data set")
	}
	opts, err := a.sweepOptions(o)
	if err != nil {
		return usage{err}
	}
	paths, err := dataset.Find(o.data)
	if err != nil {
		return err
	}
	kept, err := a.keptPaths(o.keep, paths, opts)
	if err != nil {
		return err
	}
	var reports []*evals.Report
	for i, path := range paths {
		if opts.Data, err = o.open(ctx, path); err != nil {
			return err
		}
		p := a.progress()
		opts.Progress = p.update
		r, err := evals.Sweep(ctx, opts)
		p.done()
		if err != nil {
			return err
		}
		reports = append(reports, r)
		if kept != nil {
			if err := a.keepReport(kept[i], r); err != nil {
				return err
			}
		}
		if !a.quiet {
			for _, note := range r.Notes {
				fmt.Fprintf(a.err, "ken: %s: %s\n", r.Dataset, note)
			}
		}
	}
	return a.showSweep(o, reports)
}

// sweepOptions reads what doesn't depend on the data.
func (a *app) sweepOptions(o *sweepOptions) (opts evals.Options, err error) {
	if opts.Modes, err = evals.ParseModes(o.modes); err != nil {
		return opts, err
	}
	for _, s := range o.vary {
		key, values, err := assignment("--vary", s)
		if err != nil {
			return opts, err
		}
		opts.Vary = append(opts.Vary, evals.Axis{Key: key, Values: strings.Split(values, ",")})
		if err := allowed(key, strings.Split(values, ",")...); err != nil {
			return opts, err
		}
	}
	for _, s := range o.set {
		key, value, err := assignment("--set", s)
		if err != nil {
			return opts, err
		}
		opts.Set = append(opts.Set, evals.Setting{Key: key, Value: value})
		if err := allowed(key, value); err != nil {
			return opts, err
		}
	}
	c, _, err := a.configurationOr(o.config)
	if err != nil {
		return opts, err
	}
	opts.Config, opts.Limit, opts.Seed, opts.Workers, opts.Ablate = &c, o.limit, o.seed, o.workers, o.ablate
	opts.Root, err = a.project()
	return opts, err
}

func assignment(flag, s string) (key, value string, err error) {
	key, value, ok := strings.Cut(s, "=")
	if !ok || key == "" || value == "" {
		return "", "", &ken.Error{Code: ken.CodeInvalid, Field: flag, Msg: fmt.Sprintf("%q has no value", s), Try: "Write it as rrf_k=60."}
	}
	return strings.TrimSpace(key), strings.TrimSpace(value), nil
}

// allowed reports a key or a value that the configuration doesn't have, before any
// data is read.
func allowed(key string, values ...string) error {
	full, err := evals.Resolve(key, values...)
	if err != nil {
		return err
	}
	c := config.Default()
	for _, v := range values {
		if err := c.Set(full, v); err != nil {
			return err
		}
	}
	return nil
}

func (o *sweepOptions) open(ctx context.Context, path string) (*dataset.Set, error) {
	set, err := dataset.Open(ctx, path, dataset.Options{Split: o.split, Questions: o.questions, Judged: o.judged, Level: dataset.Level(o.level)})
	if err != nil {
		return nil, err
	}
	if o.smallTalk {
		if err := set.Add(dataset.SmallTalk()...); err != nil {
			return nil, err
		}
	}
	if o.noAnswer == "" {
		return set, nil
	}
	more, err := dataset.NoAnswer(ctx, o.noAnswer)
	if err != nil {
		return nil, err
	}
	return set, set.Add(more...)
}

// showSweep prints the reports, and writes the files that were asked for.
func (a *app) showSweep(o *sweepOptions, reports []*evals.Report) error {
	if o.htmlFile != "" {
		if err := writeFile(o.htmlFile, func(w io.Writer) error { return report.HTML(w, reports...) }); err != nil {
			return err
		}
	}
	if o.perQuery != "" {
		err := writeFile(o.perQuery, func(w io.Writer) error {
			for _, r := range reports {
				if err := r.WriteAnswers(w); err != nil {
					return err
				}
			}
			return nil
		})
		if err != nil {
			return err
		}
	}
	if !a.json {
		fmt.Fprint(a.out, report.Table(reports...))
		return nil
	}
	if len(reports) == 1 {
		return reports[0].Write(a.out)
	}
	for i, r := range reports {
		sep := ","
		if i == 0 {
			sep = "["
		}
		fmt.Fprintln(a.out, sep)
		if err := r.Write(a.out); err != nil {
			return err
		}
	}
	fmt.Fprintln(a.out, "]")
	return nil
}

// writeFile writes a file whole: under another name first, so that nobody finds
// half of it.
func writeFile(path string, fn func(io.Writer) error) (err error) {
	f, err := os.CreateTemp(filepath.Dir(path), "."+filepath.Base(path)+"-")
	if err != nil {
		return &ken.Error{Code: ken.CodeNotFound, Msg: "write " + path, Err: err, Try: "Check the folder and its permissions."}
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, os.Remove(f.Name()))
		}
	}()
	if err := fn(f); err != nil {
		return errors.Join(err, f.Close())
	}
	if err := errors.Join(f.Chmod(0o644), f.Close()); err != nil {
		return fmt.Errorf("write %s: %w", path, err)
	}
	if err := os.Rename(f.Name(), path); err != nil {
		return fmt.Errorf("write %s: %w", path, err)
	}
	return nil
}
