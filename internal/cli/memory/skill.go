package memory

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/kenlayer/ken"
	"github.com/kenlayer/ken/config"
	"github.com/kenlayer/ken/internal/cli"
	"github.com/kenlayer/ken/internal/knowledge/skill"
	"github.com/kenlayer/ken/internal/knowledge/structure/edit"
	"github.com/kenlayer/ken/internal/knowledge/structure/reading"
	"github.com/kenlayer/ken/internal/middleware/inspect"
	"github.com/kenlayer/ken/middleware"
	"github.com/kenlayer/ken/store"
)

func playbookNames(ctx context.Context, _ *middleware.Layer, s store.Engine) (out []string, err error) {
	all, err := playbooks(ctx, s, ken.RecallStatuses())
	for i := range all {
		if name, ok := strings.CutPrefix(all[i].Key, skill.KeyPrefix); ok {
			out = append(out, name+"\t"+cli.Cell(all[i].Heading))
		}
	}
	return out, err
}

func (a *commands) skillCommand() *cobra.Command {
	return cli.WithSubcommands(&cobra.Command{
		Use:   "skill",
		Short: "Manage playbooks: how something is done here",
		Example: `  ken skill list
  ken skill add runbooks/restart.md`,
		Long: "Manage playbooks: how something is done here, written by a person in Markdown. A playbook reaches the turns that match " +
			"its description of when to use it; a turn without room for all of it gets a hint to ken skill show.",
	}, a.skillAddCommand(),
		&cobra.Command{
			Use:     "list",
			Short:   "List the playbooks, and whether their files have changed since",
			Example: `  ken skill list`,
			Long: "List the playbooks, with the state of the file that each was read from: same, changed since, or gone. What was changed " +
				"counts once ken skill add has read it.",
			Args: cli.ExactArgs(),
			RunE: func(cmd *cobra.Command, _ []string) error { return a.listSkills(cmd.Context()) },
		},
		&cobra.Command{
			Use:               "show NAME",
			Short:             "Print a playbook whole",
			Example:           `  ken skill show restart`,
			Long:              "Print a playbook whole, with the files that come with it. It is named as ken skill list shows it, or by its claim's id.",
			Args:              cli.ExactArgs("NAME"),
			ValidArgsFunction: a.Complete(playbookNames),
			RunE:              func(cmd *cobra.Command, args []string) error { return a.showSkill(cmd.Context(), args[0]) },
		},
		&cobra.Command{
			Use:     "rm NAME",
			Short:   "Take a playbook out of recall",
			Example: `  ken skill rm restart`,
			Long: "Take a playbook out of recall. It stays in the store, disputed as removed, and its history with it; ken skill add brings it " +
				"back. ken forget erases it for good.",
			Args:              cli.ExactArgs("NAME"),
			ValidArgsFunction: a.Complete(playbookNames),
			RunE:              func(cmd *cobra.Command, args []string) error { return a.removeSkill(cmd.Context(), args[0]) },
		})
}

// playbooks lists the playbooks with these statuses by name.
func playbooks(ctx context.Context, s store.Engine, statuses []ken.Status) ([]ken.Claim, error) {
	const all = 10_000
	claims, err := s.Query(ctx, ken.Query{Limit: all, Filter: ken.Filter{Kinds: []ken.Kind{ken.KindPlaybook}, Statuses: statuses}})
	slices.SortFunc(claims, func(x, y ken.Claim) int {
		return strings.Compare(skillName(&x)+"\x00"+x.ID, skillName(&y)+"\x00"+y.ID)
	})
	return claims, err
}

// skillName returns a playbook's name: the name in its key, or its id if it was not added
// as a skill.
func skillName(c *ken.Claim) string {
	if name, ok := strings.CutPrefix(c.Key, skill.KeyPrefix); ok {
		return name
	}
	return c.ID
}

// bodyOf returns the body of a playbook; empty if it was not added as a skill.
func bodyOf(c *ken.Claim) (b skill.Body) {
	if json.Unmarshal(c.Body, &b) != nil {
		return skill.Body{}
	}
	return b
}

// findSkill finds a playbook by its name, its claim's id, or a part of the id.
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

