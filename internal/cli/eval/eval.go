// Package eval provides the commands that measure retrieval and the model's answers.
package eval

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/kenlayer/ken"
	"github.com/kenlayer/ken/config"
	"github.com/kenlayer/ken/internal/cli"
	"github.com/kenlayer/ken/internal/durable"
	"github.com/kenlayer/ken/internal/evals/dataset"
	"github.com/kenlayer/ken/internal/evals/report"
	"github.com/kenlayer/ken/internal/evals/sweep"
)

type commands struct{ *cli.App }

// Commands returns the commands of this group.
func Commands(app *cli.App) []*cobra.Command {
	c := &commands{app}
	return []*cobra.Command{c.evalCommand()}
}

func (a *commands) evalCommand() *cobra.Command {
	return cli.WithSubcommands(&cobra.Command{
		Use:   "eval",
		Short: "Measure recall on your own data or on public sets",
		Example: `  ken eval generate
  ken eval sweep --data .ken/eval
  ken eval test memory.yaml`,
		Long: "Measure what an agent would be told. sweep asks every question of a data set in several modes and settings, and compare " +
			"says which differences between two sweeps are real; docs/evals.md defines the figures and the formats. test checks " +
			"single memories, generate makes questions from your own knowledge, and scorer says what the order learned from use is worth.",
	}, a.evalSweepCommand(), a.evalCompareCommand(), a.evalTestCommand(), a.evalGenerateCommand(), a.evalScorerCommand(), a.evalCodeCommand(), a.evalLearnCommand())
}

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

