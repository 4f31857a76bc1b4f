// Package planning provides the commands for planned work: tasks, decisions, objectives and the agents' plan.
package planning

import (
	"github.com/spf13/cobra"

	"github.com/kenlayer/ken/internal/cli"
)

type commands struct{ *cli.App }

// Commands returns the commands of this group.
func Commands(app *cli.App) []*cobra.Command {
	c := &commands{app}
	return []*cobra.Command{c.tasksCommand(), c.decisionCommand(), c.objectiveCommand(), c.planCommand()}
}
