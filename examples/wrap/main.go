// Command wrap puts a knowledge layer in front of a go-openai client. The chat
// loop stays as it was: the wrapped client has the same two methods.
package main

import (
	"context"
	"errors"
	"fmt"
	"os"

	"github.com/sashabaranov/go-openai"

	"github.com/kenlayer/ken"
	"github.com/kenlayer/ken/examples/model"
	"github.com/kenlayer/ken/middleware"
	"github.com/kenlayer/ken/middleware/goopenai"
)

func main() {
	if err := run(context.Background()); err != nil {
		fmt.Fprintln(os.Stderr, "wrap:", err)
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
	if _, err := layer.Remember(ctx, "The payments service retries a failed transfer three times."); err != nil {
		return err
	}

	server := model.Find()
	defer server.Close()
	cfg := openai.DefaultConfig(server.Key)
	cfg.BaseURL = server.BaseURL
	client := goopenai.Wrap(layer, openai.NewClientWithConfig(cfg), ken.Turn{Session: "example"})

	resp, err := client.CreateChatCompletion(ctx, openai.ChatCompletionRequest{
		Model: server.Model,
		Messages: []openai.ChatCompletionMessage{
			{Role: openai.ChatMessageRoleUser, Content: "How often does the payments service retry a failed transfer?"},
		},
	})
	if err != nil {
		return err
	}
	fmt.Println(resp.Choices[0].Message.Content)
	return nil
}
