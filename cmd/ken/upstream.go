package main

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
	"unicode"

	"github.com/sashabaranov/go-openai"

	"github.com/kenlayer/ken"
	"github.com/kenlayer/ken/config"
	"github.com/kenlayer/ken/middleware/goopenai"
)

// upstream is the chat model that the configuration names.
type upstream struct {
	cfg    config.Upstream
	model  string
	client *openai.Client
}

// newUpstream returns the configured model, or another one of the same endpoint.
func newUpstream(c config.Upstream, model string) *upstream {
	o := openai.DefaultConfig(c.APIKey())
	o.BaseURL = c.BaseURL
	o.HTTPClient = &http.Client{Timeout: c.Timeout}
	return &upstream{cfg: c, model: cmp.Or(model, c.Model), client: openai.NewClientWithConfig(o)}
}

// stream asks the model through c, which is u's client or something in front of
// it, and writes the answer to w as it comes. What came is returned with any
// error, and the line that it ends on is closed.
func (u *upstream) stream(ctx context.Context, c goopenai.Client, messages []openai.ChatCompletionMessage, w io.Writer) (string, error) {
	m, err := u.exchange(ctx, c, messages, nil, w)
	return m.Content, err
}

// printable takes out what a terminal would obey.
func printable(s string) string {
	return strings.Map(func(r rune) rune {
		if unicode.IsControl(r) && r != '\n' && r != '\t' {
			return -1
		}
		return r
	}, s)
}

// explainEnd says why a stream ended; nil when the answer is whole.
func (u *upstream) explainEnd(ctx context.Context, err error, answered int) error {
	switch {
	case answered > 0 && errors.Is(err, io.EOF):
		return nil
	case answered > 0:
		return u.explain(ctx, "the answer broke off", err)
	case errors.Is(err, io.EOF), errors.Is(err, openai.ErrTooManyEmptyStreamMessages):
		return &ken.Error{Code: ken.CodeInvalid, Msg: "the answer of " + u.model + " is empty",
			Try: "Check that upstream.model is a chat model, and that upstream.base_url ends in the API's version, such as /v1."}
	}
	return u.explain(ctx, "ask "+u.cfg.BaseURL, err)
}

// explain says what to try when something went wrong while doing this.
func (u *upstream) explain(ctx context.Context, doing string, err error) error {
	if ctx.Err() != nil {
		return ctx.Err()
	}
	status, said := u.refusal(err)
	e := &ken.Error{Code: ken.CodeUnavailable}
	switch {
	case status == http.StatusUnauthorized || status == http.StatusForbidden:
		e.Code, e.Msg = ken.CodeRefused, u.cfg.BaseURL+" refused the key"
		e.Try = "Put a valid key into the environment variable " + u.cfg.APIKeyEnv + "."
		if u.cfg.APIKeyEnv == "" {
			e.Try = "Put the key into an environment variable, and its name into upstream.api_key_env."
		}
	case status == http.StatusNotFound:
		e.Code, e.Msg = ken.CodeInvalid, u.cfg.BaseURL+" has no such path or no model "+u.model
		e.Try = "Set upstream.model to a model that is served, and upstream.base_url to an address that ends in the API's version; ken doctor checks both."
	case status == http.StatusTooManyRequests:
		e.Msg = u.cfg.BaseURL + " has had too many requests"
		e.Try = "Wait a little, or ask for a higher limit or quota."
	case status >= http.StatusInternalServerError:
		e.Msg, e.Try = u.cfg.BaseURL+" failed", "Ask again, or see the endpoint's own log."
	case status > 0:
		e.Code, e.Msg = ken.CodeInvalid, u.cfg.BaseURL+" refused the request"
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
func (u *upstream) unreachable(doing string, err error) error {
	e := &ken.Error{Code: ken.CodeUnavailable, Try: "See that the endpoint runs, and check upstream.base_url."}
	var timeout net.Error
	switch {
	case errors.Is(err, syscall.ECONNREFUSED):
		e.Msg = "nothing listens at " + u.cfg.BaseURL
	case errors.As(err, &timeout) && timeout.Timeout():
		e.Msg = fmt.Sprintf("no whole answer within %v", u.cfg.Timeout)
		e.Try = "Raise upstream.timeout, or see whether the endpoint is overloaded."
	default:
		e.Msg, e.Err = doing, err
	}
	return e
}

// refusal takes an answer that is an error apart: its HTTP status, 0 inside a
// stream, and what the endpoint said, in one line without the key.
func (u *upstream) refusal(err error) (status int, said string) {
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
	if key := u.cfg.APIKey(); key != "" {
		said = strings.ReplaceAll(said, key, "***")
	}
	return status, fit(cell(said), 300)
}
