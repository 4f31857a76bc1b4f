package main

import (
	"cmp"
	"context"
	"fmt"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/kenlayer/ken"
	"github.com/kenlayer/ken/internal/knowledge/structure/edit"
	"github.com/kenlayer/ken/internal/knowledge/structure/entity"
	"github.com/kenlayer/ken/middleware"
	"github.com/kenlayer/ken/store"
)

func (a *app) constraintCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "constraint",
		Short: "Keep rules that are shown whenever they apply",
		Long: "Keep rules, such as \"never deploy payments on Fridays\". A rule is in every turn that touches what it is about or what is one " +
			"dependency away from that, whatever the ranking says and however little room there is. One that is about nothing in " +
			"particular is in every turn.",
		Args: onlySubcommands,
		RunE: func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	cmd.AddCommand(a.constraintAddCommand(), a.constraintListCommand())
	return cmd
}

type constraintOptions struct {
	entities               []string
	aspect, expires, scope string
}

func (a *app) constraintAddCommand() *cobra.Command {
	var o constraintOptions
	cmd := &cobra.Command{
		Use:   "add [TEXT|-]",
		Short: "Add a rule, and the dependencies that its text states",
		Long: "Add a rule on the word of who runs the command, and print its id. What it is about is read from the text unless --entity says " +
			"so. A claim that says the same already becomes a rule instead. ken dispute and ken supersede end a rule, as any claim.",
		Example: `  ken constraint add "Never deploy the payments service on Fridays; it depends on the ledger."
  ken constraint add "Log no card numbers" --entity payments --aspect security --expires 2031-05-01`,
		RunE: func(cmd *cobra.Command, args []string) error {
			text, err := a.text(args)
			if err != nil {
				return err
			}
			return a.addConstraint(cmd.Context(), text, &o)
		},
	}
	f := cmd.Flags()
	f.StringArrayVar(&o.entities, "entity", nil, "`what` it is about, the most important first (repeatable)")
	f.StringVar(&o.aspect, "aspect", "", "which `side` of it, such as deployment or security")
	f.StringVar(&o.expires, "expires", "", "when it ends: a length of `time` such as 12h or 30d, or a date")
	f.StringVar(&o.scope, "scope", "", "where it applies, as `type:id`; default everywhere")
	a.completeFlag(cmd, "entity", entityNames)
	a.completeFlag(cmd, "aspect", words(suggestedAspects()...))
	return cmd
}

// addedView is a rule as it was added, and the dependencies that its text states.
type addedView struct {
	claimView
	Dependencies []claimView `json:"dependencies"`
	Changed      bool        `json:"changed"` // false: all of it was so already
}

func (a *app) addConstraint(ctx context.Context, text string, o *constraintOptions) error {
	n := edit.NewConstraint{Text: text, Entities: o.entities, Aspect: o.aspect}
	var err error
	if n.Scope, n.ExpiresAt, err = applies(o.scope, o.expires, time.Now().UTC()); err != nil {
		return err
	}
	return a.withStore(ctx, func(l *middleware.Layer, s store.Engine) error {
		got, err := myDesk(l, s).Editor().AddConstraint(ctx, n)
		if err != nil {
			return badUsage(err)
		}
		v := addedView{claimView: l.View(got.Claim), Dependencies: []claimView{}, Changed: got.Changed}
		for _, d := range got.Dependencies {
			v.Dependencies = append(v.Dependencies, l.View(d))
		}
		a.tellCleaned(text, &got.Claim)
		if a.json {
			return a.printJSON(v)
		}
		fmt.Fprintln(a.out, got.Claim.ID)
		if !got.Changed {
			a.tell("that rule is there already")
			return nil
		}
		a.tell(understood(&got.Claim, got.Dependencies))
		return nil
	})
}

