// Package memory provides the commands that add, find, judge and remove claims.
package memory

import (
	"github.com/spf13/cobra"

	"github.com/kenlayer/ken/internal/cli"
)

type commands struct{ *cli.App }

// Commands returns the commands of this group.
func Commands(app *cli.App) []*cobra.Command {
	c := &commands{app}
	return []*cobra.Command{
		c.learnCommand(), c.recallCommand(), c.verifyCommand(), c.disputeCommand(), c.supersedeCommand(), c.historyCommand(),
		c.forgetCommand(), c.memoryCommand(), c.skillCommand(), c.attentionCommand(), c.knowledgeCommand(), c.importCommand(),
		c.exportCommand(),
	}
}
