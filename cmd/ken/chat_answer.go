package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/signal"
	"slices"
	"strings"
	"time"

	"github.com/sashabaranov/go-openai"

	"github.com/kenlayer/ken"
	"github.com/kenlayer/ken/config"
	"github.com/kenlayer/ken/harvest"
	"github.com/kenlayer/ken/internal/run/jobs"
	"github.com/kenlayer/ken/internal/run/session"
	"github.com/kenlayer/ken/middleware/goopenai"
	"github.com/kenlayer/ken/tools"
	"github.com/kenlayer/ken/tools/openaitools"
)

// errNoTools says that the endpoint refuses a request because it offers tools.
var errNoTools = errors.New("the model takes no tools")

// offers returns the tools that this conversation offers, nil for none.
func (c *conversation) offers() *tools.Registry {
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
	registry := c.offers()
	if registry == nil {
		m, err := c.upstream.exchange(ctx, c.client, messages, nil, c.a.out)
		if m.Content == "" {
			return nil, err
		}
		return []openai.ChatCompletionMessage{m}, err
	}
	loop := openaitools.Loop{Registry: registry, Caller: c.caller(), Refuse: c.taints(messages), Called: c.called,
		Ask: func(ctx context.Context, messages []openai.ChatCompletionMessage, offered []openai.Tool) (openai.ChatCompletionMessage, error) {
			return c.upstream.exchange(ctx, c.client, messages, offered, c.a.out)
		}}
	added, err := loop.Run(ctx, messages)
	if errors.Is(err, errNoTools) {
		c.noTools = true
		c.tell("ken: %s takes no tools; this chat goes on without them (--no-tools says so from the start)", c.upstream.model)
		more, err := c.answer(ctx, append(slices.Clip(messages), added...))
		return append(added, more...), err
	}
	return added, err
}

// taints looks for calls that repeat what an external source said and the person did not,
// as the gateway does: the person is told, and where gateway.taint says block, they are
// not run.
func (c *conversation) taints(messages []openai.ChatCompletionMessage) func(openai.ToolCall) error {
	t, action := c.who, c.layer.Config().Gateway.Taint
	for _, m := range messages {
		t.Messages = append(t.Messages, ken.Message{Role: m.Role, Text: m.Content})
	}
	return func(call openai.ToolCall) error {
		if action == config.TaintOff {
			return nil
		}
		args := ken.ToolCall{ID: call.ID, Name: call.Function.Name, Arguments: call.Function.Arguments}
		found := c.layer.Tainted(t, ken.Message{Role: openai.ChatMessageRoleAssistant, ToolCalls: []ken.ToolCall{args}})
		switch {
		case len(found) == 0:
			return nil
		case action == config.TaintBlock:
			return &ken.Error{Code: ken.CodeRefused, Msg: "it repeats what an external source said, claim " + found[0].Claim,
				Try: "Ask the person, who may say so."}
		}
		c.tell("ken: %s repeats what an external source said: ken history %s", cell(call.Function.Name), c.a.shortID(found[0].Claim))
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
	c.tell("%s", fit(cell("("+call.Function.Name+" "+call.Function.Arguments+")"+outcome), 200))
}

// exchange asks the model through cl, which is u's client or something in front of it,
// and writes the words of the answer to w as they come. What came is returned with any
// error, and the line that it ends on is closed. offered may be nil.
func (u *upstream) exchange(ctx context.Context, cl goopenai.Client, messages []openai.ChatCompletionMessage, offered []openai.Tool, w io.Writer) (openai.ChatCompletionMessage, error) {
	m := openai.ChatCompletionMessage{Role: openai.ChatMessageRoleAssistant}
	s, err := cl.CreateChatCompletionStream(ctx, openai.ChatCompletionRequest{Model: u.model, Messages: messages, Tools: offered, Stream: true})
	if err != nil {
		if len(offered) > 0 && u.refusesTools(err) {
			return m, errNoTools
		}
		return m, u.explain(ctx, "ask "+u.cfg.BaseURL, err)
	}
	defer s.Close()
	var answer strings.Builder
	for {
		chunk, err := s.Recv()
		if err != nil {
			if m.Content = answer.String(); m.Content != "" && !strings.HasSuffix(m.Content, "\n") {
				fmt.Fprintln(w)
			}
			return m, u.explainEnd(ctx, err, answer.Len()+len(m.ToolCalls))
		}
		for _, choice := range chunk.Choices {
			answer.WriteString(choice.Delta.Content)
			fmt.Fprint(w, printable(choice.Delta.Content))
			for _, d := range choice.Delta.ToolCalls {
				m.ToolCalls = gather(m.ToolCalls, d)
			}
		}
	}
}

// gather adds a piece of a tool call, as a stream brings them, to the calls so far.
func gather(calls []openai.ToolCall, d openai.ToolCall) []openai.ToolCall {
	at := len(calls) - 1
	switch {
	case d.Index != nil && *d.Index >= 0 && *d.Index <= len(calls):
		at = *d.Index
	case d.ID != "" && (at < 0 || calls[at].ID != d.ID): // endpoints that don't count send calls whole
		at = len(calls)
	}
	at = max(at, 0)
	if at == len(calls) {
		calls = append(calls, openai.ToolCall{Type: openai.ToolTypeFunction})
	}
	c := &calls[at]
	if c.ID == "" {
		c.ID = d.ID
	}
	c.Function.Name += d.Function.Name
	c.Function.Arguments += d.Function.Arguments
	return calls
}

// refusesTools reports an endpoint's refusal that is about tools: of a model without
// them, and of a server that was started without them.
func (u *upstream) refusesTools(err error) bool {
	status, said := u.refusal(err)
	switch status {
	case http.StatusBadRequest, http.StatusUnprocessableEntity, http.StatusNotImplemented, http.StatusInternalServerError:
		said = strings.ToLower(said)
		return strings.Contains(said, "tool") || strings.Contains(said, "function call")
	}
	return false
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
