package planning

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/kenlayer/ken/internal/cli"
	adr "github.com/kenlayer/ken/internal/code/decision"
)

func (a *commands) decisionCreateCommand() *cobra.Command {
	var o draftFlags
	var replaces string
	cmd := &cobra.Command{
		Use:   "create [-]",
		Short: "Write a new decision",
		Long: "Write a new decision in the form of MADR, with the next free number, and print its id and its file. What it says comes from flags; " +
			"without --title from standard input, as Markdown with a title and sections such as Context, Decision and Consequences, or as JSON of " +
			"the form that ken decision export writes, and flags add to that. A decision that is proposed may give its context alone.",
		Example: `  ken decision create --title "Use an append-only log" --status accepted \
    --context "State is lost." --decision "A log is the truth." \
    --governs store/bolt
  ken decision create < draft.md
  ken decision create --title "Retry with backoff" --decision - < decision.txt`,
		Args: cli.MaxArgs("-"),
		RunE: func(cmd *cobra.Command, args []string) error {
			d, err := a.draft(cmd.Context(), &o, args)
			if err != nil {
				return err
			}
			if replaces != "" {
				return a.supersedeDecision(cmd.Context(), replaces, d)
			}
			return a.withDecisions(cmd.Context(), func(r *adr.Registry) error {
				made, err := r.Create(cmd.Context(), d)
				return a.changed(r, err, made)
			})
		},
	}
	a.draftFlags(cmd, &o, string(adr.Proposed))
	cmd.Flags().StringVar(&replaces, "supersedes", "", "the `DECISION` that it supersedes; its status is accepted then unless --status says otherwise")
	a.completeFlagWith(cmd, "supersedes", a.decisionIDs)
	return cmd
}

func (a *commands) decisionSupersedeCommand() *cobra.Command {
	var o draftFlags
	var by string
	cmd := &cobra.Command{
		Use:   "supersede OLD [-]",
		Short: "Say that a decision is superseded by another one",
		Long: "Say in both files that one decision is superseded by another: both are written or none. Without --by, the successor is written as " +
			"ken decision create does, accepted unless --status says otherwise, from flags or from standard input.",
		Example: `  ken decision supersede ADR-0007 --by ADR-0012
  ken decision supersede 7 --title "Use a queue" \
    --decision "NATS carries the jobs."`,
		Args: func(cmd *cobra.Command, args []string) error {
			return errors.Join(cli.AtLeastOne("supersede: OLD is missing")(cmd, args), cli.MaxArgs("OLD", "-")(cmd, args))
		},
		ValidArgsFunction: a.completeNames(false, a.decisionIDs),
		RunE: func(cmd *cobra.Command, args []string) error {
			if len(args) > 1 && args[1] != "-" {
				return cli.Usagef("supersede: give the successor with --by %s", args[1])
			}
			if by == "" {
				d, err := a.draft(cmd.Context(), &o, args[1:])
				if err != nil {
					return err
				}
				return a.supersedeDecision(cmd.Context(), args[0], d)
			}
			if o.title != "" || len(args) > 1 {
				return cli.Usagef("supersede: give --by, or what the successor says")
			}
			return a.withDecisions(cmd.Context(), func(r *adr.Registry) error {
				was, now, err := r.Supersede(cmd.Context(), args[0], by)
				return a.changed(r, err, was, now)
			})
		},
	}
	a.draftFlags(cmd, &o, string(adr.Accepted))
	cmd.Flags().StringVar(&by, "by", "", "the `DECISION` that takes its place, which is there already")
	a.completeFlagWith(cmd, "by", a.decisionIDs)
	return cmd
}

func (a *commands) supersedeDecision(ctx context.Context, old string, d adr.Draft) error {
	return a.withDecisions(ctx, func(r *adr.Registry) error {
		was, now, err := r.SupersedeBy(ctx, old, d)
		return a.changed(r, err, was, now)
	})
}

// changed prints the decisions that were written, or returns the error.
func (a *commands) changed(r *adr.Registry, err error, written ...adr.Record) error {
	if err != nil {
		return err
	}
	return a.printChanged(r, written...)
}

