package eval

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/spf13/cobra"

	"github.com/kenlayer/ken"
	"github.com/kenlayer/ken/config"
	"github.com/kenlayer/ken/internal/cli"
	"github.com/kenlayer/ken/internal/evals/coderecall"
	"github.com/kenlayer/ken/internal/evals/sweep"
)

type codeOptions struct {
	data, repositories string
	set                []string
	misses, fetch      bool
	atLeast            int
	htmlFile           string
}

func (a *commands) evalCodeCommand() *cobra.Command {
	var o codeOptions
	cmd := &cobra.Command{
		Use:   "code --data PATH --repositories FOLDER",
		Short: "Measure whether questions about repositories get the code that answers them",
		Long: "Index each repository, ask its questions as turns, and say for how many the block holds the answer: among the first three " +
			"items, anywhere, and as the implementing code. PATH is a file of questions or a folder of such files; docs/evals.md " +
			"describes the format. A repository's files lie in FOLDER under its name. Nothing is written to either.",
		Example: `  ken eval code --data questions --repositories ~/src
  ken eval code --data questions/gin.yaml --repositories ~/src --misses`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return a.evalCode(cmd.Context(), &o) },
	}
	f := cmd.Flags()
	f.StringVar(&o.data, "data", "", "the questions' `PATH`")
	f.StringVar(&o.repositories, "repositories", "", "the `FOLDER` of the repositories")
	f.StringArrayVar(&o.set, "set", nil, "set a configuration key, as `KEY=VALUE` (repeatable)")
	f.BoolVar(&o.fetch, "fetch", false, "fetch the repositories that FOLDER lacks, as modules or packages, with go, npm or pip; those that can't be had are left out")
	f.IntVar(&o.atLeast, "at-least", 0, "fail if the answer is in the block for less than this `PERCENT` of the questions")
	f.StringVar(&o.htmlFile, "html", "", "write a report to this `FILE`")
	f.BoolVar(&o.misses, "misses", false, "list the questions whose turn is not as it should be, with what the block holds")
	return cmd
}

func (a *commands) evalCode(ctx context.Context, o *codeOptions) error {
	switch {
	case o.data == "":
		return cli.Usagef("--data is missing: the path of the questions")
	case o.repositories == "":
		return cli.Usagef("--repositories is missing: the folder of the repositories")
	}
	if err := percent("--at-least", o.atLeast); err != nil {
		return err
	}
	if err := checkWritable(o.htmlFile); err != nil {
		return err
	}
	sets, err := coderecall.Load(o.data)
	if err != nil {
		return unreadable("the questions can't be used", err)
	}
	cfg, err := a.configured(o.set)
	if err != nil {
		return err
	}
	var reports []coderecall.Report
	p := a.Progress()
	defer p.Done()
	for i := range sets {
		s := &sets[i]
		root := filepath.Join(o.repositories, s.Repository)
		if _, err := os.Stat(root); o.fetch && errors.Is(err, fs.ErrNotExist) {
			if err := coderecall.Fetch(ctx, s.Source, root); err != nil {
				if ctx.Err() != nil {
					return err
				}
				fmt.Fprintf(a.Err, "SKIPPED: %s: %v\n", s.Repository, err)
				continue
			}
		}
		if _, err := os.Stat(root); err != nil {
			return &ken.Error{Code: ken.CodeNotFound, Field: "--repositories", Msg: "open " + s.Repository, Err: err, Try: "Put its files there, or fetch them with --fetch."}
		}
		if err := s.Check(os.DirFS(root)); err != nil {
			return unreadable("the questions don't fit the repository", fmt.Errorf("%s: %w", s.Repository, err))
		}
		report, err := coderecall.Run(ctx, s, root, cfg, p.Update)
		p.Done()
		if err != nil {
			return err
		}
		reports = append(reports, report)
	}
	if o.htmlFile != "" {
		if err := writeFile(o.htmlFile, func(w io.Writer) error { return coderecall.HTML(w, reports) }); err != nil {
			return err
		}
	}
	if err := a.printCode(reports, o.misses); err != nil {
		return err
	}
	if f := coderecall.Sum(reports); f.Questions > 0 && 100*f.InBlock < float64(o.atLeast) {
		return &ken.Error{Code: ken.CodeRefused, Msg: fmt.Sprintf("the answer is in the block for %.0f %% of the questions, less than %d %%", 100*f.InBlock, o.atLeast),
			Try: "Look at the failures with --misses."}
	}
	return nil
}

// configured returns the configuration with some keys set, each given as key=value.
func (a *commands) configured(assignments []string) (config.Config, error) {
	r, err := a.Resolve()
	if err != nil {
		return config.Config{}, err
	}
	for _, s := range assignments {
		key, value, err := assignment("--set", s)
		if err == nil {
			key, err = sweep.Resolve(key, value)
		}
		if err == nil {
			err = r.Config.Set(key, value)
		}
		if err != nil {
			return r.Config, cli.UsageError(err)
		}
	}
	return r.Config, nil
}

func (a *commands) printCode(reports []coderecall.Report, misses bool) error {
	if a.JSON {
		return a.PrintJSON(struct {
			Figures coderecall.Figures  `json:"figures"`
			Reports []coderecall.Report `json:"reports"`
		}{coderecall.Sum(reports), reports})
	}
	if misses {
		for i := range reports {
			for j := range reports[i].Answers {
				if q := &reports[i].Answers[j]; !q.Right() || q.Answerable() && (q.First > 3 || q.Marker != "" && q.CodeAt == 0) {
					fmt.Fprintf(a.Out, "%s: %s (%s)\n  answer at %d, code at %d of %d items, %d characters, %s %s\n", reports[i].Repository, q.Ask, q.Kind, q.First, q.CodeAt,
						len(q.Items), q.Chars, q.Code, q.Marker)
					for _, it := range q.Items {
						fmt.Fprintln(a.Out, "    "+it)
					}
				}
			}
		}
	}
	row := func(name string, f coderecall.Figures) []string {
		share := func(x float64, of int) string { return fmt.Sprintf("%.0f %% of %d", 100*x, of) }
		return []string{name, share(f.First3, f.Questions), share(f.InBlock, f.Questions), share(f.Code, f.Questions), share(f.Declared, f.Names),
			share(f.Silent, f.Absent), fmt.Sprint(f.Chars), fmt.Sprintf("%.0f %%", 100*f.Headers), fmt.Sprintf("%.1f", f.MS)}
	}
	var rows [][]string
	for i := range reports {
		rows = append(rows, row(reports[i].Repository, coderecall.Sum(reports[i:i+1])))
	}
	if len(reports) > 1 {
		rows = append(rows, row("all", coderecall.Sum(reports)))
	}
	a.PrintTable([]string{"REPOSITORY", "FIRST THREE", "IN THE BLOCK", "CODE", "DECLARATION", "SILENT", "CHARS", "HEADERS", "MS"}, rows)
	return nil
}
