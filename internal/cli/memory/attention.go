package memory

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/kenlayer/ken"
	"github.com/kenlayer/ken/internal/cli"
	"github.com/kenlayer/ken/internal/knowledge/attention"
	"github.com/kenlayer/ken/internal/knowledge/operator"
	"github.com/kenlayer/ken/middleware"
	"github.com/kenlayer/ken/store"
)

func attentionIDs(ctx context.Context, l *middleware.Layer, s store.Engine) ([]string, error) {
	all, _, err := cli.Desk(l, s).Attention(ctx, false)
	return cli.Map(all, func(i *attention.Item) string { return i.ID + "\t" + i.Action }), err
}

// attentionEvents lists the reasons for which items are in the queue.
var attentionEvents = cli.Words([]attention.Event{attention.Disputed, attention.Contradicts, attention.Superseded, attention.Unsure, attention.Rejected,
	attention.Rule, attention.ForgetRequested, attention.DisputeRequested})

type attentionOptions struct {
	event    string
	all, yes bool
}

func (o *attentionOptions) check() error {
	if o.event != "" && !slices.Contains(attentionEvents, o.event) {
		return cli.Invalid("--event", fmt.Sprintf("unknown event %q", o.event), "Use one of "+strings.Join(attentionEvents, ", ")+".")
	}
	return nil
}

func (a *commands) attentionCommand() *cobra.Command {
	var o attentionOptions
	cmd := &cobra.Command{
		Use:   "attention",
		Short: "List what a person should look at, and settle it",
		Long: "List what a person should look at, warnings first: verified claims that were disputed, claims that contradict each other, " +
			"claims that a less certain one replaced, claims of little confidence that nobody has verified for a week, candidate rules, and writes that " +
			"were refused because they had no evidence. Each comes with what to do and the commands for it, the likeliest first. What is " +
			"settled disappears from the list.\n\n" +
			"On a terminal a long group shows its first items; --event lists one group whole. approve, reject and dismiss settle a whole group with --event.",
		Example: `  ken attention
  ken attention --event unsure
  ken attention approve --event unsure`,
		Args: cli.OnlySubcommands,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if err := o.check(); err != nil {
				return err
			}
			return a.ReadStore(cmd.Context(), func(l *middleware.Layer, s store.Engine) error {
				items, unread, err := cli.Desk(l, s).Attention(cmd.Context(), o.all)
				if err != nil || unread != nil && len(items) == 0 {
					return cmp.Or(err, unread)
				}
				if o.event != "" {
					items = slices.DeleteFunc(items, func(it attention.Item) bool { return string(it.Event) != o.event })
				}
				return cmp.Or(a.printAttention(items, o.event == ""), unread)
			})
		},
	}
	f := cmd.Flags()
	f.BoolVar(&o.all, "all", false, "include dismissed items")
	f.StringVar(&o.event, "event", "", "only items of this `EVENT`: "+strings.Join(attentionEvents, ", "))
	cli.CompleteWords(cmd, "event", attentionEvents...)
	cmd.AddCommand(
		a.settleCommand("dismiss", "Hide items until something about them changes",
			"Hide items of the list until something about them changes. Their claims are not changed. ",
			"  ken attention dismiss 3f2a9c117b0e\n  ken attention dismiss --event rejected --yes", "dismissed",
			func(ctx context.Context, d *operator.Desk, s store.Engine, it *attention.Item) error {
				return attention.Dismiss(ctx, s.Shelf(), it.ID)
			}),
		a.settleCommand("approve", "Vouch for unsure claims, and make candidates rules",
			"Say yes to items: a claim that is unsure is verified, a candidate rule is a rule, on the current user's word. Other items are decided one by one. ",
			"  ken attention approve 3f2a9c117b0e\n  ken attention approve --event unsure", "approved",
			func(ctx context.Context, d *operator.Desk, _ store.Engine, it *attention.Item) error {
				switch it.Event {
				case attention.Unsure:
					return d.Vouch(ctx, it.Claims[0], "")
				case attention.Rule:
					return d.Approve(ctx, it.Claims[0])
				}
				return oneByOne(it)
			}),
		a.settleCommand("reject", "Dispute unsure claims and candidate rules",
			"Say no to items: a claim that is unsure, or a candidate rule, is disputed, and no turn gets it any more. ken verify takes it back. Other items are decided one by one. ",
			"  ken attention reject 3f2a9c117b0e\n  ken attention reject --event rule", "rejected",
			func(ctx context.Context, d *operator.Desk, _ store.Engine, it *attention.Item) error {
				switch it.Event {
				case attention.Unsure:
					return d.Dispute(ctx, it.Claims[0], "rejected in ken attention")
				case attention.Rule:
					return d.Reject(ctx, it.Claims[0])
				}
				return oneByOne(it)
			}),
	)
	return cmd
}

func oneByOne(it *attention.Item) error {
	return &ken.Error{Code: ken.CodeRefused, Field: "id", Msg: "an item of the event " + string(it.Event) + " must be decided one by one",
		Try: "Use one of its commands: ken attention --event " + string(it.Event) + " lists them."}
}

type settle func(context.Context, *operator.Desk, store.Engine, *attention.Item) error

