// Package goopenai adds knowledge to the requests of a go-openai client.
//
// Wrap returns a value with the client's own two chat methods, so that a chat loop keeps its
// types. Each call is one turn: the layer inserts blocks into a copy of the request, and the
// answer, streamed or not, comes back unchanged. middleware.Options.OnReceipt receives the
// turn's receipt, with the context of the call.
//
// go-openai decodes requests into its own types and loses fields that those types don't have. A
// program that needs such fields uses Layer.Transport under its HTTP client instead.
package goopenai

import (
	"cmp"
	"context"
	"errors"
	"net/http"
	"strings"

	"github.com/sashabaranov/go-openai"

	"github.com/kenlayer/ken"
	"github.com/kenlayer/ken/middleware"
)

// Client is the part of a client that Wrap uses; *openai.Client is one.
type Client interface {
	CreateChatCompletion(context.Context, openai.ChatCompletionRequest) (openai.ChatCompletionResponse, error)
	CreateChatCompletionStream(context.Context, openai.ChatCompletionRequest) (*openai.ChatCompletionStream, error)
}

// Wrapped is a Client whose requests carry the layer's blocks. It is safe for concurrent use if
// its client is.
type Wrapped struct {
	layer  *middleware.Layer
	client Client
	turn   ken.Turn
}

var _ Client = (*Wrapped)(nil)

// Wrap returns a Wrapped that sends requests through c. t sets the owner, project, session, agent,
// scopes and weight of the requests. Its ID, Model, Messages and Tools are not used. A turn in a
// call's context replaces t: see ken.WithTurn. So a server needs one Wrapped for all its users, and
// a program with one conversation at a time can create one for each. Where neither names a session,
// the conversation's first message and answer tell it from others.
func Wrap(l *middleware.Layer, c Client, t ken.Turn) *Wrapped {
	t.ID = ""
	return &Wrapped{l, c, t}
}

// CreateChatCompletion calls the client with the turn's blocks in the request. If the server
// refuses that, it calls the client with the caller's request, because a block may be what makes it
// too long. It does not change the caller's request and messages. It returns the client's errors.
func (w *Wrapped) CreateChatCompletion(ctx context.Context, r openai.ChatCompletionRequest) (openai.ChatCompletionResponse, error) {
	extended, t, opened := w.extend(ctx, r)
	answer, err := w.client.CreateChatCompletion(ctx, extended)
	if refused(err) && hasBlocks(extended, r) {
		answer, err = w.client.CreateChatCompletion(ctx, r)
	}
	if err != nil || len(answer.Choices) == 0 {
		opened(nil)
		return answer, err
	}
	m := message(&answer.Choices[0].Message)
	opened(&m)
	w.layer.Answered(t, m)
	return answer, nil
}

// CreateChatCompletionStream is CreateChatCompletion for a streamed answer. It returns the client's
// stream, so the answer is journaled only when it comes back in a later request. To record the last
// answer too, pass it to Layer.Answered, or use Layer.Transport under the HTTP client instead.
func (w *Wrapped) CreateChatCompletionStream(ctx context.Context, r openai.ChatCompletionRequest) (*openai.ChatCompletionStream, error) {
	extended, _, opened := w.extend(ctx, r)
	opened(nil)
	stream, err := w.client.CreateChatCompletionStream(ctx, extended)
	if refused(err) && hasBlocks(extended, r) {
		return w.client.CreateChatCompletionStream(ctx, r)
	}
	return stream, err
}

// hasBlocks reports whether extended is r with blocks.
func hasBlocks(extended, r openai.ChatCompletionRequest) bool {
	return len(r.Messages) > 0 && &extended.Messages[0] != &r.Messages[0]
}

