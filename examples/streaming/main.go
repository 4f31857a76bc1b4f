// Command streaming runs a chat loop with streamed answers and a tool of the program's own.
// The layer is under the client's HTTP transport, so that it sees streamed answers, tool calls
// and their results, and each request of the turn carries the same block.
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
		fmt.Fprintln(os.Stderr, "streaming:", err)
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

	req := openai.ChatCompletionRequest{Model: server.Model,
		Messages: []openai.ChatCompletionMessage{{Role: openai.ChatMessageRoleUser, Content: "Which day is it, and are deployments frozen?"}},
		Tools: []openai.Tool{{Type: openai.ToolTypeFunction, Function: &openai.FunctionDefinition{
			Name: "today", Description: "The date of today", Parameters: map[string]any{"type": "object"}}}}}
	for {
		answer, err := read(ctx, client, req)
		if err != nil {
			return err
		}
		req.Messages = append(req.Messages, answer)
		if len(answer.ToolCalls) == 0 {
			return nil
		}
		for _, call := range answer.ToolCalls {
			fmt.Println("called", call.Function.Name)
			req.Messages = append(req.Messages, openai.ChatCompletionMessage{Role: openai.ChatMessageRoleTool,
				ToolCallID: call.ID, Content: "the 29th"}) // a real program asks its clock
		}
	}
}

// read prints a streamed answer as it comes, and returns it with its tool calls put together.
func read(ctx context.Context, client *openai.Client, req openai.ChatCompletionRequest) (openai.ChatCompletionMessage, error) {
	answer := openai.ChatCompletionMessage{Role: openai.ChatMessageRoleAssistant}
	stream, err := client.CreateChatCompletionStream(ctx, req)
	if err != nil {
		return answer, err
	}
	defer stream.Close()
	for {
		event, err := stream.Recv()
		if errors.Is(err, io.EOF) {
			if answer.Content != "" {
				fmt.Println()
			}
			return answer, nil
		}
		if err != nil {
			return answer, err
		}
		if len(event.Choices) == 0 {
			continue
		}
		delta := event.Choices[0].Delta
		fmt.Print(delta.Content)
		answer.Content += delta.Content
		for _, part := range delta.ToolCalls {
			at := len(answer.ToolCalls)
			if part.Index != nil {
				at = *part.Index
			}
			for len(answer.ToolCalls) <= at {
				answer.ToolCalls = append(answer.ToolCalls, openai.ToolCall{Type: openai.ToolTypeFunction})
			}
			call := &answer.ToolCalls[at]
			call.ID += part.ID
			call.Function.Name += part.Function.Name
			call.Function.Arguments += part.Function.Arguments
		}
	}
}
