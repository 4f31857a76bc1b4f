// Package entity provides the commands for entities, their rules and their dependencies.
package entity

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
		c.entityCommand(),
		c.constraintCommand(),
		c.dependencyCommand(),
	}
}
