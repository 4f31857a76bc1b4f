// Package doctor provides the commands that set up and examine an installation.
package doctor

import (
	"github.com/spf13/cobra"

	"github.com/kenlayer/ken/internal/cli"
)

type commands struct{ *cli.App }

// Commands returns the commands of this group.
func Commands(app *cli.App) []*cobra.Command {
	c := &commands{app}
	return []*cobra.Command{
		c.doctorCommand(), c.checkCommand(), c.verifyLogCommand(), c.backupCommand(), c.restoreCommand(), c.migrateCommand(),
		c.configCommand(), c.trustCommand(), c.initCommand(), c.indexCommand(), c.versionCommand(),
	}
}
