package gateway

import (
	"bytes"
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"net/http/httputil"
	"net/url"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/kenlayer/ken"
	"github.com/kenlayer/ken/config"
	"github.com/kenlayer/ken/internal/lazyregexp"
	"github.com/kenlayer/ken/internal/run/telemetry/trace"
)

// idleConnections is how many connections are kept for the next request: enough
// for several hundred streams that end together, so that those after them need no
// handshake.
const idleConnections = 1024

// newTransport returns connections to the upstream that change nothing: what is
// compressed stays so, and nothing is asked for that the client didn't ask for.
func newTransport(cfg config.Gateway) *http.Transport {
	d := &net.Dialer{Timeout: cfg.Connect, KeepAlive: 30 * time.Second}
	return &http.Transport{
		Proxy:                 http.ProxyFromEnvironment,
		DialContext:           d.DialContext,
		TLSHandshakeTimeout:   cfg.Connect,
		ResponseHeaderTimeout: cfg.Response,
		ExpectContinueTimeout: time.Second,
		DisableCompression:    true,
		ForceAttemptHTTP2:     true,
		// A connection that died unnoticed must not swallow a stream for good.
		HTTP2:               &http.HTTP2Config{SendPingTimeout: 30 * time.Second, PingTimeout: 15 * time.Second},
		MaxIdleConns:        idleConnections,
		MaxIdleConnsPerHost: idleConnections,
		IdleConnTimeout:     90 * time.Second,
		ReadBufferSize:      16 << 10,
		WriteBufferSize:     16 << 10,
	}
}

// sender sends requests to the upstream; those with blocks as the layer does.
type sender struct{ g *Gateway }

// RoundTrip implements http.RoundTripper.
func (s sender) RoundTrip(req *http.Request) (*http.Response, error) {
	if x := callOf(req.Context()).exchange; x != nil {
		return x.Send(s.g.o.Transport, req)
	}
	return s.g.o.Transport.RoundTrip(req)
}

// buffers are what answers are copied through.
type buffers struct{}

const bufferSize = 32 << 10

var bufferPool = sync.Pool{New: func() any { return new([bufferSize]byte) }}

// Get implements httputil.BufferPool.
func (buffers) Get() []byte { return bufferPool.Get().(*[bufferSize]byte)[:] }

// Put implements httputil.BufferPool.
func (buffers) Put(b []byte) {
	if len(b) == bufferSize {
		bufferPool.Put((*[bufferSize]byte)(b))
	}
}

// upstream is an API that requests are passed on to.
type upstream struct {
	base      *url.URL
	prefix    string // the base's path, which stands for /v1
	root      string // the same without the version, for what is not below /v1
	anthropic bool   // how a key is sent
	key       string // lent to clients that bring none; "" lends nothing

	seen atomic.Pointer[upstreamState]
}

var versionSegment = lazyregexp.New(`^v[0-9]+[a-z0-9]*$`)

// parseUpstream reads a base URL as clients know it: version included, or left out
// when the path is empty.
func parseUpstream(base, key string, anthropic bool) (*upstream, error) {
	u, err := url.Parse(base)
	if err != nil || (u.Scheme != "http" && u.Scheme != "https") || u.Host == "" || u.User != nil || u.RawQuery != "" || u.Fragment != "" {
		return nil, &ken.Error{Code: ken.CodeInvalid, Field: "upstream", Msg: "the value is not an http or https URL without a user name, query or fragment",
			Try: "Give the address alone, such as https://api.openai.com/v1."}
	}
	up := &upstream{base: u, key: key, anthropic: anthropic, prefix: strings.TrimRight(u.EscapedPath(), "/")}
	up.root = up.prefix
	if i := strings.LastIndexByte(up.prefix, '/'); i >= 0 && versionSegment.MatchString(up.prefix[i+1:]) {
		up.root = up.prefix[:i]
	}
	if up.prefix == "" {
		up.prefix = "/v1"
	}
	return up, nil
}

