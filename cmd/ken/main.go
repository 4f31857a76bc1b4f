// Command ken is the knowledge layer on the command line: it shows what an agent
// would be told, chats with every turn assembled by the layer, and keeps claims.
//
// One file holds a group of commands; app.go and output.go hold what they share.
package main

import (
	"cmp"
	"context"
	"fmt"
	"os"
	"os/signal"
	"runtime"
	"runtime/debug"
	"syscall"

	"github.com/spf13/cobra"

	"github.com/kenlayer/ken/internal/store/bolt"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	collectEarly(ctx)
	status := run(ctx, os.Args[1:], streams{in: os.Stdin, out: os.Stdout, err: os.Stderr})
	stop()
	os.Exit(status)
}

// commands lists every command, as help shows them.
func (a *app) commands() []*cobra.Command {
	return []*cobra.Command{
		a.askCommand(),
		a.chatCommand(),
		a.serveCommand(),
		a.keyCommand(),
		a.mcpCommand(),
		a.indexCommand(),
		a.initCommand(),
		a.configCommand(),
		a.trustCommand(),
		a.doctorCommand(),
		a.learnCommand(),
		a.recallCommand(),
		a.verifyCommand(),
		a.disputeCommand(),
		a.supersedeCommand(),
		a.historyCommand(),
		a.provenanceCommand(),
		a.runCommand(),
		a.forgetCommand(),
		a.sessionsCommand(),
		a.harvestCommand(),
		a.jobsCommand(),
		a.memoryCommand(),
		a.skillCommand(),
		a.entityCommand(),
		a.constraintCommand(),
		a.dependencyCommand(),
		a.tasksCommand(),
		a.decisionCommand(),
		a.objectiveCommand(),
		a.graphCommand(),
		a.driftCommand(),
		a.planCommand(),
		a.attentionCommand(),
		a.knowledgeCommand(),
		a.importCommand(),
		a.exportCommand(),
		a.embedCommand(),
		a.evalCommand(),
		a.checkCommand(),
		a.verifyLogCommand(),
		a.versionCommand(),
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
			return usagef("unknown shell %q", args[0])
		}
		return nil
	}
	cmd.RunE = func(cmd *cobra.Command, _ []string) error { return cmd.Help() }
}

// buildView is what is known of this program's build.
type buildView struct {
	Version  string `json:"version"`            // of the module; (devel) when built from a checkout
	Revision string `json:"revision,omitempty"` // the commit
	Time     string `json:"time,omitempty"`     // of the commit
	Modified bool   `json:"modified,omitempty"` // the checkout had changes
	Go       string `json:"go"`
	Platform string `json:"platform"`
	Layout   int    `json:"layout"` // of the store's file that this program writes
}

func (a *app) versionCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "version",
		Short: "Print the version of this program",
		Long: "Print the version of this program, the commit that it was built from, and the layout of the store that it writes. A store of a " +
			"later layout is refused by name.",
		Args: takes(),
		RunE: func(*cobra.Command, []string) error {
			v := readBuild()
			if a.json {
				return a.printJSON(v)
			}
			fmt.Fprintln(a.out, v)
			return nil
		},
	}
}

func readBuild() buildView {
	v := buildView{Version: "(devel)", Go: runtime.Version(), Platform: runtime.GOOS + "/" + runtime.GOARCH, Layout: bolt.Layout}
	b, ok := debug.ReadBuildInfo()
	if !ok {
		return v
	}
	v.Version = cmp.Or(b.Main.Version, v.Version)
	for _, s := range b.Settings {
		switch s.Key {
		case "vcs.revision":
			v.Revision = s.Value
		case "vcs.time":
			v.Time = s.Value
		case "vcs.modified":
			v.Modified = s.Value == "true"
		}
	}
	return v
}

// String says it in one line.
func (v buildView) String() string {
	s := "ken " + v.Version
	if v.Revision != "" {
		s += fmt.Sprintf(" (%.12s", v.Revision)
		if v.Time != "" {
			s += ", " + v.Time
		}
		if v.Modified {
			s += ", modified"
		}
		s += ")"
	}
	return fmt.Sprintf("%s, %s, %s, store layout %d", s, v.Go, v.Platform, v.Layout)
}
