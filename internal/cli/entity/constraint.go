package entity

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
	"github.com/kenlayer/ken/internal/cli"
	"github.com/kenlayer/ken/internal/knowledge/structure"
	"github.com/kenlayer/ken/internal/knowledge/structure/edit"
	"github.com/kenlayer/ken/internal/knowledge/structure/entity"
	"github.com/kenlayer/ken/internal/middleware/inspect"
	"github.com/kenlayer/ken/middleware"
	"github.com/kenlayer/ken/store"
)

func (a *commands) constraintCommand() *cobra.Command {
	return cli.WithSubcommands(&cobra.Command{
		Use:   "constraint",
		Short: "Manage rules, which are part of every turn to which they apply",
		Example: `  ken constraint list
  ken constraint add "Log no card numbers" --entity payments`,
		Long: "Keep rules, such as \"never deploy payments on Fridays\". A rule is in every turn that touches what it is about or what is one " +
			"dependency away from that, whatever the ranking says and however little room there is. One that is about nothing in " +
			"particular is in every turn.",
	}, a.constraintAddCommand(), a.constraintListCommand(), a.constraintRemoveCommand())
}

type constraintOptions struct {
	entities               []string
	aspect, expires, scope string
}

func (a *commands) constraintAddCommand() *cobra.Command {
	var o constraintOptions
	cmd := &cobra.Command{
		Use:   "add [TEXT|-]",
		Short: "Add a rule, and the dependencies that its text states",
		Long: "Add a rule on the word of who runs the command, and print its id. What it is about is read from the text unless --entity says " +
			"so. A claim that says the same already becomes a rule instead. ken constraint remove makes a fact of it again; ken dispute and ken supersede end it, as any claim.",
		Example: `  ken constraint add "Never deploy the payments service on Fridays."
  ken constraint add "Log no card numbers" --entity payments \
    --aspect security --expires 2031-05-01`,
		RunE: func(cmd *cobra.Command, args []string) error {
			text, err := a.ReadText(cmd.Context(), args)
			if err != nil {
				return err
			}
			return a.addConstraint(cmd.Context(), text, &o)
		},
	}
	f := cmd.Flags()
	f.StringArrayVar(&o.entities, "entity", nil, "the `NAME` of what it is about, the most important first (repeatable)")
	f.StringVar(&o.aspect, "aspect", "", "which `ASPECT` of it, such as deployment or security")
	f.StringVar(&o.expires, "expires", "", "the `TIME` when it ends: a length such as 12h or 30d, or a date")
	f.StringVar(&o.scope, "scope", "", "where it applies, as `TYPE:ID`; default everywhere")
	a.CompleteFlag(cmd, "entity", cli.EntityNames)
	cli.CompleteWords(cmd, "aspect", cli.SuggestedAspects()...)
	return cmd
}

// addedView is an added rule, with the dependencies that its text states.
type addedView struct {
	inspect.Claim
	Dependencies []inspect.Claim `json:"dependencies"`
	Changed      bool            `json:"changed"` // false if everything existed already
}

func (a *commands) addConstraint(ctx context.Context, text string, o *constraintOptions) error {
	n := edit.NewConstraint{Text: text, Entities: o.entities, Aspect: o.aspect}
	var err error
	if n.Scope, n.ExpiresAt, err = cli.ScopeAndExpiry(o.scope, o.expires, time.Now().UTC()); err != nil {
		return err
	}
	return a.WithStore(ctx, func(l *middleware.Layer, s store.Engine) error {
		got, err := cli.Desk(l, s).Editor().AddConstraint(ctx, n)
		if err != nil {
			return cli.AsUsageError(err)
		}
		view := func(c *ken.Claim) inspect.Claim { return l.Operator().View(*c) }
		v := addedView{Claim: view(&got.Claim), Dependencies: cli.Map(got.Dependencies, view), Changed: got.Changed}
		a.NoteCleaned(text, &got.Claim)
		return a.Show(v, func() {
			fmt.Fprintln(a.Out, got.Claim.ID)
			if got.Changed {
				a.Note(cli.DescribeFiled(&got.Claim, got.Dependencies))
			} else {
				a.Note("that rule is there already")
			}
		})
	})
}

func (a *commands) constraintRemoveCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "remove ID",
		Short: "Turn a rule into a fact",
		Long: "Turn a rule or a candidate rule into a fact, which turns get only if it matches them. " +
			"Only ken constraint add turns it into a rule again.",
		Example: `  ken constraint remove 3f9a2c71`,
		Args:    cli.ExactArgs("ID"),

		ValidArgsFunction: a.Complete(cli.RuleIDs),
		RunE: func(cmd *cobra.Command, args []string) error {
			return a.ReadStore(cmd.Context(), func(l *middleware.Layer, s store.Engine) error {
				no := false
				c, changed, err := cli.Desk(l, s).Refile(cmd.Context(), args[0], nil, &no)
				if err != nil {
					return cli.AsUsageError(err)
				}
				if !changed {
					a.Note("it is no rule already")
				}
				return a.PrintClaim(l.Operator().View(c))
			})
		},
	}
}

