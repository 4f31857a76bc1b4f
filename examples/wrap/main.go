// Command wrap puts a knowledge layer in front of a go-openai client. The chat
// loop stays as it was: the wrapped client has the same two methods.
package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"time"

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
	if err := learn(ctx, layer, "The payments service retries a failed transfer three times."); err != nil {
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

// learn writes a fact with the evidence for it.
func learn(ctx context.Context, layer *middleware.Layer, text string) error {
	claim, err := ken.NewClaim(text, ken.FromHumanAssertion("ada", time.Now(), "read retry.go"))
	if err != nil {
		return err
	}
	store, release, err := layer.Store(ctx, "")
	if err != nil {
		return err
	}
	defer release()
	_, err = store.WriteClaim(ctx, claim)
	return err
}
