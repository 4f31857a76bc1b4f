// Package embed provides the commands that train, adapt and inspect embedding tables.
package embed

import (
	"bufio"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/kenlayer/ken"
	"github.com/kenlayer/ken/config"
	"github.com/kenlayer/ken/embed"
	"github.com/kenlayer/ken/embed/builtin"
	"github.com/kenlayer/ken/embed/transformer"
	"github.com/kenlayer/ken/internal/cli"
	"github.com/kenlayer/ken/internal/code/repository"
	"github.com/kenlayer/ken/internal/code/repository/pairs"
	"github.com/kenlayer/ken/internal/embed/adapt"
	"github.com/kenlayer/ken/internal/embed/install"
	"github.com/kenlayer/ken/internal/embed/table"
	"github.com/kenlayer/ken/internal/embed/train"
	"github.com/kenlayer/ken/internal/trust"
	"github.com/kenlayer/ken/middleware"
	"github.com/kenlayer/ken/store"
)

type commands struct{ *cli.App }

// Commands returns the commands of this group.
func Commands(app *cli.App) []*cobra.Command {
	c := &commands{app}
	return []*cobra.Command{c.embedCommand()}
}

func (a *commands) embedCommand() *cobra.Command {
	cmd := cli.WithSubcommands(&cobra.Command{
		Use:   "embed",
		Short: "Install embedders and show their progress; show, tune and train embedding tables",
		Example: `  ken embed status
  ken embed install`,
		Long: "An embedding table turns texts into vectors inside this process: the built-in one needs no network and no " +
			"configuration. These commands install another embedder, show a table, tune it to a project, and train one.",
	}, a.embedInstallCommand(), a.embedStatusCommand(), a.embedShowCommand(), a.embedAdaptCommand(), a.embedTrainCommand())
	cmd.Args = cli.ExactArgs()
	return cmd
}

func (a *commands) embedShowCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "show [FILE]",
		Short: "Show what an embedding table is",
		Long:  "Show the name, the size and the licence of an embedding table: of FILE, or of the one that is built in.",
		Example: `  ken embed show
  ken embed show --json model.ken`,
		Args: cobra.MaximumNArgs(1),
		RunE: func(_ *cobra.Command, args []string) error {
			m, err := openTable(args)
			if err != nil {
				return err
			}
			return a.showTable(m)
		},
	}
}

// openTable opens the file that args name, or the built-in table.
func openTable(args []string) (*table.Model, error) {
	if len(args) == 0 {
		return builtin.Open()
	}
	return table.Read(args[0])
}

type tableSummary struct {
	Model  string     `json:"model"`
	Dim    int        `json:"dim"`
	Tokens int        `json:"tokens"`
	Bytes  int        `json:"bytes"`
	Info   table.Info `json:"info"`
}

func summarise(m *table.Model) tableSummary {
	return tableSummary{Model: m.Model(), Dim: m.Dim(), Tokens: m.Vocabulary().Len(), Bytes: m.Size(), Info: m.Info()}
}

func (a *commands) showTable(m *table.Model) error {
	s := summarise(m)
	return a.Show(s, func() {
		a.PrintFields(10, "model", s.Model, "dimensions", fmt.Sprint(s.Dim), "tokens", fmt.Sprint(s.Tokens), "bytes", fmt.Sprint(s.Bytes),
			"about", s.Info.About, "licence", s.Info.Licence, "base", s.Info.Base, "recipe", s.Info.Recipe)
	})
}

type embedAdaptOptions struct {
	base           string
	seed           uint64
	epochs         int
	workers        int
	dryRun, remove bool
}

