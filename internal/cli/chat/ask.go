package chat

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"

	"github.com/sashabaranov/go-openai"
	"github.com/spf13/cobra"

	"github.com/kenlayer/ken"
	"github.com/kenlayer/ken/internal/cli"
	"github.com/kenlayer/ken/internal/code/codegraph"
	"github.com/kenlayer/ken/middleware"
	"github.com/kenlayer/ken/middleware/goopenai"
)

type askOptions struct {
	noIndex, noModel, all bool
	model                 string
	weight                string
}

func (a *commands) askCommand() *cobra.Command {
	var o askOptions
	cmd := &cobra.Command{
		Use:   "ask [QUESTION|-]",
		Short: "Show what an agent would be told for a question, and ask the model if there is one",
		Long: "Index the project, compose the block that an agent would get with this question, and print it with a table of " +
			"what was found, by which leg at which rank, and what was cut and why. With upstream.base_url configured, the model " +
			"is then asked with that block, and its answer is streamed.\n\n" +
			"--json prints the receipt as one object and asks no model.",
		Example: `  ken ask "how are payments retried?"
  git diff | ken ask --json -`,
		RunE: func(cmd *cobra.Command, args []string) error {
			question, err := a.ReadText(cmd.Context(), args)
			if err != nil {
				return err
			}
			return a.ask(cmd.Context(), question, o)
		},
	}
	f := cmd.Flags()
	f.BoolVar(&o.noIndex, "no-index", false, "use the existing index")
	f.BoolVar(&o.noModel, "no-model", false, "print the block and the table only")
	f.BoolVar(&o.all, "all", false, "list all items that were cut")
	f.StringVar(&o.model, "model", "", "the `MODEL` to ask; default from the configuration")
	f.StringVar(&o.weight, "weight", "", "the `DEPTH` of the search: none, low, default or high; default from the configuration")
	cli.CompleteWords(cmd, "weight", "none", "low", "default", "high")
	return cmd
}

func (a *commands) ask(ctx context.Context, question string, o askOptions) error {
	turn := ken.Turn{Owner: a.Owner}
	if o.weight != "" {
		if err := turn.Weight.UnmarshalText([]byte(o.weight)); err != nil {
			return cli.UsageError(err)
		}
	}
	if !o.noIndex {
		if err := a.ConfirmReading(ctx); err != nil {
			return err
		}
	}
	p := a.Progress()
	defer p.Done()
	// The receipt is shown as soon as it exists, while the model works.
	var l *middleware.Layer
	var u *cli.Model
	var shown error
	l, err := a.Layer(ctx, p, func(lo *middleware.Options) {
		lo.CountTokens = true
		lo.OnReceipt = func(ctx context.Context, r ken.Receipt) {
			shown = a.showReceipt(ctx, l, r, o.all)
			if u != nil {
				fmt.Fprintln(a.Out)
			}
		}
	})
	if err != nil {
		return err
	}
	if cfg := l.Config().Upstream; cfg.BaseURL != "" && !o.noModel && !a.JSON {
		u = cli.NewModel(cfg, o.model)
	}
	if !o.noIndex {
		err = a.Refresh(ctx, l, p)
	}
	if err == nil {
		err = a.askLayer(ctx, l, u, turn, question)
	}
	return errors.Join(err, shown, l.Close())
}

// askLayer assembles the question's turn, and sends it to the model if there is
// one.
func (a *commands) askLayer(ctx context.Context, l *middleware.Layer, u *cli.Model, t ken.Turn, question string) error {
	if u == nil {
		t.Messages = []ken.Message{{Role: openai.ChatMessageRoleUser, Text: question}}
		l.Assemble(ctx, t)
		return ctx.Err()
	}
	messages := []openai.ChatCompletionMessage{{Role: openai.ChatMessageRoleUser, Content: question}}
	_, err := u.Stream(ctx, goopenai.Wrap(l, u.Client, t), messages, a.Out)
	return err
}

// shownCuts is how many cut records are listed by default.
const shownCuts = 10

// showReceipt prints a receipt that the layer made: as JSON, or as the block
// followed by an explanation.
func (a *commands) showReceipt(ctx context.Context, l *middleware.Layer, r ken.Receipt, all bool) error {
	if a.JSON {
		return a.PrintJSON(r)
	}
	name := func(string) string { return "" }
	if s, release, err := l.Store(ctx, r.Owner); err == nil { // without the store, only names are missing
		defer release()
		name = func(id string) string {
			c, err := s.Get(ctx, id)
			if err != nil {
				return ""
			}
			return cmp.Or(c.Heading, c.Text)
		}
	}
	a.printReceipt(r, name, all)
	return nil
}

