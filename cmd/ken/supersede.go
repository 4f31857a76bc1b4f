package main

import (
	"github.com/spf13/cobra"

	"github.com/kenlayer/ken/internal/knowledge/operator"
)

func (a *app) supersedeCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "supersede OLD NEW",
		Short: "Replace a claim by another",
		Long: "Mark the claim OLD as replaced by NEW. OLD stays in the log with a link to NEW, and is not recalled any more. " +
			"Doing it again changes nothing.",
		Example: `  ken supersede 3f9a2c71 b04411de`,
		Args:    takes("OLD", "NEW"),
		RunE: func(cmd *cobra.Command, args []string) error {
			// The history of a supersession by hand names nobody; NEW says whose word it is.
			return a.move(cmd.Context(), args[0], "", func(d *operator.Desk, id string) error {
				return d.Supersede(cmd.Context(), id, args[1], "")
			})
		},
	}
}
