package memory

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/kenlayer/ken"
	"github.com/kenlayer/ken/internal/cli"
	"github.com/kenlayer/ken/internal/knowledge/lifecycle"
	"github.com/kenlayer/ken/internal/knowledge/operator"
	"github.com/kenlayer/ken/middleware"
	"github.com/kenlayer/ken/store"
)

func (a *commands) forgetCommand() *cobra.Command {
	var reason string
	var yes bool
	cmd := &cobra.Command{
		Use:        "forget ID",
		SuggestFor: []string{"delete", "rm"},
		Short:      "Erase a claim and everything derived from it",
		Long: "Erase a claim, and every claim that was derived from it or says the same again: texts, evidence, vectors and index entries, " +
			"in the log and on the disk. Messages of sessions that it came from are deleted too, and an episode that mentions it is rewritten without " +
			"it. Only a note of when, by whom and why stays. It can't be undone, so it asks first.\n\n" +
			"It prints which turns received the claim, as far as receipts are stored, and which places it searched. What can't be erased at once, " +
			"as on a full disk, is erased when the store is opened next; the exit status is 1 until then. Running it again with the " +
			"same ID continues where it ended.",
		Example: `  ken forget 3f9a2c71 --reason "asked for by the customer"`,
		Args:    cli.ExactArgs("ID"),

		ValidArgsFunction: a.Complete(cli.ClaimIDs),
		RunE: func(cmd *cobra.Command, args []string) error {
			return a.forget(cmd.Context(), args[0], reason, yes)
		},
	}
	cmd.Flags().StringVar(&reason, "reason", "", "a `REASON`: why; it stays in the log, so don't repeat the erased text")
	cmd.Flags().BoolVarP(&yes, "yes", "y", false, "don't ask")
	return cmd
}

func (a *commands) forget(ctx context.Context, id, reason string, yes bool) error {
	return a.ReadStore(ctx, func(l *middleware.Layer, s store.Engine) error {
		c, err := operator.Living(ctx, s, id)
		switch {
		case errors.Is(err, ken.ErrNotFound): // an earlier call may have forgotten it and left work to do
			c.ID = id
		case err != nil:
			return err
		case !yes:
			would, err := l.Operator().WouldForget(ctx, s.Owner(), c.ID)
			if err != nil {
				return err
			}
			if err := a.ConfirmForget(ctx, &would); err != nil {
				return err
			}
		}
		// Not through a desk, because a desk does not stop at Ctrl-C. Some claims may be
		// forgotten even if an error follows, so they are printed in any case.
		gone, failed := l.Forget(ctx, s.Owner(), c.ID, reason, ken.Actor{Type: "user", ID: cli.CurrentUser()})
		return cmp.Or(failed, a.PrintForgotten(gone, failed))
	})
}

func (a *commands) verifyCommand() *cobra.Command {
	var ev evidenceFlags
	cmd := &cobra.Command{
		Use:   "verify ID",
		Short: "Vouch for a claim",
		Long: "Mark a claim as verified by a person, who is the current user unless --by names another. " +
			"The claim's tier becomes Verified, and stays so for knowledge.decay_days.",
		Example: `  ken verify 3f9a2c71 --note "read the handler and its tests"`,
		Args:    cli.ExactArgs("ID"),

		ValidArgsFunction: a.Complete(cli.ClaimIDs),
		RunE: func(cmd *cobra.Command, args []string) error {
			root, err := a.Project()
			if err != nil {
				return err
			}
			now := time.Now().UTC()
			evidence, err := ev.mechanicalEvidence(root, now)
			if err != nil {
				return err
			}
			return a.move(cmd.Context(), args[0], ev.person(), func(d *operator.Desk, id string) error {
				return d.Verify(cmd.Context(), id, ev.note, evidence...)
			})
		},
	}
	ev.add(cmd.Flags())
	return cmd
}

// move changes the status of a claim and prints the claim.
func (a *commands) move(ctx context.Context, id, by string, decide func(d *operator.Desk, id string) error) error {
	return a.ReadStore(ctx, func(l *middleware.Layer, s store.Engine) error {
		c, err := operator.Living(ctx, s, id)
		if err == nil {
			err = decide(cli.DeskOf(l, s, by), c.ID)
		}
		return a.printStored(ctx, l, s, c.ID, err)
	})
}