func (a *commands) embedAdaptCommand() *cobra.Command {
	o := embedAdaptOptions{}
	cmd := &cobra.Command{
		Use:   "adapt",
		Short: "Tune the built-in embedder to this repository, and keep it if it is better",
		Long: "Tune the built-in embedding table with pairs of texts from the repository: headings and sections, doc comments and " +
			"declarations, commits and their changes, decisions, paths. Some files are set aside, and both tables search the " +
			"whole repository for their content. The tuned table is stored in the state folder, and used from then on, only if " +
			"it is clearly better: if the 95 % interval of the difference in mean reciprocal rank is above zero. If it " +
			"is not, it is dropped, and the built-in table stays in use.\n\n" +
			"It takes a few minutes, and nothing leaves this machine. If it is stopped, an earlier tuned table stays, and the next run " +
			"continues after the last epoch. Run ken index afterwards to compute all vectors again.",
		Example: `  ken embed adapt
  ken embed adapt --dry-run --json
  ken embed adapt --remove`,
		Args: cli.ExactArgs(),
		RunE: func(cmd *cobra.Command, _ []string) error {
			if o.dryRun && o.remove {
				return cli.Usagef("--dry-run and --remove: give one of them")
			}
			r, err := a.Configuration()
			if err != nil {
				return err
			}
			if o.remove {
				return a.embedAdaptRemove(r.Config.State(r.Root))
			}
			return a.embedAdapt(cmd.Context(), &o, r.Root, r.Config)
		},
	}
	f := cmd.Flags()
	f.BoolVar(&o.dryRun, "dry-run", false, "tune and compare, but keep nothing and remove nothing")
	f.BoolVar(&o.remove, "remove", false, "remove the adapted table, so that the built-in one is used")
	f.StringVar(&o.base, "base", "", "the table `FILE` to tune; default is the built-in one")
	f.Uint64Var(&o.seed, "seed", 1, "`N`, the seed of all random choices")
	f.IntVar(&o.epochs, "epochs", 0, "see each pair `N` times; 0 is the default")
	f.IntVar(&o.workers, "workers", 0, "use `N` processors; 0 is all")
	return cmd
}

type adapted struct {
	Report adapt.Report `json:"report"`
	Mined  pairs.Report `json:"mined"`
	Wins   bool         `json:"wins"`
	Kept   string       `json:"kept,omitempty"`    // the file that will be used
	Gone   bool         `json:"removed,omitempty"` // a previously kept table was removed
}

func (a *commands) embedAdapt(ctx context.Context, o *embedAdaptOptions, root string, cfg config.Config) error {
	var file []string
	if o.base != "" {
		file = []string{o.base}
	}
	base, err := openTable(file)
	if err != nil {
		return err
	}
	p := a.Progress()
	defer p.Done()
	if err := a.ConfirmReading(ctx); err != nil {
		return err
	}
	tuning := adapt.Options{Seed: o.seed, Progress: p.Update}
	tuning.Train.Epochs, tuning.Train.Workers = o.epochs, o.workers
	state := cfg.State(root)
	if !o.dryRun {
		if tuning.Train.Checkpoint, err = prepareState(root, state); err != nil {
			return err
		}
	}
	r := &cfg.Repository
	set, mined, err := pairs.Mine(ctx, root, pairs.Options{Index: repository.Options{MaxFileBytes: int64(r.MaxFileBytes), MaxChunk: r.ChunkChars,
		Exclude: r.Exclude, MaxCommits: r.GitCommits, NoHistory: r.GitCommits == 0,
		Progress: func(s repository.Progress) { p.Update(string(s.Stage), s.Done, s.Total) }}})
	if err != nil {
		return err
	}
	m, report, err := adapt.Run(ctx, base, set, tuning)
	if err != nil {
		return err
	}
	p.Done()
	out := adapted{Report: report, Mined: mined, Wins: report.Wins()}
	if !o.dryRun {
		if err := out.keep(state, m, tuning.Train.Checkpoint); err != nil {
			return err
		}
	}
	return a.Show(out, func() { a.printAdapted(&out, o.dryRun) })
}

// prepareState creates the state folder, hidden from version control, and
// checks that it is writable before the work starts. It returns the path of the
// checkpoint.
func prepareState(root, state string) (checkpoint string, err error) {
	marked := trust.Mark(root, state)
	if checkpoint, err = adapt.Checkpoint(state); err != nil {
		return "", err // this error explains more if the folder can't be created
	}
	if marked != nil && !errors.Is(marked, ken.ErrUnavailable) {
		return "", marked
	}
	return checkpoint, cli.HideState(root, state)
}

// keep saves a table that is better, or removes the previously kept one.
func (out *adapted) keep(state string, m *table.Model, checkpoint string) error {
	var err error
	if out.Wins {
		out.Kept = filepath.Join(state, adapt.TableFile)
		err = adapt.Save(state, m, out.Report)
	} else {
		out.Gone, err = adapt.Remove(state)
	}
	if e := os.Remove(checkpoint); e != nil && !errors.Is(e, fs.ErrNotExist) {
		err = errors.Join(err, fmt.Errorf("remove the checkpoint: %w", e))
	}
	return err
}

