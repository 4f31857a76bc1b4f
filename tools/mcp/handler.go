package mcpserver

import (
	"context"
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"net/http"
	"strings"
	"sync"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/kenlayer/ken"
	"github.com/kenlayer/ken/tools"
)

// Bounds of a Handler.
const (
	sessionTimeout = 30 * time.Minute // without a request
	maxServers     = 64               // of callers without a session; one is made anew in a moment
	sessionHeader  = "Mcp-Session-Id"
)

// Handler serves MCP over streamable HTTP. who says whose request it is, from what the
// program before it has found out, never from the body: an error of it is 403 for
// ErrRefused and 401 otherwise. A web page of another origin is refused, and so is a
// request through a name that is not this machine's where it listens on loopback.
//
// A session belongs to the caller that began it: its id says so, and for every other
// caller there is no such session. It ends when the client says so, and half an hour
// after its last request. The handler is safe for concurrent use.
func Handler(r *tools.Registry, who func(*http.Request) (tools.Caller, error), o Options) *HTTP {
	h := &HTTP{r: r, who: who, o: o.withDefaults(), secret: make([]byte, sha256.Size), servers: map[string]*mcp.Server{}}
	_, _ = rand.Read(h.secret) // it never fails
	h.next = mcp.NewStreamableHTTPHandler(func(req *http.Request) *mcp.Server {
		c, ok := req.Context().Value(callerKey{}).(tools.Caller)
		if !ok {
			return nil
		}
		return h.server(c)
	}, &mcp.StreamableHTTPOptions{Logger: h.o.Log, SessionTimeout: sessionTimeout, MaxRequestBodyBytes: maxLine, JSONResponse: false})
	return h
}

type callerKey struct{}

// HTTP is what Handler returns.
type HTTP struct {
	r      *tools.Registry
	who    func(*http.Request) (tools.Caller, error)
	o      Options
	next   http.Handler
	secret []byte // of this handler, for the ids of its sessions

	mu      sync.Mutex // guards the rest
	servers map[string]*mcp.Server
	closed  bool
}

// ServeHTTP implements http.Handler.
func (h *HTTP) ServeHTTP(w http.ResponseWriter, req *http.Request) {
	if !allowedOrigin(req, h.o.Origins) {
		http.Error(w, "this origin may not call Ken", http.StatusForbidden)
		return
	}
	c, err := h.who(req)
	if err != nil {
		status := http.StatusUnauthorized
		if errors.Is(err, ken.ErrRefused) {
			status = http.StatusForbidden
		} else {
			w.Header().Set("WWW-Authenticate", `Bearer realm="ken"`)
		}
		http.Error(w, tools.Explain(err), status)
		return
	}
	if h.over() {
		http.Error(w, "Ken is shutting down", http.StatusServiceUnavailable)
		return
	}
	if id := req.Header.Get(sessionHeader); id != "" && !h.owns(c, id) {
		http.Error(w, "session not found", http.StatusNotFound)
		return
	}
	h.next.ServeHTTP(w, req.WithContext(context.WithValue(req.Context(), callerKey{}, c)))
}

func (h *HTTP) over() bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.closed
}

// server returns the server of a caller, which its sessions share.
func (h *HTTP) server(c tools.Caller) *mcp.Server {
	name := nameOf(c)
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.closed {
		return nil
	}
	if s := h.servers[name]; s != nil {
		return s
	}
	if len(h.servers) >= maxServers {
		for other, s := range h.servers {
			idle := true
			for range s.Sessions() {
				idle = false
			}
			if idle {
				delete(h.servers, other)
			}
		}
	}
	s := newServer(h.r, c, h.o, func() string { return h.sign(name, rand.Text()) })
	h.servers[name] = s
	return s
}

// Close ends every session, and with it what their clients listen to. Requests that
// come later begin none. Call it before the HTTP server's Shutdown, which would wait
// for listeners.
func (h *HTTP) Close() error {
	h.mu.Lock()
	servers := h.servers
	h.servers, h.closed = nil, true
	h.mu.Unlock()
	var errs []error
	for _, s := range servers {
		for ss := range s.Sessions() {
			errs = append(errs, ss.Close())
		}
	}
	return errors.Join(errs...)
}

// nameOf tells callers apart by all that they may do.
func nameOf(c tools.Caller) string {
	b, err := json.Marshal(c)
	if err != nil { // it is strings
		panic("mcpserver: " + err.Error())
	}
	return string(b)
}

// sign makes an id of a session that names its caller without telling who it is.
func (h *HTTP) sign(caller, text string) string {
	m := hmac.New(sha256.New, h.secret)
	m.Write([]byte(text + "\x00" + caller))
	return text + "-" + hex.EncodeToString(m.Sum(nil)[:16])
}

// owns reports whether a session is a caller's.
func (h *HTTP) owns(c tools.Caller, id string) bool {
	text, _, _ := strings.Cut(id, "-")
	return hmac.Equal([]byte(h.sign(nameOf(c), text)), []byte(id))
}