func (a *commands) constraintListCommand() *cobra.Command {
	var scopes []string
	cmd := &cobra.Command{
		Use:   "list [ENTITY]",
		Short: "List the rules, or those that apply to an entity",
		Long: "List the rules that stand, by what they are about. With an entity, those that hold for it: its own, those of what is one " +
			"dependency away with the way there, and those that are about nothing in particular.",
		Example: `  ken constraint list
  ken constraint list payments`,
		Args:              cli.MaxArgs("ENTITY"),
		ValidArgsFunction: a.Complete(cli.EntityNames),
		RunE: func(cmd *cobra.Command, args []string) error {
			return a.listConstraints(cmd.Context(), args, scopes)
		},
	}
	cmd.Flags().StringArrayVar(&scopes, "scope", nil, "only rules of this scope, as `TYPE:ID`, and of all (repeatable)")
	return cmd
}

// ruleView is a rule, and how it applies to the requested entity.
type ruleView struct {
	inspect.Claim
	Distance int    `json:"distance"`       // 0, or 1 for a rule of a direct dependency
	Via      string `json:"via,omitempty"`  // at distance 1, the entity that the rule is about
	Says     string `json:"says,omitempty"` // the name in the rule's text that matched
}

func (a *commands) listConstraints(ctx context.Context, args, scopes []string) error {
	f, err := cli.StandingFilter(scopes)
	if err != nil {
		return err
	}
	return a.ReadStore(ctx, func(l *middleware.Layer, s store.Engine) error {
		rules, err := allRules(ctx, l, s, f)
		if err == nil && len(args) > 0 {
			rules, err = rulesOf(ctx, l, s, args[0], f, rules)
		}
		if err != nil {
			return cli.AsUsageError(err)
		}
		return a.Show(map[string]any{"constraints": rules}, func() { a.printRuleTable(rules) })
	})
}

// printRuleTable prints rules. It cuts no cells, because a cut rule could mean something else.
func (a *commands) printRuleTable(rules []ruleView) {
	if len(rules) == 0 {
		fmt.Fprintln(a.Err, "ken: there are no rules")
		return
	}
	head, rows := []string{"ID", "TIER", "ABOUT", "RULE"}, cli.Map(rules, func(r *ruleView) []string {
		about := cmp.Or(strings.Join(r.Entities, ", "), "everything") + reach(r.Via, r.Says)
		return []string{a.ShortID(r.ID), r.Tier.String(), about, cli.Headline(&r.Claim.Claim)}
	})
	if !cli.IsTerminal(a.Out) {
		a.PrintTable(head, rows)
		return
	}
	for _, line := range cli.Align(head, rows, math.MaxInt32) {
		fmt.Fprintln(a.Out, line)
	}
}

// rulesOf returns the rules that hold for an entity: its own, those of its dependencies, and those
// of all that are about nothing in particular.
func rulesOf(ctx context.Context, l *middleware.Layer, s store.Engine, name string, f *ken.Filter, all []ruleView) ([]ruleView, error) {
	v, err := entity.Show(ctx, s, name, f)
	if err != nil {
		return nil, err
	}
	out := []ruleView{}
	seen := map[string]bool{}
	for i := range v.Constraints {
		c := &v.Constraints[i]
		seen[c.ID] = true
		out = append(out, ruleView{l.Operator().View(c.Whole), c.Distance, c.Via, c.Says})
	}
	for i := range all {
		if len(all[i].Entities) == 0 && !seen[all[i].ID] {
			out = append(out, all[i])
		}
	}
	return out, nil
}

// allRules returns the valid rules, sorted by what they are about, then by age.
func allRules(ctx context.Context, l *middleware.Layer, s store.Engine, f *ken.Filter) ([]ruleView, error) {
	out := []ruleView{}
	for c, err := range s.Scan(ctx, f, nil) {
		if err != nil {
			return nil, err
		}
		if c.Constraint && !c.Kind.Structural() {
			out = append(out, ruleView{Claim: l.Operator().View(c)})
		}
	}
	slices.SortFunc(out, func(x, y ruleView) int {
		return cmp.Or(slices.Compare(x.Entities, y.Entities), x.CreatedAt.Compare(y.CreatedAt), cmp.Compare(x.ID, y.ID))
	})
	return out, nil
}

func (a *commands) dependencyCommand() *cobra.Command {
	return cli.WithSubcommands(&cobra.Command{
		Use:   "dependency",
		Short: "Manage dependencies between entities",
		Example: `  ken dependency list
  ken dependency add payments requires ledger`,
		Long: "Manage dependencies between entities: A uses, requires, is owned by, blocks or informs B. Rules reach one dependency far, in both " +
			"directions. Dependencies that claims state are found automatically; these commands add and remove some.",
	}, a.dependencyAddCommand(), a.dependencyListCommand(), a.dependencyRemoveCommand())
}