func (a *commands) printAdapted(out *adapted, dryRun bool) {
	r := &out.Report
	fmt.Fprintf(a.Out, "%d pairs from %d files and %d commits; %d to learn from, %d of %d files to ask; %d passages to search\n",
		r.Pairs, out.Mined.Files, out.Mined.Commits, r.Tuned, r.HeldOut, r.Files, r.Passages)
	if out.Mined.History != "" {
		fmt.Fprintf(a.Out, "without git history: %s\n", cli.Cell(out.Mined.History))
	}
	fmt.Fprintf(a.Out, "\n%-12s %5s  %-16s  %-16s\n", "", "n", "recall@10", "MRR")
	row := func(name string, n int, before, after adapt.Figures) {
		fmt.Fprintf(a.Out, "%-12s %5d  %.3f -> %.3f    %.3f -> %.3f\n", name, n, before.RecallAt10, after.RecallAt10, before.MRR, after.MRR)
	}
	for _, name := range cli.SortedKeys(r.BySource) {
		c := r.BySource[name]
		row(name, c.N, c.Before, c.After)
	}
	row("all", r.HeldOut, r.Before, r.After)
	fmt.Fprintf(a.Out, "\nrecall@10 %s, MRR %s\n", difference(r.RecallAt10), difference(r.MRR))
	switch {
	case out.Kept != "":
		fmt.Fprintf(a.Out, "The adapted table %s is better and is used from now on. Run ken index to embed everything with it.\n", r.Model)
	case out.Wins && dryRun:
		fmt.Fprintln(a.Out, "The adapted table is better. Nothing was kept: this was a dry run.")
	case dryRun:
		fmt.Fprintln(a.Out, "The adapted table is not clearly better. Nothing was changed: this was a dry run.")
	case out.Gone:
		fmt.Fprintln(a.Out, "The adapted table is not clearly better: it was not stored, and the earlier one was removed. The built-in table is used.")
	default:
		fmt.Fprintln(a.Out, "The adapted table is not clearly better, and was not stored. The built-in table stays in use.")
	}
}

func difference(i adapt.Interval) string {
	return fmt.Sprintf("%+.3f [%+.3f, %+.3f]", i.Mean, i.Low, i.High)
}

func (a *commands) embedAdaptRemove(state string) error {
	report, err := adapt.Load(state)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		report.Model = "" // removed even though it can't be read
	}
	was, err := adapt.Remove(state)
	switch {
	case err != nil:
		return err
	case a.JSON:
		return a.PrintJSON(map[string]any{"removed": was, "model": report.Model})
	case was:
		fmt.Fprintf(a.Out, "removed %s; the built-in table is used. Run ken index to embed everything with it.\n", cmp.Or(report.Model, adapt.TableFile))
	default:
		fmt.Fprintln(a.Out, "there is no adapted table")
	}
	return nil
}

type embedTrainOptions struct {
	train.Options
	out       string
	exclude   []string
	even      bool
	questions bool
	holdOut   int
	teacher   string
}

func (a *commands) embedTrainCommand() *cobra.Command {
	o := embedTrainOptions{}
	cmd := &cobra.Command{
		Use:   "train --out FILE PAIRS …",
		Short: "Train an embedding table on pairs of texts",
		Long: "Train an embedding table on files of pairs: one JSON object a line with the texts q and p, which belong together, and " +
			"src, the name of their source. Files may be compressed (.gz). The model card of the built-in table has the options and " +
			"the pairs of which it comes out, on the same kind of processor to the byte.\n\n" +
			"With --teacher, the table first learns a sentence encoder's vectors of its words and of some 400,000 of the texts.\n\n" +
			"A training on a million pairs takes up to an hour. When it is stopped, it continues where the last epoch ended when it " +
			"is started again: its state is in the file beside FILE whose name ends in .part until it is done.",
		Example: `  ken embed train --out model.ken pairs.jsonl.gz
  ken embed train --out model.ken --exclude questions.jsonl --seed 7 pairs.jsonl
  ken embed train --out model.ken --teacher all-MiniLM-L6-v2 pairs.jsonl.gz`,
		Args: cli.AtLeastOne("train: PAIRS are missing"),
		RunE: func(cmd *cobra.Command, args []string) error { return a.embedTrain(cmd.Context(), &o, args) },
	}
	f := cmd.Flags()
	f.StringVarP(&o.out, "out", "o", "", "write this `FILE`, whole or not at all")
	f.StringArrayVar(&o.exclude, "exclude", nil, "leave out pairs that share 12 words in a row with a text of this `FILE`, or are its question: JSON lines with the field text (repeatable)")
	f.Uint64Var(&o.Seed, "seed", 1, "`N`, the seed of all random choices")
	f.IntVar(&o.Epochs, "epochs", 0, "see each pair `N` times; 0 is 10, or 1 with --teacher")
	f.StringVar(&o.teacher, "teacher", "", "learn from this sentence `ENCODER` first: the name of an installed one, or a folder")
	f.IntVar(&o.Tokens, "tokens", 0, "at most `N` tokens in the vocabulary; 0 makes a file of 8 MB")
	f.IntVar(&o.Dim, "dim", 0, "`N` dimensions, a multiple of 8; 0 is 256")
	f.IntVar(&o.Workers, "workers", 0, "use `N` processors; 0 is all")
	f.BoolVar(&o.even, "even", false, "let all sources count the same, instead of as for the built-in table")
	f.BoolVar(&o.questions, "questions", true, "make questions of the turns of conversations")
	f.IntVar(&o.holdOut, "hold-out", 64, "keep one in `N` passages out of training, and measure the table with their pairs; 0 trains on all")
	f.StringVar(&o.Info.About, "about", "", "a `TEXT` of one line about the table, kept in it")
	f.StringVar(&o.Info.Licence, "licence", "", "its licence and attributions in a `TEXT` of one line, kept in it")
	return cmd
}

