// Package serve provides the commands that serve other programs: the gateway and its keys, and the MCP server.
package serve

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
		c.serveCommand(),
		c.keyCommand(),
		c.mcpCommand(),
	}
}
