package main

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/kenlayer/ken/config"
	"github.com/kenlayer/ken/internal/knowledge/structure/classify"
	"github.com/kenlayer/ken/internal/run/jobs"
	"github.com/kenlayer/ken/middleware"
	"github.com/kenlayer/ken/store"
)

func (a *app) entityBackfillCommand() *cobra.Command {
	var status bool
	cmd := &cobra.Command{
		Use:   "backfill",
		Short: "File the claims that are not filed yet, and show how far that is",
		Long: "File the claims that were there before there was a structure, and ask the model about those that it has not seen, where one is " +
			"configured: what runs in the background anyhow, here at once. A claim whose subject is not sure enough is left out, and counted. " +
			"Doing it again changes nothing. With --status, only show how far it is.",
		Example: `  ken entity backfill --status
  ken entity backfill`,
		Args: takes(),
		RunE: func(cmd *cobra.Command, _ []string) error { return a.backfill(cmd.Context(), status) },
	}
	cmd.Flags().BoolVar(&status, "status", false, "change nothing")
	return cmd
}

// backfillView is how far the filing is.
type backfillView struct {
	Coverage classify.Coverage `json:"coverage"`
	Share    float64           `json:"share"` // of the claims that have a place
	State    classify.State    `json:"state"`
	Seq      uint64            `json:"seq"` // of the log's last event
	Waiting  int               `json:"waiting"`
	Dead     int               `json:"dead"`
}

func (a *app) backfill(ctx context.Context, status bool) error {
	return a.withStore(ctx, func(l *middleware.Layer, s store.Engine) error {
		if l.Config().Structure.Classify == config.ClassifyOff {
			a.tell("structure.classify is off: claims are filed as they are written, and not afterwards")
		} else if !status {
			if err := a.file(ctx, l, s); err != nil {
				return err
			}
		}
		v := backfillView{Seq: s.Seq()}
		var err error
		if v.State, err = l.Filing(ctx, a.owner); err != nil {
			return err
		}
		if v.Coverage, err = classify.Cover(ctx, s, nil); err != nil {
			return err
		}
		v.Share = v.Coverage.Share()
		all, err := l.Jobs(a.owner).List(ctx, jobs.Queued, jobs.Running, jobs.Dead)
		if err != nil {
			return err
		}
		for i := range all {
			switch {
			case all[i].Kind != classify.JobClassify && all[i].Kind != classify.JobDependency:
			case all[i].State == jobs.Dead:
				v.Dead++
			default:
				v.Waiting++
			}
		}
		if a.json {
			return a.printJSON(v)
		}
		a.printBackfill(&v)
		return nil
	})
}

// file files everything, and reports how far it is meanwhile.
func (a *app) file(ctx context.Context, l *middleware.Layer, s store.Engine) error {
	p := a.progress()
	defer p.done()
	done, watched := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(watched)
		tick := time.NewTicker(200 * time.Millisecond)
		defer tick.Stop()
		for {
			select {
			case <-done:
				return
			case <-tick.C:
				if st, err := l.Filing(ctx, a.owner); err == nil {
					p.update("file claims", int(st.Rules), int(s.Seq()))
				}
			}
		}
	}()
	_, err := l.File(ctx, a.owner)
	close(done)
	<-watched
	return err
}

func (a *app) printBackfill(v *backfillView) {
	line := func(name, format string, args ...any) {
		fmt.Fprintf(a.out, "%-12s  %s\n", name, fmt.Sprintf(format, args...))
	}
	c, n := &v.Coverage, &v.State.Counts
	line("filed", "%d of %d claims (%.0f %%): %d by rules, %d by a model, %d by hand", c.Filed, c.Claims, 100*v.Share, c.Rules, c.Model, c.Operator)
	line("left out", "%d unsure, %d that the rules read nothing in", n.Unsure, n.Unread)
	line("dependencies", "%d by rules, %d by a model, %d taken back", n.Dependencies, n.Ties, n.Retracted)
	line("looked at", "%d of %d events", v.State.Rules, v.Seq)
	if n.Requests > 0 || v.State.Model > 0 {
		line("model", "%d requests, %d failed; up to event %d", n.Requests, n.Failures, v.State.Model)
	}
	if v.Waiting+v.Dead > 0 {
		line("jobs", "%d waiting, %d dead", v.Waiting, v.Dead)
	}
	var refused []string
	for _, why := range sortedKeys(n.Refused) {
		refused = append(refused, fmt.Sprintf("%d %s", n.Refused[why], why))
	}
	if len(refused) > 0 {
		line("refused", "%s", strings.Join(refused, ", "))
	}
}
