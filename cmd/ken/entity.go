package main

import (
	"github.com/spf13/cobra"

	"github.com/kenlayer/ken"
	"github.com/kenlayer/ken/internal/knowledge/structure/edit"
	"github.com/kenlayer/ken/internal/knowledge/structure/entity"
)

// entityCommand groups what is about the things that claims speak of.
func (a *app) entityCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "entity",
		Short: "Look at the things that claims are about, and say what they are",
		Long: "Look at the things that claims are about: systems, people, projects, tools, concepts, skills. There is an entity as soon as a " +
			"claim carries its name. Case, hyphens and articles make no difference in a name.",
		Args: onlySubcommands,
		RunE: func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	cmd.AddCommand(a.entityShowCommand(), a.entitySearchCommand(), a.entityListCommand(), a.entityGraphCommand(), a.entityDescribeCommand(),
		a.entityMergeCommand(), a.entityAliasCommand(), a.entitySplitCommand(), a.entityRenameCommand(), a.entityBackfillCommand())
	return cmd
}

func (a *app) entityDescribeCommand() *cobra.Command {
	var typ string
	cmd := &cobra.Command{
		Use:   "describe NAME [TEXT|-] [--type TYPE]",
		Short: "Say what an entity is",
		Long: "Say what an entity is: its type, and in words its name and what it does, as in \"Payments: moves the money\". What is left out " +
			"stays as it was. The name need not be known yet.",
		Example: `  ken entity describe payments --type system "Payments: moves the money"`,
		Args: func(cmd *cobra.Command, args []string) error {
			if len(args) == 0 {
				return usagef("describe: NAME is missing")
			}
			return nil
		},
		ValidArgsFunction: a.completes(entityNames),
		RunE: func(cmd *cobra.Command, args []string) error {
			text := ""
			if len(args) > 1 || typ == "" {
				var err error
				if text, err = a.text(args[1:]); err != nil {
					return err
				}
			}
			return a.edited(cmd.Context(), func(e *edit.Editor) (ken.Claim, error) { return e.Describe(cmd.Context(), args[0], typ, text) })
		},
	}
	cmd.Flags().StringVar(&typ, "type", "", "what `sort` of thing it is: person, project, system, tool, concept or skill")
	a.completeFlag(cmd, "type", words(describable()...))
	return cmd
}

// describable are the types that a person may say: tasks are created.
func describable() (out []string) {
	for _, t := range entity.Types() {
		if t != "task" {
			out = append(out, t)
		}
	}
	return out
}