// path is where a request for this path goes: /v1 and what is below it to the
// base, all else beside it. Nothing is decoded or cleaned.
func (u *upstream) path(raw string) string {
	if rest, ok := strings.CutPrefix(raw, "/v1"); ok && (rest == "" || rest[0] == '/') {
		return u.prefix + rest
	}
	return u.root + raw
}

// point directs a request at the upstream.
func (u *upstream) point(out *http.Request, raw string, in *url.URL) {
	to := &url.URL{Scheme: u.base.Scheme, Host: u.base.Host, RawQuery: in.RawQuery, ForceQuery: in.ForceQuery}
	path := u.path(raw)
	to.Path = path
	if unescaped, err := url.PathUnescape(path); err == nil {
		to.Path, to.RawPath = unescaped, path
	}
	if !strings.HasPrefix(path, "//") { // which would be read as a host
		to.Opaque = path // as it came, even where package url would escape it otherwise
	}
	out.URL, out.Host = to, ""
}

// rawPath is a request's path as it came, without the query.
func rawPath(r *http.Request) string {
	path, _, _ := strings.Cut(r.RequestURI, "?")
	if _, rest, ok := strings.Cut(path, "://"); ok && !strings.HasPrefix(path, "/") { // as a client sends it to a proxy
		if i := strings.IndexByte(rest, '/'); i >= 0 {
			return rest[i:]
		}
		return "/"
	}
	if strings.HasPrefix(path, "/") {
		return path
	}
	return r.URL.EscapedPath()
}

// proxy passes the request on, with what its route adds.
func (c *gatewayCall) proxy() *fault {
	c.up = c.g.upstreamFor(c.raw, c.r.Header)
	if f := c.take(); f != nil {
		return f
	}
	if f := c.permit(); f != nil {
		return f
	}
	switch c.route {
	case model:
		if f := c.extend(); f != nil {
			return f
		}
	case count:
		if f := c.preview(); f != nil {
			return f
		}
	case socketRoute, noSocket:
		if f := c.upgrade(); f != nil {
			return f
		}
		if c.socket != nil {
			defer c.socket.end(context.Canceled)
		}
	case embeddings:
		if done, f := c.embed(); done || f != nil {
			return f
		}
	case models:
		if c.up == nil {
			return c.listModels()
		}
	}
	if c.up == nil {
		return &fault{status: http.StatusBadGateway, code: "no_upstream", msg: "there is no upstream to ask",
			try: "Start ken serve with --upstream, or set upstream.base_url."}
	}
	c.g.reverse.ServeHTTP(c.w, c.r)
	return nil
}

// upstreamFor is where a request goes, nil for nowhere.
func (g *Gateway) upstreamFor(raw string, h http.Header) *upstream {
	if g.anthropic != nil && (h.Get("Anthropic-Version") != "" || raw == "/v1/messages" || strings.HasPrefix(raw, "/v1/messages/")) {
		return g.anthropic
	}
	return g.upstream
}

// incoming is the request's body with its limits.
func (c *gatewayCall) incoming() *body {
	return &body{ReadCloser: c.r.Body, control: c.w.control, stall: c.terms.cfg.Stall, left: int64(c.terms.cfg.BodyBytes)}
}

// take puts limits on the request's body.
func (c *gatewayCall) take() *fault {
	if c.r.ContentLength > int64(c.terms.cfg.BodyBytes) {
		return tooLong(c.terms.cfg.BodyBytes)
	}
	if c.r.Body == nil || c.r.Body == http.NoBody {
		return nil
	}
	c.body = c.incoming()
	c.r.Body = c.body
	if c.route == pass {
		// The upstream may answer while the client still sends.
		_ = c.w.control.EnableFullDuplex() // HTTP/2 needs no leave for it
		if c.r.ProtoMajor == 1 {
			c.w.unread = func() bool { return !c.body.ended.Load() }
		}
	}
	return nil
}

