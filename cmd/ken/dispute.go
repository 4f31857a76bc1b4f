package main

import (
	"cmp"
	"strings"

	"github.com/spf13/cobra"

	"github.com/kenlayer/ken"
	"github.com/kenlayer/ken/internal/knowledge/operator"
)

func (a *app) disputeCommand() *cobra.Command {
	var reason, by string
	cmd := &cobra.Command{
		Use:   "dispute ID --reason TEXT",
		Short: "Mark a claim as contested",
		Long: "Mark a claim as contested. No new turn and no recall is given it any more, unless recall asks for --status disputed. A conversation that " +
			"was told it keeps the earlier block, and its next block says that the claim is disputed since. " +
			"ken verify settles the dispute in its favour, ken supersede against it.",
		Example: `  ken dispute 3f9a2c71 --reason "the timeout is 5 s since March"`,
		Args:    takes("ID"),
		RunE: func(cmd *cobra.Command, args []string) error {
			if reason = strings.TrimSpace(reason); reason == "" {
				return usage{&ken.Error{Code: ken.CodeInvalid, Field: "--reason", Msg: "empty: a dispute needs a reason",
					Try: "Say in --reason what contradicts the claim."}}
			}
			return a.move(cmd.Context(), args[0], cmp.Or(by, currentUser()), func(d *operator.Desk, id string) error {
				return d.Dispute(cmd.Context(), id, reason)
			})
		},
	}
	cmd.Flags().StringVar(&reason, "reason", "", "`what` contradicts it")
	cmd.Flags().StringVar(&by, "by", "", "the `name` of who disputes it; default the current user")
	return cmd
}