func (a *commands) settleCommand(name, short, long, example, done string, fn settle) *cobra.Command {
	var o attentionOptions
	cmd := &cobra.Command{
		Use:   name + " ID…",
		Short: short,
		Long:  long + "The beginning of an id is enough, if it is only one item's; --event stands for all items of one event.",
		Args: func(_ *cobra.Command, args []string) error {
			switch {
			case len(args) == 0 && o.event == "":
				return fmt.Errorf("%s: ID is missing", name)
			case len(args) > 0 && o.event != "":
				return fmt.Errorf("%s: an id and --event: give one of the two", name)
			}
			return nil
		},
		Example:           example,
		ValidArgsFunction: a.Complete(attentionIDs),
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := o.check(); err != nil {
				return err
			}
			return a.settle(cmd.Context(), args, &o, done, fn)
		},
	}
	f := cmd.Flags()
	f.StringVar(&o.event, "event", "", "all items of this `EVENT`, after a question")
	f.BoolVar(&o.yes, "yes", false, "don't ask")
	cli.CompleteWords(cmd, "event", attentionEvents...)
	return cmd
}

// settle settles the items selected by ids or an event name. If one fails, it continues with the
// others, unless the store can't be written at all.
func (a *commands) settle(ctx context.Context, ids []string, o *attentionOptions, done string, fn settle) error {
	return a.ReadStore(ctx, func(l *middleware.Layer, s store.Engine) error {
		desk := cli.Desk(l, s)
		items, unread, err := desk.Attention(ctx, o.event == "")
		if err := cmp.Or(err, unread); err != nil {
			return err
		}
		var chosen []attention.Item
		if o.event != "" {
			chosen = slices.DeleteFunc(items, func(it attention.Item) bool { return string(it.Event) != o.event })
			if len(chosen) > 0 && !o.yes {
				for i := range chosen {
					fmt.Fprintln(a.Err, " ", cli.Cell(chosen[i].Text))
				}
				if err := a.Confirm(ctx, cli.Count(len(chosen), "item")+" will be "+done+". Go on?", "Nothing was "+done+"."); err != nil {
					return err
				}
			}
		}
		for _, id := range ids {
			it, err := attentionItem(items, id)
			if err != nil {
				return err
			}
			chosen = append(chosen, *it)
		}
		settled := []string{}
		for i := range chosen {
			failed := fn(ctx, desk, s, &chosen[i])
			switch {
			case failed == nil:
				settled = append(settled, chosen[i].ID)
			case len(chosen) > 1:
				failed = fmt.Errorf("%s: %w", chosen[i].ID, failed)
			}
			if err = errors.Join(err, failed); ctx.Err() != nil || errors.Is(failed, ken.ErrUnavailable) {
				break // the others would fail too
			}
		}
		if a.JSON {
			return errors.Join(err, a.PrintJSON(map[string]any{done: settled}))
		}
		for _, id := range settled {
			fmt.Fprintln(a.Out, id)
		}
		return err
	})
}

// attentionItem returns the item whose id begins with id.
func attentionItem(items []attention.Item, id string) (*attention.Item, error) {
	var found []*attention.Item
	for i := range items {
		if id != "" && strings.HasPrefix(items[i].ID, strings.ToLower(id)) {
			found = append(found, &items[i])
		}
	}
	switch len(found) {
	case 0:
		return nil, &ken.Error{Code: ken.CodeNotFound, Field: "id", Msg: fmt.Sprintf("no item %q in the attention queue", id),
			Try: "List them with ken attention; an item whose claims have changed has another id."}
	case 1:
		return found[0], nil
	}
	return nil, &ken.Error{Code: ken.CodeInvalid, Field: "id", Msg: fmt.Sprintf("%q fits %d items", id, len(found)), Try: "Give more of the id."}
}

// printAttention prints the queue. With fold, a terminal shows only the first items of a long group.
func (a *commands) printAttention(items []attention.Item, fold bool) error {
	switch {
	case a.JSON:
		return a.PrintJSON(map[string]any{"attention": append([]attention.Item{}, items...)})
	case len(items) == 0:
		fmt.Fprintln(a.Err, "ken: nothing needs your attention")
		return nil
	}
	const few, first = 5, 3
	terminal := cli.IsTerminal(a.Out)
	groups := map[attention.Event][]*attention.Item{}
	var order []attention.Event
	for i := range items {
		e := items[i].Event
		if groups[e] == nil {
			order = append(order, e)
		}
		groups[e] = append(groups[e], &items[i])
	}
	var b strings.Builder
	for _, e := range order {
		group, more := groups[e], 0
		if terminal {
			fmt.Fprintf(&b, "%s\n", a.Paint(cli.Strong, fmt.Sprintf("%s (%s): %d", group[0].Action, e, len(group))))
			if fold && len(group) > few {
				group, more = group[:first], len(group)-first
			}
		}
		for _, it := range group {
			fmt.Fprintf(&b, "%s  %s  %s  %s\n  %s\n", it.ID, a.Paint(cli.Style(string(it.Severity)), fmt.Sprintf("%-7s", it.Severity)),
				it.At.UTC().Format(cli.TimeFormat), it.Action, cli.Cell(it.Text))
			for _, c := range it.Commands {
				fmt.Fprintf(&b, "  $ %s\n", cli.Cell(c))
			}
		}
		if more > 0 {
			fmt.Fprintf(&b, "  … and %d more: ken attention --event %s\n", more, e)
		}
	}
	return a.Page(b.String())
}
