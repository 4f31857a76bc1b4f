package model

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"strings"

	api "github.com/sashabaranov/go-openai"
)

// bodyLimit bounds an answer: a thousand times what is asked for.
const bodyLimit = 8 << 20

var errTooLong = fmt.Errorf("the answer is longer than %d MiB", bodyLimit>>20)

// exchange carries one request for go-openai and remembers the answer: the
// library's own errors don't tell what an answer was that it could not read.
type exchange struct {
	http   *http.Client
	status int // 0 when there was no answer
	header http.Header
	body   []byte
}

// Do implements go-openai's HTTPDoer.
func (x *exchange) Do(req *http.Request) (*http.Response, error) {
	resp, err := x.http.Do(req)
	if err != nil {
		return nil, err
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(io.LimitReader(resp.Body, bodyLimit+1))
	if err != nil {
		return nil, err
	}
	if len(body) > bodyLimit {
		return nil, errTooLong
	}
	x.status, x.header, x.body = resp.StatusCode, resp.Header, body
	resp.Body = io.NopCloser(bytes.NewReader(body))
	return resp, nil
}

func (x *exchange) ok() bool { return x.status >= 200 && x.status < 300 }

var _ api.HTTPDoer = (*exchange)(nil)

// turn is a message of the conversation with the model, after the rules.
type turn struct{ role, text string }

// formats are the ways to ask for JSON, best first. Some endpoints refuse the
// first or the first two; the last is only asked for in words.
var formats = [...]api.ChatCompletionResponseFormatType{
	api.ChatCompletionResponseFormatTypeJSONSchema, api.ChatCompletionResponseFormatTypeJSONObject, "",
}

// coldest is what stands for a temperature of 0, which the library leaves out.
const coldest = 1e-6

// ask sends a conversation and returns the model's text, and whether it was cut
// off. When the endpoint refuses a format or the temperature it is asked without;
// what worked is remembered.
func (c *Client) ask(ctx context.Context, t task, talk []turn) (text string, cut bool, err error) {
	format, warm := c.format.Load(), c.warm.Load()
	for {
		x, answer, err := c.send(ctx, t, talk, int(format), warm)
		if err == nil && len(answer.Choices) > 0 {
			c.format.Store(format)
			c.warm.Store(warm)
			choice := answer.Choices[0]
			return content(choice.Message), choice.FinishReason == api.FinishReasonLength, nil
		}
		switch {
		case ctx.Err() != nil:
		case !warm && (x.refuses("temperature") || errors.Is(err, api.ErrReasoningModelLimitationsOther) || errors.Is(err, api.ErrReasoningSamplingUnsupported)):
			warm = true
			continue
		case int(format) < len(formats)-1 && x.refusesFormat():
			format++
			c.opts.Log.LogAttrs(ctx, slog.LevelInfo, "the endpoint refuses a response format; asking without",
				slog.String("model", c.opts.Model), slog.String("refused", string(formats[format-1])))
			continue
		}
		return "", false, c.explain(ctx, x, err, talk)
	}
}

// send sends one request.
func (c *Client) send(ctx context.Context, t task, talk []turn, format int, warm bool) (*exchange, api.ChatCompletionResponse, error) {
	ctx, cancel := context.WithTimeout(ctx, c.opts.Timeout)
	defer cancel()
	req := api.ChatCompletionRequest{
		Model:    c.opts.Model,
		Messages: []api.ChatCompletionMessage{{Role: api.ChatMessageRoleSystem, Content: t.system(format > 0)}},
	}
	for _, m := range talk {
		req.Messages = append(req.Messages, api.ChatCompletionMessage{Role: m.role, Content: m.text})
	}
	if !warm {
		req.Temperature = float32(t.warmth)
	}
	if f := formats[format]; f != "" {
		req.ResponseFormat = &api.ChatCompletionResponseFormat{Type: f}
		if f == api.ChatCompletionResponseFormatTypeJSONSchema {
			req.ResponseFormat.JSONSchema = &api.ChatCompletionResponseFormatJSONSchema{Name: t.name, Schema: t.schema, Strict: true}
		}
	}
	x := &exchange{http: c.opts.HTTPClient}
	answer, err := c.client(x).CreateChatCompletion(ctx, req)
	return x, answer, err
}

func (c *Client) client(x *exchange) *api.Client {
	config := api.DefaultConfig(c.opts.APIKey)
	config.BaseURL = strings.TrimSuffix(c.opts.BaseURL, "/")
	config.HTTPClient = x
	return api.NewClientWithConfig(config)
}

// content is the text of a message, of one piece or of several. Reasoning that
// comes in a field of its own is not looked at.
func content(m api.ChatCompletionMessage) string {
	if m.Content != "" {
		return m.Content
	}
	var b strings.Builder
	for _, p := range m.MultiContent {
		b.WriteString(p.Text)
	}
	return b.String()
}
