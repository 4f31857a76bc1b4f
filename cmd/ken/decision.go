package main

import (
	"context"
	"errors"
	"strings"

	"github.com/spf13/cobra"

	adr "github.com/kenlayer/ken/internal/code/decision"
)

// decisionCommand groups what is about architecture decisions. None of it opens the
// store: the files are all there is.
func (a *app) decisionCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "decision",
		Short: "Keep architecture decisions as Markdown in the repository",
		Long: "Keep architecture decisions as the Markdown files in which teams keep them: read from docs/adr, docs/decisions and other usual " +
			"folders, or those of decisions.folders, in the forms of MADR and Nygard and what comes near; written in that of MADR. Turns that are " +
			"about what a decision governs are told of it. A change edits the lines that it must and no other byte; a file that is broken is left alone.",
		Example: `  ken decision list --status accepted
  ken decision search retry policy`,
		Args: onlySubcommands,
		RunE: func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	cmd.AddCommand(a.decisionListCommand(), a.decisionSearchCommand(), a.decisionShowCommand(), a.decisionHistoryCommand(), a.decisionCreateCommand(),
		a.decisionSupersedeCommand(), a.decisionAcceptCommand(), a.decisionStatusCommand(), a.decisionArchiveCommand(), a.decisionCheckCommand(),
		a.decisionExportCommand(), a.decisionImportCommand())
	return cmd
}

// withDecisions runs fn on the project's decisions as their files are now.
func (a *app) withDecisions(ctx context.Context, fn func(*adr.Registry) error) error {
	root, err := a.project()
	if err != nil {
		return err
	}
	cfg, _, err := a.configuration()
	if err != nil {
		return err
	}
	r, err := adr.Open(ctx, root, adr.Options{Folders: cfg.Decisions.Folders})
	if err != nil {
		return badUsage(err)
	}
	return errors.Join(badUsage(fn(r)), r.Close())
}

// named offers things of the project's files for arguments: an id, and after a tab what it
// is. Each argument has a list of its own; the last one is for all that follow when more.
func (a *app) named(more bool, lists ...func(context.Context) []string) cobra.CompletionFunc {
	return func(cmd *cobra.Command, args []string, begun string) ([]string, cobra.ShellCompDirective) {
		const noFiles = cobra.ShellCompDirectiveNoFileComp
		i := len(args)
		if more {
			i = min(i, len(lists)-1)
		}
		if i >= len(lists) {
			return nil, noFiles
		}
		var out []string
		for _, c := range lists[i](cmd.Context()) {
			if strings.HasPrefix(strings.ToLower(c), strings.ToLower(begun)) {
				out = append(out, c)
			}
		}
		return out, noFiles
	}
}

// offer completes the values of a flag from the project's files.
func (a *app) offer(cmd *cobra.Command, flag string, list func(context.Context) []string) {
	complete := a.named(true, list)
	if err := cmd.RegisterFlagCompletionFunc(flag, func(cmd *cobra.Command, _ []string, begun string) ([]string, cobra.ShellCompDirective) {
		return complete(cmd, nil, begun)
	}); err != nil {
		panic(err) // the command has no such flag
	}
}

// decisionIDs are the handles of all decisions; those that can't be read offer nothing.
func (a *app) decisionIDs(ctx context.Context) (out []string) {
	_ = a.withDecisions(ctx, func(r *adr.Registry) error {
		for _, d := range r.List() {
			out = append(out, d.Handle+"\t"+fit(cell(d.Title.Text), 60))
		}
		return nil
	})
	return out
}

// decisionStatuses are the statuses; without superseded, which takes a successor, unless
// all are asked for.
func decisionStatuses(all bool) (out []string) {
	for _, s := range adr.Statuses() {
		if all || s != adr.Superseded {
			out = append(out, string(s))
		}
	}
	return out
}

// fixed offers words that are always the same.
func fixed(list ...string) func(context.Context) []string {
	return func(context.Context) []string { return list }
}