// printStored prints a claim as it is stored now, or returns the error of its change.
func (a *commands) printStored(ctx context.Context, l *middleware.Layer, s store.Engine, id string, err error) error {
	if err != nil {
		return err
	}
	c, err := s.Get(ctx, id)
	if err != nil {
		return err
	}
	return a.PrintClaim(l.Operator().View(c))
}

func (a *commands) disputeCommand() *cobra.Command {
	var reason, by string
	cmd := &cobra.Command{
		Use:   "dispute ID --reason TEXT",
		Short: "Mark a claim as contested",
		Long: "Mark a claim as contested. New turns and recalls no longer get it, unless recall asks for --status disputed. A conversation that " +
			"received it keeps the earlier block, and its next block says that the claim is now disputed. " +
			"ken verify settles the dispute in its favour, ken supersede against it.",
		Example: `  ken dispute 3f9a2c71 --reason "the timeout is 5 s since March"`,
		Args:    cli.ExactArgs("ID"),

		ValidArgsFunction: a.Complete(cli.ClaimIDs),
		RunE: func(cmd *cobra.Command, args []string) error {
			if reason = strings.TrimSpace(reason); reason == "" {
				return cli.Invalid("--reason", "empty: a dispute needs a reason", "Say in --reason what contradicts the claim.")
			}
			return a.move(cmd.Context(), args[0], cmp.Or(by, cli.CurrentUser()), func(d *operator.Desk, id string) error {
				return d.Dispute(cmd.Context(), id, reason)
			})
		},
	}
	cmd.Flags().StringVar(&reason, "reason", "", "a `TEXT`: what contradicts it")
	cmd.Flags().StringVar(&by, "by", "", "the `NAME` of who disputes it; default the current user")
	return cmd
}

func (a *commands) supersedeCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "supersede OLD NEW",
		Short: "Replace a claim by another",
		Long: "Mark the claim OLD as replaced by NEW. OLD stays in the log with a link to NEW, and is not recalled any more. " +
			"Doing it again changes nothing.",
		Example: `  ken supersede 3f9a2c71 b04411de`,
		Args:    cli.ExactArgs("OLD", "NEW"),

		ValidArgsFunction: a.Complete(cli.ClaimIDs, cli.ClaimIDs),
		RunE: func(cmd *cobra.Command, args []string) error {
			return a.move(cmd.Context(), args[0], cli.CurrentUser(), func(d *operator.Desk, id string) error {
				return d.Supersede(cmd.Context(), id, args[1], "")
			})
		},
	}
}

func (a *commands) knowledgeCommand() *cobra.Command {
	return cli.WithSubcommands(&cobra.Command{
		Use:   "knowledge",
		Short: "Clean up stored knowledge",
		Example: `  ken knowledge gc
  ken knowledge gc --apply`,
		Long: "Clean up stored knowledge, by the periods of .ken/knowledge/lifecycle.yaml.",
	}, a.gcCommand())
}

func (a *commands) gcCommand() *cobra.Command {
	var apply bool
	cmd := &cobra.Command{
		Use:   "gc",
		Short: "Show what is due to be archived, demoted or deleted; --apply does it",
		Long: "Show what would change and why; nothing changes without --apply. Claims that were superseded or have expired are archived, " +
			"approved patterns that no session has seen again become candidates, and what is left of gone files is forgotten, in the graph of the " +
			"code, too. Files of superseded decisions move to the folder archive beside them. Messages of harvested sessions, done jobs, old event " +
			"files, and state files that .ken/.kenignore names are deleted. A verified claim without new evidence counts as inferred, which " +
			"is only reported.\n\n" +
			".ken/knowledge/lifecycle.yaml, which ken init writes, sets the number of days. Archived claims stay in the store: ken recall " +
			"--archived finds them.",
		Example: `  ken knowledge gc
  ken knowledge gc --apply`,
		Args: cli.ExactArgs(),
		RunE: func(cmd *cobra.Command, _ []string) error { return a.gc(cmd.Context(), apply) },
	}
	cmd.Flags().BoolVar(&apply, "apply", false, "make the changes")
	return cmd
}

type gcView struct {
	lifecycle.Change
	Outcome string `json:"outcome,omitempty"` // with --apply: done, skipped or failed
	Error   string `json:"error,omitempty"`
}

