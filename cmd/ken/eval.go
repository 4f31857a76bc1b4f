package main

import (
	"github.com/spf13/cobra"
)

// evalCommand groups what measures Ken.
func (a *app) evalCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "eval",
		Short: "Measure recall on your own data or on public sets",
		Long: "Measure what an agent would be told. sweep asks every question of a data set in several modes and settings, and compare " +
			"says which differences between two sweeps are real; docs/evals.md defines the figures and the formats. test checks " +
			"single memories, generate makes questions from your own knowledge, and scorer says what the order learned from use is worth.",
		Args: onlySubcommands,
		RunE: func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	cmd.AddCommand(a.evalSweepCommand(), a.evalCompareCommand())
	cmd.AddCommand(a.evalTestCommand(), a.evalGenerateCommand())
	cmd.AddCommand(a.evalScorerCommand())
	return cmd
}
