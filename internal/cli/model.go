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

// Model is the chat model that the configuration names.
type Model struct {
	Config config.Upstream
	Name   string
	Client *openai.Client
}

// NewModel returns the configured model, or another one of the same endpoint.
func NewModel(c config.Upstream, model string) *Model {
	o := openai.DefaultConfig(c.APIKey())
	o.BaseURL = c.BaseURL
	o.HTTPClient = &http.Client{Timeout: c.Timeout}
	return &Model{Config: c, Name: cmp.Or(model, c.ChatModel()), Client: openai.NewClientWithConfig(o)}
}

// Stream asks the model through c, which is u's client or something in front of
// it, and writes the answer to w as it comes. What came is returned with any
// error, and the line that it ends on is closed.
func (u *Model) Stream(ctx context.Context, c goopenai.Client, messages []openai.ChatCompletionMessage, w io.Writer) (string, error) {
	m, err := u.Exchange(ctx, c, messages, nil, w)
	return m.Content, err
}

// explainEnd says why a stream ended; nil when the answer is whole.
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

// Explain says what to try when something went wrong while doing this.
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

// unreachable explains an error that is the network's.
func (u *Model) unreachable(doing string, err error) error {
	e := &ken.Error{Code: ken.CodeUnavailable, Try: "See that the endpoint runs, and check upstream.base_url."}
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

// Refusal takes an answer that is an error apart: its HTTP status, 0 inside a
// stream, and what the endpoint said, in one line without the key.
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

// ErrNoTools says that the endpoint refuses a request because it offers tools.
var ErrNoTools = errors.New("the model takes no tools")

// Exchange asks the model through cl, which is u's client or something in front of it,
// and writes the words of the answer to w as they come. What came is returned with any
// error, and the line that it ends on is closed. offered may be nil.
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
func (u *Model) refusesTools(err error) bool {
	status, said := u.Refusal(err)
	switch status {
	case http.StatusBadRequest, http.StatusUnprocessableEntity, http.StatusNotImplemented, http.StatusInternalServerError:
		said = strings.ToLower(said)
		return strings.Contains(said, "tool") || strings.Contains(said, "function call")
	}
	return false
}

// Answer asks the model for one whole answer, as much the same each time as the
// endpoint can.
func (u *Model) Answer(ctx context.Context, seed int, messages ...openai.ChatCompletionMessage) (string, error) {
	r, err := u.Client.CreateChatCompletion(ctx, openai.ChatCompletionRequest{Model: u.Name, Messages: messages, Seed: &seed})
	if err != nil {
		return "", u.Explain(ctx, "ask "+u.Config.BaseURL, err)
	}
	if len(r.Choices) == 0 {
		return "", nil // which nobody can use
	}
	return r.Choices[0].Message.Content, nil
}
