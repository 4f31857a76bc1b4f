package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"github.com/kenlayer/ken"
	"github.com/kenlayer/ken/config"
	"github.com/kenlayer/ken/internal/code/repository"
	"github.com/kenlayer/ken/internal/code/repository/pairs"
	"github.com/kenlayer/ken/internal/embed/adapt"
	"github.com/kenlayer/ken/internal/embed/table"
	"github.com/kenlayer/ken/internal/trust"
)

type embedAdaptOptions struct {
	base           string
	seed           uint64
	epochs         int
	workers        int
	dryRun, remove bool
}

func (a *app) embedAdaptCommand() *cobra.Command {
	o := embedAdaptOptions{}
	cmd := &cobra.Command{
		Use:   "adapt",
		Short: "Tune the built-in embedder to this repository, and keep it if it is better",
		Long: "Tune the built-in embedding table with what the repository says twice: headings and sections, doc comments and " +
			"declarations, commits and what they changed, decisions, paths. Some files are set aside, and both tables search the " +
			"whole repository for what is in them. The tuned table is kept in the state folder, and used from then on, only when " +
			"it finds more beyond doubt: when the 95 % interval of the difference in mean reciprocal rank lies above zero. If it " +
			"does not, none is kept, and the built-in one stays in use.\n\n" +
			"It takes a few minutes, and nothing leaves this machine. When it is stopped, what was kept before stays, and the next run " +
			"goes on where the last epoch ended. After it, ken index embeds everything anew.",
		Example: `  ken embed adapt
  ken embed adapt --dry-run --json
  ken embed adapt --remove`,
		Args: takes(),
		RunE: func(cmd *cobra.Command, _ []string) error {
			if o.dryRun && o.remove {
				return usagef("--dry-run and --remove: give one of them")
			}
			root, err := a.project()
			if err != nil {
				return err
			}
			cfg, _, err := a.configuration()
			if err != nil {
				return err
			}
			if o.remove {
				return a.embedAdaptRemove(cfg.State(root))
			}
			return a.embedAdapt(cmd.Context(), &o, root, cfg)
		},
	}
	f := cmd.Flags()
	f.BoolVar(&o.dryRun, "dry-run", false, "tune and compare, but keep nothing and remove nothing")
	f.BoolVar(&o.remove, "remove", false, "remove the adapted table, so that the built-in one is used")
	f.StringVar(&o.base, "base", "", "the table `file` to tune; default is the built-in one")
	f.Uint64Var(&o.seed, "seed", 1, "the `number` that everything random depends on")
	f.IntVar(&o.epochs, "epochs", 0, "how often each pair is seen; 0 is the default")
	f.IntVar(&o.workers, "workers", 0, "processors to use; 0 is all")
	return cmd
}

// adapted is what the command did, in JSON.
type adapted struct {
	Report adapt.Report `json:"report"`
	Mined  pairs.Report `json:"mined"`
	Wins   bool         `json:"wins"`
	Kept   string       `json:"kept,omitempty"`    // the file that will be used
	Gone   bool         `json:"removed,omitempty"` // a table kept before was removed
}

func (a *app) embedAdapt(ctx context.Context, o *embedAdaptOptions, root string, cfg config.Config) error {
	var file []string
	if o.base != "" {
		file = []string{o.base}
	}
	base, err := openTable(file)
	if err != nil {
		return err
	}
	p := a.progress()
	defer p.done()
	if err := a.mayRead(); err != nil {
		return err
	}
	tuning := adapt.Options{Seed: o.seed, Progress: p.update}
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
		Progress: func(s repository.Progress) { p.update(string(s.Stage), s.Done, s.Total) }}})
	if err != nil {
		return err
	}
	m, report, err := adapt.Run(ctx, base, set, tuning)
	if err != nil {
		return err
	}
	p.done()
	out := adapted{Report: report, Mined: mined, Wins: report.Wins()}
	if !o.dryRun {
		if err := out.keep(state, m, tuning.Train.Checkpoint); err != nil {
			return err
		}
	}
	if a.json {
		return a.printJSON(out)
	}
	a.printAdapted(&out, o.dryRun)
	return nil
}

// prepareState makes the state folder, hidden from version control as every
// command hides it, and shows before the work that it can be written to. It
// returns where the tuning leaves its checkpoint.
func prepareState(root, state string) (checkpoint string, err error) {
	marked := trust.Mark(root, state)
	if checkpoint, err = adapt.Checkpoint(state); err != nil {
		return "", err // it says more of a folder that can't be made
	}
	if marked != nil && !errors.Is(marked, ken.ErrUnavailable) {
		return "", marked
	}
	if strings.HasPrefix(state, root+string(filepath.Separator)) {
		_, err = create(filepath.Join(state, ".gitignore"), "*\n")
	}
	return checkpoint, err
}

// keep saves a table that wins, and removes what was kept before one that does
// not.
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

func (a *app) printAdapted(out *adapted, dryRun bool) {
	r := &out.Report
	fmt.Fprintf(a.out, "%d pairs from %d files and %d commits; %d to learn from, %d of %d files to ask; %d passages to search\n",
		r.Pairs, out.Mined.Files, out.Mined.Commits, r.Tuned, r.HeldOut, r.Files, r.Passages)
	if out.Mined.History != "" {
		fmt.Fprintf(a.out, "without git history: %s\n", cell(out.Mined.History))
	}
	fmt.Fprintf(a.out, "\n%-12s %5s  %-16s  %-16s\n", "", "n", "recall@10", "MRR")
	row := func(name string, n int, before, after adapt.Figures) {
		fmt.Fprintf(a.out, "%-12s %5d  %.3f -> %.3f    %.3f -> %.3f\n", name, n, before.RecallAt10, after.RecallAt10, before.MRR, after.MRR)
	}
	for _, name := range sortedKeys(r.BySource) {
		c := r.BySource[name]
		row(name, c.N, c.Before, c.After)
	}
	row("all", r.HeldOut, r.Before, r.After)
	fmt.Fprintf(a.out, "\nrecall@10 %s, MRR %s\n", difference(r.RecallAt10), difference(r.MRR))
	switch {
	case out.Kept != "":
		fmt.Fprintf(a.out, "The adapted table %s is better and is used from now on. Run ken index to embed everything with it.\n", r.Model)
	case out.Wins && dryRun:
		fmt.Fprintln(a.out, "The adapted table is better. Nothing was kept: this was a dry run.")
	case dryRun:
		fmt.Fprintln(a.out, "The adapted table is not better beyond doubt. Nothing was changed: this was a dry run.")
	case out.Gone:
		fmt.Fprintln(a.out, "The adapted table is not better beyond doubt: it was not kept, and the one from before was removed. The built-in one is used.")
	default:
		fmt.Fprintln(a.out, "The adapted table is not better beyond doubt, and was not kept. The built-in one stays in use.")
	}
}

func difference(i adapt.Interval) string {
	return fmt.Sprintf("%+.3f [%+.3f, %+.3f]", i.Mean, i.Low, i.High)
}

func (a *app) embedAdaptRemove(state string) error {
	report, err := adapt.Load(state)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		report.Model = "" // it can't be read; it goes all the same
	}
	was, err := adapt.Remove(state)
	switch {
	case err != nil:
		return err
	case a.json:
		return a.printJSON(map[string]any{"removed": was, "model": report.Model})
	case was:
		fmt.Fprintf(a.out, "removed %s; the built-in table is used. Run ken index to embed everything with it.\n", cmp.Or(report.Model, adapt.TableFile))
	default:
		fmt.Fprintln(a.out, "there is no adapted table")
	}
	return nil
}