func (a *commands) dependencyAddCommand() *cobra.Command {
	var strength float64
	cmd := &cobra.Command{
		Use:   "add A TYPE B",
		Short: "Say that one thing depends on another",
		Long: "Say that A uses, requires, owned_by, blocks or informs B, on the word of who runs the command. Neither need be known yet. One " +
			"that is there gets the strength, and one that was removed stands again.",
		Example: `  ken dependency add payments requires ledger --strength 0.9
  ken dependency add payments owned_by ada`,
		Args:              cli.ExactArgs("A", "TYPE", "B"),
		ValidArgsFunction: a.Complete(cli.EntityNames, cli.FixedChoices(structure.DependencyTypes()...), cli.EntityNames),
		RunE: func(cmd *cobra.Command, args []string) error {
			if cmd.Flags().Changed("strength") && !(strength > 0 && strength <= 1) {
				return cli.Usagef("--strength: %v is outside 0..1, or 0", strength)
			}
			return a.runEdit(cmd.Context(), func(e *edit.Editor) (ken.Claim, error) {
				return e.AddDependency(cmd.Context(), args[0], dependencyType(args[1]), args[2], strength)
			})
		},
	}
	cmd.Flags().Float64Var(&strength, "strength", 0, "`N` above 0, up to 1: how much it depends; default 0.5, or what it was")
	return cmd
}

// dependencyType parses a type as people write it: owned-by is owned_by.
func dependencyType(s string) string {
	return strings.NewReplacer("-", "_", " ", "_").Replace(strings.ToLower(strings.TrimSpace(s)))
}

func (a *commands) dependencyRemoveCommand() *cobra.Command {
	var reason string
	cmd := &cobra.Command{
		Use:   "remove A TYPE B",
		Short: "Remove a dependency",
		Long: "Remove a dependency: rules no longer follow it, and it does not come back when a claim states it again. Its history stays; " +
			"adding it again restores it.",
		Example:           `  ken dependency remove payments requires ledger --reason "it has its own book"`,
		Args:              cli.ExactArgs("A", "TYPE", "B"),
		ValidArgsFunction: a.Complete(cli.EntityNames, cli.FixedChoices(structure.DependencyTypes()...), cli.EntityNames),
		RunE: func(cmd *cobra.Command, args []string) error {
			return a.runEdit(cmd.Context(), func(e *edit.Editor) (ken.Claim, error) {
				return e.RemoveDependency(cmd.Context(), args[0], dependencyType(args[1]), args[2], reason)
			})
		},
	}
	cmd.Flags().StringVar(&reason, "reason", "", "a `REASON`: why it is so no longer, for the history")
	return cmd
}

func (a *commands) dependencyListCommand() *cobra.Command {
	var scopes []string
	cmd := &cobra.Command{
		Use:               "list [ENTITY]",
		Short:             "List dependencies",
		Long:              "List the dependencies that stand, or those of an entity in both directions, with their strength and what they rest on.",
		Example:           `  ken dependency list payments`,
		Args:              cli.MaxArgs("ENTITY"),
		ValidArgsFunction: a.Complete(cli.EntityNames),
		RunE: func(cmd *cobra.Command, args []string) error {
			return a.listDependencies(cmd.Context(), args, scopes)
		},
	}
	cmd.Flags().StringArrayVar(&scopes, "scope", nil, "only what is known in this scope, as `TYPE:ID`, or in all (repeatable)")
	return cmd
}

type dependencyView struct {
	Source   string        `json:"source"`
	Type     string        `json:"type"`
	Target   string        `json:"target"`
	Strength float64       `json:"strength"`
	Claim    inspect.Claim `json:"claim"`
}

func (a *commands) listDependencies(ctx context.Context, args, scopes []string) error {
	f, err := cli.StandingFilter(scopes)
	if err != nil {
		return err
	}
	return a.ReadStore(ctx, func(l *middleware.Layer, s store.Engine) error {
		var names []string
		if len(args) > 0 {
			found, err := entity.Find(ctx, s, args[0], f)
			if err != nil {
				return cli.AsUsageError(err)
			}
			for i := range found {
				names = append(names, found[i].Names()...)
			}
		}
		all, err := dependencies(ctx, l, s, f, names)
		if err != nil {
			return err
		}
		return a.ShowTable(map[string]any{"dependencies": all}, "there are no dependencies", []string{"ID", "STRENGTH", "FROM", "TYPE", "TO", "BECAUSE OF"},
			cli.Map(all, func(d *dependencyView) []string {
				because := strings.Join(cli.Map(d.Claim.Evidence, func(e *ken.Evidence) string { return cli.EvidenceLabel(*e) }), ", ")
				return []string{a.ShortID(d.Claim.ID), fmt.Sprintf("%.2f", d.Strength), d.Source, d.Type, d.Target, because}
			}))
	})
}

// dependencies lists the valid dependencies, sorted by their ends. If names are
// given, it lists only those with one of the names at an end.
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
		out = append(out, dependencyView{c.Entities[0], c.Aspect, c.Entities[1], c.Importance, l.Operator().View(c)})
	}
	slices.SortFunc(out, func(x, y dependencyView) int {
		return cmp.Or(cmp.Compare(x.Source, y.Source), cmp.Compare(x.Target, y.Target), cmp.Compare(x.Type, y.Type), cmp.Compare(x.Claim.ID, y.Claim.ID))
	})
	return out, nil
}
