package gateway

import (
	"cmp"
	"context"
	"log/slog"
	"net"
	"net/http"
	"net/http/httputil"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/kenlayer/ken"
	"github.com/kenlayer/ken/config"
	"github.com/kenlayer/ken/internal/access"
	"github.com/kenlayer/ken/internal/knowledge/operator"
	"github.com/kenlayer/ken/internal/run/telemetry/metrics"
	"github.com/kenlayer/ken/internal/run/telemetry/trace"
	"github.com/kenlayer/ken/internal/run/telemetry/usage"
	"github.com/kenlayer/ken/middleware"
)

// Gateway is the proxy, an http.Handler. It is safe for concurrent use.
type Gateway struct {
	layer      *middleware.Layer
	o          Options
	settings   atomic.Pointer[settings]
	reload     sync.Mutex // guards changes of settings and fileKeys
	fileKeys   []config.GatewayKey
	scopes     []ken.Scope // configured
	limits     *limits
	losses     losses
	bodyMemory memoryBudget // for bodies that are looked into
	reverse    *httputil.ReverseProxy

	upgradeRefused sync.Once // it was logged

	upstream  *upstream // nil: there is none
	anthropic *upstream // nil: the same as upstream

	at       atomic.Pointer[net.Addr] // that Serve listens on
	stop     context.Context          // done when the gateway is told to stop
	stopping context.CancelFunc
	closers  sync.Once
}

// anthropicAPI is where Anthropic's requests go when the upstream is OpenAI's own
// API, which doesn't know them.
const (
	openAIHost   = "api.openai.com"
	anthropicAPI = "https://api.anthropic.com"
)

// New returns a gateway in front of l, which stays the caller's to close. Errors:
// ErrInvalid for an address or a key's hash that can't be read, and those of
// operator.Keys.List.
func New(l *middleware.Layer, o Options) (*Gateway, error) {
	all := l.Config()
	o = o.withDefaults(all)
	cfg := *o.Config
	g := &Gateway{layer: l, o: o, scopes: all.Retrieval.Scopes, limits: newLimits(cfg, o.Now)}
	g.bodyMemory.left.Store(int64(cfg.LookBytes))
	g.settings.Store(&settings{authenticator: authenticator{owner: all.Knowledge.Owner, local: localHash(o.LocalKey)}})
	var err error
	if g.fileKeys, err = fileKeys(o.Keys); err != nil {
		return nil, err
	}
	if err := g.setKeys(cfg, false); err != nil {
		return nil, err
	}
	if o.Upstream != "" {
		if g.upstream, err = parseUpstream(o.Upstream, cfg.UpstreamKey(), false); err != nil {
			return nil, err
		}
	}
	other := cfg.Anthropic
	if other == "" && g.upstream != nil && strings.EqualFold(g.upstream.base.Hostname(), openAIHost) {
		other = anthropicAPI
	}
	if other != "" {
		if g.anthropic, err = parseUpstream(other, cfg.AnthropicKey(), true); err != nil {
			return nil, err
		}
	}
	if g.o.Transport == nil {
		g.o.Transport = newTransport(cfg)
	}
	g.reverse = &httputil.ReverseProxy{Rewrite: rewrite, ModifyResponse: g.modifyResponse, ErrorHandler: g.upstreamFailed, Transport: sender{g},
		FlushInterval: -1, BufferPool: buffers{}, ErrorLog: slog.NewLogLogger(o.Log.Handler(), slog.LevelDebug)}
	g.stop, g.stopping = context.WithCancel(context.Background())
	return g, nil
}

// Close ends requests that would last until their client leaves, such as event streams of
// MCP, and closes idle connections to the upstream. Other requests go on. It may be called
// more than once.
func (g *Gateway) Close() error {
	g.closers.Do(func() {
		g.stopping()
		if t, ok := g.o.Transport.(interface{ CloseIdleConnections() }); ok {
			t.CloseIdleConnections()
		}
	})
	return nil
}

// ServeHTTP implements http.Handler.
func (g *Gateway) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	g.refreshKeys()
	c := g.newCall(w, r)
	defer c.done() // when the client is cut off as well, which is a panic
	if f := c.serve(); f != nil {
		c.fault = f
		f.write(c.w, c.errorFormat)
	}
}

// serve answers the request, or returns the fault that prevents it.
func (c *call) serve() *fault {
	switch c.route {
	case health:
		return c.health()
	case ready:
		return c.ready()
	}
	if f := c.g.limits.enter(); f != nil {
		c.g.limits.leave()
		return f
	}
	defer c.g.limits.leave()
	if f := c.authenticate(); f != nil {
		return f
	}
	switch c.route {
	case api:
		return c.serveMounted(c.g.o.API)
	case mcp:
		return c.serveMounted(c.g.o.MCP)
	case console:
		return c.serveMounted(c.g.o.Console)
	case scrape:
		if !c.who.Can(access.Operate) {
			return missingRight(access.Operate)
		}
		return c.serveMounted(c.metricsHandler())
	}
	if !c.who.Can(access.Chat) {
		return missingRight(access.Chat)
	}
	return c.proxy()
}

