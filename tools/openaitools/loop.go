// Package openaitools offers Ken's tools to a model through go-openai. [Tools] returns the tools
// for a request. A [Loop] runs the model's calls, returns their results to it, and asks again until
// the model answers without calls.
package openaitools

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"slices"
	"strings"

	"github.com/sashabaranov/go-openai"

	"github.com/kenlayer/ken"
	"github.com/kenlayer/ken/tools"
)

// defaultRounds is the number of answers with tool calls after which no tools are offered.
const defaultRounds = 8

// maxCalls is the maximum number of calls of one answer that are run. The model must repeat the
// others.
const maxCalls = 16

// Ask sends one request to a model. offered is empty if the model must answer without tools.
type Ask func(ctx context.Context, messages []openai.ChatCompletionMessage, offered []openai.Tool) (openai.ChatCompletionMessage, error)

// Loop runs a chat with tools. It is safe for concurrent use if its functions are.
type Loop struct {
	Registry *tools.Registry
	Caller   tools.Caller // the agent's identity; see tools.Caller
	Ask      Ask
	Rounds   int // maximum number of answers with tool calls; less than 1 means 8
	// Refuse is called before each call runs. If it returns an error, the call does not run and the
	// model gets the error. It may be nil.
	Refuse func(call openai.ToolCall) error
	// Called is called after each call, in order. After an error, result is the zero value. It may
	// be nil.
	Called func(call openai.ToolCall, result tools.Result, err error)
	// Others runs a tool that the registry does not have. It is for programs with tools of their
	// own, which are listed in Offered. The model reads an error only if it is a *ken.Error; Called gets
	// every error. Others may be nil.
	Others  func(ctx context.Context, call openai.ToolCall) (string, error)
	Offered []openai.Tool
}

// Client returns an Ask that uses a go-openai client, or a wrapper of one, without streaming. r is
// the request without its messages and tools.
func Client(c interface {
	CreateChatCompletion(context.Context, openai.ChatCompletionRequest) (openai.ChatCompletionResponse, error)
}, r openai.ChatCompletionRequest) Ask {
	return func(ctx context.Context, messages []openai.ChatCompletionMessage, offered []openai.Tool) (openai.ChatCompletionMessage, error) {
		r := r
		r.Messages, r.Tools = messages, offered
		resp, err := c.CreateChatCompletion(ctx, r)
		if err != nil {
			return openai.ChatCompletionMessage{}, err
		}
		if len(resp.Choices) == 0 {
			return openai.ChatCompletionMessage{}, &ken.Error{Code: ken.CodeUnavailable, Msg: "the answer has no choices", Try: "Ask again."}
		}
		return resp.Choices[0].Message, nil
	}
}

// Run asks until the model answers without calling tools. It returns the messages to append to the
// conversation; the answer is the last one. It does not change messages. If Ask fails or ctx ends,
// Run returns the error with the messages so far, which may end with a part of an answer; every
// call in them has its result. A tool's error is not an error of Run: the model gets it and may
// correct its call.
func (l *Loop) Run(ctx context.Context, messages []openai.ChatCompletionMessage) (added []openai.ChatCompletionMessage, err error) {
	all := slices.Clip(messages)
	offered := append(Tools(l.Registry, l.Caller), l.Offered...)
	for round := 0; ; round++ {
		if round == cmp.Or(max(l.Rounds, 0), defaultRounds) {
			offered = nil
		}
		m, err := l.Ask(ctx, all, offered)
		if err != nil {
			if m.Content != "" { // a part of an answer
				m.ToolCalls = nil
				added = append(added, m)
			}
			return added, err
		}
		if len(m.ToolCalls) == 0 || offered == nil {
			m.ToolCalls = nil
			return append(added, m), nil
		}
		turn := []openai.ChatCompletionMessage{m}
		for i, call := range m.ToolCalls {
			text := "Too many calls at once: make this one again."
			if i < maxCalls {
				text = l.run(ctx, call)
			}
			turn = append(turn, openai.ChatCompletionMessage{Role: openai.ChatMessageRoleTool, Content: text, Name: call.Function.Name, ToolCallID: call.ID})
		}
		added, all = append(added, turn...), append(all, turn...)
		if err := ctx.Err(); err != nil {
			return added, err
		}
	}
}

// run runs one call and returns its result for the model.
func (l *Loop) run(ctx context.Context, call openai.ToolCall) string {
	if l.Refuse != nil {
		if err := l.Refuse(call); err != nil {
			if l.Called != nil {
				l.Called(call, tools.Result{}, err)
			}
			return tools.Explain(err)
		}
	}
	if l.Others != nil {
		if _, err := l.Registry.Lookup(call.Function.Name); err != nil {
			text, err := l.Others(ctx, call)
			if l.Called != nil {
				l.Called(call, tools.Result{Text: text}, err)
			}
			if _, told := errors.AsType[*ken.Error](err); err != nil && !told {
				return "The tool failed. Go on without it, or try it again later."
			}
			if err != nil {
				return tools.Explain(err)
			}
			return text
		}
	}
	res, err := l.Registry.Call(ctx, l.Caller, strings.TrimSpace(call.Function.Name), json.RawMessage(call.Function.Arguments))
	if l.Called != nil {
		l.Called(call, res, err)
	}
	if err != nil {
		return tools.Explain(err)
	}
	return res.Text
}

// Tools returns the caller's tools in the form of a chat completions request.
func Tools(r *tools.Registry, c tools.Caller) []openai.Tool {
	var out []openai.Tool
	for _, t := range r.Tools(c) {
		out = append(out, openai.Tool{Type: openai.ToolTypeFunction, Function: &openai.FunctionDefinition{
			Name: t.Name, Description: t.Description, Parameters: t.InputSchema()}})
	}
	return out
}