func (a *commands) printChanged(r *adr.Registry, changed ...adr.Record) error {
	views := cli.Map(changed, func(d *adr.Record) decisionView { return viewOf(r, d) })
	return a.Show(map[string]any{"decisions": views}, func() { a.printDecisions(cli.Map(changed, rowOf)) })
}

type draftFlags struct {
	title, status, date, folder                          string
	context, decision, consequences, confirmation, more  string
	deciders, consulted, informed, tags, governs, drives []string
	alternatives                                         []string
	chosen                                               string
}

func (a *commands) draftFlags(cmd *cobra.Command, o *draftFlags, status string) {
	f := cmd.Flags()
	f.StringVar(&o.title, "title", "", "what is decided, in a `TEXT` of a few words; its number is given")
	f.StringVar(&o.status, "status", "", "its `STATUS`: "+strings.Join(decisionStatuses(false), ", ")+"; default "+status)
	f.StringVar(&o.context, "context", "", "why there is something to decide, a `TEXT`; - is standard input, here and below")
	f.StringVar(&o.decision, "decision", "", "what is decided, a `TEXT`")
	f.StringVar(&o.consequences, "consequences", "", "what comes of it, a `TEXT`")
	f.StringVar(&o.confirmation, "confirmation", "", "how it is checked that the decision is kept, a `TEXT`")
	f.StringVar(&o.more, "more", "", "what else there is to say, a `TEXT`")
	f.StringArrayVar(&o.alternatives, "alternative", nil, "what was considered and not chosen, as `TITLE:WHY` or a title alone (repeatable)")
	f.StringVar(&o.chosen, "chosen", "", "what was chosen, as `TITLE:WHY` or a title alone")
	f.StringArrayVar(&o.drives, "driver", nil, "what the decision hangs on, a `TEXT` of one line (repeatable)")
	f.StringArrayVar(&o.governs, "governs", nil, "what it holds for: a `PATH`, a glob such as store/**, or a symbol (repeatable)")
	f.StringArrayVar(&o.tags, "tag", nil, "a `TAG` (repeatable)")
	f.StringArrayVar(&o.deciders, "decider", nil, "a `NAME`: who decided (repeatable)")
	f.StringArrayVar(&o.consulted, "consulted", nil, "a `NAME`: who was asked (repeatable)")
	f.StringArrayVar(&o.informed, "informed", nil, "a `NAME`: who was told (repeatable)")
	f.StringVar(&o.date, "date", "", "the `DATE` of the decision, as YYYY-MM-DD; default today")
	f.StringVar(&o.folder, "folder", "", "the `FOLDER` for its file, one of those for decisions; default where most of them are")
	a.completeFlagWith(cmd, "status", fixed(decisionStatuses(false)...))
}

// draft returns the decision from the flags. Without --title it reads standard input and
// applies the flags to that.
func (a *commands) draft(ctx context.Context, o *draftFlags, args []string) (d adr.Draft, err error) {
	in := false
	if o.title == "" || len(args) > 0 {
		if d, err = a.draftFromInput(ctx, args); err != nil {
			return d, err
		}
		in = true
	}
	for _, t := range []struct{ from, to *string }{{&o.title, &d.Title}, {&o.folder, &d.Folder}, {&o.context, &d.Context}, {&o.decision, &d.Decision},
		{&o.consequences, &d.Consequences}, {&o.confirmation, &d.Confirmation}, {&o.more, &d.More}} {
		switch {
		case *t.from == "":
			continue
		case *t.from == "-" && in:
			return d, cli.Usagef("-: standard input is read once")
		case *t.from == "-":
			if *t.to, err = a.ReadText(ctx, []string{"-"}); err != nil {
				return d, err
			}
			in = true
			continue
		}
		*t.to = *t.from
	}
	for _, l := range []struct{ from, to *[]string }{{&o.deciders, &d.Deciders}, {&o.consulted, &d.Consulted}, {&o.informed, &d.Informed}, {&o.tags, &d.Tags},
		{&o.governs, &d.Governs}, {&o.drives, &d.Drivers}} {
		*l.to = append(*l.to, *l.from...)
	}
	for _, s := range o.alternatives {
		d.Options = append(d.Options, alternative(s, false))
	}
	if o.chosen != "" {
		d.Options = append(d.Options, alternative(o.chosen, true))
	}
	if o.status != "" {
		if d.Status, err = decisionStatus(o.status, false); err != nil {
			return d, err
		}
	}
	if o.date != "" {
		if d.Date, err = dayFlag("--date", o.date); err != nil {
			return d, err
		}
	}
	if strings.TrimSpace(d.Title) == "" {
		return d, cli.Invalid("title", "the text on standard input has no title", "Start it with a heading such as # Use an append-only log, or give --title.")
	}
	return d, nil
}

