// Package session provides the commands that show what sessions did and what was harvested from them.
package session

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
		c.sessionsCommand(),
		c.harvestCommand(),
		c.jobsCommand(),
		c.provenanceCommand(),
		c.runCommand(),
	}
}
