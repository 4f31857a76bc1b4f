package serve

import (
	"context"

	"github.com/sashabaranov/go-openai"

	"github.com/kenlayer/ken"
	"github.com/kenlayer/ken/config"
	"github.com/kenlayer/ken/internal/cli"
	"github.com/kenlayer/ken/internal/console"
)

// consoleModel is the configured model, for the console's page that tries a message; nil where
// upstream.base_url is not set.
func consoleModel(c config.Upstream) *console.Model {
	if c.BaseURL == "" {
		return nil
	}
	u := cli.NewModel(c, "")
	return &console.Model{Name: u.Name, Ask: func(ctx context.Context, messages []ken.Message) (a console.ModelAnswer, err error) {
		req := openai.ChatCompletionRequest{Model: u.Name}
		for _, m := range messages {
			req.Messages = append(req.Messages, openai.ChatCompletionMessage{Role: m.Role, Content: m.Text})
		}
		r, err := u.Client.CreateChatCompletion(ctx, req)
		if err != nil {
			return a, u.Explain(ctx, "ask "+c.BaseURL, err)
		}
		if len(r.Choices) == 0 {
			return a, &ken.Error{Code: ken.CodeUnavailable, Msg: "the answer of " + u.Name + " is empty",
				Try: "Check that upstream.model is a chat model, and that upstream.base_url ends in the API's version, such as /v1."}
		}
		a = console.ModelAnswer{Text: r.Choices[0].Message.Content, Input: r.Usage.PromptTokens, Output: r.Usage.CompletionTokens}
		if d := r.Usage.PromptTokensDetails; d != nil {
			a.Cached = d.CachedTokens
		}
		return a, nil
	}}
}