func (a *commands) evalSweepCommand() *cobra.Command {
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
  ken eval sweep --data locomo --modes hybrid --vary floor=0.1,0.2,0.3 \
    --small-talk --html floor.html
  ken eval sweep --data beam --json > before.json`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return a.evalSweep(cmd.Context(), &o) },
	}
	f := cmd.Flags()
	f.StringVar(&o.data, "data", "", "the data set's `PATH`")
	f.StringVar(&o.modes, "modes", "keyword,vector,hybrid", "the `MODES` to compare: some of keyword, vector, hybrid, rrf and wrrf")
	f.StringArrayVar(&o.vary, "vary", nil, "try values of a configuration key, as `KEY=VALUE,VALUE` (repeatable: every combination)")
	f.StringArrayVar(&o.set, "set", nil, "set a configuration key for the whole sweep, as `KEY=VALUE` (repeatable)")
	f.StringVar(&o.config, "config", "", "the configuration `FILE` to start from; default the project's")
	f.IntVar(&o.limit, "limit", 0, "ask only `N` of the questions, drawn by --seed; 0 asks all")
	f.Uint64Var(&o.seed, "seed", 1, "`N`, the seed of --limit and of the intervals")
	f.IntVar(&o.workers, "workers", 0, "run `N` turns at a time; 0 is one for each processor")
	f.StringVar(&o.split, "split", "", "the qrels `NAME` to read; default test, else all there are")
	f.StringVar(&o.questions, "questions", "", "ask the questions of this `FILE` instead of the set's own")
	f.StringVar(&o.level, "level", "", "the `LEVEL` that counts as found: record or session; default as the set says")
	f.BoolVar(&o.judged, "judged", false, "leave out questions for which nothing is known to be relevant")
	f.StringVar(&o.noAnswer, "no-answer", "", "add the questions of this `FILE`, one a line, for which nothing should be injected")
	f.BoolVar(&o.smallTalk, "small-talk", false, "add greetings, thanks and other messages that ask for nothing")
	f.BoolVar(&o.ablate, "ablate", false, "run each mode again without each of the ranker's signals, one at a time")
	f.StringVar(&o.htmlFile, "html", "", "write a report with charts to this `FILE`")
	f.StringVar(&o.perQuery, "per-query", "", "write one JSON line for each question and mode to this `FILE`")
	f.StringVar(&o.keep, "keep", "", "keep the report in the project under this `NAME`, for the console; of several sets, each with the set's name behind")
	return cmd
}

func (a *commands) evalSweep(ctx context.Context, o *sweepOptions) error {
	switch {
	case o.data == "":
		return cli.Usagef("--data is missing: the path of a data set")
	case o.limit < 0 || o.workers < 0:
		return cli.Usagef("--limit and --workers can't be less than 0")
	}
	opts, err := a.sweepOptions(o)
	if err != nil {
		return cli.UsageError(err)
	}
	paths, err := dataset.Find(o.data)
	if err != nil {
		return err
	}
	kept, err := a.keptPaths(o.keep, paths, opts)
	if err != nil {
		return err
	}
	for _, file := range []string{o.htmlFile, o.perQuery} { // before the sweep, which takes minutes
		if err := checkWritable(file); err != nil {
			return err
		}
	}
	var reports []*sweep.Report
	for i, path := range paths {
		r, failed := a.sweepSet(ctx, o, opts, path)
		if failed == nil && kept != nil {
			failed = a.keepReport(kept[i], r)
		}
		if r != nil {
			reports = append(reports, r)
		}
		if failed == nil {
			continue
		}
		if len(paths) > 1 {
			failed = fmt.Errorf("%s: %w", path, failed)
		}
		if len(reports) > 0 { // what took minutes is not lost
			failed = errors.Join(failed, a.showSweep(o, reports))
		}
		return failed
	}
	return a.showSweep(o, reports)
}

// sweepSet sweeps one data set and prints its notes. It returns nil with an error.
func (a *commands) sweepSet(ctx context.Context, o *sweepOptions, opts sweep.Options, path string) (r *sweep.Report, err error) {
	p := a.Progress()
	opts.Progress = p.Update
	if opts.Data, err = o.open(ctx, path); err == nil {
		r, err = sweep.Run(ctx, opts)
	}
	p.Done()
	if err != nil {
		return nil, err
	}
	if !a.Quiet || !a.JSON { // the table lacks the notes, which are no progress; the JSON has them
		for _, note := range r.Notes {
			fmt.Fprintf(a.Err, "ken: %s: %s\n", r.Dataset, note)
		}
	}
	return r, nil
}

// sweepOptions parses the flags that don't depend on the data.
func (a *commands) sweepOptions(o *sweepOptions) (opts sweep.Options, err error) {
	if opts.Modes, err = sweep.ParseModes(o.modes); err != nil {
		return opts, err
	}
	for _, s := range o.vary {
		key, text, err := assignment("--vary", s)
		values := strings.Split(text, ",")
		if err == nil {
			err = checkKey(key, values...)
		}
		if err != nil {
			return opts, err
		}
		opts.Vary = append(opts.Vary, sweep.Axis{Key: key, Values: values})
	}
	for _, s := range o.set {
		key, value, err := assignment("--set", s)
		if err == nil {
			err = checkKey(key, value)
		}
		if err != nil {
			return opts, err
		}
		opts.Set = append(opts.Set, sweep.Setting{Key: key, Value: value})
	}
	r, err := a.ConfigurationOr(o.config)
	if err != nil {
		return opts, err
	}
	opts.Config, opts.Root, opts.Limit, opts.Seed, opts.Workers, opts.Ablate = &r.Config, r.Root, o.limit, o.seed, o.workers, o.ablate
	return opts, nil
}

// unreadable adds what to do to an error about a file of questions or cases.
func unreadable(what string, err error) error {
	if ken.Hint(err) != "" {
		return err
	}
	code := ken.CodeInvalid
	if errors.Is(err, fs.ErrNotExist) {
		code = ken.CodeNotFound
	}
	return &ken.Error{Code: code, Msg: what, Err: err, Try: "Correct the file or the path; docs/evals.md describes the format."}
}

// percent returns an error unless a flag's value is a percentage.
func percent(flag string, n int) error {
	if n < 0 || n > 100 {
		return cli.Usagef("%s: %d is not from 0 to 100", flag, n)
	}
	return nil
}

func assignment(flag, s string) (key, value string, err error) {
	key, value, ok := strings.Cut(s, "=")
	if !ok || key == "" || value == "" {
		return "", "", &ken.Error{Code: ken.CodeInvalid, Field: flag, Msg: fmt.Sprintf("%q has no value", s), Try: "Write it as rrf_k=60."}
	}
	return strings.TrimSpace(key), strings.TrimSpace(value), nil
}

// checkKey returns an error for a key or value that the configuration doesn't have,
// before any data is read.
func checkKey(key string, values ...string) error {
	full, err := sweep.Resolve(key, values...)
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

func (a *commands) showSweep(o *sweepOptions, reports []*sweep.Report) error {
	shown := a.printSweep(reports)
	if o.htmlFile != "" {
		err := writeFile(o.htmlFile, func(w io.Writer) error { return report.HTML(w, reports...) })
		shown = errors.Join(shown, err)
	}
	if o.perQuery != "" {
		err := writeFile(o.perQuery, func(w io.Writer) (err error) {
			for i := 0; i < len(reports) && err == nil; i++ {
				err = reports[i].WriteAnswers(w)
			}
			return err
		})
		shown = errors.Join(shown, err)
	}
	return shown
}

func (a *commands) printSweep(reports []*sweep.Report) error {
	if !a.JSON {
		fmt.Fprint(a.Out, report.Table(reports...))
		return nil
	}
	if len(reports) == 1 {
		return reports[0].Write(a.Out)
	}
	for i, r := range reports {
		sep := ","
		if i == 0 {
			sep = "["
		}
		fmt.Fprintln(a.Out, sep)
		if err := r.Write(a.Out); err != nil {
			return err
		}
	}
	fmt.Fprintln(a.Out, "]")
	return nil
}

// checkWritable returns an error if no file can be put at path. "" is no file.
func checkWritable(path string) error {
	if path == "" {
		return nil
	}
	real, ok := cli.Replaceable(path)
	if !ok {
		return cli.UsageError(&ken.Error{Code: ken.CodeInvalid, Msg: path + " is not a regular file", Try: "Name a file."})
	}
	f, err := os.CreateTemp(filepath.Dir(real), "."+filepath.Base(real)+"-")
	if err != nil {
		return &ken.Error{Code: ken.CodeNotFound, Msg: "write " + real, Err: err, Try: "Check the folder and its permissions."}
	}
	return errors.Join(f.Close(), os.Remove(f.Name()))
}

// writeFile replaces a file that checkWritable accepts. No reader finds a partial file.
func writeFile(path string, write func(io.Writer) error) error {
	if err := checkWritable(path); err != nil {
		return err
	}
	path, _ = cli.Replaceable(path)
	return durable.Replace(path, 0o644, write)
}

func (a *commands) evalCompareCommand() *cobra.Command {
	var fail bool
	var seed uint64
	cmd := &cobra.Command{
		Use:   "compare BEFORE AFTER",
		Short: "Say which differences between two sweeps are real",
		Long: "Read what sweep --json wrote twice, and compare it question by question, set by set: a difference is real when its 95 % " +
			"interval, from a paired bootstrap over the questions that both have, leaves zero out. Of many differences without a cause, one " +
			"in twenty looks real. Latencies are shown and not judged.\n\n" +
			"With --fail-on-regression, the exit status is 1 when something became worse for real.",
		Example: `  ken eval sweep --data locomo --json > before.json
  ken eval sweep --data locomo --json --set floor=0.25 > after.json
  ken eval compare before.json after.json`,
		Args: func(_ *cobra.Command, args []string) error {
			if len(args) != 2 {
				return errors.New("compare: give two reports, the one before and the one after")
			}
			return nil
		},
		RunE: func(_ *cobra.Command, args []string) error { return a.evalCompare(args[0], args[1], seed, fail) },
	}
	f := cmd.Flags()
	f.BoolVar(&fail, "fail-on-regression", false, "end with status 1 when something became worse")
	f.Uint64Var(&seed, "seed", 1, "`N`, the seed of the intervals")
	return cmd
}

func (a *commands) evalCompare(before, after string, seed uint64, fail bool) error {
	was, err := readReports(before)
	if err != nil {
		return err
	}
	is, err := readReports(after)
	if err != nil {
		return err
	}
	pairs, err := a.pairReports(was, is)
	if err != nil {
		return err
	}
	var list []*sweep.Comparison
	for _, p := range pairs {
		c, err := sweep.Compare(p[0], p[1], seed)
		if err != nil {
			return fmt.Errorf("%s: %w", p[0].Dataset, err)
		}
		list = append(list, c)
	}
	if a.JSON && len(list) == 1 {
		err = a.PrintJSON(list[0])
	} else {
		err = a.Show(list, func() {
			for _, c := range list {
				if len(list) > 1 {
					fmt.Fprintf(a.Out, "%s\n", c.Before)
				}
				fmt.Fprint(a.Out, report.Changes(c))
			}
		})
	}
	if err == nil && fail && slices.ContainsFunc(list, (*sweep.Comparison).Regressions) {
		return &ken.Error{Code: ken.CodeRefused, Msg: "something became worse", Try: "Look at the lines that say worse."}
	}
	return err
}

// pairReports pairs the reports of two files: two single ones whatever their sets, and lists by the
// sets' names.
func (a *commands) pairReports(was, is []*sweep.Report) (pairs [][2]*sweep.Report, err error) {
	if len(was) == 1 && len(is) == 1 {
		return [][2]*sweep.Report{{was[0], is[0]}}, nil
	}
	at := func(list []*sweep.Report, name string) int {
		return slices.IndexFunc(list, func(r *sweep.Report) bool { return r.Dataset == name })
	}
	var alone []string
	for _, r := range was {
		if i := at(is, r.Dataset); i >= 0 {
			pairs = append(pairs, [2]*sweep.Report{r, is[i]})
		} else {
			alone = append(alone, r.Dataset)
		}
	}
	for _, r := range is {
		if at(was, r.Dataset) < 0 {
			alone = append(alone, r.Dataset)
		}
	}
	if len(pairs) == 0 {
		return nil, &ken.Error{Code: ken.CodeInvalid, Msg: "no set is in both files", Try: "Sweep the same sets twice."}
	}
	if len(alone) > 0 {
		fmt.Fprintf(a.Err, "ken: only in one of the files, and left out: %s\n", strings.Join(alone, ", "))
	}
	return pairs, nil
}

func readReports(path string) ([]*sweep.Report, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, &ken.Error{Code: ken.CodeNotFound, Msg: "read report", Err: err, Try: "Check the path."}
	}
	defer f.Close()
	r, err := sweep.ReadAll(f)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	return r, nil
}

// keptPaths returns the file that --keep gives each data set's report; nil without
// the flag. It checks them before the sweep, which takes minutes.
func (a *commands) keptPaths(name string, sets []string, o sweep.Options) ([]string, error) {
	if name == "" {
		return nil, nil
	}
	if err := o.Config.MakeState(o.Root); err != nil && !errors.Is(err, ken.ErrUnavailable) {
		return nil, err
	}
	if err := cli.HideState(o.Root, o.Config.State(o.Root)); err != nil {
		return nil, err
	}
	paths := make([]string, len(sets))
	seen := map[string]string{}
	for i, set := range sets {
		whole := name
		if len(sets) > 1 {
			whole += "-" + sweep.KeptName(strings.TrimSuffix(filepath.Base(set), filepath.Ext(set)))
		}
		path, err := sweep.KeptPath(o.Config.State(o.Root), whole)
		if err != nil {
			return nil, cli.UsageError(err)
		}
		if other, ok := seen[path]; ok {
			return nil, &ken.Error{Code: ken.CodeInvalid, Field: "--keep", Msg: fmt.Sprintf("%s and %s would be kept under the same name", other, set),
				Try: "Sweep them one by one."}
		}
		if seen[path] = set; checkUnused(path) != nil {
			return nil, checkUnused(path)
		}
		paths[i] = path
	}
	return paths, nil
}

// checkUnused returns an error if the path exists, so that no report replaces another.
func checkUnused(path string) error {
	_, err := os.Lstat(path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil
	case err != nil:
		return &ken.Error{Code: ken.CodeUnavailable, Field: "--keep", Msg: "look for " + path, Err: err, Try: "Check the folder and its permissions."}
	}
	return &ken.Error{Code: ken.CodeExists, Field: "--keep", Msg: path + " is there already", Try: "Choose another name, or remove the file."}
}

func (a *commands) keepReport(path string, r *sweep.Report) error {
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return &ken.Error{Code: ken.CodeUnavailable, Field: "--keep", Msg: "make the folder", Err: err, Try: "Check its permissions."}
	}
	if err := checkUnused(path); err != nil {
		return err
	}
	if err := writeFile(path, r.Write); err != nil {
		return err
	}
	if !a.Quiet {
		fmt.Fprintf(a.Err, "ken: kept as %s; the console of ken serve shows it under Health, Recall sweeps\n", path)
	}
	return nil
}
