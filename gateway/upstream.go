package gateway

import (
	"cmp"
	"net"
	"net/http"
	"net/url"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/kenlayer/ken"
	"github.com/kenlayer/ken/config"
	"github.com/kenlayer/ken/internal/lazyregexp"
)

// upstream is an API to which requests are forwarded.
type upstream struct {
	base      *url.URL
	prefix    string // the base's path, which replaces /v1
	root      string // prefix without the version, for paths that are not below /v1
	anthropic bool   // send the key as Anthropic expects it
	key       string // used for clients without a key of their own; "" if there is none
	named     bool   // by the client, in upstreamHeader

	last atomic.Pointer[lastResponse]
}

// upstreamHeader is the header that names the API that a client wants, as its base URL.
const upstreamHeader = "X-Ken-Upstream"

// chooseUpstream sets the upstream of a request. A client that names another API than the
// configured one is refused, because its key is meant for that API only. With Options.AnyUpstream
// the request goes there.
func (c *call) chooseUpstream() *fault {
	c.up = c.g.upstreamFor(c.raw, c.r.Header)
	named := c.r.Header.Get(upstreamHeader)
	if named == "" {
		return nil
	}
	want, err := parseUpstream(named, "", false)
	if err != nil {
		return badHeader(upstreamHeader, "Give the API's base URL alone, such as https://api.openai.com/v1.")
	}
	want.prefix = strings.TrimRight(want.base.EscapedPath(), "/") // the client sends paths relative to its own base URL
	switch {
	case c.up != nil && c.up.same(want):
	case c.g.o.AnyUpstream:
		want.named = true
		c.up = want
	default:
		return &fault{status: http.StatusMisdirectedRequest, code: "other_upstream", msg: "this gateway sends to another API than " + want.base.Host,
			try: "Use a gateway in front of that API (ken serve --upstream), or make the gateway's own address the client's base URL."}
	}
	return nil
}

// same reports whether both are the same API.
func (u *upstream) same(v *upstream) bool {
	return u.base.Scheme == v.base.Scheme && strings.EqualFold(u.base.Hostname(), v.base.Hostname()) && portOf(u.base) == portOf(v.base) && u.prefix == v.prefix
}

func portOf(u *url.URL) string {
	if port := u.Port(); port != "" {
		return port
	}
	return map[string]string{"http": "80", "https": "443"}[u.Scheme]
}

var versionSegment = lazyregexp.New(`^v[0-9]+[a-z0-9]*$`)

// parseUpstream parses a base URL in the form that clients use: with the version, or without it if
// the path is empty.
func parseUpstream(base, key string, anthropic bool) (*upstream, error) {
	u, err := url.Parse(base)
	if err != nil || (u.Scheme != "http" && u.Scheme != "https") || u.Host == "" || u.User != nil || u.RawQuery != "" || u.Fragment != "" {
		return nil, &ken.Error{Code: ken.CodeInvalid, Field: "upstream", Msg: "the value is not an http or https URL without a user name, query or fragment",
			Try: "Give the address alone, such as https://api.openai.com/v1."}
	}
	for _, endpoint := range [...]string{"/chat/completions", "/completions", "/responses", "/messages", "/embeddings"} {
		if strings.HasSuffix(strings.TrimRight(u.Path, "/"), endpoint) {
			return nil, &ken.Error{Code: ken.CodeInvalid, Field: "upstream", Msg: "the value is the address of one endpoint, and not of the API",
				Try: "Leave off " + endpoint + "."}
		}
	}
	up := &upstream{base: u, key: key, anthropic: anthropic, prefix: strings.TrimRight(u.EscapedPath(), "/")}
	up.root = up.prefix
	if i := strings.LastIndexByte(up.prefix, '/'); i >= 0 && versionSegment.MatchString(up.prefix[i+1:]) {
		up.root = up.prefix[:i]
	}
	up.prefix = cmp.Or(up.prefix, "/v1")
	return up, nil
}

// path returns the upstream's path for a request. The part of a path after /v1 is appended to the
// base's path, and any other path to the base's path without the version. Nothing is decoded or
// cleaned.
func (u *upstream) path(raw string) string {
	if rest, ok := strings.CutPrefix(raw, "/v1"); ok && (rest == "" || rest[0] == '/') {
		return u.prefix + rest
	}
	return u.root + raw
}

// point changes the URL of a request to the upstream's.
func (u *upstream) point(out *http.Request, raw string, in *url.URL) {
	to := &url.URL{Scheme: u.base.Scheme, Host: u.base.Host, RawQuery: in.RawQuery, ForceQuery: in.ForceQuery}
	path := u.path(raw)
	to.Path = path
	if unescaped, err := url.PathUnescape(path); err == nil {
		to.Path, to.RawPath = unescaped, path
	}
	if !strings.HasPrefix(path, "//") { // which would be parsed as a host
		to.Opaque = path // unchanged, even where package url would escape it differently
	}
	out.URL, out.Host = to, ""
}

// rawPath returns a request's path as the client sent it, without the query.
func rawPath(r *http.Request) string {
	path, _, _ := strings.Cut(r.RequestURI, "?")
	if _, rest, ok := strings.Cut(path, "://"); ok && !strings.HasPrefix(path, "/") { // the form that a client sends to a proxy
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

// idleConnections is how many idle connections are kept. It is enough for several hundred streams
// that end together, so that the next ones need no handshake.
const idleConnections = 1024

// newTransport returns a transport that changes nothing: it does not decompress, and it adds no
// Accept-Encoding header.
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
		// A dead connection must not block a stream forever.
		HTTP2:               &http.HTTP2Config{SendPingTimeout: 30 * time.Second, PingTimeout: 15 * time.Second},
		MaxIdleConns:        idleConnections,
		MaxIdleConnsPerHost: idleConnections,
		IdleConnTimeout:     90 * time.Second,
		ReadBufferSize:      16 << 10,
		WriteBufferSize:     32 << 10, // a request with some blocks is written at once
	}
}

// sender sends requests to the upstream, through Exchange.Send if they have blocks.
type sender struct{ g *Gateway }

// RoundTrip implements http.RoundTripper.
func (s sender) RoundTrip(req *http.Request) (*http.Response, error) {
	if x := callOf(req.Context()).exchange; x != nil {
		return x.Send(s.g.o.Transport, req)
	}
	return s.g.o.Transport.RoundTrip(req)
}

// buffers provides the buffers for copying answers.
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
