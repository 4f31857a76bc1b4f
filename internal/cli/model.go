package cli

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"syscall"

	"github.com/sashabaranov/go-openai"

	"github.com/kenlayer/ken"
	"github.com/kenlayer/ken/config"
	"github.com/kenlayer/ken/middleware/goopenai"
)

// Model is the configured chat model.
type Model struct {
	Config config.Upstream
	Name   string
	Client *openai.Client
}

// NewModel returns the configured model, or the named model of the same endpoint if
// model is not empty.
func NewModel(c config.Upstream, model string) *Model {
	o := openai.DefaultConfig(c.APIKey())
	o.BaseURL = c.BaseURL
	o.HTTPClient = &http.Client{Timeout: c.Timeout}
	return &Model{Config: c, Name: cmp.Or(model, c.ChatModel()), Client: openai.NewClientWithConfig(o)}
}

// Stream sends messages to the model through c, which is u's client or a wrapper of
// it, and writes the answer to w as it arrives. With an error it returns the part that
// arrived, and ends the line on w.
func (u *Model) Stream(ctx context.Context, c goopenai.Client, messages []openai.ChatCompletionMessage, w io.Writer) (string, error) {
	m, err := u.Exchange(ctx, c, messages, nil, w)
	return m.Content, err
}

// explainEnd returns an error that says why a stream ended, or nil if the answer is
// complete.
func (u *Model) explainEnd(ctx context.Context, err error, answered int) error {
	switch {
	case answered > 0 && errors.Is(err, io.EOF):
		return nil
	case answered > 0:
		return u.Explain(ctx, "the answer broke off", err)
	case errors.Is(err, io.EOF), errors.Is(err, openai.ErrTooManyEmptyStreamMessages):
		return &ken.Error{Code: ken.CodeInvalid, Msg: "the answer of " + u.Name + " is empty",
			Try: "Check that upstream.model is a chat model, and that upstream.base_url ends in the API's version, such as /v1."}
	}
	return u.Explain(ctx, "ask "+u.Config.BaseURL, err)
}

// Explain adds a hint to an error that occurred while doing this.
func (u *Model) Explain(ctx context.Context, doing string, err error) error {
	if ctx.Err() != nil {
		return ctx.Err()
	}
	status, said := u.Refusal(err)
	e := &ken.Error{Code: ken.CodeUnavailable}
	switch {
	case status == http.StatusUnauthorized || status == http.StatusForbidden:
		e.Code, e.Msg = ken.CodeRefused, u.Config.BaseURL+" refused the key"
		e.Try = "Put a valid key into the environment variable " + u.Config.APIKeyEnv + "."
		if u.Config.APIKeyEnv == "" {
			e.Try = "Put the key into an environment variable, and its name into upstream.api_key_env."
		}
	case status == http.StatusNotFound:
		e.Code, e.Msg = ken.CodeInvalid, u.Config.BaseURL+" has no such path or no model "+u.Name
		e.Try = "Set upstream.model to a model that is served, and upstream.base_url to an address that ends in the API's version; ken doctor checks both."
	case status == http.StatusTooManyRequests:
		e.Msg = u.Config.BaseURL + " has had too many requests"
		e.Try = "Wait a little, or ask for a higher limit or quota."
	case status >= http.StatusInternalServerError:
		e.Msg, e.Try = u.Config.BaseURL+" failed", "Ask again, or see the endpoint's own log."
	case status > 0:
		e.Code, e.Msg = ken.CodeInvalid, u.Config.BaseURL+" refused the request"
		e.Try = "See the message; where the conversation has become too long, /new begins another."
	case said != "":
		e.Msg, e.Try = doing+": "+said, "Ask again, or see the endpoint's own log."
		return e
	default:
		return u.unreachable(doing, err)
	}
	e.Msg += fmt.Sprintf(" (%d)", status)
	if said != "" {
		e.Msg += ": " + said
	}
	return e
}

