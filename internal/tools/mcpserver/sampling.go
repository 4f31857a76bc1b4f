//lint:file-ignore SA1019 MCP deprecates sampling from its version 2026-07-28 on; clients of the versions before offer it.

package mcpserver

import (
	"context"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// offerSampler calls OnSampler for a client that offers sampling. A separate goroutine waits for the end of the
// connection.
func (s *server) offerSampler(_ context.Context, req *mcp.InitializedRequest) {
	ss := req.Session
	if p := ss.InitializeParams(); s.o.OnSampler == nil || p == nil || p.Capabilities == nil || p.Capabilities.Sampling == nil {
		return
	}
	gone := s.o.OnSampler(s.caller.Owner, func(ctx context.Context, system, user string, most int) (text, model string, err error) {
		res, err := ss.CreateMessage(ctx, &mcp.CreateMessageParams{SystemPrompt: system, MaxTokens: int64(most), IncludeContext: "none",
			Messages: []*mcp.SamplingMessage{{Role: "user", Content: &mcp.TextContent{Text: user}}}})
		if err != nil {
			return "", "", err
		}
		if c, ok := res.Content.(*mcp.TextContent); ok {
			text = c.Text
		}
		return text, res.Model, nil
	})
	go func() {
		_ = ss.Wait() // the reason does not matter
		gone()
	}()
}
