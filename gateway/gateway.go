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
	scopes     []ken.Scope // the configured scopes
	limits     *limits
	losses     losses
	unready    sync.Map     // by owner: why the store can't be opened, as /readyz last found; "" if it can
	bodyMemory memoryBudget // of bodies that are being inspected
	reverse    *httputil.ReverseProxy

	upgradeRefused sync.Once // logged once

	upstream  *upstream // nil if there is none
	anthropic *upstream // nil if it is the same as upstream

	at       atomic.Pointer[net.Addr] // the address that Serve listens on; nil before
	stop     context.Context          // canceled when the gateway stops
	stopping context.CancelFunc
	closers  sync.Once
}

// anthropicAPI receives Anthropic requests if the upstream is OpenAI's own API, which does not
// support them.
const (
	openAIHost   = "api.openai.com"
	anthropicAPI = "https://api.anthropic.com"
)

// New returns a gateway for l. The caller still has to close l. New returns ErrInvalid for an
// invalid address or key hash, and the errors of operator.Keys.List.
func New(l *middleware.Layer, o Options) (*Gateway, error) {
	all := l.Config()
	o = o.withDefaults(all)
	cfg := *o.Config
	g := &Gateway{layer: l, o: o, scopes: all.Retrieval.Scopes, limits: newLimits(cfg, o.Now)}
	g.bodyMemory.left.Store(int64(cfg.LookBytes))
	g.settings.Store(&settings{authenticator: authenticator{owner: all.Knowledge.Owner, local: localHash(o.LocalKey)}})
	var err error
	if g.o.beside.Usage == nil {
		if g.o.beside.Usage, err = usage.Open("", usage.Options{Now: o.Now, Log: o.Log}); err != nil {
			return nil, err
		}
	}
	if g.fileKeys, err = fileKeys(g.o.beside.Keys); err != nil {
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
	for field, name := range cfg.UnsetVariables() {
		o.Log.Warn("the variable is not set, so clients without an API key of the upstream are refused there", "setting", field, "variable", name)
	}
	if g.o.Transport == nil {
		g.o.Transport = newTransport(cfg)
	}
	g.reverse = &httputil.ReverseProxy{Rewrite: rewrite, ModifyResponse: g.modifyResponse, ErrorHandler: g.upstreamFailed, Transport: sender{g},
		FlushInterval: -1, BufferPool: buffers{}, ErrorLog: slog.NewLogLogger(o.Log.Handler(), slog.LevelDebug)}
	g.stop, g.stopping = context.WithCancel(context.Background())
	return g, nil
}

// Close ends requests that would last until their client leaves, such as event streams of MCP, and
// closes idle connections to the upstream. Other requests continue. Close may be called more than
// once.
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
	defer c.done() // deferred, because cutting off the client is a panic
	if f := c.serve(); f != nil {
		c.fault = f
		f.write(c.w, c.errorFormat)
	}
}

// serve answers the request, or returns the fault that prevented it.
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
		return c.serveMounted(c.g.o.beside.API)
	case mcp:
		return c.serveMounted(c.g.o.beside.MCP)
	case console:
		return c.serveMounted(c.g.o.beside.Console)
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