func (a *commands) gc(ctx context.Context, apply bool) error {
	return a.ReadStore(ctx, func(l *middleware.Layer, s store.Engine) error {
		policy, err := lifecycle.Load(cli.LifecycleFile(l.Root()))
		if err != nil {
			return err
		}
		code, err := a.LoadCodebase(ctx, a.Progress())
		if err != nil {
			return err
		}
		defer code.Close() // what was pruned is saved
		d := lifecycle.Deps{Decisions: code.Decisions(), Graph: code, KenDir: kenDir(l), Store: s, Documents: s, Journal: l.Operator().Journal(s.Owner()), Queue: l.Operator().Jobs(s.Owner()),
			EventsDir: l.Operator().EventsDir(s.Owner())}
		policy = policy.Decay(l.Config().Knowledge.DecayDays)
		plan, err := lifecycle.Plan(ctx, d, policy)
		if err != nil {
			return err
		}
		demotes := func(c lifecycle.Change) bool { return c.Rule == lifecycle.DemotePatterns }
		desk := cli.Desk(l, s)
		memory := apply && slices.ContainsFunc(plan, demotes)
		if memory { // what was approved by hand must be neither demoted nor approved again
			if err := desk.SyncMemory(ctx); err != nil {
				return err
			}
			if plan, err = lifecycle.Plan(ctx, d, policy); err != nil {
				return err
			}
		}
		views := cli.Map(plan, func(c *lifecycle.Change) gcView { return gcView{Change: *c} })
		if apply {
			err = a.collect(ctx, s, d, plan, views)
		}
		if memory {
			err = errors.Join(err, desk.SyncMemory(context.WithoutCancel(ctx)))
		}
		return errors.Join(a.printGC(views, apply), err)
	})
}

// collect applies the changes and sets their results in views.
func (a *commands) collect(ctx context.Context, s store.Engine, d lifecycle.Deps, plan []lifecycle.Change, views []gcView) error {
	p := a.Progress()
	defer p.Done()
	r, err := lifecycle.Apply(ctx, d, plan, func(done, total int) { p.Update("gc", done, total) })
	type place struct {
		rule     lifecycle.Rule
		kind, id string
	}
	at := make(map[place]*gcView, len(views))
	for i := range views {
		at[place{views[i].Rule, views[i].Kind, views[i].ID}] = &views[i]
	}
	note := func(c *lifecycle.Change, outcome, why string) {
		v := at[place{c.Rule, c.Kind, c.ID}]
		v.Outcome, v.Error = outcome, why
	}
	for i := range r.Done {
		note(&r.Done[i], "done", "")
	}
	for i := range r.Skipped {
		note(&r.Skipped[i], "skipped", "")
	}
	for i := range r.Failed {
		note(&r.Failed[i].Change, "failed", r.Failed[i].Err.Error())
	}
	if slices.ContainsFunc(r.Done, func(c lifecycle.Change) bool { return c.Rule == lifecycle.DeleteEphemeral }) { // free pages still contain the deleted text
		if compacted := s.Compact(context.WithoutCancel(ctx)); compacted != nil {
			err = errors.Join(err, fmt.Errorf("clear the disk: %w", compacted))
		}
	}
	return err
}

// printGC prints a plan, or after --apply the changes that were made. It always prints
// rows that only report how a claim counts now.
func (a *commands) printGC(views []gcView, applied bool) error {
	if a.JSON {
		return a.PrintJSON(map[string]any{"applied": applied, "changes": views})
	}
	var rows [][]string
	due, all := 0, 0
	for i := range views {
		v := &views[i]
		if !v.Computed {
			all++
			if applied && v.Outcome != "done" {
				continue
			}
			due++
		}
		rows = append(rows, []string{string(v.Rule), v.Kind, v.What, v.From + " → " + v.To, v.Why})
	}
	if len(rows) > 0 {
		a.PrintTable([]string{"RULE", "KIND", "WHAT", "CHANGE", "WHY"}, rows)
	}
	switch {
	case applied:
		fmt.Fprintf(a.Err, "ken: %d of %d changes made\n", due, all)
	case due == 0:
		fmt.Fprintln(a.Err, "ken: nothing is due")
	default:
		fmt.Fprintf(a.Err, "ken: %d changes are due, and none was made\nTry: ken knowledge gc --apply makes them.\n", due)
	}
	return nil
}

// kenDir returns the folder whose state files may be marked ephemeral; "" if the
// project's own state is not used.
func kenDir(l *middleware.Layer) string {
	dir, cfg := filepath.Join(l.Root(), ".ken"), l.Config()
	if rel, err := filepath.Rel(dir, cfg.State(l.Root())); err != nil || !filepath.IsLocal(rel) {
		return ""
	}
	return dir
}
