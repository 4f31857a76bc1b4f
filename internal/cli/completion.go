package cli

import (
	"cmp"
	"context"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/kenlayer/ken"
	"github.com/kenlayer/ken/internal/knowledge/structure/entity"
	"github.com/kenlayer/ken/internal/knowledge/structure/reading"
	"github.com/kenlayer/ken/internal/store/bolt"
	"github.com/kenlayer/ken/middleware"
	"github.com/kenlayer/ken/store"
)

// Choices lists the possible values of an argument: each a word and, after a tab, its
// description.
type Choices func(ctx context.Context, l *middleware.Layer, s store.Engine) ([]string, error)

// Complete completes a command's arguments, each from its own list. It offers nothing and
// creates no store if there is none.
func (a *App) Complete(lists ...Choices) cobra.CompletionFunc {
	return func(cmd *cobra.Command, args []string, begun string) ([]string, cobra.ShellCompDirective) {
		const noFiles = cobra.ShellCompDirectiveNoFileComp
		r, err := a.Configuration()
		if len(args) >= len(lists) || err != nil {
			return nil, noFiles
		}
		if _, err := os.Stat(filepath.Join(r.Config.State(r.Root), bolt.FolderName(cmp.Or(a.Owner, r.Config.Knowledge.Owner)))); err != nil {
			return nil, noFiles
		}
		var all []string
		err = a.Silent().WithStore(cmd.Context(), func(l *middleware.Layer, s store.Engine) (err error) {
			all, err = lists[len(args)](cmd.Context(), l, s)
			return err
		})
		if err != nil {
			return nil, noFiles
		}
		return slices.DeleteFunc(slices.Clone(all), func(c string) bool { return !strings.HasPrefix(c, begun) }), noFiles
	}
}

// EntityNames lists the names of the known entities, without tasks.
func EntityNames(ctx context.Context, _ *middleware.Layer, s store.Engine) (out []string, err error) {
	const most = 2000 // more than a person reads, and as many as a shell shows without delay
	f, err := StandingFilter(nil)
	if err != nil {
		return nil, err
	}
	found, err := entity.Search(ctx, s, "", f, most)
	for _, h := range found.Hits {
		what := h.Type
		if len(h.Of) > 0 {
			what = "another name of " + strings.Join(h.Of, ", ")
		}
		out = append(out, h.Name+"\t"+Cell(what))
	}
	return out, err
}

// ClaimIDs lists the ids of the newest claims, newest first.
func ClaimIDs(ctx context.Context, _ *middleware.Layer, s store.Engine) ([]string, error) {
	return claimIDs(ctx, s, func(*ken.Claim) bool { return true })
}

// RuleIDs is ClaimIDs for rules and candidate rules.
func RuleIDs(ctx context.Context, _ *middleware.Layer, s store.Engine) ([]string, error) {
	return claimIDs(ctx, s, func(c *ken.Claim) bool { return c.Constraint || c.RuleCandidate })
}

func claimIDs(ctx context.Context, s store.Engine, want func(*ken.Claim) bool) (out []string, err error) {
	const most = 500 // more than a person reads
	for c, err := range s.Claims(ctx) {
		if err != nil {
			return nil, err
		}
		if !c.Kind.Structural() && c.Status != ken.StatusSuperseded && want(&c) {
			out = append(out, c.ID+"\t"+Truncate(Cell(c.Text), 60))
		}
	}
	slices.Reverse(out)
	return out[:min(len(out), most)], nil
}

// Owners completes the owners that have a store in the project's state folder.
func (a *App) Owners(*cobra.Command, []string, string) ([]string, cobra.ShellCompDirective) {
	r, err := a.Configuration()
	if err != nil {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	owners, _ := OwnersIn(r.Config.State(r.Root))
	return owners, cobra.ShellCompDirectiveNoFileComp
}

// FixedChoices always offers the same words.
func FixedChoices(list ...string) Choices {
	return func(context.Context, *middleware.Layer, store.Engine) ([]string, error) { return list, nil }
}

// CompleteFlag completes the values of a flag.
func (a *App) CompleteFlag(cmd *cobra.Command, flag string, list Choices) {
	CompleteFlag(cmd, flag, a.Complete(list))
}

// CompleteFlag completes the values of a flag as a first argument.
func CompleteFlag(cmd *cobra.Command, flag string, complete cobra.CompletionFunc) {
	if err := cmd.RegisterFlagCompletionFunc(flag, func(cmd *cobra.Command, _ []string, begun string) ([]string, cobra.ShellCompDirective) {
		return complete(cmd, nil, begun)
	}); err != nil {
		panic(err) // fails only if the command has no such flag
	}
}

// CompleteWords completes the values of a flag with a fixed list.
func CompleteWords(cmd *cobra.Command, flag string, words ...string) {
	CompleteFlag(cmd, flag, cobra.FixedCompletions(words, cobra.ShellCompDirectiveNoFileComp))
}

// SuggestedAspects lists the usual aspects of all types of entities.
func SuggestedAspects() (out []string) {
	for _, t := range reading.Types() {
		for _, name := range reading.SuggestedAspects(t) {
			if !slices.Contains(out, name) {
				out = append(out, name)
			}
		}
	}
	return out
}