func (a *commands) embedTrain(ctx context.Context, o *embedTrainOptions, files []string) error {
	if o.out == "" {
		return cli.Usagef("--out is missing: name the file to write")
	}
	if o.Dim < 0 || o.Dim%8 != 0 {
		return cli.Usagef("--dim: %d is not a multiple of 8", o.Dim)
	}
	for _, f := range slices.Concat(o.exclude, files) { // find a misspelled name before the work starts
		if err := a.CheckInput(f); err != nil {
			return err
		}
	}
	if o.teacher != "" {
		var err error
		if o.Teacher, err = openTeacher(o.teacher, cmp.Or(o.Workers, runtime.GOMAXPROCS(0))); err != nil {
			return err
		}
	}
	p := a.Progress()
	defer p.Done()
	o.Progress = func(t train.Progress) { p.Update(t.Stage, t.Done, t.Total) }
	o.Checkpoint = o.out + ".part"
	if !o.even {
		o.Weight = train.Mix
	}
	pairs, held, dropped, err := o.pairs(ctx, files)
	if err != nil {
		return err
	}
	m, err := train.Train(ctx, pairs, o.Options)
	if err != nil {
		if _, gone := os.Stat(o.Checkpoint); gone == nil && ctx.Err() != nil {
			p.Done()
			fmt.Fprintln(a.Err, "The same command continues it after the last whole epoch.")
		}
		return err
	}
	if err := cli.ReplaceFile(o.out, func(w io.Writer) error { _, err := m.WriteTo(w); return err }); err != nil {
		return err
	}
	if err := os.Remove(o.Checkpoint); err != nil {
		return fmt.Errorf("remove the checkpoint: %w", err)
	}
	score, err := train.Measure(ctx, m, held, o.Options)
	if err != nil {
		return err
	}
	p.Done()
	if a.JSON {
		return a.PrintJSON(struct {
			tableSummary
			File    string      `json:"file"`
			Pairs   int         `json:"pairs"`
			Dropped int         `json:"dropped"`
			HeldOut train.Score `json:"held_out"`
		}{summarise(m), o.out, len(pairs), dropped, score})
	}
	fmt.Fprintf(a.Err, "%d pairs, %d dropped; of %d held out, mean reciprocal rank %.3f, %.3f found among ten\n",
		len(pairs), dropped, score.Pairs, score.MRR, score.Recall10)
	return a.showTable(m)
}

// openTeacher opens the sentence encoder that --teacher names: an installed one or a folder.
func openTeacher(name string, cores int) (embed.Embedder, error) {
	folder := name
	if m := install.Named(name); m != nil {
		var installed bool
		if folder, installed = m.Path(install.Folder()); !installed {
			return nil, m.Missing("teacher", install.Folder())
		}
	}
	teacher, err := transformer.Open(folder, transformer.Options{Int8: true, Cores: cores})
	if e := (*ken.Error)(nil); errors.As(err, &e) {
		e.Field = "teacher" // not the key that usually names an encoder
	}
	return teacher, err
}

// pairs reads the files, removes the texts of --exclude, holds some texts out,
// and makes questions from the rest.
func (o *embedTrainOptions) pairs(ctx context.Context, files []string) (pairs, held []train.Pair, dropped int, err error) {
	if pairs, err = train.Read(ctx, files, o.Progress); err != nil {
		return nil, nil, 0, err
	}
	var texts []string
	for _, f := range o.exclude {
		some, err := readTexts(f)
		if err != nil {
			return nil, nil, 0, err
		}
		texts = append(texts, some...)
	}
	if len(texts) > 0 {
		if pairs, dropped, err = train.Decontaminate(ctx, pairs, texts, o.Options); err != nil {
			return nil, nil, 0, err
		}
	}
	pairs, held = train.HoldOut(pairs, o.holdOut)
	if o.questions {
		made, err := train.Questions(ctx, pairs, o.Seed)
		if err != nil {
			return nil, nil, 0, err
		}
		pairs = append(pairs, made...)
	}
	return pairs, held, dropped, nil
}

