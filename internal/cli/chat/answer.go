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

// toolRegistry returns the tools that this conversation offers, or nil.
func (c *conversation) toolRegistry() *tools.Registry {
	if !c.stored || c.noTools {
		return nil
	}
	return c.tools
}

// caller returns the identity with which the model calls tools.
func (c *conversation) caller() tools.Caller {
	return tools.Caller{Owner: c.who.Owner, Session: c.who.Session, Agent: c.who.Agent, Scopes: c.who.Scopes, Rights: tools.Rights(), Offer: c.offer}
}

// answer sends the messages to the model, runs the tools that it calls, and returns the new
// messages, its answer last. If it fails, it returns the messages so far with the error.
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
		c.printf("ken: %s does not support tools; this chat continues without them (use --no-tools to start without them)", c.upstream.Name)
		more, err := c.answer(ctx, append(slices.Clip(messages), added...))
		return append(added, more...), err
	}
	return added, err
}

// taintCheck returns a check for tool calls that repeat text of an external source which the
// user did not say, as the gateway does. The user is warned; if gateway.taint is block, the
// call is not run.
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

func (c *conversation) called(call openai.ToolCall, _ tools.Result, err error) {
	outcome := ""
	if err != nil {
		said, _, _ := strings.Cut(tools.Explain(err), "\n")
		outcome = ": " + said
	}
	c.printf("%s", cli.Truncate(cli.Cell("("+call.Function.Name+" "+call.Function.Arguments+")"+outcome), 200))
}

// catchUpFor is the longest time that a chat without a terminal waits for the harvest of
// earlier sessions, so that a slow model does not delay its first turn. On a terminal the
// user can press Ctrl-C.
const catchUpFor = 30 * time.Second

// harvests reports whether the conversation is harvested.
func (c *conversation) harvests() bool {
	on := c.layer.Config().Middleware
	return c.stored && on.Knowledge && on.Journal && on.Harvest
}

// catchUp harvests earlier sessions, so that this one has their knowledge. What can't be done
// now stays in the queue.
func (c *conversation) catchUp(ctx context.Context) error {
	if !c.harvests() {
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
		c.printf("stopped; ken harvest or the next ken chat harvests the remaining sessions")
		return nil
	case err != nil:
		c.a.Report(err) // reported; the chat continues
	}
	c.reportFailed(report.Jobs)
	if n := report.Done; n == 1 {
		c.printf("learned from an earlier session: %s", cli.Cell(summary(report.Jobs)))
	} else if n > 1 {
		c.printf("harvested %d earlier sessions; ken sessions lists them", n)
	}
	return nil
}

// summary returns the note of the first job that was done.
func summary(ran []jobs.Job) string {
	for i := range ran {
		if ran[i].State == jobs.Done {
			return ran[i].Note
		}
	}
	return ""
}

// finish ends the conversation's session and harvests it, so that the user sees what was
// learned. If that is interrupted, such as by Ctrl-C, the job stays in the queue.
func (c *conversation) finish(ctx context.Context) {
	if !c.said || !c.harvests() {
		return
	}
	c.said = false
	wait, stop := c.interruptible(ctx)
	defer stop()
	err := c.layer.End(wait, c.a.Owner, c.who.Session)
	var report jobs.Report
	if err == nil {
		report, err = c.layer.Harvest(wait, c.a.Owner)
	}
	c.progress.Done()
	if wait.Err() != nil {
		c.printf("stopped; ken harvest or the next ken chat harvests this session")
		return
	}
	if err != nil {
		c.a.Report(err)
		return
	}
	c.reportFailed(report.Jobs)
	info, err := c.layer.Operator().Journal(c.a.Owner).Info(ctx, c.who.Session)
	switch {
	case errors.Is(err, ken.ErrNotFound): // the session has no messages
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

// reportFailed prints the jobs that failed, whether they are tried again or dead.
func (c *conversation) reportFailed(ran []jobs.Job) {
	for i := range ran {
		if j := &ran[i]; j.Error != "" && j.State != jobs.Done {
			c.a.Report(&ken.Error{Code: ken.CodeUnavailable, Msg: "job " + j.ID[:min(cli.ShortIDLength, len(j.ID))] + " failed: " + j.Error,
				Try: cmp.Or(j.Try, "See ken jobs; ken jobs retry runs it again.")})
		}
	}
}

// interruptible returns a context that ends when the user presses Ctrl-C.
func (c *conversation) interruptible(ctx context.Context) (context.Context, context.CancelFunc) {
	if !c.person {
		return context.WithCancel(ctx)
	}
	return signal.NotifyContext(ctx, os.Interrupt)
}

// printf prints a message that is not part of an answer to standard error.
func (c *conversation) printf(format string, args ...any) {
	if !c.a.Quiet {
		fmt.Fprintf(c.a.Err, format+"\n", args...)
	}
}
