package main

import (
	"fmt"
	"io"
	"strings"

	"github.com/spf13/cobra"

	"github.com/kenlayer/ken"
	adr "github.com/kenlayer/ken/internal/code/decision"
)

// draftFlags are what a new decision says.
type draftFlags struct {
	title, status, date, folder                          string
	context, decision, consequences, confirmation, more  string
	deciders, consulted, informed, tags, governs, drives []string
	alternatives                                         []string
	chosen                                               string
}

func (a *app) draftFlags(cmd *cobra.Command, o *draftFlags, status string) {
	f := cmd.Flags()
	f.StringVar(&o.title, "title", "", "what is decided, in a few `words`; its number is given")
	f.StringVar(&o.status, "status", "", "its `status`: "+strings.Join(decisionStatuses(false), ", ")+"; default "+status)
	f.StringVar(&o.context, "context", "", "why there is something to decide, a `text`; - is standard input, here and below")
	f.StringVar(&o.decision, "decision", "", "what is decided, a `text`")
	f.StringVar(&o.consequences, "consequences", "", "what comes of it, a `text`")
	f.StringVar(&o.confirmation, "confirmation", "", "how it is checked that the decision is kept, a `text`")
	f.StringVar(&o.more, "more", "", "what else there is to say, a `text`")
	f.StringArrayVar(&o.alternatives, "alternative", nil, "what was considered and not chosen, as `title: why` or a title alone (repeatable)")
	f.StringVar(&o.chosen, "chosen", "", "what was chosen, as `title: why` or a title alone")
	f.StringArrayVar(&o.drives, "driver", nil, "what the decision hangs on, a `text` of one line (repeatable)")
	f.StringArrayVar(&o.governs, "governs", nil, "what it holds for: a `path`, a glob such as store/**, or a symbol (repeatable)")
	f.StringArrayVar(&o.tags, "tag", nil, "a `tag` (repeatable)")
	f.StringArrayVar(&o.deciders, "decider", nil, "`who` decided (repeatable)")
	f.StringArrayVar(&o.consulted, "consulted", nil, "`who` was asked (repeatable)")
	f.StringArrayVar(&o.informed, "informed", nil, "`who` was told (repeatable)")
	f.StringVar(&o.date, "date", "", "the `day` of the decision, as YYYY-MM-DD; default today")
	f.StringVar(&o.folder, "folder", "", "the `folder` for its file, one of those for decisions; default where most of them are")
	a.offer(cmd, "status", fixed(decisionStatuses(false)...))
}

// draft is the decision that flags describe, or without --title standard input, which
// flags then change.
func (a *app) draft(o *draftFlags, args []string) (d adr.Draft, err error) {
	in := false
	if o.title == "" || len(args) > 0 {
		if d, err = a.draftFromInput(args); err != nil {
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
			return d, usagef("-: standard input is read once")
		case *t.from == "-":
			if *t.to, err = a.text([]string{"-"}); err != nil {
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
		return d, usage{&ken.Error{Code: ken.CodeInvalid, Field: "title", Msg: "the text on standard input has no title",
			Try: "Start it with a heading such as # Use an append-only log, or give --title."}}
	}
	return d, nil
}

// alternative reads "title: why".
func alternative(s string, chosen bool) adr.Alternative {
	title, text, _ := strings.Cut(s, ": ")
	return adr.Alternative{Title: strings.TrimSpace(title), Text: strings.TrimSpace(text), Chosen: chosen}
}

// maxInput bounds a decision on standard input, in bytes.
const maxInput = 1 << 20

// draftFromInput reads a decision from standard input: Markdown as in a file, or JSON as
// ken decision export writes it.
func (a *app) draftFromInput(args []string) (adr.Draft, error) {
	if len(args) > 0 && args[0] != "-" {
		return adr.Draft{}, usagef("%q: give what is decided with --title", args[0])
	}
	if len(args) == 0 && isTerminal(a.in) {
		return adr.Draft{}, usagef("say what is decided with --title, or write Markdown or JSON to standard input")
	}
	src, err := io.ReadAll(io.LimitReader(a.in, maxInput+1))
	switch {
	case err != nil:
		return adr.Draft{}, fmt.Errorf("read standard input: %w", err)
	case len(src) > maxInput:
		return adr.Draft{}, usagef("standard input has more than %d bytes", maxInput)
	case strings.TrimSpace(string(src)) == "":
		return adr.Draft{}, usagef("standard input is empty: say what is decided with --title, or write Markdown or JSON to it")
	case strings.HasPrefix(strings.TrimSpace(string(src)), "{"):
		return draftFromJSON(src)
	}
	r, problems := adr.Parse("-.md", src)
	for _, p := range problems {
		a.tell(fileProblem{Path: "standard input", Line: p.Line, Text: p.Text}.String())
	}
	return draftOf(&r), nil
}

func draftFromJSON(src []byte) (adr.Draft, error) {
	x, err := adr.ParseExchange(src)
	if err != nil {
		return adr.Draft{}, badUsage(err)
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

// draftOf is what a text in Markdown says, for a record of its own.
func draftOf(r *adr.Record) adr.Draft {
	d := adr.Draft{Title: r.Title.Text, Status: r.Status, Date: r.Date, Context: joinTexts(r.Preamble.Text, r.Context.Text), Decision: r.Decision.Text,
		Consequences: r.Consequences.Text, Confirmation: r.Confirmation.Text, More: r.More.Text, Deciders: textsOf(r.Deciders), Consulted: textsOf(r.Consulted),
		Informed: textsOf(r.Informed), Tags: textsOf(r.Tags), Governs: textsOf(r.Governs), Drivers: textsOf(r.Drivers)}
	for _, o := range r.Options {
		d.Options = append(d.Options, adr.Alternative{Title: o.Title.Text, Text: o.Text, Pros: textsOf(o.Pros), Cons: textsOf(o.Cons), Chosen: o.Chosen})
	}
	return d
}

func joinTexts(parts ...string) string {
	var out []string
	for _, p := range parts {
		if p != "" {
			out = append(out, p)
		}
	}
	return strings.Join(out, "\n\n")
}
