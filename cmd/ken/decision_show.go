package main

import (
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	adr "github.com/kenlayer/ken/internal/code/decision"
)

func (a *app) decisionShowCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "show ID",
		Short: "Show a decision whole",
		Long: "Show what a decision says: status, date, who decided, what it governs, context, options, the decision, and consequences. It is named " +
			"by its id or number, its file, or a part of its title that no other has.",
		Example: `  ken decision show 42
  ken decision show docs/adr/0042-use-a-log.md --json`,
		Args:              takes("ID"),
		ValidArgsFunction: a.named(false, a.decisionIDs),
		RunE: func(cmd *cobra.Command, args []string) error {
			return a.withDecisions(cmd.Context(), func(r *adr.Registry) error {
				d, err := r.Find(args[0])
				if err != nil {
					return err
				}
				v := viewOf(r, &d)
				if a.json {
					return a.printJSON(v)
				}
				a.printDecision(&v)
				return nil
			})
		},
	}
}

func (a *app) decisionHistoryCommand() *cobra.Command {
	return &cobra.Command{
		Use:               "history ID",
		Short:             "List what a decision superseded, and what superseded it",
		Long:              "List a decision with all that it superseded and all that superseded it, before and after that as well, the oldest first.",
		Example:           `  ken decision history ADR-0042`,
		Args:              takes("ID"),
		ValidArgsFunction: a.named(false, a.decisionIDs),
		RunE: func(cmd *cobra.Command, args []string) error {
			return a.withDecisions(cmd.Context(), func(r *adr.Registry) error {
				all, err := r.History(args[0])
				if err != nil {
					return err
				}
				rows := make([]decisionRow, len(all))
				for i := range all {
					rows[i] = rowOf(&all[i])
				}
				if a.json {
					return a.printJSON(map[string]any{"decisions": rows})
				}
				a.printDecisions(rows...)
				return nil
			})
		},
	}
}

// decisionView is a decision with all that it says.
type decisionView struct {
	decisionRow
	StatusText   string            `json:"status_text,omitempty"` // as it is written
	Deciders     []string          `json:"deciders,omitempty"`
	Consulted    []string          `json:"consulted,omitempty"`
	Informed     []string          `json:"informed,omitempty"`
	Governs      []string          `json:"governs,omitempty"` // what it lists
	Names        []string          `json:"names,omitempty"`   // what its text names: a guess at what else it governs
	Preamble     string            `json:"preamble,omitempty"`
	Context      string            `json:"context,omitempty"`
	Drivers      []string          `json:"drivers,omitempty"`
	Alternatives []alternativeView `json:"alternatives,omitempty"`
	Decision     string            `json:"decision,omitempty"`
	Consequences string            `json:"consequences,omitempty"`
	Confirmation string            `json:"confirmation,omitempty"`
	More         string            `json:"more,omitempty"`
	Supersedes   []string          `json:"supersedes,omitempty"`
	SupersededBy []string          `json:"superseded_by,omitempty"`
	Problems     []fileProblem     `json:"problems,omitempty"`
}

type alternativeView struct {
	Title  string   `json:"title"`
	Text   string   `json:"text,omitempty"`
	Pros   []string `json:"pros,omitempty"`
	Cons   []string `json:"cons,omitempty"`
	Chosen bool     `json:"chosen,omitempty"`
}

func viewOf(r *adr.Registry, d *adr.Record) decisionView {
	v := decisionView{decisionRow: rowOf(d), StatusText: d.StatusText.Text, Deciders: textsOf(d.Deciders), Consulted: textsOf(d.Consulted), Informed: textsOf(d.Informed),
		Preamble: d.Preamble.Text, Context: d.Context.Text, Drivers: textsOf(d.Drivers), Decision: d.Decision.Text, Consequences: d.Consequences.Text,
		Confirmation: d.Confirmation.Text, More: d.More.Text, Supersedes: referencesOf(d.Supersedes), SupersededBy: referencesOf(d.SupersededBy)}
	for _, t := range adr.Targets(*d) {
		if t.Exact {
			v.Governs = append(v.Governs, t.Name)
		} else {
			v.Names = append(v.Names, t.Name)
		}
	}
	for _, o := range d.Options {
		v.Alternatives = append(v.Alternatives, alternativeView{o.Title.Text, o.Text, textsOf(o.Pros), textsOf(o.Cons), o.Chosen})
	}
	for _, p := range r.Problems() {
		if p.Path == d.Path {
			v.Problems = append(v.Problems, fileProblem(p))
		}
	}
	return v
}

func referencesOf(refs []adr.Reference) (out []string) {
	for _, r := range refs {
		name := r.ID
		if name == "" {
			name = r.Text
		}
		if r.Partial {
			name += " (in part)"
		}
		out = append(out, name)
	}
	return out
}

func (a *app) printDecision(v *decisionView) {
	line := func(name string, texts ...string) {
		if text := cell(strings.Join(texts, ", ")); text != "" {
			fmt.Fprintf(a.out, "%-13s  %s\n", name, text)
		}
	}
	status := v.Status
	if v.StatusText != "" && !strings.EqualFold(v.StatusText, status) {
		status += " (\"" + fit(cell(v.StatusText), 80) + "\")"
	}
	if v.Archived {
		status += ", archived"
	}
	line("decision", v.ID)
	line("title", v.Title)
	line("status", status)
	line("date", v.Date)
	line("file", v.Path)
	line("deciders", v.Deciders...)
	line("consulted", v.Consulted...)
	line("informed", v.Informed...)
	line("tags", v.Tags...)
	line("governs", v.Governs...)
	line("names", v.Names...)
	line("supersedes", v.Supersedes...)
	line("superseded by", v.SupersededBy...)
	part := func(title, text string) {
		if text = strings.TrimRight(printable(text), "\n"); text != "" {
			fmt.Fprintf(a.out, "\n%s\n\n%s\n", title, text)
		}
	}
	part("PREAMBLE", v.Preamble)
	part("CONTEXT", v.Context)
	part("DRIVERS", dashes("- ", v.Drivers))
	var options strings.Builder
	for _, o := range v.Alternatives {
		chosen := ""
		if o.Chosen {
			chosen = " (chosen)"
		}
		why := ""
		if o.Text != "" {
			why = ": " + cell(o.Text)
		}
		options.WriteString("- " + cell(o.Title) + chosen + why + "\n" + dashes("  + ", o.Pros) + dashes("  - ", o.Cons))
	}
	part("OPTIONS", options.String())
	part("DECISION", v.Decision)
	part("CONSEQUENCES", v.Consequences)
	part("CONFIRMATION", v.Confirmation)
	part("MORE", v.More)
	for _, p := range v.Problems {
		a.tell(p.String())
	}
}

// dashes is a list with a mark before each item, a line each.
func dashes(mark string, items []string) string {
	var b strings.Builder
	for _, i := range items {
		b.WriteString(mark + cell(i) + "\n")
	}
	return b.String()
}
