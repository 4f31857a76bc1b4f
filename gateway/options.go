package gateway

import (
	"cmp"
	"log/slog"
	"net/http"
	"time"

	"github.com/kenlayer/ken/config"
	"github.com/kenlayer/ken/internal/access"
	"github.com/kenlayer/ken/internal/knowledge/operator"
	"github.com/kenlayer/ken/internal/run/telemetry/metrics"
	"github.com/kenlayer/ken/internal/run/telemetry/trace"
	"github.com/kenlayer/ken/internal/run/telemetry/usage"
)

// Options configures New. The zero value is a gateway to the upstream that the
// layer's configuration names, with the limits of its section gateway.
type Options struct {
	// Upstream is the base URL of the API, used instead of upstream.base_url. Where
	// neither is set there is no upstream: model calls are refused, and Ken's own
	// paths and embeddings work.
	Upstream string
	// Config is used instead of the layer's section gateway. What it says of taint is
	// the layer's.
	Config *config.Gateway
	// Transport is used instead of the gateway's own connections to the upstream. It
	// must not decompress.
	Transport http.RoundTripper

	// Keys are keys beside those of Config, looked up again before each request. The
	// value is for the gateway alone; see operator.Keys. Nil: there are no others.
	Keys *operator.Keys
	// Admitted is told of the keys in force: by New, and whenever they change; nil for
	// none at all. It must not take long.
	Admitted func(*access.Ring)
	// Usage counts what keys use, and their budgets of the day. Nil counts nothing, and
	// no budget is enforced.
	Usage *usage.Store

	// API and MCP serve /api/ and /mcp. They find who asks in access.From. Nil: not
	// found. An API with a method Serves(path string) bool gets the paths of which that
	// is true; the others under /api/ are passed on, as Ollama's.
	API, MCP http.Handler
	// Console serves /console/. Where there are keys, a request without one reaches it
	// with nobody in access.From: it asks for a key by itself. Nil: not found.
	Console http.Handler
	// Metrics counts requests and serves /metrics, with keys only to who may operate,
	// and to another than the configured owner their own figures alone.
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

// metricsHandler serves what who may see: the configured owner's keys, and whoever comes
// where there are none, see all.
func (c *call) metricsHandler() http.Handler {
	m := c.g.o.Metrics
	switch {
	case m == nil:
		return nil
	case c.terms.ring == nil || c.who.Owner == c.terms.owner:
		return m.Handler()
	}
	return m.HandlerOf(c.who.Owner)
}
