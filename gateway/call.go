package gateway

import (
	"context"
	"errors"
	"log/slog"
	"net/http"
	"time"

	"github.com/kenlayer/ken/access"
	"github.com/kenlayer/ken/middleware"
	"github.com/kenlayer/ken/middleware/wire"
	"github.com/kenlayer/ken/telemetry/trace"
)

// call is one request on its way through the gateway.
type call struct {
	g     *Gateway
	terms *terms // as they were when it came
	w     *writer
	r     *http.Request
	start time.Time

	raw     string // the path as it came
	route   route
	dialect wire.Dialect
	pattern string // of the path, for logs and metrics
	speaks  dialect

	who       access.Principal
	asked     asked
	up        *upstream
	body      *body  // as it comes; nil when there is none
	whole     []byte // the body to send; nil when it is passed on as it comes
	isWhole   bool
	held      int64                // of the room for bodies
	untouched string               // why it is not looked into
	side      bool                 // an agent's call for itself
	exchange  *middleware.Exchange // nil when the layer has no part in it
	socket    *socket              // nil when it asks for none, or none that is looked into
	wants     wanted               // of embeddings

	fault  *fault // of the gateway's own
	err    error  // what went wrong, for the log
	server *trace.Span
	client *trace.Span
}

func (g *Gateway) newCall(w http.ResponseWriter, r *http.Request) *call {
	now := g.terms.Load()
	c := &call{g: g, terms: now, w: newWriter(w, now.cfg.Stall, g.o.Now), start: g.o.Now(), raw: rawPath(r)}
	c.route, c.dialect, c.pattern = g.routeOf(r, c.raw)
	c.w.expect(r)
	c.speaks = spoken(c.route, r.URL.Path, r.Header)
	ctx, span := g.o.Tracer.Request(r.Context(), r)
	c.server = span
	c.r = r.WithContext(context.WithValue(ctx, callKey{}, c))
	span.Route(r.Method + " " + c.pattern)
	return c
}

type callKey struct{}

func callOf(ctx context.Context) *call { return ctx.Value(callKey{}).(*call) }

// done notes that the call is over, however it ended.
func (c *call) done() {
	end := c.g.o.Now()
	var first time.Duration
	if !c.w.first.IsZero() {
		first = c.w.first.Sub(c.start)
	}
	session := ""
	if c.exchange != nil {
		session = c.exchange.Turn.Session
	}
	c.g.release(c.held)
	if c.untouched != "" {
		c.g.o.Metrics.Untouched(c.untouched)
	}
	if c.exchange != nil && c.exchange.Receipt.Policy != "" {
		c.g.o.Metrics.Policy(c.exchange.Receipt.Policy)
	}
	c.server.Session(c.who.Owner, session)
	c.server.End(c.w.status, c.err)
	c.g.o.Metrics.Request(c.pattern, c.w.status, end.Sub(c.start), first)
	c.log(session, end.Sub(c.start), first)
}

// log writes the request's line. What a client chose freely, other than names that
// it gave to Ken, is not in it.
func (c *call) log(session string, total, first time.Duration) {
	level := slog.LevelDebug
	switch {
	case c.w.status >= http.StatusInternalServerError && c.route != ready, c.err != nil && !errors.Is(c.err, context.Canceled):
		level = slog.LevelWarn
	case c.route == model, c.route == socketRoute, c.fault != nil:
		level = slog.LevelInfo
	}
	ctx := c.r.Context()
	if !c.g.o.Log.Enabled(ctx, level) {
		return
	}
	attrs := []slog.Attr{slog.String("method", method(c.r.Method)), slog.String("route", c.pattern), slog.Int("status", c.w.status),
		slog.Float64("ms", ms(total))}
	if first > 0 {
		attrs = append(attrs, slog.Float64("first_ms", ms(first)))
	}
	if c.who.Name != "" {
		attrs = append(attrs, slog.String("key", c.who.Name), slog.String("owner", c.who.Owner))
	}
	if x := c.exchange; x != nil {
		attrs = append(attrs, slog.String("session", session), slog.String("turn", x.Receipt.Turn), slog.String("mode", string(x.Receipt.Mode)),
			slog.Float64("ken_ms", x.Receipt.MS["total"]))
		if x.Receipt.Policy != "" {
			attrs = append(attrs, slog.String("policy", x.Receipt.Policy))
		}
		if len(x.Receipt.Degraded) > 0 {
			attrs = append(attrs, slog.Any("degraded", x.Receipt.Degraded))
		}
	}
	if c.untouched != "" {
		attrs = append(attrs, slog.String("untouched", c.untouched))
	}
	if c.fault != nil {
		attrs = append(attrs, slog.String("fault", c.fault.code))
	}
	if c.err != nil {
		attrs = append(attrs, slog.Any("cause", c.err))
	}
	if id, _ := trace.ID(ctx); id != "" {
		attrs = append(attrs, slog.String("trace", id))
	}
	c.g.o.Log.LogAttrs(ctx, level, "request", attrs...)
}

// method is one of the usual ones; a client may send anything.
func method(m string) string {
	if len(m) > 16 {
		return "other"
	}
	return m
}

func ms(d time.Duration) float64 { return float64(d.Microseconds()) / 1000 }