func (a *commands) listSkills(ctx context.Context) error {
	return a.ReadStore(ctx, func(l *middleware.Layer, s store.Engine) error {
		claims, err := playbooks(ctx, s, ken.RecallStatuses())
		if err != nil {
			return err
		}
		type view struct {
			Name string `json:"name"`
			File string `json:"file"` // same, changed or gone; "" if unknown
			inspect.Claim
		}
		views := cli.Map(claims, func(c *ken.Claim) view { return view{skillName(c), skillFile(l.Root(), c), l.Operator().View(*c)} })
		return a.ShowTable(map[string]any{"playbooks": views}, "there are no playbooks yet\nTry: ken skill add FILE.md", []string{"NAME", "FILE", "FROM", "WHAT"},
			cli.Map(views, func(v *view) []string { return []string{v.Name, v.File, v.Source, cli.Headline(&v.Claim.Claim)} }))
	})
}

func (a *commands) showSkill(ctx context.Context, name string) error {
	return a.ReadStore(ctx, func(l *middleware.Layer, s store.Engine) error {
		c, err := findSkill(ctx, s, name)
		switch {
		case err != nil:
			return err
		case a.JSON:
			return a.PrintJSON(l.Operator().View(c))
		}
		if c.Status == ken.StatusDisputed || c.Status == ken.StatusSuperseded {
			fmt.Fprintf(a.Err, "ken: playbook %s is %s: no turn gets it\n", skillName(&c), c.Status)
		}
		if c.Heading != "" {
			fmt.Fprintf(a.Out, "# %s\n\n", cli.Printable(c.Heading))
		}
		fmt.Fprintln(a.Out, cli.Printable(c.Text))
		if files := bodyOf(&c).Files; len(files) > 0 {
			fmt.Fprintf(a.Out, "\nFiles beside %s:\n", cli.Printable(c.Source))
			for _, f := range files {
				fmt.Fprintf(a.Out, "- %s (%d bytes)\n", cli.Printable(f.Path), f.Size)
			}
		}
		return nil
	})
}

func (a *commands) removeSkill(ctx context.Context, name string) error {
	return a.ReadStore(ctx, func(l *middleware.Layer, s store.Engine) error {
		c, err := findSkill(ctx, s, name)
		if err == nil {
			err = cli.Desk(l, s).Dispute(ctx, c.ID, "removed")
		}
		return a.printStored(ctx, l, s, c.ID, err)
	})
}

func (a *commands) skillAddCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "add FILE|FOLDER|- …",
		Short: "Add playbooks, or update them",
		Long: "Add playbooks from Markdown files, or from folders with a SKILL.md as the Agent Skills convention has it, and say for each " +
			"whether it was added, updated or unchanged. Front matter may give name, description, license, allowed-tools and triggers; " +
			"without it, the first heading is the name, and the first paragraph says what it is for. One with the name of another is a new " +
			"version of it. Other files of a folder are listed and never opened; nothing is run.",
		Example: `  ken skill add docs/runbooks/restart.md
  ken skill add .claude/skills/*
  pandoc -t gfm deploy.docx | ken skill add -`,
		Args: cli.AtLeastOne("add: FILE is missing; - is standard input"),
		RunE: func(cmd *cobra.Command, args []string) error { return a.addSkills(cmd.Context(), args) },
	}
}

type addedSkill struct {
	Name    string   `json:"name"`
	ID      string   `json:"id"`
	Change  string   `json:"change"` // added, updated or unchanged
	Path    string   `json:"path"`
	Missing []string `json:"missing,omitempty"` // referenced files that don't exist
}

