package main

import (
	"context"
	"errors"
	"fmt"

	"github.com/spf13/cobra"

	adr "github.com/kenlayer/ken/internal/code/decision"
)

func (a *app) decisionCreateCommand() *cobra.Command {
	var o draftFlags
	var replaces string
	cmd := &cobra.Command{
		Use:   "create [-]",
		Short: "Write a new decision",
		Long: "Write a new decision in the form of MADR, with the next free number, and print its id and its file. What it says comes from flags; " +
			"without --title from standard input, as Markdown with a title and sections such as Context, Decision and Consequences, or as JSON of " +
			"the form that ken decision export writes, and flags add to that. A decision that is proposed may give its context alone.",
		Example: `  ken decision create --title "Use an append-only log" --status accepted --context "State is lost." --decision "A log is the truth." --governs store/bolt
  ken decision create < draft.md
  ken decision create --title "Retry with backoff" --decision - < decision.txt`,
		Args: atMost("-"),
		RunE: func(cmd *cobra.Command, args []string) error {
			d, err := a.draft(&o, args)
			if err != nil {
				return err
			}
			if replaces != "" {
				return a.supersedeDecision(cmd.Context(), replaces, d)
			}
			return a.withDecisions(cmd.Context(), func(r *adr.Registry) error {
				made, err := r.Create(cmd.Context(), d)
				if err != nil {
					return err
				}
				return a.printChanged(r, made)
			})
		},
	}
	a.draftFlags(cmd, &o, string(adr.Proposed))
	cmd.Flags().StringVar(&replaces, "supersedes", "", "the `decision` that it supersedes; its status is accepted then unless --status says otherwise")
	a.offer(cmd, "supersedes", a.decisionIDs)
	return cmd
}

func (a *app) decisionSupersedeCommand() *cobra.Command {
	var o draftFlags
	var by string
	cmd := &cobra.Command{
		Use:   "supersede OLD [-]",
		Short: "Say that a decision is superseded by another one",
		Long: "Say in both files that one decision is superseded by another: both are written or none. Without --by, the successor is written as " +
			"ken decision create does, accepted unless --status says otherwise, from flags or from standard input.",
		Example: `  ken decision supersede ADR-0007 --by ADR-0012
  ken decision supersede 7 --title "Use a queue" --decision "NATS carries the jobs."`,
		Args: func(cmd *cobra.Command, args []string) error {
			return errors.Join(some("OLD")(cmd, args), atMost("OLD", "-")(cmd, args))
		},
		ValidArgsFunction: a.named(false, a.decisionIDs),
		RunE: func(cmd *cobra.Command, args []string) error {
			if len(args) > 1 && args[1] != "-" {
				return usagef("supersede: give the successor with --by %s", args[1])
			}
			if by == "" {
				d, err := a.draft(&o, args[1:])
				if err != nil {
					return err
				}
				return a.supersedeDecision(cmd.Context(), args[0], d)
			}
			if o.title != "" || len(args) > 1 {
				return usagef("supersede: give --by, or what the successor says")
			}
			return a.withDecisions(cmd.Context(), func(r *adr.Registry) error {
				was, now, err := r.Supersede(cmd.Context(), args[0], by)
				if err != nil {
					return err
				}
				return a.printChanged(r, was, now)
			})
		},
	}
	a.draftFlags(cmd, &o, string(adr.Accepted))
	cmd.Flags().StringVar(&by, "by", "", "the `decision` that takes its place, which is there already")
	a.offer(cmd, "by", a.decisionIDs)
	return cmd
}

func (a *app) supersedeDecision(ctx context.Context, old string, d adr.Draft) error {
	return a.withDecisions(ctx, func(r *adr.Registry) error {
		was, now, err := r.SupersedeBy(ctx, old, d)
		if err != nil {
			return err
		}
		return a.printChanged(r, was, now)
	})
}

// printChanged prints the decisions that were written.
func (a *app) printChanged(r *adr.Registry, changed ...adr.Record) error {
	if a.json {
		views := make([]decisionView, len(changed))
		for i := range changed {
			views[i] = viewOf(r, &changed[i])
		}
		return a.printJSON(map[string]any{"decisions": views})
	}
	rows := make([]decisionRow, len(changed))
	for i := range changed {
		rows[i] = rowOf(&changed[i])
	}
	a.printDecisions(rows...)
	return nil
}

// some admits one argument or more.
func some(name string) cobra.PositionalArgs {
	return func(cmd *cobra.Command, args []string) error {
		if len(args) == 0 {
			return fmt.Errorf("%s: %s is missing", cmd.Name(), name)
		}
		return nil
	}
}
