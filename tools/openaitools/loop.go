// Package openaitools offers Ken's tools to a model through go-openai. [Tools] returns the
// tools for a request. A [Loop] runs the calls of the model, returns their results to it,
// and asks again until it answers in words.
package openaitools

import (
	"cmp"
	"context"
	"encoding/json"
	"slices"
	"strings"

	"github.com/sashabaranov/go-openai"

	"github.com/kenlayer/ken"
	"github.com/kenlayer/ken/tools"
)

// defaultRounds is the number of answers with tool calls after which a model has to answer
// in words.
const defaultRounds = 8

// maxCalls is the most calls of one answer that are run; the model must repeat the rest.
const maxCalls = 16

// Ask asks a model once. offered is empty when it is to answer in words.
type Ask func(ctx context.Context, messages []openai.ChatCompletionMessage, offered []openai.Tool) (openai.ChatCompletionMessage, error)

// Loop runs a chat with tools. It is safe for concurrent use if its functions are.
type Loop struct {
	Registry *tools.Registry
	Caller   tools.Caller // who the agent is; see tools.Caller
	Ask      Ask
	Rounds   int // most answers that call tools; <= 0 means 8
	// Refuse is called before each call runs. If it returns an error, the call does not run
	// and the model gets the error. May be nil.
	Refuse func(call openai.ToolCall) error
	// Called is called after each call has ended, in order; result is the zero value with
	// an error. May be nil.
	Called func(call openai.ToolCall, result tools.Result, err error)
	// Others runs a tool that the registry does not have, for a program with tools of its
	// own: those in Offered. May be nil.
	Others  func(ctx context.Context, call openai.ToolCall) (string, error)
	Offered []openai.Tool
}

// Client asks through a go-openai client, or what is in front of one, without
// streaming. r is the request without its messages and tools.
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

// Run asks until the model answers in words. It returns the messages that were added, the
// answer last: append them to the conversation. messages is not changed. An error of Ask, or
// ctx's, is returned with the messages before it and with the part of an answer that broke
// off; every call in them has its result. A tool's error is not an error of Run: the model
// is told, and may correct its call.
func (l *Loop) Run(ctx context.Context, messages []openai.ChatCompletionMessage) (added []openai.ChatCompletionMessage, err error) {
	all := slices.Clip(messages)
	offered := append(Tools(l.Registry, l.Caller), l.Offered...)
	for round := 0; ; round++ {
		if round == cmp.Or(max(l.Rounds, 0), defaultRounds) {
			offered = nil
		}
		m, err := l.Ask(ctx, all, offered)
		if err != nil {
			if m.Content != "" { // it broke off
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

// Tools returns the caller's tools as a chat completions request names them.
func Tools(r *tools.Registry, c tools.Caller) []openai.Tool {
	var out []openai.Tool
	for _, t := range r.Tools(c) {
		out = append(out, openai.Tool{Type: openai.ToolTypeFunction, Function: &openai.FunctionDefinition{
			Name: t.Name, Description: t.Description, Parameters: t.InputSchema()}})
	}
	return out
}