func (a *commands) addSkills(ctx context.Context, paths []string) error {
	read := make([]skill.Skill, len(paths))
	for i, path := range paths { // check all before the first is added
		var err error
		if read[i], err = a.readSkill(ctx, path); err != nil {
			return cli.UsageError(err)
		}
	}
	return a.WithStore(ctx, func(l *middleware.Layer, s store.Engine) error {
		e := cli.Desk(l, s).Editor()
		added := make([]addedSkill, 0, len(read))
		var failed error
		for i := range read {
			one, err := addSkill(ctx, s, e, &read[i], time.Now().UTC())
			if err != nil {
				failed = fmt.Errorf("add %s: %w", read[i].Path, err)
				break
			}
			if c, err := s.Get(ctx, one.ID); err == nil && c.Text != read[i].Text() {
				fmt.Fprintf(a.Err, "ken: %s: what looked like a secret, a model's reasoning or a control character was taken out\n", one.Name)
			}
			for _, m := range one.Missing {
				fmt.Fprintf(a.Err, "ken: %s refers to %s, which is not there\n", one.Name, cli.Cell(m))
			}
			added = append(added, one)
		}
		if a.JSON {
			return errors.Join(a.PrintJSON(map[string]any{"playbooks": added}), failed)
		}
		for _, one := range added {
			fmt.Fprintf(a.Out, "%s %s\n", one.Change, one.Name)
		}
		return failed
	})
}

// readSkill reads a playbook; - means standard input. The path is made relative to the
// project, so that it does not depend on the working directory.
func (a *commands) readSkill(ctx context.Context, path string) (skill.Skill, error) {
	if path == "-" {
		b, err := io.ReadAll(io.LimitReader(a.Input(ctx), skill.MaxBytes+1))
		if err != nil {
			return skill.Skill{}, fmt.Errorf("read standard input: %w", err)
		}
		return skill.Parse(path, b)
	}
	sk, err := skill.Read(path)
	if err != nil {
		return sk, err
	}
	root, err := a.Project()
	if err != nil {
		return sk, err
	}
	if sk.Path, err = filepath.Abs(sk.Path); err != nil {
		return sk, fmt.Errorf("find %s: %w", path, err)
	}
	if rel, err := filepath.Rel(root, sk.Path); err == nil && filepath.IsLocal(rel) {
		sk.Path = rel
	}
	return sk, nil
}

func addSkill(ctx context.Context, s store.Engine, e *edit.Editor, sk *skill.Skill, now time.Time) (addedSkill, error) {
	out := addedSkill{Name: sk.Name, Change: "added", Path: sk.Path, Missing: sk.Missing}
	c, err := sk.Claim(cli.CurrentUser(), now)
	if err != nil {
		return out, err
	}
	c.Owner = s.Owner()
	have, err := s.ByKey(ctx, c.Key)
	known := err == nil
	switch {
	case err != nil && !errors.Is(err, ken.ErrNotFound):
		return out, err
	case known && have.Status == ken.StatusSuperseded:
		return out, &ken.Error{Code: ken.CodeRefused, Field: "name", Msg: "playbook " + sk.Name + " was replaced by claim " + have.SupersededBy,
			Try: "Give it another name, or erase the old one with ken forget " + have.ID + "."}
	}
	if out.ID, err = s.WriteClaim(ctx, c); err != nil {
		return out, err
	}
	if _, err = e.Describe(ctx, sk.Name, string(reading.Skill), cmp.Or(sk.Title, sk.Name)); err != nil || !known {
		return out, err
	}
	is, err := s.Get(ctx, out.ID)
	switch {
	case err != nil:
	case have.Status == ken.StatusDisputed && is.Status == ken.StatusDisputed:
		// The text is unchanged, so its status is too. Adding it again means that a person
		// confirms it.
		err = s.Transition(ctx, ken.Transition{ID: out.ID, To: ken.StatusVerified, Reason: "added again", Actor: c.Actor, Evidence: c.Evidence[:1]})
	case have.Status == ken.StatusDisputed: // removed earlier
	case is.UpdatedAt.Equal(have.UpdatedAt):
		out.Change = "unchanged"
	default:
		out.Change = "updated"
	}
	return out, err
}

// skillFile returns the state of the file that a playbook was read from: same, changed or
// gone; "" if it came from elsewhere.
func skillFile(root string, c *ken.Claim) string {
	hash := bodyOf(c).Hash
	if hash == "" || c.Source == "" || c.Source == "-" {
		return ""
	}
	sk, err := skill.Read(config.InProject(root, filepath.FromSlash(c.Source)))
	switch {
	case errors.Is(err, ken.ErrNotFound):
		return "gone"
	case err != nil || sk.Hash != hash:
		return "changed"
	}
	return "same"
}
