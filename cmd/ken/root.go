package main

import (
	"cmp"
	"context"
	"errors"
	"io"
	"os"
	"slices"
	"strings"
	"sync"
	"syscall"

	"github.com/spf13/cobra"

	"github.com/kenlayer/ken"
	"github.com/kenlayer/ken/internal/cli"
	"github.com/kenlayer/ken/internal/cli/chat"
	"github.com/kenlayer/ken/internal/cli/connect"
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

// run executes a command line and returns its exit status.
func run(ctx context.Context, args []string, s cli.Streams) int {
	out := &checkedOutput{w: s.Out}
	if !cli.IsTerminal(s.Out) {
		s.Out = out
	}
	a := &cli.App{Streams: s}
	root := newRoot(a)
	root.SetArgs(args)
	root.SetIn(s.In)
	root.SetOut(s.Out)
	root.SetErr(s.Err)
	err := root.ExecuteContext(ctx)
	if failed := out.failed(); err == nil && failed != nil {
		err = &ken.Error{Code: ken.CodeUnavailable, Msg: "write standard output", Err: failed, Try: "Make room there or write elsewhere. What the command changed stays changed."}
	}
	if err == nil {
		return cli.ExitOK
	}
	a.JSON = a.JSON || asksForJSON(args)
	status := a.Report(err)
	if cause := context.Cause(ctx); cause != nil && errors.Is(err, context.Canceled) {
		status = stoppedBy(cause, status)
	}
	return status
}

// checkedOutput keeps the first error of writing, which most prints ignore.
type checkedOutput struct {
	w   io.Writer
	mu  sync.Mutex
	err error
}

// Write implements io.Writer.
func (o *checkedOutput) Write(p []byte) (int, error) {
	n, err := o.w.Write(p)
	if err != nil {
		o.mu.Lock()
		defer o.mu.Unlock()
		o.err = cmp.Or(o.err, err)
	}
	return n, err
}

// Unwrap returns the output itself, for other programs that write to it.
func (o *checkedOutput) Unwrap() io.Writer { return o.w }

func (o *checkedOutput) failed() error {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.err
}

// stoppedBy returns the exit status of a run that a signal ended. cause is the cause of the
// context of signal.NotifyContext.
func stoppedBy(cause error, status int) int {
	switch text := cause.Error(); {
	case strings.HasPrefix(text, os.Interrupt.String()):
		return cli.ExitInterrupted
	case strings.HasPrefix(text, syscall.SIGTERM.String()):
		return cli.ExitTerminated
	}
	return status
}

// asksForJSON reports whether the arguments contain --json. It is needed when a wrong argument
// before --json stopped parsing.
func asksForJSON(args []string) bool {
	if end := slices.Index(args, "--"); end >= 0 {
		args = args[:end]
	}
	return slices.Contains(args, "--json")
}

// newRoot returns the ken command with all its subcommands.
func newRoot(a *cli.App) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "ken",
		Short: "The knowledge layer for LLM agents",
		Long:  "Ken decides before every model call what the agent should know for this turn, and keeps what was learned.",
		Example: `  ken ask "how do we release?"
  ken learn "We release from main on Tuesdays."
  ken serve`,
		Version:       cli.ReadBuild().String(),
		SilenceErrors: true,
		SilenceUsage:  true,
		Args: func(_ *cobra.Command, args []string) error {
			if len(args) > 0 {
				return cli.Usagef("unknown command %q", args[0])
			}
			return nil
		},
		PersistentPreRunE: func(cmd *cobra.Command, _ []string) error {
			if cmd.Flags().Changed("owner") && strings.TrimSpace(a.Owner) == "" {
				return cli.UsageError(&ken.Error{Code: ken.CodeInvalid, Field: "--owner", Msg: "the owner is empty", Try: "Name an owner, or leave the flag out: the configuration names the default."})
			}
			return nil
		},
		RunE: func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	cmd.SetVersionTemplate("{{.Version}}\n")
	f := cmd.PersistentFlags()
	f.StringVarP(&a.Dir, "dir", "C", ".", "work in the project of this `FOLDER`")
	f.StringVar(&a.Owner, "owner", "", "the `OWNER` whose knowledge it is; default from the configuration")
	cli.CompleteFlag(cmd, "owner", a.Owners)
	f.BoolVar(&a.JSON, "json", false, "print JSON")
	f.BoolVarP(&a.Quiet, "quiet", "q", false, "no progress")
	cmd.AddCommand(commands(a)...)
	addCompletion(cmd)
	addHelp(cmd)
	cli.ExplainUsage(cmd)
	cli.SetHelp(cmd, groups)
	return cmd
}

// groups lists the groups of commands, in the order of ken help.
var groups = []cli.Group{
	{Title: "Every day", Commands: []string{"ask", "chat", "learn", "serve"}},
	{Title: "What is known", Commands: []string{"recall", "import", "export", "attention", "memory", "constraint", "dependency", "entity", "skill",
		"verify", "dispute", "supersede", "forget", "history", "provenance"}},
	{Title: "The project", Commands: []string{"index", "graph", "drift", "decision", "objective", "tasks", "plan", "run"}},
	{Title: "Agents and their sessions", Commands: []string{"connect", "disconnect", "hook", "mcp", "key", "sessions", "harvest", "jobs"}},
	{Title: "Measure and maintain", Commands: []string{"doctor", "eval", "check", "backup", "restore", "migrate", "verify-log", "knowledge", "embed"}},
	{Title: "Set up", Commands: []string{"init", "config", "trust", "completion", "version", "help"}},
}

// commands returns the commands of all groups.
func commands(a *cli.App) []*cobra.Command {
	return slices.Concat(
		chat.Commands(a),
		serve.Commands(a),
		connect.Commands(a),
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

// addHelp adds the help command. Cobra's own shows the help of ken itself for an unknown command.
func addHelp(root *cobra.Command) {
	root.SetHelpCommand(&cobra.Command{
		Use:   "help [COMMAND]",
		Short: "Show the help of a command",
		Long:  "Show the help of a command, or the list of all commands.",
		Example: `  ken help
  ken help memory approve`,
		Args: func(_ *cobra.Command, args []string) error {
			if found, rest, err := root.Find(args); err != nil || len(rest) > 0 && found != nil {
				return cli.Usagef("unknown command %q", strings.Join(args, " "))
			}
			return nil
		},
		RunE: func(_ *cobra.Command, args []string) error {
			found, _, err := root.Find(args)
			if err != nil {
				return err
			}
			return found.Help()
		},
	})
	root.InitDefaultHelpCmd()
}

// addCompletion adds cobra's completion command and rejects unknown shells, for which cobra would
// show the help.
func addCompletion(root *cobra.Command) {
	root.InitDefaultCompletionCmd()
	cmd, _, err := root.Find([]string{"completion"})
	if err != nil {
		return // cobra adds no completion command then
	}
	cmd.Args = func(_ *cobra.Command, args []string) error {
		if len(args) > 0 {
			return cli.Usagef("unknown shell %q", args[0])
		}
		return nil
	}
	cmd.RunE = func(cmd *cobra.Command, _ []string) error { return cmd.Help() }
	cmd.Example = `  source <(ken completion bash)
  ken completion fish > ~/.config/fish/completions/ken.fish`
	for _, shell := range cmd.Commands() {
		shell.Example = "  ken completion " + shell.Name()
	}
}
