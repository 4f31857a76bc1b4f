package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"time"

	"github.com/kenlayer/ken"
	"github.com/kenlayer/ken/harvest"
	"github.com/kenlayer/ken/internal/run/jobs"
	"github.com/kenlayer/ken/internal/run/session"
)

// catchUpFor bounds what a chat that nobody watches waits for earlier sessions, so
// that a model which is slow or gone does not keep it from its first turn. A person
// can press Ctrl-C.
const catchUpFor = 30 * time.Second

// learns reports whether a conversation is harvested at all.
func (c *conversation) learns() bool {
	on := c.layer.Config().Middleware
	return c.stored && on.Knowledge && on.Journal && on.Harvest
}

// catchUp harvests what earlier sessions left, so that this one knows it. What
// can't be done now stays in the queue.
func (c *conversation) catchUp(ctx context.Context) error {
	if !c.learns() {
		return nil
	}
	wait, stop := c.interruptible(ctx)
	defer stop()
	if !c.person {
		var cancel context.CancelFunc
		wait, cancel = context.WithTimeout(wait, catchUpFor)
		defer cancel()
	}
	report, err := c.layer.Harvest(wait, c.a.owner)
	c.progress.done()
	switch {
	case ctx.Err() != nil:
		return ctx.Err()
	case wait.Err() != nil:
		c.tell("stopped; what is not harvested of earlier sessions waits for ken harvest, or the next ken chat")
		return nil
	case err != nil:
		c.a.fail(err) // told; the chat goes on
	}
	c.tellFailed(report.Jobs)
	if n := report.Done; n == 1 {
		c.tell("kept of an earlier session: %s", cell(note(report.Jobs)))
	} else if n > 1 {
		c.tell("harvested %d earlier sessions; ken sessions lists them", n)
	}
	return nil
}

// note is what the first job that was done says of itself.
func note(ran []jobs.Job) string {
	for i := range ran {
		if ran[i].State == jobs.Done {
			return ran[i].Note
		}
	}
	return ""
}

// finish ends the conversation's session, and harvests it while somebody may still
// see what is kept. What comes in between, such as Ctrl-C, leaves it in the queue.
func (c *conversation) finish(ctx context.Context) {
	if !c.said || !c.learns() {
		return
	}
	c.said = false
	wait, stop := c.interruptible(ctx)
	defer stop()
	err := c.layer.End(wait, c.a.owner, c.who.Session, session.Closed)
	var report jobs.Report
	if err == nil {
		report, err = c.layer.Harvest(wait, c.a.owner)
	}
	c.progress.done()
	if wait.Err() != nil {
		c.tell("stopped; what is not harvested waits for ken harvest, or the next ken chat")
		return
	}
	if err != nil {
		c.a.fail(err)
		return
	}
	c.tellFailed(report.Jobs)
	info, err := c.layer.Journal(c.a.owner).Info(ctx, c.who.Session)
	switch {
	case errors.Is(err, ken.ErrNotFound): // nothing of it is kept
	case err != nil:
		c.a.fail(err)
	case info.State == session.Harvested && info.Outcome != nil:
		text := harvest.Kept(info.Outcome)
		if info.Outcome.Note != "" {
			text += "; " + info.Outcome.Note
		}
		c.tell("kept: %s", cell(text))
	}
}

// tellFailed tells of jobs that failed, and are tried again or dead.
func (c *conversation) tellFailed(ran []jobs.Job) {
	for i := range ran {
		if j := &ran[i]; j.Error != "" && j.State != jobs.Done {
			c.a.fail(&ken.Error{Code: ken.CodeUnavailable, Msg: "job " + j.ID[:min(shortest, len(j.ID))] + " failed: " + j.Error,
				Try: cmp.Or(j.Try, "See ken jobs; ken jobs retry runs it again.")})
		}
	}
}

// interruptible is ctx until a person presses Ctrl-C.
func (c *conversation) interruptible(ctx context.Context) (context.Context, context.CancelFunc) {
	if !c.person {
		return context.WithCancel(ctx)
	}
	return signal.NotifyContext(ctx, os.Interrupt)
}

// tell says something that is no answer: what reads the answers must not get it.
func (c *conversation) tell(format string, args ...any) {
	if !c.a.quiet {
		fmt.Fprintf(c.a.err, format+"\n", args...)
	}
}
