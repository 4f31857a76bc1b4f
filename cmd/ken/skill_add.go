package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"time"

	"github.com/spf13/cobra"

	"github.com/kenlayer/ken"
	"github.com/kenlayer/ken/config"
	"github.com/kenlayer/ken/internal/knowledge/skill"
	"github.com/kenlayer/ken/internal/knowledge/structure/edit"
	"github.com/kenlayer/ken/internal/knowledge/structure/reading"
	"github.com/kenlayer/ken/middleware"
	"github.com/kenlayer/ken/store"
)

func (a *app) skillAddCommand() *cobra.Command {
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
		Args: func(_ *cobra.Command, args []string) error {
			if len(args) == 0 {
				return errors.New("add: FILE is missing; - is standard input")
			}
			return nil
		},
		RunE: func(cmd *cobra.Command, args []string) error { return a.addSkills(cmd.Context(), args) },
	}
}

// addedSkill is what became of one playbook.
type addedSkill struct {
	Name    string   `json:"name"`
	ID      string   `json:"id"`
	Change  string   `json:"change"` // added, updated or unchanged
	Path    string   `json:"path"`
	Missing []string `json:"missing,omitempty"` // files that it refers to and that are not there
}

func (a *app) addSkills(ctx context.Context, paths []string) error {
	read := make([]skill.Skill, len(paths))
	for i, path := range paths { // a bad one must not show half way
		var err error
		if read[i], err = a.readSkill(path); err != nil {
			return usage{err}
		}
	}
	return a.withStore(ctx, func(l *middleware.Layer, s store.Engine) error {
		e := myDesk(l, s).Editor()
		added := make([]addedSkill, 0, len(read))
		var failed error
		for i := range read {
			one, err := addSkill(ctx, s, e, &read[i], time.Now().UTC())
			if err != nil {
				failed = fmt.Errorf("add %s: %w", read[i].Path, err)
				break
			}
			if c, err := s.Get(ctx, one.ID); err == nil && c.Text != read[i].Text() {
				fmt.Fprintf(a.err, "ken: %s: what looked like a secret, a model's reasoning or a control character was taken out\n", one.Name)
			}
			for _, m := range one.Missing {
				fmt.Fprintf(a.err, "ken: %s refers to %s, which is not there\n", one.Name, cell(m))
			}
			added = append(added, one)
		}
		if a.json {
			return errors.Join(a.printJSON(map[string]any{"playbooks": added}), failed)
		}
		for _, one := range added {
			fmt.Fprintf(a.out, "%s %s\n", one.Change, one.Name)
		}
		return failed
	})
}

// readSkill reads a playbook; - is standard input. Its path is as the project sees
// it, so that it is the same from wherever the command runs.
func (a *app) readSkill(path string) (skill.Skill, error) {
	if path == "-" {
		b, err := io.ReadAll(io.LimitReader(a.in, skill.MaxBytes+1))
		if err != nil {
			return skill.Skill{}, fmt.Errorf("read standard input: %w", err)
		}
		return skill.Parse(path, b)
	}
	sk, err := skill.Read(path)
	if err != nil {
		return sk, err
	}
	root, err := a.project()
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

// addSkill writes one playbook.
func addSkill(ctx context.Context, s store.Engine, e *edit.Editor, sk *skill.Skill, now time.Time) (addedSkill, error) {
	out := addedSkill{Name: sk.Name, Change: "added", Path: sk.Path, Missing: sk.Missing}
	c, err := sk.Claim(currentUser(), now)
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
		// The text is the same, and so its status stayed: adding it again is the word of a
		// person that it holds.
		err = s.Transition(ctx, ken.Transition{ID: out.ID, To: ken.StatusVerified, Reason: "added again", Actor: c.Actor, Evidence: c.Evidence[:1]})
	case have.Status == ken.StatusDisputed: // removed before
	case is.UpdatedAt.Equal(have.UpdatedAt):
		out.Change = "unchanged"
	default:
		out.Change = "updated"
	}
	return out, err
}

// skillFile says what has become of the file that a playbook was read from: same,
// changed or gone; "" when it came from elsewhere.
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
