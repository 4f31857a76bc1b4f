package gateway

import (
	"net/http"
	"strings"

	"github.com/kenlayer/ken/internal/middleware/wire"
	"github.com/kenlayer/ken/internal/websocket"
)

// route is the way in which a request is handled.
type route uint8

const (
	pass        route = iota // on, as it is
	model                    // on, with knowledge
	count                    // on, with the knowledge that the model call would have
	socketRoute              // on, with knowledge in what goes over the WebSocket
	noSocket                 // a WebSocket for model calls that go over HTTP alone
	embeddings               // on, or served here
	models                   // on, or served here
	api
	mcp
	scrape
	console
	health
	ready
)

// own reports a route that is never passed on.
func (r route) own() bool { return r >= api }

// ownsAPI reports whether a path is one of Ken's API. Ollama's API is under /api as well:
// what Ken's does not know is passed on where there is an upstream.
func (g *Gateway) ownsAPI(path string) bool {
	if path != "/api" && !strings.HasPrefix(path, "/api/") {
		return false
	}
	api, ok := g.o.API.(interface{ Serves(path string) bool })
	return !ok || g.upstream == nil || api.Serves(path)
}

// routeOf looks at the path as it came for what goes to the upstream, so that what
// is spelled in another way is passed on, and at the path that it means for what is
// Ken's own.
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
	if r.Method == http.MethodGet && websocket.Asked(r.Header) {
		if d, ok := wire.DialectOf(raw); ok && d == wire.Responses {
			return socketRoute, d, "/v1/responses (websocket)"
		} else if ok {
			return noSocket, d, patterns[d]
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
