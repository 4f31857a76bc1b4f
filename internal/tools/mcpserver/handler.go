package mcpserver

import (
	"context"
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"net"
	"net/http"
	"net/url"
	"strconv"
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
	maxServers     = 64               // of callers without a session; a dropped one is quickly created again
	sessionHeader  = "Mcp-Session-Id"
)

// Handler serves MCP over streamable HTTP. who returns the caller of a request, as the surrounding
// program has determined it, and never from the body. If it returns an error, the status is 403 for
// ErrRefused and 401 otherwise. Requests from web pages of another origin are refused. If the
// server listens on loopback, requests whose Host is not this machine are refused too.
//
// The query of the URL may select what the client gets: tools lists profiles and tools in the form
// of tools.Select, and structured=true sets Options.Structured. An invalid value gives status 400.
//
// A session belongs to the caller that started it: its id is bound to the caller, and other callers
// can't use it. It ends when the client ends it, and half an hour after its last request. The
// handler is safe for concurrent use.
func Handler(r *tools.Registry, who func(*http.Request) (tools.Caller, error), o Options) *HTTP {
	h := &HTTP{r: r, who: who, o: o.withDefaults(), secret: make([]byte, sha256.Size), servers: map[string]*mcp.Server{}}
	_, _ = rand.Read(h.secret) // never fails
	h.next = mcp.NewStreamableHTTPHandler(func(req *http.Request) *mcp.Server {
		v, ok := req.Context().Value(viewKey{}).(view)
		if !ok {
			return nil
		}
		return h.server(v)
	}, &mcp.StreamableHTTPOptions{Logger: h.o.Log, SessionTimeout: sessionTimeout, MaxRequestBodyBytes: maxLine, JSONResponse: false})
	return h
}

type viewKey struct{}

// view is a caller with the options in the URL.
type view struct {
	tools.Caller
	Structured bool

	name string // identifies the caller without the URL's options, because sessions belong to callers
}

func (v *view) parseQuery(q url.Values) (err error) {
	if q.Has("tools") {
		if v.Offer, err = tools.Select("tools", q.Get("tools")); err != nil {
			return err
		}
	}
	if s := q.Get("structured"); s != "" {
		if v.Structured, err = strconv.ParseBool(s); err != nil {
			return &ken.Error{Code: ken.CodeInvalid, Field: "structured", Msg: "is neither true nor false", Try: "Use structured=true, or leave it out."}
		}
	}
	return nil
}

// HTTP is the handler returned by Handler.
type HTTP struct {
	r      *tools.Registry
	who    func(*http.Request) (tools.Caller, error)
	o      Options
	next   http.Handler
	secret []byte // random key of this handler, for the ids of its sessions

	mu      sync.Mutex // guards the rest
	servers map[string]*mcp.Server
	closed  bool
}

// ServeHTTP implements http.Handler.
func (h *HTTP) ServeHTTP(w http.ResponseWriter, req *http.Request) {
	if !allowedOrigin(req) {
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
	if h.isClosed() {
		w.Header().Set("Retry-After", "1")
		http.Error(w, "Ken is shutting down", http.StatusServiceUnavailable)
		return
	}
	if id := req.Header.Get(sessionHeader); id != "" && !h.owns(c, id) {
		http.Error(w, "session not found", http.StatusNotFound)
		return
	}
	v := view{Caller: c, Structured: h.o.Structured, name: nameOf(c)}
	if err := v.parseQuery(req.URL.Query()); err != nil {
		http.Error(w, tools.Explain(err), http.StatusBadRequest)
		return
	}
	h.next.ServeHTTP(w, req.WithContext(context.WithValue(req.Context(), viewKey{}, v)))
}

func (h *HTTP) isClosed() bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.closed
}

// server returns the server for a view. The sessions of a caller share it.
func (h *HTTP) server(v view) *mcp.Server {
	name := nameOf(v)
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
	o := h.o
	o.Structured = v.Structured
	s := newServer(h.r, v.Caller, o, func() string { return h.sign(v.name, rand.Text()) })
	h.servers[name] = s
	return s
}

// Close ends all sessions, and thereby the event streams of their clients. Later requests start no
// session. Call it before the HTTP server's Shutdown, which would wait for these streams.
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

// nameOf returns a string that identifies a caller or view by all of its fields.
func nameOf(v any) string {
	b, err := json.Marshal(v)
	if err != nil { // impossible: it consists of strings
		panic("mcpserver: " + err.Error())
	}
	return string(b)
}

// sign returns a session id that is bound to its caller and does not reveal it.
func (h *HTTP) sign(caller, text string) string {
	m := hmac.New(sha256.New, h.secret)
	m.Write([]byte(text + "\x00" + caller))
	return text + "-" + hex.EncodeToString(m.Sum(nil)[:16])
}

// owns reports whether a session belongs to a caller.
func (h *HTTP) owns(c tools.Caller, id string) bool {
	text, _, _ := strings.Cut(id, "-")
	return hmac.Equal([]byte(h.sign(nameOf(c), text)), []byte(id))
}

// allowedOrigin reports whether a request's origin is allowed. Allowed are requests that no web
// page sent, pages of the same host and, on loopback, pages of another program on loopback, such as
// an inspector.
func allowedOrigin(req *http.Request) bool {
	values := req.Header.Values("Origin")
	if len(values) == 0 {
		return true
	}
	if len(values) > 1 {
		return false
	}
	u, err := url.Parse(values[0])
	if err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https" {
		return false
	}
	return strings.EqualFold(u.Host, req.Host) || loopback(u.Host) && loopback(req.Host)
}

// loopback reports whether a host, with or without a port, is this machine.
func loopback(host string) bool {
	if h, _, err := net.SplitHostPort(host); err == nil {
		host = h
	}
	host = strings.Trim(host, "[]")
	if strings.EqualFold(host, "localhost") {
		return true
	}
	ip := net.ParseIP(host)
	return ip != nil && ip.IsLoopback()
}
