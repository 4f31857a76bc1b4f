package chat

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"slices"
	"strings"
	"time"

	"github.com/sashabaranov/go-openai"

	"github.com/kenlayer/ken"
	"github.com/kenlayer/ken/config"
	"github.com/kenlayer/ken/internal/cli"
	"github.com/kenlayer/ken/internal/run/jobs"
	"github.com/kenlayer/ken/internal/run/session"
	"github.com/kenlayer/ken/tools"
	"github.com/kenlayer/ken/tools/openaitools"
)

// toolRegistry returns the tools that this conversation offers, nil for none.
func (c *conversation) toolRegistry() *tools.Registry {
	if !c.stored || c.noTools {
		return nil
	}
	return c.tools
}

// caller is the model, as far as tools are concerned.
func (c *conversation) caller() tools.Caller {
	return tools.Caller{Owner: c.who.Owner, Session: c.who.Session, Agent: c.who.Agent, Scopes: c.who.Scopes, Rights: tools.Rights(), Offer: c.offer}
}

// answer asks the model, runs what it calls, and returns what came of it, its answer
// last. Of one that breaks off, what there was is returned with the error.
func (c *conversation) answer(ctx context.Context, messages []openai.ChatCompletionMessage) ([]openai.ChatCompletionMessage, error) {
	registry := c.toolRegistry()
	if registry == nil {
		m, err := c.upstream.Exchange(ctx, c.client, messages, nil, c.a.Out)
		if m.Content == "" {
			return nil, err
		}
		return []openai.ChatCompletionMessage{m}, err
	}
	loop := openaitools.Loop{Registry: registry, Caller: c.caller(), Refuse: c.taintCheck(messages), Called: c.called,
		Ask: func(ctx context.Context, messages []openai.ChatCompletionMessage, offered []openai.Tool) (openai.ChatCompletionMessage, error) {
			return c.upstream.Exchange(ctx, c.client, messages, offered, c.a.Out)
		}}
	added, err := loop.Run(ctx, messages)
	if errors.Is(err, cli.ErrNoTools) {
		c.noTools = true
		c.printf("ken: %s takes no tools; this chat goes on without them (--no-tools says so from the start)", c.upstream.Name)
		more, err := c.answer(ctx, append(slices.Clip(messages), added...))
		return append(added, more...), err
	}
	return added, err
}

// taintCheck looks for calls that repeat what an external source said and the person did not,
// as the gateway does: the person is told, and where gateway.taint says block, they are
// not run.
func (c *conversation) taintCheck(messages []openai.ChatCompletionMessage) func(openai.ToolCall) error {
	t, action := c.who, c.layer.Config().Gateway.Taint
	for _, m := range messages {
		t.Messages = append(t.Messages, ken.Message{Role: m.Role, Text: m.Content})
	}
	return func(call openai.ToolCall) error {
		if action == config.TaintOff {
			return nil
		}
		args := ken.ToolCall{ID: call.ID, Name: call.Function.Name, Arguments: call.Function.Arguments}
		found := c.layer.Operator().Tainted(t, ken.Message{Role: openai.ChatMessageRoleAssistant, ToolCalls: []ken.ToolCall{args}})
		switch {
		case len(found) == 0:
			return nil
		case action == config.TaintBlock:
			return &ken.Error{Code: ken.CodeRefused, Msg: "it repeats what an external source said, claim " + found[0].Claim,
				Try: "Ask the person, who may say so."}
		}
		c.printf("ken: %s repeats what an external source said: ken history %s", cli.Cell(call.Function.Name), c.a.ShortID(found[0].Claim))
		return nil
	}
}

// called shows a call that has ended.
func (c *conversation) called(call openai.ToolCall, _ tools.Result, err error) {
	outcome := ""
	if err != nil {
		said, _, _ := strings.Cut(tools.Explain(err), "\n")
		outcome = ": " + said
	}
	c.printf("%s", cli.Truncate(cli.Cell("("+call.Function.Name+" "+call.Function.Arguments+")"+outcome), 200))
}

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
	report, err := c.layer.Harvest(wait, c.a.Owner)
	c.progress.Done()
	switch {
	case ctx.Err() != nil:
		return ctx.Err()
	case wait.Err() != nil:
		c.printf("stopped; what is not harvested of earlier sessions waits for ken harvest, or the next ken chat")
		return nil
	case err != nil:
		c.a.Report(err) // told; the chat goes on
	}
	c.reportFailed(report.Jobs)
	if n := report.Done; n == 1 {
		c.printf("kept of an earlier session: %s", cli.Cell(summary(report.Jobs)))
	} else if n > 1 {
		c.printf("harvested %d earlier sessions; ken sessions lists them", n)
	}
	return nil
}

// summary is what the first job that was done says of itself.
func summary(ran []jobs.Job) string {
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
	err := c.layer.End(wait, c.a.Owner, c.who.Session, session.Closed)
	var report jobs.Report
	if err == nil {
		report, err = c.layer.Harvest(wait, c.a.Owner)
	}
	c.progress.Done()
	if wait.Err() != nil {
		c.printf("stopped; what is not harvested waits for ken harvest, or the next ken chat")
		return
	}
	if err != nil {
		c.a.Report(err)
		return
	}
	c.reportFailed(report.Jobs)
	info, err := c.layer.Operator().Journal(c.a.Owner).Info(ctx, c.who.Session)
	switch {
	case errors.Is(err, ken.ErrNotFound): // nothing of it is kept
	case err != nil:
		c.a.Report(err)
	case info.State == session.Harvested && info.Outcome != nil:
		text := info.Outcome.Kept()
		if info.Outcome.Note != "" {
			text += "; " + info.Outcome.Note
		}
		c.printf("kept: %s", cli.Cell(text))
	}
}

// reportFailed tells of jobs that failed, and are tried again or dead.
func (c *conversation) reportFailed(ran []jobs.Job) {
	for i := range ran {
		if j := &ran[i]; j.Error != "" && j.State != jobs.Done {
			c.a.Report(&ken.Error{Code: ken.CodeUnavailable, Msg: "job " + j.ID[:min(cli.ShortIDLength, len(j.ID))] + " failed: " + j.Error,
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

// printf prints a message that is no part of an answer, on standard error.
func (c *conversation) printf(format string, args ...any) {
	if !c.a.Quiet {
		fmt.Fprintf(c.a.Err, format+"\n", args...)
	}
}