func (a *app) constraintListCommand() *cobra.Command {
	var scopes []string
	cmd := &cobra.Command{
		Use:   "list [ENTITY]",
		Short: "List the rules, or those that hold for an entity",
		Long: "List the rules that stand, by what they are about. With an entity, those that hold for it: its own, those of what is one " +
			"dependency away with the way there, and those that are about nothing in particular.",
		Example: `  ken constraint list
  ken constraint list payments`,
		Args:              atMost("ENTITY"),
		ValidArgsFunction: a.completes(entityNames),
		RunE: func(cmd *cobra.Command, args []string) error {
			f, err := standing(scopes)
			if err != nil {
				return err
			}
			return a.listConstraints(cmd.Context(), args, f)
		},
	}
	cmd.Flags().StringArrayVar(&scopes, "scope", nil, "only rules of this scope, as `type:id`, and of all (repeatable)")
	return cmd
}

// ruleView is a rule, and how it bears on the entity that was asked for.
type ruleView struct {
	claimView
	Distance int    `json:"distance"`       // 0, or 1 for one dependency away
	Via      string `json:"via,omitempty"`  // the entity that it is about, at distance 1
	Says     string `json:"says,omitempty"` // the name in its words by which it is here
}

func (a *app) listConstraints(ctx context.Context, args []string, f *ken.Filter) error {
	return a.withStore(ctx, func(l *middleware.Layer, s store.Engine) error {
		var rules []ruleView
		var err error
		if len(args) > 0 {
			rules, err = rulesOf(ctx, l, s, args[0], f)
		} else {
			rules, err = allRules(ctx, l, s, f)
		}
		if err != nil {
			return badUsage(err)
		}
		if a.json {
			return a.printJSON(map[string]any{"constraints": rules})
		}
		if len(rules) == 0 {
			fmt.Fprintln(a.err, "ken: there are no rules")
			return nil
		}
		rows := make([][]string, len(rules))
		for i := range rules {
			r := &rules[i]
			about := cmp.Or(strings.Join(r.Entities, ", "), "everything") + reach(r.Via, r.Says)
			rows[i] = []string{a.shortID(r.ID), r.Tier.String(), about, headline(&r.Claim)}
		}
		a.printWhole([]string{"ID", "TIER", "ABOUT", "RULE"}, rows)
		return nil
	})
}

// printWhole is printTable without an edge: half a rule is another rule.
func (a *app) printWhole(head []string, rows [][]string) {
	if !isTerminal(a.out) {
		a.printTable(head, rows)
		return
	}
	for _, row := range rows {
		for i := range row {
			row[i] = cell(row[i])
		}
	}
	for _, line := range align(head, rows, math.MaxInt32) {
		fmt.Fprintln(a.out, line)
	}
}

func rulesOf(ctx context.Context, l *middleware.Layer, s store.Engine, name string, f *ken.Filter) ([]ruleView, error) {
	v, err := entity.Show(ctx, s, name, f)
	if err != nil {
		return nil, err
	}
	out := []ruleView{}
	seen := map[string]bool{}
	for i := range v.Constraints {
		c := &v.Constraints[i]
		seen[c.ID] = true
		out = append(out, ruleView{l.View(c.Whole), c.Distance, c.Via, c.Says})
	}
	all, err := allRules(ctx, l, s, f)
	for i := range all {
		if len(all[i].Entities) == 0 && !seen[all[i].ID] {
			out = append(out, all[i])
		}
	}
	return out, err
}

// allRules are the rules that stand, by what they are about, then by age.
func allRules(ctx context.Context, l *middleware.Layer, s store.Engine, f *ken.Filter) ([]ruleView, error) {
	out := []ruleView{}
	for c, err := range s.Scan(ctx, f, nil) {
		if err != nil {
			return nil, err
		}
		if c.Constraint && !c.Kind.Structural() {
			out = append(out, ruleView{claimView: l.View(c)})
		}
	}
	slices.SortFunc(out, func(x, y ruleView) int {
		return cmp.Or(slices.Compare(x.Entities, y.Entities), x.CreatedAt.Compare(y.CreatedAt), cmp.Compare(x.ID, y.ID))
	})
	return out, nil
}

// atMost allows the arguments named, and needs none of them.
func atMost(names ...string) cobra.PositionalArgs {
	return func(cmd *cobra.Command, args []string) error {
		if len(args) > len(names) {
			return fmt.Errorf("%s: %q is one argument too many", cmd.Name(), args[len(names)])
		}
		return nil
	}
}