func alternative(s string, chosen bool) adr.Alternative {
	title, text, _ := strings.Cut(s, ": ")
	return adr.Alternative{Title: strings.TrimSpace(title), Text: strings.TrimSpace(text), Chosen: chosen}
}

// maxInput limits a decision on standard input, in bytes.
const maxInput = 1 << 20

// draftFromInput reads a decision from standard input: Markdown as in a file, or JSON as
// ken decision export writes it.
func (a *commands) draftFromInput(ctx context.Context, args []string) (adr.Draft, error) {
	if len(args) > 0 && args[0] != "-" {
		return adr.Draft{}, cli.Usagef("%q: give what is decided with --title", args[0])
	}
	if len(args) == 0 && cli.IsTerminal(a.In) {
		return adr.Draft{}, cli.Usagef("say what is decided with --title, or write Markdown or JSON to standard input")
	}
	src, err := io.ReadAll(io.LimitReader(a.Input(ctx), maxInput+1))
	switch {
	case err != nil:
		return adr.Draft{}, fmt.Errorf("read standard input: %w", err)
	case len(src) > maxInput:
		return adr.Draft{}, cli.Usagef("standard input has more than %d bytes", maxInput)
	case strings.TrimSpace(string(src)) == "":
		return adr.Draft{}, cli.Usagef("standard input is empty: say what is decided with --title, or write Markdown or JSON to it")
	case strings.HasPrefix(strings.TrimSpace(string(src)), "{"):
		return draftFromJSON(src)
	}
	r, problems := adr.Parse("-.md", src)
	for _, p := range problems {
		a.Note(fileProblem{Path: "standard input", Line: p.Line, Text: p.Text}.String())
	}
	return draftOf(&r), nil
}

func draftFromJSON(src []byte) (adr.Draft, error) {
	x, err := adr.ParseExchange(src)
	if err != nil {
		return adr.Draft{}, cli.AsUsageError(err)
	}
	d := adr.Draft{Title: x.Title, Context: x.Context, Decision: x.Decision, Consequences: x.Consequences, Deciders: x.Deciders, Tags: x.Tags,
		Governs: x.Governs, Options: x.Alternatives}
	if x.Status != "" {
		if d.Status, err = decisionStatus(x.Status, false); err != nil {
			return d, err
		}
	}
	d.Date, err = dayFlag("date", x.Date)
	return d, err
}

// draftOf returns the content of a parsed Markdown text as a draft for a new record.
func draftOf(r *adr.Record) adr.Draft {
	d := adr.Draft{Title: r.Title.Text, Status: r.Status, Date: r.Date, Context: strings.Join(slices.DeleteFunc([]string{r.Preamble.Text, r.Context.Text}, func(s string) bool { return s == "" }), "\n\n"), Decision: r.Decision.Text,
		Consequences: r.Consequences.Text, Confirmation: r.Confirmation.Text, More: r.More.Text, Deciders: textsOf(r.Deciders), Consulted: textsOf(r.Consulted),
		Informed: textsOf(r.Informed), Tags: textsOf(r.Tags), Governs: textsOf(r.Governs), Drivers: textsOf(r.Drivers)}
	for _, o := range r.Options {
		d.Options = append(d.Options, adr.Alternative{Title: o.Title.Text, Text: o.Text, Pros: textsOf(o.Pros), Cons: textsOf(o.Cons), Chosen: o.Chosen})
	}
	return d
}

