package mcpserver

import (
	"context"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/kenlayer/ken/tools"
)

// addTool offers a tool.
func (s *server) addTool(t tools.Tool) {
	no := false
	s.s.AddTool(&mcp.Tool{Name: t.Name, Title: t.Title, Description: t.Description,
		InputSchema: t.InputSchema(), OutputSchema: t.OutputSchema(),
		Annotations: &mcp.ToolAnnotations{Title: t.Title, ReadOnlyHint: t.Effect == tools.Reads, IdempotentHint: t.Idempotent,
			DestructiveHint: &no, OpenWorldHint: &no}, // nothing that an agent does can't be undone, and all of it is here
	}, func(ctx context.Context, req *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		return s.call(ctx, t.Name, req)
	})
}

// call runs a tool. Its error is an answer, so that the model sees it.
func (s *server) call(ctx context.Context, name string, req *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
	ctx = tools.WithProgress(ctx, s.progress(ctx, req))
	res, err := s.r.Call(ctx, s.callerOf(req.Session), name, req.Params.Arguments)
	if ctx.Err() != nil { // nobody waits for it
		return nil, ctx.Err()
	}
	if err != nil {
		return &mcp.CallToolResult{IsError: true, Content: []mcp.Content{&mcp.TextContent{Text: tools.Explain(err)}}}, nil
	}
	for _, id := range res.Changed {
		if err := s.s.ResourceUpdated(ctx, &mcp.ResourceUpdatedNotificationParams{URI: tools.ClaimURI + id}); err != nil {
			s.o.Log.Warn("tell of a changed claim", "cause", err)
		}
	}
	return &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: res.Text}}, StructuredContent: res.JSON}, nil
}

// progress tells a client that asked for it how far a call is.
func (s *server) progress(ctx context.Context, req *mcp.CallToolRequest) tools.Progress {
	token := req.Params.GetProgressToken()
	if token == nil {
		return func(string, int, int) {}
	}
	return func(stage string, done, total int) {
		err := req.Session.NotifyProgress(ctx, &mcp.ProgressNotificationParams{ProgressToken: token, Message: stage,
			Progress: float64(done), Total: float64(total)})
		if err != nil && ctx.Err() == nil {
			s.o.Log.Warn("tell of progress", "cause", err)
		}
	}
}
