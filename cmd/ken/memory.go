package main

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/kenlayer/ken"
	"github.com/kenlayer/ken/harvest/memoryfile"
	"github.com/kenlayer/ken/middleware"
	"github.com/kenlayer/ken/store"
)

// memoryCommand groups what decides about candidates.
func (a *app) memoryCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "memory",
		Short: "Decide what is held in every turn",
		Long: "Decide what is held in every turn. Patterns that recur across sessions are candidates and reach no model until a person " +
			"approves them; hot facts and approved patterns do. MEMORY.md in .ken/knowledge shows both, and may be edited: these commands " +
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
			RunE:              func(cmd *cobra.Command, args []string) error { return a.decide(cmd.Context(), args[0], approve) },
		},
		&cobra.Command{
			Use: "reject ID", Short: "Take a claim out of every turn, and keep it from coming back",
			Long: "Take a candidate, an approved pattern or a hot fact out, and keep it from coming back when it is seen again. It stays in " +
				"the store, disputed; ken verify brings it back.",
			Args:              takes("ID"),
			ValidArgsFunction: a.completes(memoryIDs),
			RunE:              func(cmd *cobra.Command, args []string) error { return a.decide(cmd.Context(), args[0], reject) },
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
				return a.decide(cmd.Context(), args[0], rewrite(text))
			},
		})
	return cmd
}

// decision changes one claim that MEMORY.md is about, and returns the id of what
// stands then.
type decision func(ctx context.Context, s store.Engine, c *ken.Claim) (id string, err error)

func approve(ctx context.Context, s store.Engine, c *ken.Claim) (string, error) {
	if c.Status == ken.StatusObserved || c.Status == ken.StatusVerified {
		return c.ID, nil
	}
	return c.ID, memoryfile.Approve(ctx, s, c.ID, currentUser(), time.Now())
}

func reject(ctx context.Context, s store.Engine, c *ken.Claim) (string, error) {
	return c.ID, memoryfile.Reject(ctx, s, c.ID, currentUser(), time.Now())
}

// rewrite replaces the text; the same text only approves.
func rewrite(text string) decision {
	return func(ctx context.Context, s store.Engine, c *ken.Claim) (string, error) {
		switch {
		case c.Status == ken.StatusSuperseded: // before another claim is written
			return "", &ken.Error{Code: ken.CodeRefused, Field: "id", Msg: "claim " + c.ID + " was replaced by " + c.SupersededBy,
				Try: "Edit that one."}
		case text == c.Text:
			return approve(ctx, s, c)
		}
		return memoryfile.Edit(ctx, s, c, text, true, currentUser(), time.Now())
	}
}

// decide carries a decision out, with MEMORY.md read before and written after it.
func (a *app) decide(ctx context.Context, id string, do decision) error {
	return a.withStore(ctx, func(l *middleware.Layer, s store.Engine) error {
		c, err := findClaim(ctx, s, id)
		if err != nil {
			return err
		}
		if c.Kind != ken.KindPattern && c.Kind != ken.KindHot {
			return &ken.Error{Code: ken.CodeRefused, Field: "id", Msg: "claim " + c.ID + " is of kind " + string(c.Kind) + ": memory is patterns and hot facts",
				Try: "Use ken verify, ken dispute or ken supersede."}
		}
		if err := syncMemory(ctx, l, s); err != nil {
			return err
		}
		if c, err = s.Get(ctx, c.ID); err != nil {
			return err
		}
		if id, err = do(ctx, s, &c); err != nil {
			return err
		}
		if err := syncMemory(context.WithoutCancel(ctx), l, s); err != nil {
			return err
		}
		if c, err = s.Get(ctx, id); err != nil {
			return err
		}
		return a.printMoved(l.View(c))
	})
}

// syncMemory reads what people changed in MEMORY.md and brings it up to date, if it
// is this owner's.
func syncMemory(ctx context.Context, l *middleware.Layer, s store.Engine) error {
	if s.Owner() != l.Config().Knowledge.Owner {
		return nil
	}
	_, err := l.SyncMemory(ctx, currentUser())
	return err
}

// memoryClaims lists candidates, and with all what was approved, too; most
// reinforced first.
func memoryClaims(ctx context.Context, s store.Engine, all bool) ([]ken.Claim, error) {
	claims, err := memoryfile.List(ctx, s)
	if !all {
		claims = slices.DeleteFunc(claims, func(c ken.Claim) bool { return c.Status != ken.StatusHypothesis })
	}
	slices.SortFunc(claims, func(x, y ken.Claim) int { return memoryfile.MostReinforced(&x, &y) })
	return claims, err
}

func (a *app) memorySyncCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "sync",
		Short: "Read what was changed in MEMORY.md, and write it anew",
		Long: "Apply what was changed in .ken/knowledge/MEMORY.md by hand: ticked boxes, new texts, new lines. A file that can't be " +
			"understood is refused with the number of the line, and stays as it is.",
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
	}{{r.Approved, "approved"}, {r.Rejected, "rejected"}, {r.Demoted, "demoted"}, {r.Edited, "edited"}, {r.Added, "added"}} {
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
