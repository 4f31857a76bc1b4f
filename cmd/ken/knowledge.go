package main

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"slices"

	"github.com/spf13/cobra"

	"github.com/kenlayer/ken/config"
	"github.com/kenlayer/ken/internal/knowledge/lifecycle"
	"github.com/kenlayer/ken/middleware"
	"github.com/kenlayer/ken/store"
)

func (a *app) knowledgeCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "knowledge",
		Short: "Look after what is kept",
		Long:  "Look after what is kept, by the windows of .ken/knowledge/lifecycle.yaml.",
		Args:  onlySubcommands,
		RunE:  func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	cmd.AddCommand(a.gcCommand())
	return cmd
}

func (a *app) gcCommand() *cobra.Command {
	var apply bool
	cmd := &cobra.Command{
		Use:   "gc",
		Short: "Show what is due to be archived, demoted or deleted, and do it with --apply",
		Long: "Show what would change and why; nothing does without --apply. Claims that were superseded or have expired are archived, " +
			"approved patterns that no session has seen again become candidates, and what is left of gone files is forgotten, in the graph of the " +
			"code, too. Files of superseded decisions move to the folder archive beside them. Messages of harvested sessions, done jobs, old event " +
			"files, and state files that .ken/.kenignore names are deleted. A verified claim without new evidence counts as inferred, which " +
			"is only told.\n\n" +
			"After how many days, .ken/knowledge/lifecycle.yaml says; ken init writes it. Archived claims stay in the store: ken recall " +
			"--archived finds them.",
		Example: `  ken knowledge gc
  ken knowledge gc --apply`,
		Args: takes(),
		RunE: func(cmd *cobra.Command, _ []string) error { return a.gc(cmd.Context(), apply) },
	}
	cmd.Flags().BoolVar(&apply, "apply", false, "make the changes")
	return cmd
}

// gcView is a change, and what became of it.
type gcView struct {
	lifecycle.Change
	Outcome string `json:"outcome,omitempty"` // with --apply: done, skipped or failed
	Error   string `json:"error,omitempty"`
}

// lifecycleFile is where a project's policy is.
func lifecycleFile(root string) string {
	return filepath.Join(root, filepath.FromSlash(middleware.KnowledgeDir), lifecycle.FileName)
}

func (a *app) gc(ctx context.Context, apply bool) error {
	return a.withStore(ctx, func(l *middleware.Layer, s store.Engine) error {
		policy, err := lifecycle.Load(lifecycleFile(l.Root()))
		if err != nil {
			return err
		}
		code, err := a.loadCodebase(ctx, a.progress())
		if err != nil {
			return err
		}
		defer code.Close() // what was pruned is saved
		d := lifecycle.Deps{Decisions: code.Decisions(), Graph: code, KenDir: kenDir(l), Store: s, Documents: s, Journal: l.Journal(s.Owner()), Queue: l.Jobs(s.Owner()),
			EventsDir: config.InProject(l.Root(), l.Config().Telemetry.Events)}
		policy = policy.Decay(l.Config().Knowledge.DecayDays)
		plan, err := lifecycle.Plan(ctx, d, policy)
		if err != nil {
			return err
		}
		demotes := func(c lifecycle.Change) bool { return c.Rule == lifecycle.DemotePatterns }
		desk := myDesk(l, s)
		memory := apply && slices.ContainsFunc(plan, demotes)
		if memory { // what was approved by hand must not be demoted, nor approve again what is
			if err := desk.SyncMemory(ctx); err != nil {
				return err
			}
			if plan, err = lifecycle.Plan(ctx, d, policy); err != nil {
				return err
			}
		}
		views := make([]gcView, len(plan))
		for i := range plan {
			views[i].Change = plan[i]
		}
		if apply {
			err = a.collect(ctx, s, d, plan, views)
		}
		if memory {
			err = errors.Join(err, desk.SyncMemory(context.WithoutCancel(ctx)))
		}
		return errors.Join(a.printGC(views, apply), err)
	})
}

// collect makes the changes and says in views what became of them.
func (a *app) collect(ctx context.Context, s store.Engine, d lifecycle.Deps, plan []lifecycle.Change, views []gcView) error {
	p := a.progress()
	defer p.done()
	r, err := lifecycle.Apply(ctx, d, plan, func(done, total int) { p.update("gc", done, total) })
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
	deleted := false
	for i := range r.Done {
		note(&r.Done[i], "done", "")
		deleted = deleted || r.Done[i].Rule == lifecycle.DeleteEphemeral
	}
	for i := range r.Skipped {
		note(&r.Skipped[i], "skipped", "")
	}
	for i := range r.Failed {
		note(&r.Failed[i].Change, "failed", r.Failed[i].Err.Error())
	}
	if deleted { // the pages that held it are free, and still full of it
		if compacted := s.Compact(context.WithoutCancel(ctx)); compacted != nil {
			err = errors.Join(err, fmt.Errorf("clear the disk: %w", compacted))
		}
	}
	return err
}

// printGC shows a plan, and after --apply the part of it that was carried out. Rows
// that only say how something counts by now are in both.
func (a *app) printGC(views []gcView, applied bool) error {
	if a.json {
		return a.printJSON(map[string]any{"applied": applied, "changes": views})
	}
	var rows [][]string
	due := 0
	for i := range views {
		v := &views[i]
		if applied && v.Outcome != "done" && !v.Computed {
			continue
		}
		if !v.Computed {
			due++
		}
		rows = append(rows, []string{string(v.Rule), v.Kind, v.What, v.From + " → " + v.To, v.Why})
	}
	if len(rows) > 0 {
		a.printTable([]string{"RULE", "KIND", "WHAT", "CHANGE", "WHY"}, rows)
	}
	switch {
	case applied:
		fmt.Fprintf(a.err, "ken: %d of %d changes made\n", due, changes(views))
	case due == 0:
		fmt.Fprintln(a.err, "ken: nothing is due")
	default:
		fmt.Fprintf(a.err, "ken: %d changes are due, and none was made\nTry: ken knowledge gc --apply makes them.\n", due)
	}
	return nil
}

// changes counts what there was to do.
func changes(views []gcView) (n int) {
	for i := range views {
		if !views[i].Computed {
			n++
		}
	}
	return n
}

// kenDir is the folder whose state files may be marked ephemeral; empty while the
// project's own state is not used.
func kenDir(l *middleware.Layer) string {
	dir := filepath.Join(l.Root(), ".ken")
	cfg := l.Config()
	if rel, err := filepath.Rel(dir, cfg.State(l.Root())); err != nil || !filepath.IsLocal(rel) {
		return ""
	}
	return dir
}
