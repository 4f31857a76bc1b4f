package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"

	"github.com/sashabaranov/go-openai"

	"github.com/kenlayer/ken"
	"github.com/kenlayer/ken/config"
)

// newUpstream is a client of the configured model.
func newUpstream(c config.Config) *openai.Client {
	o := openai.DefaultConfig(c.Upstream.APIKey())
	o.BaseURL = c.Upstream.BaseURL
	o.HTTPClient = &http.Client{Timeout: c.Upstream.Timeout}
	return openai.NewClientWithConfig(o)
}

// streamer is what streaming needs of a client.
type streamer interface {
	CreateChatCompletionStream(context.Context, openai.ChatCompletionRequest) (*openai.ChatCompletionStream, error)
}

// stream asks the model and writes its answer as it comes. The text so far is
// returned with any error.
func stream(ctx context.Context, c streamer, r openai.ChatCompletionRequest, w io.Writer) (answer string, err error) {
	s, err := c.CreateChatCompletionStream(ctx, r)
	if err != nil {
		return "", upstreamError(ctx, err)
	}
	defer s.Close()
	for {
		chunk, err := s.Recv()
		if errors.Is(err, io.EOF) {
			fmt.Fprintln(w)
			return answer, nil
		}
		if err != nil {
			return answer, upstreamError(ctx, err)
		}
		for _, choice := range chunk.Choices {
			answer += choice.Delta.Content
			fmt.Fprint(w, choice.Delta.Content)
		}
	}
}

// upstreamError says what to try for the usual ways in which a model can't be
// reached.
func upstreamError(ctx context.Context, err error) error {
	if ctx.Err() != nil {
		return ctx.Err()
	}
	e := &ken.Error{Code: ken.CodeUnavailable, Msg: "ask the model", Err: err,
		Try: "Check that upstream.base_url is reachable: ken doctor."}
	var api *openai.APIError
	var req *openai.RequestError
	status := 0
	if errors.As(err, &api) {
		status = api.HTTPStatusCode
	} else if errors.As(err, &req) {
		status = req.HTTPStatusCode
	}
	switch status {
	case http.StatusUnauthorized, http.StatusForbidden:
		e.Try = "Put a valid key into the environment variable that upstream.api_key_env names."
	case http.StatusNotFound:
		e.Try = "Set upstream.model to a model that the endpoint serves; ken doctor lists them."
	case http.StatusTooManyRequests:
		e.Try = "Wait a little: the endpoint limits its rate."
	}
	return e
}
