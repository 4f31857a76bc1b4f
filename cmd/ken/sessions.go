package main

import (
	"context"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/kenlayer/ken/harvest"
	"github.com/kenlayer/ken/internal/run/session"
	"github.com/kenlayer/ken/middleware"
	"github.com/kenlayer/ken/store"
)

// minute is a time as tables show it.
const minute = "2006-01-02 15:04"

func (a *app) sessionsCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "sessions",
		Short: "List sessions, and what was learned in each",
		Long: "List sessions, the latest first, with what came of them. A session is open until nothing was said for session.idle, its " +
			"program ends it, or its process is gone; then it is harvested. Its messages are kept for some days after that: " +
			"journal_grace_days in .ken/knowledge/lifecycle.yaml.",
		Example: `  ken sessions
  ken sessions show 3f9a2c`,
		Args: onlySubcommands,
		RunE: func(cmd *cobra.Command, _ []string) error { return a.listSessions(cmd.Context()) },
	}
	cmd.AddCommand(
		&cobra.Command{
			Use:   "show ID",
			Short: "Show what came of a session",
			Long: "Show a session: when it was, why it ended, where it stopped, and every claim that came of it as it stands now. The " +
				"beginning of an id is enough, from six characters, if it is only one session's.",
			Args:              takes("ID"),
			ValidArgsFunction: a.completes(sessionIDs),
			RunE:              func(cmd *cobra.Command, args []string) error { return a.showSession(cmd.Context(), args[0]) },
		},
		&cobra.Command{
			Use:   "end ID",
			Short: "End a session now, and harvest it",
			Long: "End a session that is open, harvest it with whatever else is due, and show what came of it. A session that is over " +
				"already stays as it is.",
			Args:              takes("ID"),
			ValidArgsFunction: a.completes(sessionIDs),
			RunE:              func(cmd *cobra.Command, args []string) error { return a.endSession(cmd.Context(), args[0]) },
		},
		a.sessionsForgetCommand())
	return cmd
}

func (a *app) listSessions(ctx context.Context) error {
	return a.withStore(ctx, func(l *middleware.Layer, _ store.Engine) error {
		// With an error come the sessions that can be read.
		all, failed := l.Journal(a.owner).List(ctx)
		if failed != nil && len(all) == 0 {
			return failed
		}
		switch {
		case a.json:
			if err := a.printJSON(map[string]any{"sessions": all}); err != nil {
				return err
			}
		case len(all) == 0:
			fmt.Fprintln(a.err, "ken: there was no session yet")
		default:
			a.printSessions(all)
		}
		return failed
	})
}

func (a *app) printSessions(all []session.Info) {
	ids := make([]string, len(all))
	for i := range all {
		ids[i] = all[i].ID
	}
	if isTerminal(a.out) {
		ids = beginnings(ids)
	}
	rows := make([][]string, len(all))
	for i := range all {
		s := &all[i]
		rows[i] = []string{ids[i], s.Active.UTC().Format(minute), string(s.State), fmt.Sprint(s.Messages), s.Agent, cameOfIt(s)}
	}
	a.printTable([]string{"SESSION", "LAST (UTC)", "STATE", "MESSAGES", "AGENT", "CAME OF IT"}, rows)
}

// cameOfIt is a session's outcome in a line.
func cameOfIt(s *session.Info) string {
	if s.Outcome == nil {
		return "-"
	}
	return harvest.Describe(s.Outcome)
}

func (a *app) endSession(ctx context.Context, id string) error {
	return a.withHarvest(ctx, func(l *middleware.Layer) error {
		info, err := l.Journal(a.owner).Find(ctx, id)
		if err != nil {
			return err
		}
		if info.State != session.Open {
			fmt.Fprintf(a.err, "ken: session %s is %s already\n", cell(info.ID), info.State)
		}
		return l.End(ctx, a.owner, info.ID, session.Closed)
	})
}
