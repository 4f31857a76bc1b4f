package main

import (
	"github.com/spf13/cobra"

	"github.com/kenlayer/ken"
	"github.com/kenlayer/ken/internal/knowledge/structure/edit"
)

func (a *app) entityMergeCommand() *cobra.Command {
	var reason string
	cmd := &cobra.Command{
		Use:   "merge A B",
		Short: "Make one entity another name of a second one",
		Long: "Make the entity A another name of B: from then on all that is known of either is found under both names, and a rule of one is " +
			"one of the other. No claim is changed; ken entity split takes it back.",
		Example:           `  ken entity merge "payment gateway" payments --reason "one service, two names"`,
		Args:              takes("A", "B"),
		ValidArgsFunction: a.completes(entityNames, entityNames),
		RunE: func(cmd *cobra.Command, args []string) error {
			return a.edited(cmd.Context(), func(e *edit.Editor) (ken.Claim, error) { return e.Merge(cmd.Context(), args[0], args[1], reason) })
		},
	}
	cmd.Flags().StringVar(&reason, "reason", "", "`why` they are one, for the history")
	return cmd
}

func (a *app) entityAliasCommand() *cobra.Command {
	var reason string
	cmd := &cobra.Command{
		Use:   "alias NAME OTHER",
		Short: "Tell another name of an entity",
		Long: "Tell another name by which people call an entity, whether anything is known under it or not. From then on who says either means both; " +
			"ken entity split takes it back.",
		Example:           `  ken entity alias identity auth`,
		Args:              takes("NAME", "OTHER"),
		ValidArgsFunction: a.completes(entityNames),
		RunE: func(cmd *cobra.Command, args []string) error {
			return a.edited(cmd.Context(), func(e *edit.Editor) (ken.Claim, error) { return e.Alias(cmd.Context(), args[0], args[1], reason) })
		},
	}
	cmd.Flags().StringVar(&reason, "reason", "", "`why` it is called so, for the history")
	return cmd
}

func (a *app) entitySplitCommand() *cobra.Command {
	var reason string
	cmd := &cobra.Command{
		Use:   "split NAME",
		Short: "Let a name stand for itself again",
		Long: "Take back what made a name another name of something, by ken entity merge, alias or rename. What was written under either name stays " +
			"under that name. Merging again is possible, and the history shows all of it.",
		Example:           `  ken entity split "payment gateway" --reason "two services after all"`,
		Args:              takes("NAME"),
		ValidArgsFunction: a.completes(aliasNames),
		RunE: func(cmd *cobra.Command, args []string) error {
			return a.edited(cmd.Context(), func(e *edit.Editor) (ken.Claim, error) { return e.Split(cmd.Context(), args[0], reason) })
		},
	}
	cmd.Flags().StringVar(&reason, "reason", "", "`why` it is something else, for the history")
	return cmd
}

func (a *app) entityRenameCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "rename OLD NEW",
		Short: "Give an entity a new name, and keep the old one working",
		Long: "Give an entity a new name. The old one keeps working, in questions and in claims that carry it. A new name that is known " +
			"already is refused: ken entity merge makes one thing of two.",
		Example:           `  ken entity rename payments "money mover"`,
		Args:              takes("OLD", "NEW"),
		ValidArgsFunction: a.completes(entityNames),
		RunE: func(cmd *cobra.Command, args []string) error {
			return a.edited(cmd.Context(), func(e *edit.Editor) (ken.Claim, error) { return e.Rename(cmd.Context(), args[0], args[1]) })
		},
	}
}