func (a *commands) decisionShowCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "show ID",
		Short: "Show all of a decision",
		Long: "Show what a decision says: status, date, who decided, what it governs, context, options, the decision, and consequences. It is named " +
			"by its id or number, its file, or a part of its title that no other has.",
		Example: `  ken decision show 42
  ken decision show docs/adr/0042-use-a-log.md --json`,
		Args:              cli.ExactArgs("ID"),
		ValidArgsFunction: a.completeNames(false, a.decisionIDs),
		RunE: func(cmd *cobra.Command, args []string) error {
			return a.withDecisions(cmd.Context(), func(r *adr.Registry) error {
				d, err := r.Find(args[0])
				if err != nil {
					return err
				}
				v := viewOf(r, &d)
				return a.Show(v, func() { a.printDecision(&v) })
			})
		},
	}
}

func (a *commands) decisionHistoryCommand() *cobra.Command {
	return &cobra.Command{
		Use:               "history ID",
		Short:             "List what a decision superseded, and what superseded it",
		Long:              "List a decision with all that it superseded and all that superseded it, before and after that as well, the oldest first.",
		Example:           `  ken decision history ADR-0042`,
		Args:              cli.ExactArgs("ID"),
		ValidArgsFunction: a.completeNames(false, a.decisionIDs),
		RunE: func(cmd *cobra.Command, args []string) error {
			return a.withDecisions(cmd.Context(), func(r *adr.Registry) error {
				all, err := r.History(args[0])
				if err != nil {
					return err
				}
				rows := cli.Map(all, rowOf)
				return a.Show(map[string]any{"decisions": rows}, func() { a.printDecisions(rows) })
			})
		},
	}
}

type decisionView struct {
	decisionRow
	StatusText   string            `json:"status_text,omitempty"` // as written in the file
	Deciders     []string          `json:"deciders,omitempty"`
	Consulted    []string          `json:"consulted,omitempty"`
	Informed     []string          `json:"informed,omitempty"`
	Governs      []string          `json:"governs,omitempty"` // the files that it lists
	Names        []string          `json:"names,omitempty"`   // the files that its text names, which it may govern too
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
		name := cmp.Or(r.ID, r.Text)
		if r.Partial {
			name += " (in part)"
		}
		out = append(out, name)
	}
	return out
}

func (a *commands) printDecision(v *decisionView) {
	status := v.Status
	if v.StatusText != "" && !strings.EqualFold(v.StatusText, status) {
		status += " (\"" + cli.Truncate(cli.Cell(v.StatusText), 80) + "\")"
	}
	if v.Archived {
		status += ", archived"
	}
	list := func(texts []string) string { return strings.Join(texts, ", ") }
	a.PrintFields(13, "decision", v.ID, "title", v.Title, "status", status, "date", v.Date, "file", v.Path,
		"deciders", list(v.Deciders), "consulted", list(v.Consulted), "informed", list(v.Informed), "tags", list(v.Tags),
		"governs", list(v.Governs), "names", list(v.Names), "supersedes", list(v.Supersedes), "superseded by", list(v.SupersededBy))
	part := func(title, text string) {
		if text = strings.TrimRight(cli.Printable(text), "\n"); text != "" {
			fmt.Fprintf(a.Out, "\n%s\n\n%s\n", title, text)
		}
	}
	part("PREAMBLE", v.Preamble)
	part("CONTEXT", v.Context)
	part("DRIVERS", bulletList("- ", v.Drivers))
	var options strings.Builder
	for _, o := range v.Alternatives {
		what := cli.Cell(o.Title)
		if o.Chosen {
			what += " (chosen)"
		}
		if o.Text != "" {
			what += ": " + cli.Cell(o.Text)
		}
		options.WriteString("- " + what + "\n" + bulletList("  + ", o.Pros) + bulletList("  - ", o.Cons))
	}
	part("OPTIONS", options.String())
	part("DECISION", v.Decision)
	part("CONSEQUENCES", v.Consequences)
	part("CONFIRMATION", v.Confirmation)
	part("MORE", v.More)
	for _, p := range v.Problems {
		a.Note(p.String())
	}
}

func bulletList(mark string, items []string) string {
	var b strings.Builder
	for _, i := range items {
		b.WriteString(mark + cli.Cell(i) + "\n")
	}
	return b.String()
}
