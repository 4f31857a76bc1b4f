// Command transport puts a knowledge layer under an OpenAI SDK, as the
// http.RoundTripper of its HTTP client. Every SDK that takes an *http.Client
// works the same way; the requests keep every byte that the layer didn't add.
package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"

	"github.com/sashabaranov/go-openai"

	"github.com/kenlayer/ken"
	"github.com/kenlayer/ken/examples/model"
	"github.com/kenlayer/ken/middleware"
)

func main() {
	if err := run(context.Background()); err != nil {
		fmt.Fprintln(os.Stderr, "transport:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context) (err error) {
	// A project of its own; a real program names its project's folder.
	root, err := os.MkdirTemp("", "ken")
	if err != nil {
		return err
	}
	defer os.RemoveAll(root)
	layer, err := middleware.Open(ctx, middleware.Options{Root: root, Foreground: true})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, layer.Close()) }()
	if _, err := layer.Remember(ctx, "Deployments to production are frozen from the 28th until the 2nd."); err != nil {
		return err
	}

	server := model.Find()
	defer server.Close()
	cfg := openai.DefaultConfig(server.Key)
	cfg.BaseURL = server.BaseURL
	cfg.HTTPClient = &http.Client{Transport: layer.Transport(nil, ken.Turn{Session: "example"})}
	client := openai.NewClientWithConfig(cfg)

	stream, err := client.CreateChatCompletionStream(ctx, openai.ChatCompletionRequest{
		Model:    server.Model,
		Messages: []openai.ChatCompletionMessage{{Role: openai.ChatMessageRoleUser, Content: "When are deployments frozen?"}},
	})
	if err != nil {
		return err
	}
	defer stream.Close()
	for {
		event, err := stream.Recv()
		if errors.Is(err, io.EOF) {
			fmt.Println()
			return nil
		}
		if err != nil {
			return err
		}
		if len(event.Choices) > 0 {
			fmt.Print(event.Choices[0].Delta.Content)
		}
	}
}
