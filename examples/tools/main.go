// Command tools lets a model call Ken's tools from a program's own chat loop: the
// model searches what is known, and the program shows each call.
package main

import (
	"context"
	"errors"
	"fmt"
	"os"

	"github.com/sashabaranov/go-openai"

	"github.com/kenlayer/ken/examples/model"
	"github.com/kenlayer/ken/middleware"
	"github.com/kenlayer/ken/tools"
	"github.com/kenlayer/ken/tools/openaitools"
)

func main() {
	if err := run(context.Background()); err != nil {
		fmt.Fprintln(os.Stderr, "tools:", err)
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
	loop := openaitools.Loop{
		Registry: tools.New(layer),
		// Who the model is. It may search and learn; what it learns has an agent's trust.
		Caller: tools.Caller{Session: "example", Agent: "example", Rights: tools.Rights()},
		Ask:    openaitools.Client(openai.NewClientWithConfig(cfg), openai.ChatCompletionRequest{Model: server.Model}),
		Called: func(call openai.ToolCall, _ tools.Result, err error) {
			fmt.Println("called", call.Function.Name, call.Function.Arguments)
			if err != nil {
				fmt.Println(tools.Explain(err))
			}
		},
	}
	// To give the model a knowledge block as well, ask through goopenai.Wrap(layer, client, turn).
	added, err := loop.Run(ctx, []openai.ChatCompletionMessage{
		{Role: openai.ChatMessageRoleUser, Content: "How often does the payments service retry a failed transfer?"},
	})
	if err != nil {
		return err
	}
	fmt.Println(added[len(added)-1].Content)
	return nil
}