// readTexts reads the field text of each line of a file.
func readTexts(file string) ([]string, error) {
	f, err := os.Open(file)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	lines := bufio.NewScanner(f)
	lines.Buffer(nil, 16<<20)
	var texts []string
	for n := 1; lines.Scan(); n++ {
		var line struct{ Text string }
		if strings.TrimSpace(lines.Text()) == "" {
			continue
		}
		if err := json.Unmarshal(lines.Bytes(), &line); err != nil {
			return nil, &ken.Error{Code: ken.CodeInvalid, Field: "--exclude", Msg: fmt.Sprintf("read %s, line %d", file, n), Err: err,
				Try: `Give a file with one JSON object a line, with a field "text".`}
		}
		texts = append(texts, line.Text)
	}
	return texts, lines.Err()
}

func (a *commands) embedStatusCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "status",
		Short: "Show how many records have a vector, and which embedders are searched",
		Long: "Show which embedder is configured, how many records have its vector, and how searches run meanwhile. After a change of the " +
			"embedder, the old vectors are searched too, until all records have a new one; then they are deleted. " +
			"ken serve, ken mcp and ken index compute the vectors, and continue after an interruption.\n\n" +
			"While records lack a vector, the command watches for a second and estimates the time that is left.",
		Example: `  ken embed status
  ken embed status --json`,
		Args: cli.ExactArgs(),
		RunE: func(cmd *cobra.Command, _ []string) error {
			return a.ReadStore(cmd.Context(), func(l *middleware.Layer, s store.Engine) error {
				return a.embedStatus(cmd.Context(), l, s, time.Second)
			})
		},
	}
}

type embedStatus struct {
	Model    string  `json:"model"`
	Embedded int     `json:"embedded"` // records with a vector of the model
	Total    int     `json:"total"`
	Standby  string  `json:"standby,omitempty"` // the second model that is searched
	Rate     float64 `json:"per_second"`        // records embedded per second
	Left     int     `json:"seconds_left"`      // estimated; -1 if no embedding is running
	Mode     string  `json:"mode"`              // mode of a search
	Cause    string  `json:"cause,omitempty"`   // why the mode is not hybrid
}

func (a *commands) embedStatus(ctx context.Context, l *middleware.Layer, s store.Engine, watch time.Duration) error {
	out := embedStatus{Model: l.Operator().Embedder().Model(), Standby: s.Standby()}
	mode, cause := l.Operator().Recaller(s, middleware.RecallQuery{}).Mode()
	out.Mode, out.Cause = string(mode), cause
	out.Embedded, out.Total = s.Coverage()
	if out.Embedded < out.Total {
		start, before := time.Now(), out.Embedded
		select {
		case <-time.After(watch):
		case <-ctx.Done():
			return ctx.Err()
		}
		out.Embedded, out.Total = s.Coverage()
		out.Rate = max(0, float64(out.Embedded-before)/time.Since(start).Seconds())
		out.Left = -1
		if out.Rate > 0 {
			out.Left = int(float64(out.Total-out.Embedded) / out.Rate)
		}
	}
	if a.JSON {
		return a.PrintJSON(out)
	}
	fmt.Fprintf(a.Out, "embedder  %s\n", out.Model)
	fmt.Fprintf(a.Out, "vectors   %d of %s\n", out.Embedded, cli.Count(out.Total, "record"))
	if out.Standby != "" {
		fmt.Fprintf(a.Out, "beside    %s, until all records have a vector\n", out.Standby)
	}
	switch {
	case out.Embedded >= out.Total || out.Model == embed.None().Model():
	case out.Left >= 0:
		fmt.Fprintf(a.Out, "left      about %v, at %.0f a second\n", time.Duration(out.Left)*time.Second, out.Rate)
	default:
		fmt.Fprintln(a.Out, "left      nothing embeds at this moment; ken index does")
	}
	fmt.Fprintf(a.Out, "search    %s\n", out.Mode)
	if out.Cause != "" {
		fmt.Fprintf(a.Out, "because   %s\n", cli.Cell(out.Cause))
	}
	return nil
}
