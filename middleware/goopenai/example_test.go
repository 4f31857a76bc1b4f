package goopenai_test

import (
	"context"
	"fmt"
	"os"
	"strings"

	"github.com/sashabaranov/go-openai"

	"github.com/kenlayer/ken"
	"github.com/kenlayer/ken/middleware"
	"github.com/kenlayer/ken/middleware/goopenai"
)

// printer stands for a go-openai client: it prints what it is asked.
type printer struct{ goopenai.Client }

func (printer) CreateChatCompletion(_ context.Context, r openai.ChatCompletionRequest) (openai.ChatCompletionResponse, error) {
	for _, m := range r.Messages {
		line, _, _ := strings.Cut(m.Content, "\n")
		fmt.Printf("%s: %s\n", m.Role, line)
	}
	return openai.ChatCompletionResponse{}, nil
}

func ExampleWrap() {
	root, _ := os.MkdirTemp("", "ken")
	defer os.RemoveAll(root)
	ctx := context.Background()
	layer, err := middleware.Open(ctx, middleware.Options{Root: root, Foreground: true})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer layer.Close()
	store, release, err := layer.Store(ctx, "")
	if err != nil {
		fmt.Println(err)
		return
	}
	defer release()
	claim, _ := ken.NewClaim("The ledger database runs PostgreSQL 15.", ken.FromFile("compose.yaml", "", ""))
	if _, err := store.WriteClaim(ctx, claim); err != nil {
		fmt.Println(err)
		return
	}

	client := goopenai.Wrap(layer, printer{}, ken.Turn{Session: "s1"})
	_, err = client.CreateChatCompletion(ctx, openai.ChatCompletionRequest{Messages: []openai.ChatCompletionMessage{
		{Role: openai.ChatMessageRoleSystem, Content: "Be brief."},
		{Role: openai.ChatMessageRoleUser, Content: "Which database does the ledger run?"},
	}})
	fmt.Println(err)
	// Output:
	// system: Be brief.
	// user: [Pipeline Knowledge]
	// user: Which database does the ledger run?
	// <nil>
}
