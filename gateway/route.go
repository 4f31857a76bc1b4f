package gateway

import (
	"net/http"
	"strings"

	"github.com/kenlayer/ken/internal/websocket"
	"github.com/kenlayer/ken/middleware/wire"
)

// route is what is done with a request.
type route uint8

const (
	pass        route = iota // on, as it is
	model                    // on, with knowledge
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

// own reports the paths that are never passed on.
func own(path string) bool {
	switch path {
	case "/api", "/mcp", "/console", "/metrics", "/healthz", "/readyz":
		return true
	}
	return strings.HasPrefix(path, "/api/") || strings.HasPrefix(path, "/mcp/") || strings.HasPrefix(path, "/console/")
}

// routeOf looks at the path as it came for what goes to the upstream, so that what
// is spelled in another way is passed on, and at the path that it means for what is
// Ken's own.
func routeOf(r *http.Request, raw string) (route, wire.Dialect, string) {
	switch path := r.URL.Path; {
	case path == "/healthz":
		return health, 0, path
	case path == "/readyz":
		return ready, 0, path
	case path == "/metrics":
		return scrape, 0, path
	case path == "/mcp" || strings.HasPrefix(path, "/mcp/"):
		return mcp, 0, "/mcp"
	case path == "/api" || strings.HasPrefix(path, "/api/"):
		return api, 0, "/api"
	case path == "/console" || strings.HasPrefix(path, "/console/"):
		return console, 0, "/console"
	}
	if r.Method == http.MethodGet && websocket.Asked(r.Header) {
		if d, ok := wire.DialectOf(raw); ok && d == wire.Responses {
			return socketRoute, d, "/v1/responses (websocket)"
		} else if ok {
			return noSocket, d, "/v1/" + patterns[d]
		}
	}
	if r.Method == http.MethodPost {
		if d, ok := wire.DialectOf(raw); ok {
			return model, d, "/v1/" + patterns[d]
		}
	}
	switch {
	case r.Method == http.MethodPost && raw == "/v1/embeddings":
		return embeddings, 0, raw
	case r.Method == http.MethodGet && raw == "/v1/models":
		return models, 0, raw
	}
	return pass, 0, "/*"
}

var patterns = map[wire.Dialect]string{wire.Chat: "chat/completions", wire.Responses: "responses", wire.Messages: "messages"}
