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
	"github.com/kenlayer/ken/store"
	"github.com/kenlayer/ken/tools"
)

// Options configures a server; the zero value works.
type Options struct {
	Version string       // of this program, told to clients; default "dev"
	Log     *slog.Logger // default: nothing is logged
	NewID   func() string
	// Origins are the origins of web pages, such as https://app.example.org, that may call
	// a Handler, beside those of its own host.
	Origins []string
	// Structured lists output schemas and adds structured content to answers, for clients
	// that are programs. Many clients hand it to the model in place of the text, which says
	// the same in half the tokens.
	Structured bool
}

func (o Options) withDefaults() Options {
	o.Version = cmp.Or(o.Version, "dev")
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	if o.NewID == nil {
		o.NewID = func() string { return uuid.Must(uuid.NewV7()).String() }
	}
	return o
}

// NewServer returns a server of what a caller may use. A caller without a session gets
// that of the MCP connection, and one without a name the client's. The server may serve
// any number of connections.
func NewServer(r *tools.Registry, c tools.Caller, o Options) *mcp.Server {
	return newServer(r, c, o.withDefaults(), nil)
}

// server joins a registry to a server of the SDK.
type server struct {
	r      *tools.Registry
	caller tools.Caller
	o      Options
	s      *mcp.Server
	alone  string          // the session of a connection that has no id
	listed map[string]bool // tools by name; not changed once the server runs
}

// newServer makes a server whose sessions are named by newSession; nil leaves that to
// the SDK.
func newServer(r *tools.Registry, c tools.Caller, o Options, newSession func() string) *mcp.Server {
	none := func(context.Context) error { return nil }
	s := &server{r: r, caller: c, o: o, alone: "mcp-" + o.NewID(), listed: map[string]bool{}}
	s.s = mcp.NewServer(&mcp.Implementation{Name: "ken", Title: "Ken", Version: o.Version}, &mcp.ServerOptions{
		Instructions: r.Instructions(c), Logger: o.Log, GetSessionID: newSession,
		Capabilities: &mcp.ServerCapabilities{Tools: &mcp.ToolCapabilities{}, Prompts: &mcp.PromptCapabilities{},
			Resources: &mcp.ResourceCapabilities{Subscribe: true}},
		SubscribeHandler:   func(ctx context.Context, _ *mcp.SubscribeRequest) error { return none(ctx) },
		UnsubscribeHandler: func(ctx context.Context, _ *mcp.UnsubscribeRequest) error { return none(ctx) },
	})
	s.s.AddReceivingMiddleware(s.alive)
	for _, t := range r.Tools(c) {
		s.addTool(t)
		s.listed[t.Name] = true
	}
	s.s.AddReceivingMiddleware(s.unlisted)
	for _, res := range r.Resources(c) {
		s.addResource(res)
	}
	if c.Can(tools.Read) {
		s.addPrompt()
	}
	return s.s
}

// alive has a request fail alone: the SDK handles each on a goroutine of its own, where a
// panic would end the process, and closes the connection over an error that it can't write.
func (s *server) alive(next mcp.MethodHandler) mcp.MethodHandler {
	return func(ctx context.Context, method string, req mcp.Request) (res mcp.Result, err error) {
		err = caught.Run(func() (err error) {
			res, err = next(ctx, method, req)
			return err
		})
		if caught.Is(err) {
			s.o.Log.ErrorContext(ctx, "a request panicked", "method", method, "cause", err, "stack", caught.Stack(err))
			return nil, protocol(err)
		}
		var e *jsonrpc.Error
		if errors.As(err, &e) && e.Data != nil && !json.Valid(e.Data) { // the SDK writes a URI in quotes as Go does
			told := *e
			told.Data = nil
			return nil, &told
		}
		return res, err
	}
}

// callerOf is who calls within a connection.
func (s *server) callerOf(ss *mcp.ServerSession) tools.Caller {
	c := s.caller
	if c.Session == "" {
		c.Session = cmp.Or(ss.ID(), s.alone)
	}
	if p := ss.InitializeParams(); c.Agent == "" && p != nil && p.ClientInfo != nil {
		c.Agent = agentName(p.ClientInfo.Name)
	}
	c.Agent = cmp.Or(c.Agent, "mcp")
	return c
}

// agentName is a client's name as histories show it.
func agentName(s string) string {
	r := []rune(store.Clean(s))
	return string(r[:min(len(r), 80)])
}

// protocol is the error of something that is no tool's: the client's program reads it.
func protocol(err error) error {
	var e *ken.Error
	switch {
	case errors.Is(err, context.Canceled), errors.Is(err, context.DeadlineExceeded):
		return err
	case errors.As(err, &e) && (e.Code == ken.CodeInvalid || e.Code == ken.CodeNotFound || e.Code == ken.CodeRefused):
		return &jsonrpc.Error{Code: jsonrpc.CodeInvalidParams, Message: tools.Explain(err)}
	}
	return &jsonrpc.Error{Code: jsonrpc.CodeInternalError, Message: tools.Explain(err)}
}