// authenticate identifies the caller and refuses a request that may not come in.
func (c *call) authenticate() *fault {
	if c.r.Method == http.MethodConnect {
		return &fault{status: http.StatusMethodNotAllowed, code: "no_tunnels", msg: "this gateway opens no tunnels",
			try: "Use it as a base URL, not as a proxy for everything."}
	}
	if c.settings.ring == nil {
		if f := checkHost(c.r, c.settings.cfg.Hosts); f != nil {
			return f
		}
	}
	if c.route == console && c.settings.keyed() && requestKey(c.r.Header) == "" {
		return nil // a browser: the console asks for a key on a page of its own
	}
	var f *fault
	if c.who, f = c.settings.identify(c.r.Header); f != nil {
		return f
	}
	if c.who.Expired(c.start) {
		return expired(c.who)
	}
	return c.g.limits.spend(c.who.Name)
}

// serveMounted serves one of Ken's own paths.
func (c *call) serveMounted(h http.Handler) *fault {
	if h == nil {
		return &fault{status: http.StatusNotFound, code: "not_found", msg: "this gateway doesn't serve " + c.pattern,
			try: "See ken serve --help for what it serves."}
	}
	ctx, cancel := context.WithCancel(access.With(c.r.Context(), c.who))
	defer cancel()
	if (c.route == mcp || c.route == console) && c.r.Method == http.MethodGet { // perhaps an event stream, which ends when its client leaves, or here
		defer context.AfterFunc(c.g.stop, cancel)()
	}
	r := c.r.WithContext(ctx)
	if r.Body != nil && r.Body != http.NoBody {
		r.Body = c.incoming()
	}
	h.ServeHTTP(c.w, r)
	return nil
}

func missingRight(right access.Right) *fault {
	return faultOf(access.Principal{}.Need(right))
}

// Options configures New. The zero value is a gateway to the upstream that the
// layer's configuration names, with the limits of its section gateway.
type Options struct {
	// Upstream is the base URL of the API, used instead of upstream.base_url. Where
	// neither is set there is no upstream: model calls are refused, and Ken's own
	// paths and embeddings work.
	Upstream string
	// AnyUpstream sends a request that names an API in the header X-Ken-Upstream there, with the
	// client's key and no other. Without it, such a request is refused when that is not its
	// upstream. It is for a gateway that serves the one program that started it.
	AnyUpstream bool
	// Config is used instead of the layer's section gateway. What it says of taint is
	// the layer's.
	Config *config.Gateway
	// Transport is used instead of the gateway's own connections to the upstream. It
	// must not decompress.
	Transport http.RoundTripper

	// Keys are keys beside those of Config, looked up again before each request. The
	// value is for the gateway alone; see operator.Keys. Nil: there are no others.
	Keys *operator.Keys
	// LocalKey is a key of whoever runs the gateway. Its bearer may do everything and names the
	// owner, as everybody may where there are no keys. With it, nobody else comes in without a
	// key. Empty: there is none.
	LocalKey string
	// KeysChanged is called with the keys in force by New, and whenever they change; nil
	// means none. It must not block.
	KeysChanged func(*access.Ring)
	// Usage counts what keys use, and their budgets of the day. Nil counts nothing, and
	// no budget is enforced.
	Usage *usage.Store

	// API and MCP serve /api/ and /mcp. They find the caller in access.From. Nil: not
	// found. An API with a method Serves(path string) bool gets the paths of which that
	// is true; the others under /api/ are passed on, as Ollama's.
	API, MCP http.Handler
	// Console serves /console/. Where a key is needed, a request without one reaches it
	// without a caller in access.From: it asks for a key by itself. Nil: not found.
	Console http.Handler
	// Metrics counts requests and serves /metrics. With keys, only those with the right
	// operate may read it, and another owner than the configured one sees only its own.
	// Nil counts nothing.
	Metrics *metrics.Metrics
	// Tracer records requests and model calls. Nil records nothing.
	Tracer *trace.Tracer

	// Log gets one line for each request: at level info, at level debug for /healthz,
	// /readyz and /metrics, and at level warn for what went wrong. It gets no bodies, no
	// keys and no queries. Default slog.Default().
	Log *slog.Logger
	// Now is the clock of the limits. Default time.Now.
	Now func() time.Time
}

func (o Options) withDefaults(c config.Config) Options {
	o.Upstream = cmp.Or(o.Upstream, c.Upstream.BaseURL)
	if o.Config == nil {
		o.Config = &c.Gateway
	}
	if o.Log == nil {
		o.Log = slog.Default()
	}
	if o.Now == nil {
		o.Now = time.Now
	}
	return o
}

func localHash(key string) *access.Hash {
	if key == "" {
		return nil
	}
	h := access.HashKey(key)
	return &h
}

// metricsHandler returns the metrics that the caller may see. The configured owner's keys,
// and every caller of a gateway without keys, see all of them.
func (c *call) metricsHandler() http.Handler {
	m := c.g.o.Metrics
	switch {
	case m == nil:
		return nil
	case c.settings.ring == nil || c.who.Owner == c.settings.owner:
		return m.Handler()
	}
	return m.HandlerOf(c.who.Owner)
}
