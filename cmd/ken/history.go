package main

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"github.com/kenlayer/ken"
	"github.com/kenlayer/ken/internal/knowledge/operator"
	"github.com/kenlayer/ken/middleware"
	"github.com/kenlayer/ken/store"
)

func (a *app) historyCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "history ID",
		Short: "Show what happened to a claim",
		Long: "Show what happened to a claim, oldest first: when it was written, revised, verified, disputed or superseded, by whom " +
			"and on what evidence. Of a forgotten claim, found by its whole id, only the times are left.",
		Example: `  ken history 3f9a2c71`,
		Args:    takes("ID"),
		RunE:    func(cmd *cobra.Command, args []string) error { return a.history(cmd.Context(), args[0]) },
	}
}

func (a *app) history(ctx context.Context, id string) error {
	return a.withStore(ctx, func(_ *middleware.Layer, s store.Engine) error {
		switch c, err := operator.Living(ctx, s, id); {
		case err == nil:
			id = c.ID
		case !errors.Is(err, ken.ErrNotFound): // a forgotten claim still has events
			return err
		}
		events, err := s.History(ctx, id)
		if err != nil {
			return err
		}
		if a.json {
			return a.printJSON(struct {
				ID      string           `json:"id"`
				History []ken.ClaimEvent `json:"history"`
			}{id, events})
		}
		rows := make([][]string, len(events))
		for i, ev := range events {
			rows[i] = []string{fmt.Sprint(ev.Seq), ev.At.Format("2006-01-02 15:04:05"), string(ev.Type), eventStatus(&ev),
				ev.Actor.ID, a.eventDetail(&ev)}
		}
		a.printTable([]string{"SEQ", "AT (UTC)", "EVENT", "STATUS", "BY", "DETAIL"}, rows)
		return nil
	})
}

// eventStatus is the status that an event left the claim in.
func eventStatus(ev *ken.ClaimEvent) string {
	if ev.From != "" && ev.To != "" {
		return string(ev.From) + " → " + string(ev.To)
	}
	return string(ev.To)
}

// eventDetail is the reason of an event, the other claim, and what it rests on.
func (a *app) eventDetail(ev *ken.ClaimEvent) string {
	if ev.Erased {
		return "forgotten"
	}
	var parts []string
	if ev.Reason != "" {
		parts = append(parts, ev.Reason)
	}
	if ev.Other != "" {
		parts = append(parts, a.shortID(ev.Other))
	}
	for _, e := range ev.Evidence {
		parts = append(parts, evidenceLabel(e))
	}
	return strings.Join(parts, " · ")
}

// evidenceLabel names a piece of evidence by its kind and what it points at.
func evidenceLabel(e ken.Evidence) string {
	label := string(e.Kind)
	for _, ref := range []string{e.ID, e.Path, e.URL, e.CommitSHA, e.ToolCallID, e.ArtifactID, e.MessageID} {
		if ref != "" {
			label += " " + ref
			break
		}
	}
	if e.ExitCode != nil {
		label += fmt.Sprintf(" = %d", *e.ExitCode)
	}
	return label
}
