package mcpserver

import (
	"context"
	"errors"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/kenlayer/ken"
	"github.com/kenlayer/ken/tools"
)

// addResource offers a resource, or a template for many.
func (s *server) addResource(r tools.Resource) {
	if r.Template {
		s.s.AddResourceTemplate(&mcp.ResourceTemplate{URITemplate: r.URI, Name: r.Name, Title: r.Title, Description: r.Description, MIMEType: r.MIME}, s.read)
		return
	}
	s.s.AddResource(&mcp.Resource{URI: r.URI, Name: r.Name, Title: r.Title, Description: r.Description, MIMEType: r.MIME}, s.read)
}

func (s *server) read(ctx context.Context, req *mcp.ReadResourceRequest) (*mcp.ReadResourceResult, error) {
	text, mime, err := s.r.ReadResource(ctx, s.callerOf(req.Session), req.Params.URI)
	if errors.Is(err, ken.ErrNotFound) {
		return nil, mcp.ResourceNotFoundError(req.Params.URI)
	}
	if err != nil {
		return nil, protocol(err)
	}
	return &mcp.ReadResourceResult{Contents: []*mcp.ResourceContents{{URI: req.Params.URI, MIMEType: mime, Text: text}}}, nil
}

// addPrompt offers the prompt that asks with what is known.
func (s *server) addPrompt() {
	s.s.AddPrompt(&mcp.Prompt{Name: tools.RecallPrompt, Title: "Ask with what is known",
		Description: "A question, with what Ken knows that bears on it.",
		Arguments:   []*mcp.PromptArgument{{Name: "question", Title: "Question", Description: "what to ask", Required: true}},
	}, func(ctx context.Context, req *mcp.GetPromptRequest) (*mcp.GetPromptResult, error) {
		text, err := s.r.Prompt(ctx, s.callerOf(req.Session), req.Params.Arguments["question"])
		if err != nil {
			return nil, protocol(err)
		}
		return &mcp.GetPromptResult{Messages: []*mcp.PromptMessage{{Role: "user", Content: &mcp.TextContent{Text: text}}}}, nil
	})
}
