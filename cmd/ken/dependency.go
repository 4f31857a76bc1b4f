package main

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/kenlayer/ken"
	"github.com/kenlayer/ken/internal/knowledge/structure"
	"github.com/kenlayer/ken/internal/knowledge/structure/edit"
	"github.com/kenlayer/ken/internal/knowledge/structure/entity"
	"github.com/kenlayer/ken/middleware"
	"github.com/kenlayer/ken/store"
)

func (a *app) dependencyCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "dependency",
		Short: "Keep what depends on what",
		Long: "Keep what depends on what: A uses, requires, is owned by, blocks or informs B. Rules reach one dependency far, in both " +
			"directions. Dependencies that claims state are found by themselves; these commands add and take away.",
		Args: onlySubcommands,
		RunE: func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	cmd.AddCommand(a.dependencyAddCommand(), a.dependencyListCommand(), a.dependencyRemoveCommand())
	return cmd
}

func (a *app) dependencyAddCommand() *cobra.Command {
	var strength float64
	cmd := &cobra.Command{
		Use:   "add A TYPE B",
		Short: "Say that one thing depends on another",
		Long: "Say that A uses, requires, owned_by, blocks or informs B, on the word of who runs the command. Neither need be known yet. One " +
			"that is there gets the strength, and one that was removed stands again.",
		Example: `  ken dependency add payments requires ledger --strength 0.9
  ken dependency add payments owned_by ada`,
		Args:              takes("A", "TYPE", "B"),
		ValidArgsFunction: a.completes(entityNames, words(structure.DependencyTypes()...), entityNames),
		RunE: func(cmd *cobra.Command, args []string) error {
			if cmd.Flags().Changed("strength") && !(strength > 0 && strength <= 1) {
				return usagef("--strength: %v is outside 0..1, or 0", strength)
			}
			return a.edited(cmd.Context(), func(e *edit.Editor) (ken.Claim, error) {
				return e.AddDependency(cmd.Context(), args[0], dependencyType(args[1]), args[2], strength)
			})
		},
	}
	cmd.Flags().Float64Var(&strength, "strength", 0, "a `number` above 0, up to 1: how much it depends; default 0.5, or what it was")
	return cmd
}

// dependencyType reads a type as people write it: owned-by is owned_by.
func dependencyType(s string) string {
	return strings.NewReplacer("-", "_", " ", "_").Replace(strings.ToLower(strings.TrimSpace(s)))
}

func (a *app) dependencyRemoveCommand() *cobra.Command {
	var reason string
	cmd := &cobra.Command{
		Use:   "remove A TYPE B",
		Short: "Take a dependency back",
		Long: "Take a dependency back: nothing follows it any more, and it does not come back when a claim states it again. Its history stays; " +
			"adding it again brings it back.",
		Example:           `  ken dependency remove payments requires ledger --reason "it has a book of its own now"`,
		Args:              takes("A", "TYPE", "B"),
		ValidArgsFunction: a.completes(entityNames, words(structure.DependencyTypes()...), entityNames),
		RunE: func(cmd *cobra.Command, args []string) error {
			return a.edited(cmd.Context(), func(e *edit.Editor) (ken.Claim, error) {
				return e.RemoveDependency(cmd.Context(), args[0], dependencyType(args[1]), args[2], reason)
			})
		},
	}
	cmd.Flags().StringVar(&reason, "reason", "", "`why` it is so no longer, for the history")
	return cmd
}

func (a *app) dependencyListCommand() *cobra.Command {
	var scopes []string
	cmd := &cobra.Command{
		Use:               "list [ENTITY]",
		Short:             "List what depends on what",
		Long:              "List the dependencies that stand, or those of an entity in both directions, with their strength and what they rest on.",
		Example:           `  ken dependency list payments`,
		Args:              atMost("ENTITY"),
		ValidArgsFunction: a.completes(entityNames),
		RunE: func(cmd *cobra.Command, args []string) error {
			f, err := standing(scopes)
			if err != nil {
				return err
			}
			return a.listDependencies(cmd.Context(), args, f)
		},
	}
	cmd.Flags().StringArrayVar(&scopes, "scope", nil, "only what is known in this scope, as `type:id`, or in all (repeatable)")
	return cmd
}

// dependencyView is a dependency by its ends.
type dependencyView struct {
	Source   string    `json:"source"`
	Type     string    `json:"type"`
	Target   string    `json:"target"`
	Strength float64   `json:"strength"`
	Claim    claimView `json:"claim"`
}

func (a *app) listDependencies(ctx context.Context, args []string, f *ken.Filter) error {
	return a.withStore(ctx, func(l *middleware.Layer, s store.Engine) error {
		var names []string
		if len(args) > 0 {
			found, err := entity.Find(ctx, s, args[0], f)
			if err != nil {
				return badUsage(err)
			}
			for i := range found {
				names = append(names, found[i].Names()...)
			}
		}
		all, err := dependencies(ctx, l, s, f, names)
		if err != nil {
			return err
		}
		switch {
		case a.json:
			return a.printJSON(map[string]any{"dependencies": all})
		case len(all) == 0:
			fmt.Fprintln(a.err, "ken: there are no dependencies")
			return nil
		}
		rows := make([][]string, len(all))
		for i := range all {
			d := &all[i]
			rows[i] = []string{a.shortID(d.Claim.ID), fmt.Sprintf("%.2f", d.Strength), d.Source, d.Type, d.Target, restsOn(d.Claim.Evidence)}
		}
		a.printTable([]string{"ID", "STRENGTH", "FROM", "TYPE", "TO", "BECAUSE OF"}, rows)
		return nil
	})
}

// dependencies lists those that stand, and with names those that have one of them at
// an end; by their ends.
func dependencies(ctx context.Context, l *middleware.Layer, s store.Engine, f *ken.Filter, names []string) ([]dependencyView, error) {
	own := *f
	own.Kinds = []ken.Kind{ken.KindDependency}
	out := []dependencyView{}
	for c, err := range s.Scan(ctx, &own, nil) {
		if err != nil {
			return nil, err
		}
		if len(c.Entities) != 2 || names != nil && !slices.Contains(names, c.Entities[0]) && !slices.Contains(names, c.Entities[1]) {
			continue
		}
		out = append(out, dependencyView{c.Entities[0], c.Aspect, c.Entities[1], c.Importance, l.View(c)})
	}
	slices.SortFunc(out, func(x, y dependencyView) int {
		return cmp.Or(cmp.Compare(x.Source, y.Source), cmp.Compare(x.Target, y.Target), cmp.Compare(x.Type, y.Type), cmp.Compare(x.Claim.ID, y.Claim.ID))
	})
	return out, nil
}

// restsOn names evidence in a cell.
func restsOn(evidence []ken.Evidence) string {
	parts := make([]string, len(evidence))
	for i, e := range evidence {
		parts[i] = evidenceLabel(e)
	}
	return strings.Join(parts, ", ")
}
