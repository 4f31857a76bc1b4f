// Package connect provides the commands that put Ken into agents: ken connect and
// ken disconnect change an agent's configuration, and ken hook is what the agent runs.
//
// The agents are in one table, in agents.go. How a kind of file is changed is in
// package configfile.
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
