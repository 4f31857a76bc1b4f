package mcpserver

import (
	"context"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/kenlayer/ken/tools"
)

// addTool lists a tool.
func (s *server) addTool(t tools.Tool) {
	no := false
	listed := &mcp.Tool{Name: t.Name, Title: t.Title, Description: t.Description, InputSchema: t.InputSchema(),
		Annotations: &mcp.ToolAnnotations{ReadOnlyHint: t.Effect == tools.Reads, IdempotentHint: t.Idempotent,
			DestructiveHint: &no, OpenWorldHint: &no}} // nothing that an agent does can't be undone, and all of it is here
	if s.o.Structured {
		listed.OutputSchema = t.OutputSchema()
	}
	s.s.AddTool(listed, func(ctx context.Context, req *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		return s.call(ctx, t.Name, req)
	})
}

// unlisted answers calls of tools that the registry has and the list leaves out: old names,
// and what the caller's profile does not offer. The SDK refuses them.
func (s *server) unlisted(next mcp.MethodHandler) mcp.MethodHandler {
	return func(ctx context.Context, method string, req mcp.Request) (mcp.Result, error) {
		call, ok := req.(*mcp.CallToolRequest)
		if !ok || call.Params == nil || s.listed[call.Params.Name] {
			return next(ctx, method, req)
		}
		if t, err := s.r.Lookup(call.Params.Name); err != nil || !s.caller.Can(t.Right) {
			return next(ctx, method, req)
		}
		return s.call(ctx, call.Params.Name, call)
	}
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
	out := &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: res.Text}}}
	if s.o.Structured {
		out.StructuredContent = res.JSON
	}
	return out, nil
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
