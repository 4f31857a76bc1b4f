package gateway

import (
	"net/http"
	"strings"

	"github.com/kenlayer/ken/internal/middleware/wire"
	"github.com/kenlayer/ken/internal/websocket"
)

// route says how a request is handled.
type route uint8

const (
	pass        route = iota // pass on unchanged
	model                    // pass on, with knowledge
	count                    // pass on, with the knowledge that the model call would get
	socketRoute              // pass on, with knowledge in the messages of the WebSocket
	httpOnly                 // a WebSocket on a path that supports only HTTP
	embeddings               // pass on, or serve here
	models                   // pass on, or serve here
	api
	mcp
	scrape
	console
	health
	ready
)

// own reports whether the route is always served here.
func (r route) own() bool { return r >= api }

// ownsAPI reports whether a path belongs to Ken's API. Ollama's API is under /api too: paths that
// Ken does not have are passed on if there is an upstream.
func (g *Gateway) ownsAPI(path string) bool {
	if path != "/api" && !strings.HasPrefix(path, "/api/") {
		return false
	}
	api, ok := g.o.beside.API.(interface{ Serves(path string) bool })
	return !ok || g.upstream == nil || api.Serves(path)
}

// routeOf returns the route, the dialect and the pattern of a request. Paths of the upstream are
// compared as the client sent them, so a path in another spelling is passed on unchanged. Ken's own
// paths are compared in their decoded form.
func (g *Gateway) routeOf(r *http.Request, raw string) (route, wire.Dialect, string) {
	switch path := r.URL.Path; {
	case path == "/healthz":
		return health, 0, path
	case path == "/readyz":
		return ready, 0, path
	case path == "/metrics":
		return scrape, 0, path
	case path == "/mcp" || strings.HasPrefix(path, "/mcp/"):
		return mcp, 0, "/mcp"
	case g.ownsAPI(path):
		return api, 0, "/api"
	case path == "/console" || strings.HasPrefix(path, "/console/"):
		return console, 0, "/console"
	}
	if r.Method == http.MethodGet && websocket.IsUpgrade(r.Header) {
		if d, ok := wire.DialectOf(raw); ok && d == wire.Responses {
			return socketRoute, d, "/v1/responses (websocket)"
		} else if ok {
			return httpOnly, d, patterns[d]
		}
	}
	if r.Method == http.MethodPost {
		if d, ok := wire.DialectOf(raw); ok {
			return model, d, patterns[d]
		}
		if d, ok := wire.CountOf(raw); ok {
			return count, d, counts[d]
		}
	}
	switch path := strings.TrimRight(raw, "/"); {
	case r.Method == http.MethodPost && path == "/v1/embeddings":
		return embeddings, 0, path
	case r.Method == http.MethodGet && path == "/v1/models":
		return models, 0, path
	}
	return pass, 0, "/*"
}

var (
	patterns = map[wire.Dialect]string{wire.Chat: "/v1/chat/completions", wire.Responses: "/v1/responses", wire.Messages: "/v1/messages", wire.Ollama: "/api/chat"}
	counts   = map[wire.Dialect]string{wire.Messages: "/v1/messages/count_tokens", wire.Responses: "/v1/responses/input_tokens"}
)
