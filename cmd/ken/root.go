package main

import (
	"context"
	"slices"

	"github.com/spf13/cobra"

	"github.com/kenlayer/ken/internal/cli"
	"github.com/kenlayer/ken/internal/cli/chat"
	"github.com/kenlayer/ken/internal/cli/doctor"
	"github.com/kenlayer/ken/internal/cli/embed"
	"github.com/kenlayer/ken/internal/cli/entity"
	"github.com/kenlayer/ken/internal/cli/eval"
	"github.com/kenlayer/ken/internal/cli/graph"
	"github.com/kenlayer/ken/internal/cli/memory"
	"github.com/kenlayer/ken/internal/cli/planning"
	"github.com/kenlayer/ken/internal/cli/serve"
	"github.com/kenlayer/ken/internal/cli/session"
)

// run runs one command line and returns its exit status.
func run(ctx context.Context, args []string, s cli.Streams) int {
	a := &cli.App{Streams: s}
	root := newRoot(a)
	root.SetArgs(args)
	root.SetIn(s.In)
	root.SetOut(s.Out)
	root.SetErr(s.Err)
	err := root.ExecuteContext(ctx)
	if err == nil {
		return cli.ExitOK
	}
	a.JSON = a.JSON || asksForJSON(args)
	return a.Report(err)
}

// asksForJSON reports a --json that was not parsed because an argument before it is wrong.
func asksForJSON(args []string) bool {
	if end := slices.Index(args, "--"); end >= 0 {
		args = args[:end]
	}
	return slices.Contains(args, "--json")
}

// newRoot returns the ken command with all its subcommands.
func newRoot(a *cli.App) *cobra.Command {
	cmd := &cobra.Command{
		Use:           "ken",
		Short:         "The knowledge layer for LLM agents",
		Long:          "Ken decides before every model call what the agent should know for this turn, and keeps what was learned.",
		Version:       cli.ReadBuild().String(),
		SilenceErrors: true,
		SilenceUsage:  true,
		Args: func(_ *cobra.Command, args []string) error {
			if len(args) > 0 {
				return cli.Usagef("unknown command %q", args[0])
			}
			return nil
		},
		RunE: func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	cmd.SetVersionTemplate("{{.Version}}\n")
	f := cmd.PersistentFlags()
	f.StringVarP(&a.Dir, "dir", "C", ".", "work in this folder's project")
	f.StringVar(&a.Owner, "owner", "", "whose knowledge; default from the configuration")
	f.BoolVar(&a.JSON, "json", false, "print JSON")
	f.BoolVarP(&a.Quiet, "quiet", "q", false, "no progress")
	cmd.SetFlagErrorFunc(func(_ *cobra.Command, err error) error { return cli.UsageError(err) })
	cmd.AddCommand(commands(a)...)
	addCompletion(cmd)
	for _, c := range cmd.Commands() {
		wrapArgs(c)
	}
	return cmd
}

// commands returns the commands of all groups.
func commands(a *cli.App) []*cobra.Command {
	return slices.Concat(
		chat.Commands(a),
		serve.Commands(a),
		memory.Commands(a),
		entity.Commands(a),
		graph.Commands(a),
		planning.Commands(a),
		session.Commands(a),
		embed.Commands(a),
		eval.Commands(a),
		doctor.Commands(a),
	)
}

// wrapArgs makes complaints about arguments usage errors, for c and below.
func wrapArgs(c *cobra.Command) {
	if check := c.Args; check != nil {
		c.Args = func(cmd *cobra.Command, args []string) error {
			if err := check(cmd, args); err != nil {
				return cli.UsageError(err)
			}
			return nil
		}
	}
	for _, sub := range c.Commands() {
		wrapArgs(sub)
	}
}

// addCompletion adds cobra's own completion command, which by itself would take
// an unknown shell for a request for help.
func addCompletion(root *cobra.Command) {
	root.InitDefaultCompletionCmd()
	cmd, _, err := root.Find([]string{"completion"})
	if err != nil {
		return // cobra's own condition: there is nothing to complete
	}
	cmd.Args = func(_ *cobra.Command, args []string) error {
		if len(args) > 0 {
			return cli.Usagef("unknown shell %q", args[0])
		}
		return nil
	}
	cmd.RunE = func(cmd *cobra.Command, _ []string) error { return cmd.Help() }
}
