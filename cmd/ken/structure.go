package main

import (
	"context"
	"errors"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/kenlayer/ken"
	"github.com/kenlayer/ken/internal/knowledge/structure/edit"
	"github.com/kenlayer/ken/internal/knowledge/structure/entity"
	"github.com/kenlayer/ken/internal/knowledge/structure/reading"
	"github.com/kenlayer/ken/middleware"
	"github.com/kenlayer/ken/store"
)

// edited runs a change of the structure and prints the claim that came of it.
func (a *app) edited(ctx context.Context, change func(*edit.Editor) (ken.Claim, error)) error {
	return a.withStore(ctx, func(l *middleware.Layer, s store.Engine) error {
		c, err := change(myDesk(l, s).Editor())
		if err != nil {
			return badUsage(err)
		}
		return a.printMoved(l.View(c))
	})
}

// badUsage makes a complaint about what was given a usage error.
func badUsage(err error) error {
	if errors.Is(err, ken.ErrInvalid) {
		return usage{err}
	}
	return err
}

// standing admits what stands now in these scopes, and what has none.
func standing(scopes []string) (*ken.Filter, error) {
	f := &ken.Filter{Unscoped: true, Now: time.Now().UTC()}
	return f, filterFlags(f, nil, nil, scopes)
}

// shownAs sets how entities are shown: as turns weigh them.
func (a *app) shownAs(ctx context.Context, l *middleware.Layer) func(*entity.Options) {
	learner := l.Learner(a.owner)
	loaded := learner.Load(ctx) == nil // without it, aspects weigh what they do for a new owner
	return func(o *entity.Options) {
		o.DecayDays = l.Config().Knowledge.DecayDays
		if loaded {
			o.Utility = learner
		}
	}
}

// entityNames are the names that something is known of, those of tasks apart.
func entityNames(ctx context.Context, _ *middleware.Layer, s store.Engine) (out []string, err error) {
	const most = 2000 // more than a person reads, and what a shell takes without a pause
	f, err := standing(nil)
	if err != nil {
		return nil, err
	}
	found, err := entity.Search(ctx, s, "", f, most)
	for _, h := range found.Hits {
		what := h.Type
		if len(h.Of) > 0 {
			what = "another name of " + strings.Join(h.Of, ", ")
		}
		out = append(out, h.Name+"\t"+cell(what))
	}
	return out, err
}

// aliasNames are names that are other names of something.
func aliasNames(ctx context.Context, _ *middleware.Layer, s store.Engine) (out []string, err error) {
	f, err := standing(nil)
	if err != nil {
		return nil, err
	}
	f.Kinds = []ken.Kind{ken.KindAlias}
	for c, err := range s.Scan(ctx, f, nil) {
		if err != nil {
			return out, err
		}
		if len(c.Entities) == 2 {
			out = append(out, c.Entities[1]+"\tanother name of "+cell(c.Entities[0]))
		}
	}
	return out, nil
}

func taskIDs(ctx context.Context, l *middleware.Layer, s store.Engine) (out []string, err error) {
	all, err := myDesk(l, s).Editor().Tasks(ctx, edit.TaskFilter{})
	for i := range all {
		out = append(out, all[i].ID+"\t"+fit(cell(all[i].Title), 60))
	}
	return out, err
}

// words offers words that are always the same.
func words(list ...string) choices {
	return func(context.Context, *middleware.Layer, store.Engine) ([]string, error) { return list, nil }
}

// completeFlag completes the values of a flag.
func (a *app) completeFlag(cmd *cobra.Command, flag string, list choices) {
	complete := a.completes(list)
	if err := cmd.RegisterFlagCompletionFunc(flag, func(cmd *cobra.Command, _ []string, begun string) ([]string, cobra.ShellCompDirective) {
		return complete(cmd, nil, begun)
	}); err != nil {
		panic(err) // the command has no such flag
	}
}

// suggestedAspects are the aspects that things of any type usually have.
func suggestedAspects() (out []string) {
	seen := map[string]bool{}
	for _, t := range reading.Types() {
		for _, name := range reading.SuggestedAspects(t) {
			if !seen[name] {
				seen[name] = true
				out = append(out, name)
			}
		}
	}
	return out
}