// authenticate identifies the caller and refuses requests that are not admitted.
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
		return nil // for a browser: the console asks for a key on its own page
	}
	if c.route == api && isPublic(c.r.URL.Path) && requestKey(c.r.Header) == "" {
		return nil
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

// isPublic reports whether a path of the API needs no key: the descriptions of the API and of its errors.
func isPublic(path string) bool {
	return path == "/api/openapi.json" || strings.HasPrefix(path, "/api/problems/")
}

// serveMounted serves one of Ken's own paths with h; nil means that the path is not served.
func (c *call) serveMounted(h http.Handler) *fault {
	if h == nil {
		return &fault{status: http.StatusNotFound, code: "not_found", msg: "this gateway doesn't serve " + c.pattern,
			try: "See ken serve --help for what it serves."}
	}
	ctx := access.With(c.r.Context(), c.who)
	if c.route == mcp {
		var a turnHeaders
		if f := a.parse(c.r.Header, c.g.scopes); f != nil {
			return f
		}
		ctx = ken.WithTurn(ctx, a.turn(c.who))
	}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	if (c.route == mcp || c.route == console) && c.r.Method == http.MethodGet { // an event stream may last until its client leaves or the gateway stops
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

// Options configures New. The zero value uses the upstream and the limits of the layer's
// configuration.
type Options struct {
	// Upstream is the base URL of the API. It replaces upstream.base_url. If neither is set there
	// is no upstream: model calls are refused, and only Ken's own paths and embeddings are served.
	Upstream string
	// AnyUpstream passes a request that names an API in the header X-Ken-Upstream to that API, with
	// only the client's key. Without it, such a request is refused unless it names the configured
	// upstream. It is for a gateway that only serves the program that started it.
	AnyUpstream bool
	// Config replaces the layer's section gateway, except for the taint settings, which are always
	// the layer's.
	Config *config.Gateway
	// Transport replaces the gateway's own connections to the upstream. It must not decompress.
	Transport http.RoundTripper

	// LocalKey is the key of the person who runs the gateway. Its bearer has every right and may
	// choose the owner, as every caller may if there are no keys. If it is set, all other callers
	// need a key. Empty means that there is none.
	LocalKey string

	// Log gets one line per request. The level is info, but debug for /healthz, /readyz and
	// /metrics, and warn after an error. It gets no bodies, keys or queries. Nil means
	// slog.Default().
	Log *slog.Logger
	// Now is the clock of the limits. Nil means time.Now.
	Now func() time.Time

	beside beside
}

// beside holds the parts that ken serve runs in addition to the proxy.
type beside struct {
	// Keys are added to the keys of Config and checked for changes before each request. No other
	// user may share the value; see operator.Keys. Nil means that there are no others.
	Keys *operator.Keys
	// KeysChanged is called with the current keys by New and after each change; the argument is nil
	// if there are none. It must not block.
	KeysChanged func(*access.Ring)
	// Usage counts what each key uses, and enforces daily budgets. Nil means a store in memory.
	Usage *usage.Store

	// API and MCP serve /api/ and /mcp. access.From returns the caller, and for MCP, ken.TurnFrom the
	// turn that the headers describe. If they are nil, these paths are not found. If API has a method
	// Serves(path string) bool, it gets only the paths for which that returns true; other paths under
	// /api/ are passed on, because Ollama uses them.
	API, MCP http.Handler
	// Console serves /console/. If a key is needed, requests without one also reach it, with no
	// caller in access.From, because it asks for the key itself. If it is nil, the path is not
	// found.
	Console http.Handler
	// Metrics counts requests and serves /metrics. With keys, only those with the right operate may
	// read it, and keys of other owners than the configured one see only their owner's metrics. Nil
	// disables metrics.
	Metrics *metrics.Metrics
	// Tracer records requests and model calls. Nil disables tracing.
	Tracer *trace.Tracer
}

// Operator returns the settings of Ken's own programs. They may change with any version, so a
// program of the user's own cannot rely on them.
func (o *Options) Operator() *beside { return &o.beside }

func (o Options) withDefaults(c config.Config) Options {
	o.Upstream = cmp.Or(o.Upstream, c.Upstream.BaseURL)
	if o.Config == nil {
		o.Config = &c.Gateway
	}
	o.Log = cmp.Or(o.Log, slog.Default())
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

// metricsHandler returns a handler for the metrics that the caller may see. The configured owner's
// keys, and every caller of a gateway without keys, see all of them.
func (c *call) metricsHandler() http.Handler {
	m := c.g.o.beside.Metrics
	switch {
	case m == nil:
		return nil
	case c.settings.ring == nil || c.who.Owner == c.settings.owner:
		return m.Handler()
	}
	return m.HandlerOf(c.who.Owner)
}
