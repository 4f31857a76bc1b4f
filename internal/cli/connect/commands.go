// Package connect provides the commands that connect agents to Ken: ken connect
// and ken disconnect change an agent's configuration, and ken hook is what the
// agent runs.
//
// agents.go lists the agents. Package configfile edits their files.
package connect

import (
	"github.com/spf13/cobra"

	"github.com/kenlayer/ken/internal/cli"
)

// commands holds what the commands of this group share.
type commands struct{ *cli.App }

// Commands returns the commands of this group.
func Commands(app *cli.App) []*cobra.Command {
	c := &commands{app}
	return []*cobra.Command{
		c.connectCommand(),
		c.disconnectCommand(),
		c.hookCommand(),
	}
}
