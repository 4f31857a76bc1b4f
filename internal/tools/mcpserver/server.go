package mcpserver

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"log/slog"

	"github.com/google/uuid"
	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/kenlayer/ken"
	"github.com/kenlayer/ken/internal/caught"
	"github.com/kenlayer/ken/internal/harvest/model"
	"github.com/kenlayer/ken/internal/store/clean"
	"github.com/kenlayer/ken/tools"
)

// Options configures a server. The zero value works.
type Options struct {
	Version string       // of this program, sent to clients; "" means "dev"
	Log     *slog.Logger // nil means no logging
	NewID   func() string
	// Structured lists output schemas and adds structured content to answers, for clients that are
	// programs. Many clients pass it to the model instead of the text, which has the same content
	// in half the tokens.
	Structured bool
	// OnSampler is called for a connection whose client offers sampling, with the owner of the
	// connection. gone is called when the connection ends. It may be nil.
	OnSampler func(owner string, ask model.Sampler) (gone func())
}

func (o Options) withDefaults() Options {
	o.Version = cmp.Or(o.Version, "dev")
	o.Log = cmp.Or(o.Log, slog.New(slog.DiscardHandler))
	if o.NewID == nil {
		o.NewID = func() string { return uuid.Must(uuid.NewV7()).String() }
	}
	return o
}

// server connects a registry to a server of the SDK.
type server struct {
	r              *tools.Registry
	caller         tools.Caller
	o              Options
	s              *mcp.Server
	defaultSession string          // the session for a connection without an id
	listed         map[string]bool // tools by name; not changed after the server has started
}

// newServer creates a server for the tools of a caller. A caller without a session gets that of the
// MCP connection, and one without an agent name gets the client's. The server may serve any number
// of connections. Session ids come from newSession; nil means the SDK's ids.
func newServer(r *tools.Registry, c tools.Caller, o Options, newSession func() string) *mcp.Server {
	none := func(context.Context) error { return nil }
	s := &server{r: r, caller: c, o: o, defaultSession: "mcp-" + o.NewID(), listed: map[string]bool{}}
	s.s = mcp.NewServer(&mcp.Implementation{Name: "ken", Title: "Ken", Version: o.Version}, &mcp.ServerOptions{
		Instructions: r.Instructions(c), Logger: o.Log, GetSessionID: newSession,
		Capabilities: &mcp.ServerCapabilities{Tools: &mcp.ToolCapabilities{}, Prompts: &mcp.PromptCapabilities{},
			Resources: &mcp.ResourceCapabilities{Subscribe: true}},
		InitializedHandler: s.offerSampler,
		SetCacheable: func(_ context.Context, _ mcp.Request, c *mcp.Cacheable) {
			c.CacheScope = "private" // lists depend on the caller's rights, and resources on the owner; the SDK says public
		},
		SubscribeHandler:   func(ctx context.Context, _ *mcp.SubscribeRequest) error { return none(ctx) },
		UnsubscribeHandler: func(ctx context.Context, _ *mcp.UnsubscribeRequest) error { return none(ctx) },
	})
	s.s.AddReceivingMiddleware(s.recoverPanics)
	for _, t := range r.Tools(c) {
		s.addTool(t)
		s.listed[t.Name] = true
	}
	s.s.AddReceivingMiddleware(s.callUnlisted)
	for _, res := range r.Resources(c) {
		s.addResource(res)
	}
	if c.Can(tools.Read) {
		s.addPrompt()
	}
	return s.s
}

// recoverPanics converts panics to errors, because the SDK handles each request in its own
// goroutine, where a panic would end the process. It also drops error data that the SDK can't
// encode.
func (s *server) recoverPanics(next mcp.MethodHandler) mcp.MethodHandler {
	return func(ctx context.Context, method string, req mcp.Request) (res mcp.Result, err error) {
		err = caught.Run(func() (err error) {
			res, err = next(ctx, method, req)
			return err
		})
		if caught.Is(err) {
			s.o.Log.ErrorContext(ctx, "a request panicked", "method", method, "cause", err, "stack", caught.Stack(err))
			return nil, protocolError(err)
		}
		var e *jsonrpc.Error
		if errors.As(err, &e) && e.Data != nil && !json.Valid(e.Data) { // the SDK quotes a URI in Go syntax
			told := *e
			told.Data = nil
			return nil, &told
		}
		return res, err
	}
}

func (s *server) callerOf(ss *mcp.ServerSession) tools.Caller {
	c := s.caller
	c.Session = cmp.Or(c.Session, ss.ID(), s.defaultSession)
	if p := ss.InitializeParams(); c.Agent == "" && p != nil && p.ClientInfo != nil {
		c.Agent = agentName(p.ClientInfo.Name)
	}
	c.Agent = cmp.Or(c.Agent, "mcp")
	return c
}