func (u *Model) unreachable(doing string, err error) error {
	e := &ken.Error{Code: ken.CodeUnavailable, Try: "Check that the endpoint runs, and check upstream.base_url."}
	var timeout net.Error
	switch {
	case errors.Is(err, syscall.ECONNREFUSED):
		e.Msg = "nothing listens at " + u.Config.BaseURL
	case errors.As(err, &timeout) && timeout.Timeout():
		e.Msg = fmt.Sprintf("no whole answer within %v", u.Config.Timeout)
		e.Try = "Raise upstream.timeout, or see whether the endpoint is overloaded."
	default:
		e.Msg, e.Err = doing, err
	}
	return e
}

// Refusal splits an error response: its HTTP status, 0 for an error inside a stream,
// and the endpoint's message in one line, without the API key.
func (u *Model) Refusal(err error) (status int, said string) {
	var api *openai.APIError
	var req *openai.RequestError
	switch {
	case errors.As(err, &api):
		status, said = api.HTTPStatusCode, api.Message
	case errors.As(err, &req):
		status, said = req.HTTPStatusCode, string(req.Body)
		if strings.HasPrefix(strings.TrimSpace(said), "<") {
			said = "a web page"
		}
	}
	if key := u.Config.APIKey(); key != "" {
		said = strings.ReplaceAll(said, key, "***")
	}
	return status, Truncate(Cell(said), 300)
}

// ErrNoTools means that the endpoint rejects a request because it offers tools.
var ErrNoTools = errors.New("the model takes no tools")

// Exchange sends messages to the model through cl, which is u's client or a wrapper of
// it, and writes the text of the answer to w as it arrives. With an error it returns
// the part that arrived, and ends the line on w. offered may be nil.
func (u *Model) Exchange(ctx context.Context, cl goopenai.Client, messages []openai.ChatCompletionMessage, offered []openai.Tool, w io.Writer) (openai.ChatCompletionMessage, error) {
	m := openai.ChatCompletionMessage{Role: openai.ChatMessageRoleAssistant}
	s, err := cl.CreateChatCompletionStream(ctx, openai.ChatCompletionRequest{Model: u.Name, Messages: messages, Tools: offered, Stream: true})
	if err != nil {
		if len(offered) > 0 && u.refusesTools(err) {
			return m, ErrNoTools
		}
		return m, u.Explain(ctx, "ask "+u.Config.BaseURL, err)
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
			fmt.Fprint(w, Printable(choice.Delta.Content))
			for _, d := range choice.Delta.ToolCalls {
				m.ToolCalls = addToolCallPart(m.ToolCalls, d)
			}
		}
	}
}

// addToolCallPart adds a streamed piece of a tool call to the calls so far.
func addToolCallPart(calls []openai.ToolCall, d openai.ToolCall) []openai.ToolCall {
	at := len(calls) - 1
	switch {
	case d.Index != nil && *d.Index >= 0 && *d.Index <= len(calls):
		at = *d.Index
	case d.ID != "" && (at < 0 || calls[at].ID != d.ID): // endpoints without an index send each call whole
		at = len(calls)
	}
	at = max(at, 0)
	if at == len(calls) {
		calls = append(calls, openai.ToolCall{Type: openai.ToolTypeFunction})
	}
	c := &calls[at]
	c.ID = cmp.Or(c.ID, d.ID)
	c.Function.Name += d.Function.Name
	c.Function.Arguments += d.Function.Arguments
	return calls
}

// refusesTools reports whether an endpoint rejected a request because of its tools:
// the model has no support for them, or the server was started without it.
func (u *Model) refusesTools(err error) bool {
	status, said := u.Refusal(err)
	switch status {
	case http.StatusBadRequest, http.StatusUnprocessableEntity, http.StatusNotImplemented, http.StatusInternalServerError:
		said = strings.ToLower(said)
		return strings.Contains(said, "tool") || strings.Contains(said, "function call")
	}
	return false
}

// Answer asks the model for one complete answer, with settings that make it as
// repeatable as the endpoint allows.
func (u *Model) Answer(ctx context.Context, seed int, messages ...openai.ChatCompletionMessage) (string, error) {
	r, err := u.Client.CreateChatCompletion(ctx, openai.ChatCompletionRequest{Model: u.Name, Messages: messages, Seed: &seed})
	if err != nil {
		return "", u.Explain(ctx, "ask "+u.Config.BaseURL, err)
	}
	if len(r.Choices) == 0 {
		return "", nil // the caller can't use an incomplete answer
	}
	return r.Choices[0].Message.Content, nil
}
