package main

import (
	"cmp"
	"context"
	"io"
	"os"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"github.com/kenlayer/ken"
	"github.com/kenlayer/ken/internal/knowledge/skill"
	"github.com/kenlayer/ken/internal/store/bolt"
	"github.com/kenlayer/ken/middleware"
	"github.com/kenlayer/ken/store"
)

// shortest is how many characters of an id tables show, where its beginning
// names it.
const shortest = 8

// beginnings shortens ids to beginnings that tell each from all the others.
func beginnings(ids []string) []string {
	out := make([]string, len(ids))
	for i, id := range ids {
		n := min(shortest, len(id))
		for j, other := range ids {
			for i != j && n < len(id) && strings.HasPrefix(other, id[:n]) {
				n++
			}
		}
		out[i] = id[:n]
	}
	return out
}

// choices lists what may stand for a command's argument: a word, and after a tab
// what it is.
type choices func(ctx context.Context, l *middleware.Layer, s store.Engine) ([]string, error)

// completes completes a command's arguments, each from its own list. Without a store
// there is nothing to choose from, and none is made.
func (a *app) completes(lists ...choices) cobra.CompletionFunc {
	return func(cmd *cobra.Command, args []string, begun string) ([]string, cobra.ShellCompDirective) {
		const noFiles = cobra.ShellCompDirectiveNoFileComp
		cfg, _, err := a.configuration()
		root, rootErr := a.project()
		if len(args) >= len(lists) || err != nil || rootErr != nil {
			return nil, noFiles
		}
		if _, err := os.Stat(filepath.Join(cfg.State(root), bolt.FolderName(cmp.Or(a.owner, cfg.Knowledge.Owner)))); err != nil {
			return nil, noFiles
		}
		quiet := &app{streams: streams{in: a.in, out: a.out, err: io.Discard}, dir: a.dir, owner: a.owner, quiet: true}
		var all []string
		err = quiet.withStore(cmd.Context(), func(l *middleware.Layer, s store.Engine) (err error) {
			all, err = lists[len(args)](cmd.Context(), l, s)
			return err
		})
		if err != nil {
			return nil, noFiles
		}
		var out []string
		for _, c := range all {
			if strings.HasPrefix(c, begun) {
				out = append(out, c)
			}
		}
		return out, noFiles
	}
}

func sessionIDs(ctx context.Context, l *middleware.Layer, s store.Engine) (out []string, err error) {
	all, err := l.Journal(s.Owner()).List(ctx)
	for i := range all {
		out = append(out, all[i].ID+"\t"+all[i].Active.UTC().Format(minute)+", "+string(all[i].State))
	}
	return out, err
}

func jobIDs(ctx context.Context, l *middleware.Layer, s store.Engine) (out []string, err error) {
	all, err := l.Jobs(s.Owner()).List(ctx)
	for i := range all {
		out = append(out, all[i].ID+"\t"+all[i].Kind+", "+string(all[i].State))
	}
	return out, err
}

func attentionIDs(ctx context.Context, l *middleware.Layer, s store.Engine) (out []string, err error) {
	all, _, err := myDesk(l, s).Attention(ctx, false)
	for i := range all {
		out = append(out, all[i].ID+"\t"+all[i].Action)
	}
	return out, err
}

func playbookNames(ctx context.Context, _ *middleware.Layer, s store.Engine) (out []string, err error) {
	all, err := playbooks(ctx, s, ken.RecallStatuses())
	for i := range all {
		if name, ok := strings.CutPrefix(all[i].Key, skill.KeyPrefix); ok {
			out = append(out, name+"\t"+cell(all[i].Heading))
		}
	}
	return out, err
}

// memoryIDs are the claims that MEMORY.md is about.
func memoryIDs(ctx context.Context, l *middleware.Layer, s store.Engine) (out []string, err error) {
	all, err := myDesk(l, s).Memory(ctx, true)
	for i := range all {
		out = append(out, all[i].ID+"\t"+fit(cell(all[i].Text), 60))
	}
	return out, err
}