// agentName returns a client's name in the form that histories use.
func agentName(s string) string {
	r := []rune(clean.Text(s))
	return string(r[:min(len(r), 80)])
}

// protocolError converts an error to a protocol error, which the client's program reads.
func protocolError(err error) error {
	var e *ken.Error
	switch {
	case errors.Is(err, context.Canceled), errors.Is(err, context.DeadlineExceeded):
		return err
	case errors.As(err, &e) && (e.Code == ken.CodeInvalid || e.Code == ken.CodeNotFound || e.Code == ken.CodeRefused):
		return &jsonrpc.Error{Code: jsonrpc.CodeInvalidParams, Message: tools.Explain(err)}
	}
	return &jsonrpc.Error{Code: jsonrpc.CodeInternalError, Message: tools.Explain(err)}
}

func (s *server) addTool(t tools.Tool) {
	no := false
	listed := &mcp.Tool{Name: t.Name, Title: t.Title, Description: t.Description, InputSchema: t.InputSchema(),
		Annotations: &mcp.ToolAnnotations{ReadOnlyHint: t.Effect == tools.Reads, IdempotentHint: t.Idempotent,
			DestructiveHint: &no, OpenWorldHint: &no}} // an agent's changes can all be undone, and no tool accesses anything outside Ken
	if s.o.Structured {
		listed.OutputSchema = t.OutputSchema()
	}
	s.s.AddTool(listed, func(ctx context.Context, req *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		return s.call(ctx, t.Name, req)
	})
}

// callUnlisted handles calls of tools that are not listed: older names, and tools outside the
// caller's profile. The SDK would refuse them.
func (s *server) callUnlisted(next mcp.MethodHandler) mcp.MethodHandler {
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

// call runs a tool. It returns the tool's error as an answer, so that the model sees it.
func (s *server) call(ctx context.Context, name string, req *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
	ctx = tools.WithProgress(ctx, s.progress(ctx, req))
	res, err := s.r.Call(ctx, s.callerOf(req.Session), name, req.Params.Arguments)
	if ctx.Err() != nil { // the client no longer waits
		return nil, ctx.Err()
	}
	if err != nil {
		return &mcp.CallToolResult{IsError: true, Content: []mcp.Content{&mcp.TextContent{Text: tools.Explain(err)}}}, nil
	}
	for _, id := range res.Changed {
		if err := s.s.ResourceUpdated(ctx, &mcp.ResourceUpdatedNotificationParams{URI: tools.ClaimURI + id}); err != nil {
			s.o.Log.Warn("notify of a changed claim", "cause", err)
		}
	}
	out := &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: res.Text}}}
	if s.o.Structured {
		out.StructuredContent = res.JSON
	}
	return out, nil
}

// progress returns a function that reports the progress of a call to a client that asked for it;
// nil if it did not.
func (s *server) progress(ctx context.Context, req *mcp.CallToolRequest) tools.Progress {
	token := req.Params.GetProgressToken()
	if token == nil {
		return func(string, int, int) {}
	}
	return func(stage string, done, total int) {
		err := req.Session.NotifyProgress(ctx, &mcp.ProgressNotificationParams{ProgressToken: token, Message: stage,
			Progress: float64(done), Total: float64(total)})
		if err != nil && ctx.Err() == nil {
			s.o.Log.Warn("report progress", "cause", err)
		}
	}
}

// addResource adds a resource, or a template for several.
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
		return nil, protocolError(err)
	}
	return &mcp.ReadResourceResult{Contents: []*mcp.ResourceContents{{URI: req.Params.URI, MIMEType: mime, Text: text}}}, nil
}

// addPrompt adds the prompt that asks a question together with what is known.
func (s *server) addPrompt() {
	s.s.AddPrompt(&mcp.Prompt{Name: tools.RecallPrompt, Title: "Ask with what is known",
		Description: "A question, with what Ken knows that bears on it.",
		Arguments:   []*mcp.PromptArgument{{Name: "question", Title: "Question", Description: "what to ask", Required: true}},
	}, func(ctx context.Context, req *mcp.GetPromptRequest) (*mcp.GetPromptResult, error) {
		text, err := s.r.Prompt(ctx, s.callerOf(req.Session), req.Params.Arguments["question"])
		if err != nil {
			return nil, protocolError(err)
		}
		return &mcp.GetPromptResult{Messages: []*mcp.PromptMessage{{Role: "user", Content: &mcp.TextContent{Text: text}}}}, nil
	})
}