// printReceipt prints a receipt for people. name returns the name of a record.
func (a *commands) printReceipt(r ken.Receipt, name func(id string) string, all bool) {
	cause := ""
	if r.Cause != "" {
		cause = " (" + r.Cause + ")"
	}
	switch {
	case r.Block != "":
		fmt.Fprintln(a.Out, cli.Printable(r.Block))
	case r.Mode == ken.ModeNone && cause != "":
		fmt.Fprintf(a.Out, "No block: %s.\n", r.Cause)
		cause = ""
	default:
		fmt.Fprintf(a.Out, "No block: %s.\n", noBlock(r.Cut))
	}
	fmt.Fprintf(a.Out, "\nmode %s%s · %d characters", r.Mode, cause, r.Chars)
	if r.Tokens > 0 {
		fmt.Fprintf(a.Out, " · %d tokens", r.Tokens)
	}
	fmt.Fprintf(a.Out, " · %.1f ms\n", r.MS["total"])
	for _, d := range r.Degraded {
		if d != r.Cause {
			fmt.Fprintf(a.Out, "degraded: %s\n", d)
		}
	}
	a.printItems(r.Items)
	a.printCuts(r.Cut, name, all)
}

// noBlock returns why a turn that searched has no block.
func noBlock(cuts []ken.Cut) string {
	count := map[ken.CutReason]int{}
	for _, c := range cuts {
		if matches(&c) {
			count[c.Reason]++
		}
	}
	if len(count) == 0 {
		return "no stored knowledge matches the question"
	}
	return "what was found was left out: " + cli.Counts(count)
}

// matches reports whether a cut record was left out for another reason than a weak match.
func matches(c *ken.Cut) bool { return c.Reason != ken.CutFloor && c.Reason != ken.CutPool }

func (a *commands) printItems(items []ken.Item) {
	if len(items) == 0 {
		return
	}
	rows := cli.Map(items, func(it *ken.Item) []string {
		return []string{short(it.ID), it.Tier.String(), cli.SourceScores(it.Legs), fmt.Sprintf("%.3f", it.Fused), strconv.Itoa(it.Chars),
			cmp.Or(it.Source, it.Heading, it.Text)}
	})
	fmt.Fprintln(a.Out)
	a.printColumns([]string{"ID", "TIER", "FOUND BY", "SCORE", "CHARS", "SOURCE"}, rows)
}

func (a *commands) printCuts(cuts []ken.Cut, name func(string) string, all bool) {
	if len(cuts) == 0 {
		return
	}
	count := map[ken.CutReason]int{}
	for _, c := range cuts {
		count[c.Reason]++
	}
	fmt.Fprintf(a.Out, "\ncut: %s\n", cli.Counts(count))
	shown := cuts
	if !all && len(shown) > shownCuts {
		var match, weak []ken.Cut
		for _, c := range cuts {
			if matches(&c) {
				match = append(match, c)
			} else {
				weak = append(weak, c)
			}
		}
		shown = append(match, weak...)
		shown = shown[:shownCuts]
	}
	rows := cli.Map(shown, func(c *ken.Cut) []string {
		return []string{short(c.ID), why(*c), name(c.ID)}
	})
	a.printColumns([]string{"ID", "WHY", "WHAT"}, rows)
	if len(shown) < len(cuts) {
		fmt.Fprintf(a.Out, "… and %d more: ken ask --all lists them\n", len(cuts)-len(shown))
	}
}

func why(c ken.Cut) string {
	switch {
	case c.Detail == "":
		return string(c.Reason)
	case c.Reason == ken.CutDuplicate:
		return "duplicate of " + short(c.Detail)
	}
	return string(c.Reason) + ": " + c.Detail
}

// printColumns prints a table below the block that it explains. Unlike
// PrintTable, it always prints heads and aligns columns.
func (a *commands) printColumns(head []string, rows [][]string) {
	for _, line := range a.Columns(head, rows) {
		fmt.Fprintln(a.Out, line)
	}
}

// short returns an id for a table: its end, the name of a code symbol, or the whole of a word.
func short(id string) string {
	if _, name, ok := codegraph.Split(id); ok {
		return name[strings.LastIndexByte(name, '/')+1:]
	}
	if !strings.ContainsAny(id, "0123456789") {
		return id
	}
	return cli.Tail(id)
}
