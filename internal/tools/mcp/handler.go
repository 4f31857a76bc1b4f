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
	maxServers     = 64               // of callers without a session; one is made anew in a moment
	sessionHeader  = "Mcp-Session-Id"
)

// Handler serves MCP over streamable HTTP. who says whose request it is, from what the
// program before it has found out, never from the body: an error of it is 403 for
// ErrRefused and 401 otherwise. A web page of another origin is refused, and so is a
// request through a name that is not this machine's where it listens on loopback.
//
// The query of the address may say what the client is shown: tools names profiles and
// tools as tools.Select reads them, and structured=true asks for Options.Structured. A
// value that is not valid is 400.
//
// A session belongs to the caller that began it: its id says so, and for every other
// caller there is no such session. It ends when the client says so, and half an hour
// after its last request. The handler is safe for concurrent use.
func Handler(r *tools.Registry, who func(*http.Request) (tools.Caller, error), o Options) *HTTP {
	h := &HTTP{r: r, who: who, o: o.withDefaults(), secret: make([]byte, sha256.Size), servers: map[string]*mcp.Server{}}
	_, _ = rand.Read(h.secret) // it never fails
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

// view is a caller with the options of its address.
type view struct {
	tools.Caller
	Structured bool

	name string // of the caller, without what the address asks for: sessions belong to it
}

// parseQuery reads the query of the address.
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

// HTTP is the handler that Handler returns.
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

// server returns the server of a view, which the sessions of its caller share.
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

// nameOf identifies a caller or view by all of its fields.
func nameOf(v any) string {
	b, err := json.Marshal(v)
	if err != nil { // it is strings
		panic("mcpserver: " + err.Error())
	}
	return string(b)
}

// sign returns a session id that is bound to its caller without revealing it.
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

// allowedOrigin reports whether a request may come from where it says that it comes
// from: no web page at all, one of the same host, or, on loopback, another program's page on
// loopback, such as an inspector's.
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

// loopback reports a host, with or without a port, that is this machine.
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
