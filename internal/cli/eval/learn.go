package eval

import (
	"context"
	"fmt"
	"slices"

	"github.com/spf13/cobra"

	"github.com/kenlayer/ken"
	"github.com/kenlayer/ken/internal/cli"
	"github.com/kenlayer/ken/internal/evals/learning"
)

type learnOptions struct {
	data, texts, only string
	set               []string
	misses            bool
	crowd             bool
	mostJunk          int
}

func (a *commands) evalLearnCommand() *cobra.Command {
	var o learnOptions
	cmd := &cobra.Command{
		Use:   "learn --data PATH",
		Short: "Measure what is kept of labelled sessions, and what is told of it later",
		Long: "Hold the sessions of each case in a store of its own, harvest them, judge each claim by the sentence that it came from, and " +
			"ask the questions of the day after. PATH is a file of cases or a folder of such files; docs/evals.md describes the format. " +
			"The harvest uses the model that the configuration names, if any.",
		Example: `  ken eval learn --data cases
  ken eval learn --data cases/ops.jsonl --only staging --misses`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return a.evalLearn(cmd.Context(), &o) },
	}
	f := cmd.Flags()
	f.StringVar(&o.data, "data", "", "the cases' `PATH`")
	f.StringVar(&o.texts, "texts", "", "the `FOLDER` of the data sets that cases with refs have their texts in")
	f.StringVar(&o.only, "only", "", "run the case of this `NAME`")
	f.StringArrayVar(&o.set, "set", nil, "set a configuration key, as `KEY=VALUE` (repeatable)")
	f.BoolVar(&o.misses, "misses", false, "list what is not as it should be")
	f.BoolVar(&o.crowd, "crowd", false, "write the sentences worth keeping of all other cases into each case's store first")
	f.IntVar(&o.mostJunk, "most-junk", 100, "fail if more than this `PERCENT` of the claims are junk")
	return cmd
}

func (a *commands) evalLearn(ctx context.Context, o *learnOptions) error {
	if o.data == "" {
		return cli.Usagef("--data is missing: the path of the cases")
	}
	if err := percent("--most-junk", o.mostJunk); err != nil {
		return err
	}
	cases, without, err := learning.Load(o.data, o.texts)
	if err != nil {
		return unreadable("the cases can't be used", err)
	}
	if without > 0 {
		fmt.Fprintf(a.Err, "SKIPPED: %d cases whose texts are not in %q: name their folder with --texts\n", without, o.texts)
	}
	cfg, err := a.configured(o.set)
	if err != nil {
		return err
	}
	var reports []learning.Report
	p := a.Progress()
	defer p.Done()
	for i := range cases {
		if o.only != "" && cases[i].Name != o.only {
			continue
		}
		p.Update("cases", i, len(cases))
		report, err := learning.Run(ctx, &cases[i], learning.Among(cases, i, o.crowd, cfg))
		if err != nil {
			return fmt.Errorf("case %s: %w", cases[i].Name, err)
		}
		reports = append(reports, report)
	}
	p.Update("cases", len(cases), len(cases))
	p.Done()
	if len(reports) == 0 {
		return cli.Usagef("no case is called %q", o.only)
	}
	if err := a.printLearn(reports, o.misses); err != nil {
		return err
	}
	if f := learning.Sum(reports); 100*f.Junk > float64(o.mostJunk) {
		return &ken.Error{Code: ken.CodeRefused, Msg: fmt.Sprintf("%.0f %% of the claims are junk, more than %d %%", 100*f.Junk, o.mostJunk),
			Try: "Look at the failures with --misses."}
	}
	return nil
}

func (a *commands) printLearn(reports []learning.Report, misses bool) error {
	if a.JSON {
		return a.PrintJSON(struct {
			Figures learning.Figures  `json:"figures"`
			Reports []learning.Report `json:"reports"`
		}{learning.Sum(reports), reports})
	}
	if misses {
		for i := range reports {
			a.printMisses(&reports[i])
		}
	}
	row := func(name string, f learning.Figures) []string {
		share := func(x float64, of int) string { return fmt.Sprintf("%.0f %% of %d", 100*x, of) }
		return []string{name, fmt.Sprint(f.Cases), share(f.Junk, f.Claims), share(f.Recall, f.Keep), share(f.Surfaced, f.Rules), share(f.IndirectS, f.Indirect),
			fmt.Sprintf("%d, %d of %d", f.False, f.FalseC, f.Plain), share(f.Right, f.Things), fmt.Sprintf("%s, %d false", share(f.Updated, f.Updates), f.Lost+f.Foreign), share(f.Answered, f.Asked), share(f.LaterA, f.Later)}
	}
	byLang := map[string][]learning.Report{}
	var langs []string
	for i := range reports {
		l := reports[i].Lang
		if !slices.Contains(langs, l) {
			langs = append(langs, l)
		}
		byLang[l] = append(byLang[l], reports[i])
	}
	slices.Sort(langs)
	var rows [][]string
	for _, l := range langs {
		rows = append(rows, row(l, learning.Sum(byLang[l])))
	}
	if len(langs) > 1 {
		rows = append(rows, row("all", learning.Sum(reports)))
	}
	a.PrintTable([]string{"LANGUAGE", "CASES", "JUNK", "KEPT", "RULES", "INDIRECT", "FALSE RULES", "RIGHT THING", "UPDATES", "NEXT DAY", "LATER"}, rows)
	return nil
}

func (a *commands) printMisses(r *learning.Report) {
	fmt.Fprintf(a.Out, "%s (%s)\n", r.Case, r.Lang)
	for i := range r.Claims {
		switch k := &r.Claims[i]; {
		case k.Verdict == learning.Bad || k.Verdict == learning.Half || k.Verdict == learning.Unsaid:
			fmt.Fprintf(a.Out, "  %s: %s (%s)\n", k.Verdict, k.Text, k.Why)
		case k.Reads == "" && (k.Rule != "" || k.Candidate):
			fmt.Fprintf(a.Out, "  false rule: %s\n", k.Text)
		}
	}
	for _, m := range r.Missed {
		fmt.Fprintf(a.Out, "  missed: %s\n", m)
	}
	for _, l := range r.Lost {
		fmt.Fprintf(a.Out, "  replaced, and still so: %s\n", l)
	}
	for _, l := range r.Foreign {
		fmt.Fprintf(a.Out, "  replaced by another case: %s\n", l)
	}
	for i := range r.Answers {
		if q := &r.Answers[i]; !q.Right {
			fmt.Fprintf(a.Out, "  %s: %s (%s)\n", q.Kind, q.Question, q.Why)
		}
	}
}
