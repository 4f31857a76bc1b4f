package gateway

import (
	"bytes"
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"net/http/httputil"
	"strconv"
	"strings"

	"github.com/kenlayer/ken/internal/run/telemetry/trace"
)

// proxy passes the request on, with the additions of its route.
func (c *call) proxy() *fault {
	if f := c.chooseUpstream(); f != nil {
		return f
	}
	if f := c.limitBody(); f != nil {
		return f
	}
	if f := c.authorize(); f != nil {
		return f
	}
	switch c.route {
	case model:
		if f := c.injectKnowledge(); f != nil {
			return f
		}
	case count:
		if f := c.previewCount(); f != nil {
			return f
		}
	case socketRoute, httpOnly:
		if f := c.prepareSocket(); f != nil {
			return f
		}
		if c.socket != nil {
			defer c.socket.end(context.Canceled)
		}
	case embeddings:
		if done, f := c.serveEmbeddings(); done || f != nil {
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

// upstreamFor returns the upstream for a request; nil if there is none.
func (g *Gateway) upstreamFor(raw string, h http.Header) *upstream {
	if g.anthropic != nil && (h.Get("Anthropic-Version") != "" || raw == "/v1/messages" || strings.HasPrefix(raw, "/v1/messages/")) {
		return g.anthropic
	}
	return g.upstream
}

// incoming returns the request's body, wrapped with its limits.
func (c *call) incoming() *requestBody {
	return &requestBody{ReadCloser: c.r.Body, control: c.w.control, stall: c.settings.cfg.Stall, left: int64(c.settings.cfg.BodyBytes)}
}

// limitBody applies the limits to the request's body.
func (c *call) limitBody() *fault {
	if c.r.ContentLength > int64(c.settings.cfg.BodyBytes) {
		return tooLong(c.settings.cfg.BodyBytes)
	}
	if c.r.Body == nil || c.r.Body == http.NoBody {
		return nil
	}
	c.body = c.incoming()
	c.r.Body = c.body
	if c.route == pass {
		// The upstream may answer before the client has sent everything.
		_ = c.w.control.EnableFullDuplex() // not needed for HTTP/2
		if c.r.ProtoMajor == 1 {
			c.w.unread = func() bool { return !c.body.ended.Load() }
		}
	}
	return nil
}

func (c *call) setBody(b []byte) {
	c.whole, c.isWhole = b, true
	c.r.ContentLength, c.r.TransferEncoding = int64(len(b)), nil
	c.r.Body = io.NopCloser(bytes.NewReader(b))
}

// bodyFault returns the fault for an error of reading the request's body.
func (c *call) bodyFault(err error) *fault {
	c.err = err
	var timeout net.Error
	switch {
	case errors.Is(err, errTooLong):
		return tooLong(c.settings.cfg.BodyBytes)
	case errors.As(err, &timeout) && timeout.Timeout():
		return &fault{status: http.StatusRequestTimeout, code: "client_timeout", msg: "the request's body stopped coming", try: "Send it again."}
	}
	return &fault{status: http.StatusBadRequest, code: "broken_body", msg: "the request's body broke off", try: "Send it again."}
}

func tooLong(limit int) *fault {
	return &fault{status: http.StatusRequestEntityTooLarge, code: "too_large", msg: "the request's body has more than " + strconv.Itoa(limit) + " bytes",
		try: "Send less, or raise gateway.body_bytes."}
}

// forwarded lists headers of the client that httputil.ReverseProxy would remove.
var forwarded = []string{"Forwarded", "X-Forwarded-For", "X-Forwarded-Host", "X-Forwarded-Proto"}

// rewrite creates the upstream's request from the client's: the same request without Ken's headers.
func rewrite(p *httputil.ProxyRequest) {
	c := callOf(p.In.Context())
	h := p.Out.Header
	for _, name := range forwarded {
		if v, ok := p.In.Header[name]; ok {
			h[name] = v
		}
	}
	if stripHeaders(h) {
		c.up.addKey(h)
	}
	if strings.EqualFold(h.Get("Upgrade"), "h2c") { // meant for this server, and the upstream might accept it
		h.Del("Upgrade")
		h.Del("Connection")
	}
	if c.g.o.beside.Tracer != nil {
		trace.Inject(c.r.Context(), h)
	}
	if c.socket != nil {
		h.Del("Sec-Websocket-Extensions") // compressed messages can't be inspected
	}
	c.up.point(p.Out, c.raw, p.In.URL)
	if !c.isWhole {
		return
	}
	h.Del("Expect") // the body has arrived already
	h.Del("Content-Length")
	p.Out.GetBody = func() (io.ReadCloser, error) { return io.NopCloser(bytes.NewReader(c.whole)), nil }
	if len(c.whole) > 0 {
		p.Out.Body, _ = p.Out.GetBody() // from memory, so that http.Transport can retry
	}
}

// upstreamFailed answers a request for which the upstream sent no answer.
func (g *Gateway) upstreamFailed(_ http.ResponseWriter, r *http.Request, err error) {
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
		panic(http.ErrAbortHandler) // the client is gone or the gateway stops: abort the answer
	case errors.As(err, &timeout) && timeout.Timeout():
		g.o.beside.Metrics.UpstreamError("timeout")
		c.up.note(g.o.Now(), 0, "timeout")
		c.fault = &fault{status: http.StatusGatewayTimeout, code: "upstream_timeout", msg: "the upstream took too long to answer",
			try: "Try again, or raise gateway.response."}
	default:
		g.o.beside.Metrics.UpstreamError("connect")
		c.up.note(g.o.Now(), 0, "can't be reached")
		c.fault = &fault{status: http.StatusBadGateway, code: "upstream_unreachable", msg: "the upstream can't be reached",
			try: "See that it runs, and check --upstream or upstream.base_url; the log of ken serve has the cause."}
		if c.up.named {
			c.fault.msg = "the API at " + c.up.base.Scheme + "://" + c.up.base.Host + " can't be reached"
			c.fault.try = "See that it runs, and check the base URL of the model's client."
		}
	}
	c.fault.write(c.w, c.errorFormat)
}
