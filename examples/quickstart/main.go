// Command quickstart is the README's snippet for Go: it remembers a sentence, finds it, and
// asks a model that is told it.
package main

import (
	"context"
	"fmt"
	"os"

	"github.com/sashabaranov/go-openai"

	"github.com/kenlayer/ken"
	"github.com/kenlayer/ken/middleware"
	"github.com/kenlayer/ken/middleware/goopenai"
)

func main() {
	if err := run(context.Background()); err != nil {
		fmt.Fprintln(os.Stderr, "quickstart:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context) error {
	layer, err := middleware.Open(ctx, middleware.Options{Root: "."})
	if err != nil {
		return err
	}
	defer layer.Close()

	_, err = layer.Remember(ctx, "The payments service retries a failed transfer three times.")
	if err != nil {
		return err
	}
	found, err := layer.Recall(ctx, "How often is a failed transfer retried?")
	if err != nil {
		return err
	}
	fmt.Println(found.Claims[0].Text)

	client := goopenai.Wrap(layer, openai.NewClient(os.Getenv("OPENAI_API_KEY")), ken.Turn{Session: "s-1"})

	answer, err := client.CreateChatCompletion(ctx, openai.ChatCompletionRequest{
		Model:    "gpt-4.1-mini",
		Messages: []openai.ChatCompletionMessage{{Role: openai.ChatMessageRoleUser, Content: "How often is a failed transfer retried?"}},
	})
	if err != nil {
		return err
	}
	fmt.Println(answer.Choices[0].Message.Content)
	return nil
}
