package main

import (
	"cmp"
	"context"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"github.com/kenlayer/ken"
	"github.com/kenlayer/ken/internal/knowledge/attention"
	"github.com/kenlayer/ken/middleware"
	"github.com/kenlayer/ken/store"
)

func (a *app) attentionCommand() *cobra.Command {
	var all bool
	cmd := &cobra.Command{
		Use:   "attention",
		Short: "List what a person should look at, with the commands that settle it",
		Long: "List what a person should look at, warnings first: verified claims that were disputed, claims that contradict each other, " +
			"claims that a less certain one replaced, claims of little confidence that nobody has verified for a week, and writes that " +
			"were refused because they had no evidence. Each comes with what to do and the commands for it, the likeliest first. What is " +
			"settled is gone from the list by itself.",
		Args: onlySubcommands,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return a.withStore(cmd.Context(), func(l *middleware.Layer, s store.Engine) error {
				items, unread, err := myDesk(l, s).Attention(cmd.Context(), all)
				if err != nil || unread != nil && len(items) == 0 {
					return cmp.Or(err, unread)
				}
				if err := a.printAttention(items); err != nil {
					return err
				}
				return unread
			})
		},
	}
	cmd.Flags().BoolVar(&all, "all", false, "what was dismissed, too")
	cmd.AddCommand(&cobra.Command{
		Use:   "dismiss ID",
		Short: "Hide an item until something about it changes",
		Long: "Hide an item of the list until something about it changes: it is another one then. The claims that it is about stay as they " +
			"are. The beginning of an id is enough, if it is only one item's.",
		Args:              takes("ID"),
		ValidArgsFunction: a.completes(attentionIDs),
		RunE:              func(cmd *cobra.Command, args []string) error { return a.dismiss(cmd.Context(), args[0]) },
	})
	return cmd
}

func (a *app) printAttention(items []attention.Item) error {
	switch {
	case a.json:
		if items == nil {
			items = []attention.Item{}
		}
		return a.printJSON(map[string]any{"attention": items})
	case len(items) == 0:
		fmt.Fprintln(a.err, "ken: nothing needs your attention")
	}
	for i := range items {
		it := &items[i]
		fmt.Fprintf(a.out, "%s  %-7s  %s  %s\n  %s\n", it.ID, it.Severity, it.At.UTC().Format(minute), it.Action, cell(it.Text))
		for _, c := range it.Commands {
			fmt.Fprintf(a.out, "  $ %s\n", cell(c))
		}
	}
	return nil
}

func (a *app) dismiss(ctx context.Context, id string) error {
	return a.withStore(ctx, func(l *middleware.Layer, s store.Engine) error {
		desk := myDesk(l, s)
		items, unread, err := desk.Attention(ctx, true)
		if err := cmp.Or(err, unread); err != nil {
			return err
		}
		var found []attention.Item
		for _, it := range items {
			if id != "" && strings.HasPrefix(it.ID, strings.ToLower(id)) {
				found = append(found, it)
			}
		}
		switch len(found) {
		case 0:
			return &ken.Error{Code: ken.CodeNotFound, Field: "id", Msg: fmt.Sprintf("no item %q in the attention queue", id),
				Try: "List them with ken attention; an item whose claims have changed has another id."}
		case 1:
		default:
			return &ken.Error{Code: ken.CodeInvalid, Field: "id", Msg: fmt.Sprintf("%q fits %d items", id, len(found)), Try: "Give more of the id."}
		}
		if err := desk.Dismiss(ctx, found[0].ID); err != nil {
			return err
		}
		if a.json {
			return a.printJSON(map[string]any{"dismissed": []string{found[0].ID}})
		}
		fmt.Fprintln(a.out, found[0].ID)
		return nil
	})
}
