package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/kenlayer/ken"
	"github.com/kenlayer/ken/internal/knowledge/skill"
	"github.com/kenlayer/ken/middleware"
	"github.com/kenlayer/ken/store"
)

func (a *app) skillCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "skill",
		Short: "Keep playbooks: how something is done here",
		Long: "Keep playbooks: how something is done here, written by a person in Markdown. A playbook reaches the turns that it is for, by " +
			"what it says of when to use it; a turn that has no room for all of it is told of ken skill show.",
		Args: onlySubcommands,
		RunE: func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	cmd.AddCommand(a.skillAddCommand(),
		&cobra.Command{
			Use:   "list",
			Short: "List the playbooks, and whether their files have changed since",
			Long: "List the playbooks, with the state of the file that each was read from: same, changed since, or gone. What was changed " +
				"counts once ken skill add has read it.",
			Args: takes(),
			RunE: func(cmd *cobra.Command, _ []string) error { return a.listSkills(cmd.Context()) },
		},
		&cobra.Command{
			Use:               "show NAME",
			Short:             "Print a playbook whole",
			Long:              "Print a playbook whole, with the files that come with it. It is named as ken skill list shows it, or by its claim's id.",
			Args:              takes("NAME"),
			ValidArgsFunction: a.completes(playbookNames),
			RunE:              func(cmd *cobra.Command, args []string) error { return a.showSkill(cmd.Context(), args[0]) },
		},
		&cobra.Command{
			Use:   "rm NAME",
			Short: "Take a playbook out of recall",
			Long: "Take a playbook out of recall. It stays in the store, disputed as removed, and its history with it; ken skill add brings it " +
				"back. ken forget erases it for good.",
			Args:              takes("NAME"),
			ValidArgsFunction: a.completes(playbookNames),
			RunE:              func(cmd *cobra.Command, args []string) error { return a.removeSkill(cmd.Context(), args[0]) },
		})
	return cmd
}

// playbooks lists the playbooks of these statuses by name.
func playbooks(ctx context.Context, s store.Engine, statuses []ken.Status) ([]ken.Claim, error) {
	const all = 10_000
	claims, err := s.Query(ctx, ken.Query{Limit: all, Filter: ken.Filter{Kinds: []ken.Kind{ken.KindPlaybook}, Statuses: statuses}})
	slices.SortFunc(claims, func(x, y ken.Claim) int {
		return strings.Compare(skillName(&x)+"\x00"+x.ID, skillName(&y)+"\x00"+y.ID)
	})
	return claims, err
}

// skillName is what a playbook is called by: its key's name, and for one that was
// not added as a skill its id.
func skillName(c *ken.Claim) string {
	if name, ok := strings.CutPrefix(c.Key, skill.KeyPrefix); ok {
		return name
	}
	return c.ID
}

// bodyOf is what a playbook says beside its text; empty for one that was not added
// as a skill.
func bodyOf(c *ken.Claim) (b skill.Body) {
	if json.Unmarshal(c.Body, &b) != nil {
		return skill.Body{}
	}
	return b
}

// findSkill finds a playbook by its name, its claim's id, or a part of that.
func findSkill(ctx context.Context, s store.Engine, name string) (ken.Claim, error) {
	c, err := s.ByKey(ctx, skill.KeyPrefix+name)
	if errors.Is(err, ken.ErrNotFound) {
		c, err = s.Get(ctx, name)
	}
	if err == nil && c.Kind != ken.KindPlaybook || errors.Is(err, ken.ErrNotFound) {
		err = &ken.Error{Code: ken.CodeNotFound, Field: "name", Msg: fmt.Sprintf("no playbook %q", name), Try: "List them with ken skill list."}
	}
	return c, err
}

func (a *app) listSkills(ctx context.Context) error {
	return a.withStore(ctx, func(l *middleware.Layer, s store.Engine) error {
		claims, err := playbooks(ctx, s, ken.RecallStatuses())
		if err != nil {
			return err
		}
		type view struct {
			Name string `json:"name"`
			File string `json:"file"` // same, changed or gone; "" is unknown
			claimView
		}
		views := make([]view, len(claims))
		rows := make([][]string, len(claims))
		for i := range claims {
			c := &claims[i]
			views[i] = view{skillName(c), skillFile(l.Root(), c), l.View(*c)}
			rows[i] = []string{views[i].Name, views[i].File, c.Source, headline(c)}
		}
		switch {
		case a.json:
			return a.printJSON(map[string]any{"playbooks": views})
		case len(rows) == 0:
			fmt.Fprintln(a.err, "ken: there are no playbooks yet\nTry: ken skill add FILE.md")
		default:
			a.printTable([]string{"NAME", "FILE", "FROM", "WHAT"}, rows)
		}
		return nil
	})
}

func (a *app) showSkill(ctx context.Context, name string) error {
	return a.withStore(ctx, func(l *middleware.Layer, s store.Engine) error {
		c, err := findSkill(ctx, s, name)
		switch {
		case err != nil:
			return err
		case a.json:
			return a.printJSON(l.View(c))
		}
		if c.Status == ken.StatusDisputed || c.Status == ken.StatusSuperseded {
			fmt.Fprintf(a.err, "ken: playbook %s is %s: no turn gets it\n", skillName(&c), c.Status)
		}
		if c.Heading != "" {
			fmt.Fprintf(a.out, "# %s\n\n", printable(c.Heading))
		}
		fmt.Fprintln(a.out, printable(c.Text))
		if files := bodyOf(&c).Files; len(files) > 0 {
			fmt.Fprintf(a.out, "\nFiles beside %s:\n", printable(c.Source))
			for _, f := range files {
				fmt.Fprintf(a.out, "- %s (%d bytes)\n", printable(f.Path), f.Size)
			}
		}
		return nil
	})
}

func (a *app) removeSkill(ctx context.Context, name string) error {
	return a.withStore(ctx, func(l *middleware.Layer, s store.Engine) error {
		c, err := findSkill(ctx, s, name)
		if err != nil {
			return err
		}
		if err := myDesk(l, s).Dispute(ctx, c.ID, "removed"); err != nil {
			return err
		}
		if c, err = s.Get(ctx, c.ID); err != nil {
			return err
		}
		return a.printMoved(l.View(c))
	})
}