// refused reports whether the server refused a request for what is in it.
func refused(err error) bool {
	var answer *openai.APIError
	var other *openai.RequestError // the answer is not in OpenAI's form
	status := 0
	switch {
	case errors.As(err, &answer):
		status = answer.HTTPStatusCode
	case errors.As(err, &other):
		status = other.HTTPStatusCode
	}
	return status == http.StatusBadRequest || status == http.StatusRequestEntityTooLarge || status == http.StatusUnprocessableEntity
}

// extend returns the request with its blocks, and its turn. The caller passes opened the answer, or nil
// if it does not see one.
func (w *Wrapped) extend(ctx context.Context, r openai.ChatCompletionRequest) (_ openai.ChatCompletionRequest, t ken.Turn, opened func(*ken.Message)) {
	t = w.turn
	if own, ok := ken.TurnFrom(ctx); ok {
		own.Owner = cmp.Or(own.Owner, t.Owner)
		t = own
	}
	//lint:ignore SA1019 functions are the older form of tools, and count the same
	t.Model, t.Tools = r.Model, len(r.Tools)+len(r.Functions)
	t.Messages = make([]ken.Message, len(r.Messages))
	for i := range r.Messages {
		t.Messages[i] = message(&r.Messages[i])
	}
	if opened = w.layer.Operator().GuessSession(ctx, &t); opened == nil {
		opened = func(*ken.Message) {}
	}
	if ins := w.layer.Assemble(ctx, t).Insertions; len(ins) > 0 {
		r.Messages = insert(r.Messages, ins)
	}
	return r, t, opened
}

// message converts the parts of a message that the layer uses. An image is identified by its URL
// and detail.
func message(m *openai.ChatCompletionMessage) ken.Message {
	out := ken.Message{Role: m.Role, Name: m.Name, Text: m.Content, ToolCallID: m.ToolCallID}
	var texts []string
	for _, p := range m.MultiContent {
		part := ken.Part{Type: string(p.Type), Text: p.Text}
		if p.ImageURL != nil {
			part.Ref = string(p.ImageURL.Detail) + " " + p.ImageURL.URL
		}
		if p.Type == openai.ChatMessagePartTypeText {
			texts = append(texts, p.Text)
		}
		out.Parts = append(out.Parts, part)
	}
	if len(out.Parts) > 0 {
		out.Text = strings.Join(texts, "\n")
	}
	for _, c := range m.ToolCalls {
		out.ToolCalls = append(out.ToolCalls, ken.ToolCall{ID: c.ID, Name: c.Function.Name, Arguments: c.Function.Arguments})
	}
	if c := m.FunctionCall; c != nil { // the older form of a single tool call, without an id
		out.ToolCalls = append(out.ToolCalls, ken.ToolCall{Name: c.Name, Arguments: c.Arguments})
	}
	return out
}

// insert returns a new slice with the blocks inserted. Insertions must be sorted by Before.
func insert(msgs []openai.ChatCompletionMessage, ins []middleware.Insertion) []openai.ChatCompletionMessage {
	out := make([]openai.ChatCompletionMessage, 0, len(msgs)+len(ins))
	done := 0
	for _, in := range ins {
		out = append(out, msgs[done:in.Before]...)
		done = in.Before
		if in.Merge {
			out = append(out, merged(msgs[done], in.Text))
			done++
		} else {
			out = append(out, openai.ChatCompletionMessage{Role: openai.ChatMessageRoleUser, Content: in.Text})
		}
	}
	return append(out, msgs[done:]...)
}

// merged returns m with text inserted at its beginning.
func merged(m openai.ChatCompletionMessage, text string) openai.ChatCompletionMessage {
	text += "\n\n"
	if len(m.MultiContent) == 0 {
		m.Content, m.MultiContent = text+m.Content, nil // go-openai refuses a message with both, even if one is empty
		return m
	}
	parts := make([]openai.ChatMessagePart, 0, 1+len(m.MultiContent))
	parts = append(parts, openai.ChatMessagePart{Type: openai.ChatMessagePartTypeText, Text: text})
	m.MultiContent = append(parts, m.MultiContent...)
	return m
}