// set makes b the body to send.
func (c *gatewayCall) set(b []byte) {
	c.whole, c.isWhole = b, true
	c.r.ContentLength, c.r.TransferEncoding = int64(len(b)), nil
	c.r.Body = io.NopCloser(bytes.NewReader(b))
}

// bodyFault says why the request's body can't be read.
func (c *gatewayCall) bodyFault(err error) *fault {
	c.err = err
	var timeout net.Error
	switch {
	case errors.Is(err, errTooLong):
		return tooLong(c.terms.cfg.BodyBytes)
	case errors.As(err, &timeout) && timeout.Timeout():
		return &fault{status: http.StatusRequestTimeout, code: "client_timeout", msg: "the request's body stopped coming", try: "Send it again."}
	}
	return &fault{status: http.StatusBadRequest, code: "broken_body", msg: "the request's body broke off", try: "Send it again."}
}

func tooLong(limit int) *fault {
	return &fault{status: http.StatusRequestEntityTooLarge, code: "too_large", msg: "the request's body has more than " + strconv.Itoa(limit) + " bytes",
		try: "Send less, or raise gateway.body_bytes."}
}

// forwarded are what httputil.ReverseProxy takes out; the client sent them.
var forwarded = []string{"Forwarded", "X-Forwarded-For", "X-Forwarded-Host", "X-Forwarded-Proto"}

// rewrite makes the upstream's request of the client's: the same, without what is
// for Ken.
func rewrite(p *httputil.ProxyRequest) {
	c := callOf(p.In.Context())
	h := p.Out.Header
	for _, name := range forwarded {
		if v, ok := p.In.Header[name]; ok {
			h[name] = v
		}
	}
	if clean(h) {
		c.up.lend(h)
	}
	if strings.EqualFold(h.Get("Upgrade"), "h2c") { // an offer to this server, which the upstream might take up
		h.Del("Upgrade")
		h.Del("Connection")
	}
	if c.g.o.Tracer != nil {
		trace.Inject(c.r.Context(), h)
	}
	if c.socket != nil {
		h.Del("Sec-Websocket-Extensions") // compressed messages could not be looked into
	}
	c.up.point(p.Out, c.raw, p.In.URL)
	if !c.isWhole {
		return
	}
	h.Del("Expect") // the body is here already
	h.Del("Content-Length")
	p.Out.GetBody = func() (io.ReadCloser, error) { return io.NopCloser(bytes.NewReader(c.whole)), nil }
	if len(c.whole) > 0 {
		p.Out.Body, _ = p.Out.GetBody() // in memory, as http.Transport can see
	}
}

// failed answers when there is no answer from the upstream.
func (g *Gateway) failed(_ http.ResponseWriter, r *http.Request, err error) {
	c := callOf(r.Context())
	c.err = err
	c.client.End(0, err)
	var broken error
	if c.body != nil {
		broken = c.body.err()
	}
	var timeout net.Error
	switch {
	case broken != nil && r.Context().Err() == nil:
		c.fault = c.bodyFault(broken)
	case errors.Is(r.Context().Err(), context.Canceled):
		panic(http.ErrAbortHandler) // the client is gone, or the gateway ends: nobody is told that all is well
	case errors.As(err, &timeout) && timeout.Timeout():
		g.o.Metrics.UpstreamError("timeout")
		c.up.note(g.o.Now(), 0, "timeout")
		c.fault = &fault{status: http.StatusGatewayTimeout, code: "upstream_timeout", msg: "the upstream took too long to answer",
			try: "Try again, or raise gateway.response."}
	default:
		g.o.Metrics.UpstreamError("connect")
		c.up.note(g.o.Now(), 0, "can't be reached")
		c.fault = &fault{status: http.StatusBadGateway, code: "upstream_unreachable", msg: "the upstream can't be reached",
			try: "See that it runs, and check --upstream or upstream.base_url; the log of ken serve has the cause."}
	}
	c.fault.write(c.w, c.speaks)
}
