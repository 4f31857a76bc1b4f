package main

import (
	"cmp"
	"context"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"github.com/kenlayer/ken"
	"github.com/kenlayer/ken/internal/harvest/memoryfile"
	"github.com/kenlayer/ken/internal/knowledge/operator"
	"github.com/kenlayer/ken/middleware"
	"github.com/kenlayer/ken/store"
)

// memoryCommand groups what decides about candidates.
func (a *app) memoryCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "memory",
		Short: "Decide what is held in every turn",
		Long: "Decide what is held in every turn. Patterns that recur across sessions are candidates and reach no model until a person " +
			"approves them; hot facts and approved patterns do. What somebody said in a session as a rule is a candidate rule: turns get it as " +
			"that, where it bears on them, until a person makes it a constraint. MEMORY.md in .ken/knowledge shows patterns and hot facts, and may be edited: these commands " +
			"read what was changed in it first, and stop when they can't understand it.",
		Args: onlySubcommands,
		RunE: func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	cmd.AddCommand(a.memoryReviewCommand(), a.memorySyncCommand(),
		&cobra.Command{
			Use: "approve ID", Short: "Make a candidate part of every turn",
			Long:              "Make a candidate part of every turn, on the current user's word. One that was approved before stays so.",
			Args:              takes("ID"),
			ValidArgsFunction: a.completes(memoryIDs),
			RunE: func(cmd *cobra.Command, args []string) error {
				return a.decide(cmd.Context(), operator.Verdict{ID: args[0], Decision: operator.Approve})
			},
		},
		&cobra.Command{
			Use: "reject ID", Short: "Take a claim out of every turn, and keep it from coming back",
			Long: "Take a candidate, an approved pattern or a hot fact out, and keep it from coming back when it is seen again. It stays in " +
				"the store, disputed; ken verify brings it back.",
			Args:              takes("ID"),
			ValidArgsFunction: a.completes(memoryIDs),
			RunE: func(cmd *cobra.Command, args []string) error {
				return a.decide(cmd.Context(), operator.Verdict{ID: args[0], Decision: operator.Reject})
			},
		},
		&cobra.Command{
			Use: "edit ID [TEXT|-]", Short: "Replace a claim's text, and approve it",
			Long: "Replace the text of a candidate, an approved pattern or a hot fact by one of your own, and make that part of every turn. " +
				"The old claim is superseded by the new one, whose id is printed.",
			Example: `  ken memory edit 3f9a2c71 "Run go test ./... with -count=1"`,
			Args: func(_ *cobra.Command, args []string) error {
				if len(args) == 0 {
					return fmt.Errorf("edit: ID is missing")
				}
				return nil
			},
			ValidArgsFunction: a.completes(memoryIDs),
			RunE: func(cmd *cobra.Command, args []string) error {
				text, err := a.text(args[1:])
				if err != nil {
					return err
				}
				return a.decide(cmd.Context(), operator.Verdict{ID: args[0], Decision: operator.Rewrite, Text: text})
			},
		})
	return cmd
}

// decide carries a verdict out and prints the claim that it left.
func (a *app) decide(ctx context.Context, v operator.Verdict) error {
	return a.withStore(ctx, func(l *middleware.Layer, s store.Engine) error {
		c, err := operator.Living(ctx, s, v.ID)
		if err != nil {
			return err
		}
		if !operator.Reviewed(&c) {
			return &ken.Error{Code: ken.CodeRefused, Field: "id", Msg: "claim " + c.ID + " is of kind " + string(c.Kind) + ": memory is patterns, hot facts and candidate rules",
				Try: "Use ken verify, ken dispute or ken supersede."}
		}
		out, err := myDesk(l, s).Review(ctx, []operator.Verdict{v})
		if err := cmp.Or(out[0].Err, err); err != nil {
			return err
		}
		if c, err = s.Get(ctx, out[0].ID); err != nil {
			return err
		}
		return a.printMoved(l.View(c))
	})
}

func (a *app) memorySyncCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "sync",
		Short: "Read what was changed in MEMORY.md, and write it anew",
		Long: "Apply what was changed in .ken/knowledge/MEMORY.md by hand: ticked boxes, new texts, new lines. A file that can't be " +
			"understood is refused with the number of the line, and stays as it is.\n\n" +
			"A line counts as your word if Ken knew the file before, and neither git's last commit nor its index has the line. Every other new line " +
			"becomes a candidate, for ken memory review; what others commit approves, changes and rejects nothing.",
		Args: takes(),
		RunE: func(cmd *cobra.Command, _ []string) error {
			return a.withStore(cmd.Context(), func(l *middleware.Layer, s store.Engine) error {
				if owner := l.Config().Knowledge.Owner; s.Owner() != owner {
					return usage{&ken.Error{Code: ken.CodeInvalid, Field: "--owner", Msg: memoryfile.Name + " is of owner " + owner + ", who is configured",
						Try: "Leave --owner away; ken memory review --owner decides for others."}}
				}
				r, err := l.SyncMemory(cmd.Context(), currentUser())
				switch {
				case err != nil:
					return err
				case a.json:
					return a.printJSON(r)
				}
				fmt.Fprintln(a.out, syncedMemory(&r))
				return nil
			})
		},
	}
}

// syncedMemory says in a line what became of the edits of MEMORY.md.
func syncedMemory(r *memoryfile.Report) string {
	var parts []string
	for _, p := range []struct {
		n    int
		what string
	}{{r.Approved, "approved"}, {r.Rejected, "rejected"}, {r.Demoted, "demoted"}, {r.Edited, "edited"}, {r.Added, "added"}, {r.Proposed, "proposed by others"}} {
		if p.n > 0 {
			parts = append(parts, fmt.Sprintf("%d %s", p.n, p.what))
		}
	}
	switch {
	case len(parts) > 0:
		return strings.Join(parts, ", ")
	case r.Written:
		return "written; nothing was changed by hand"
	}
	return "nothing was changed"
}
