package gateway

import (
	"context"
	"errors"
	"log/slog"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/kenlayer/ken/internal/access"
	"github.com/kenlayer/ken/internal/middleware/wire"
	"github.com/kenlayer/ken/internal/run/telemetry/trace"
	"github.com/kenlayer/ken/middleware"
)

// call is the state of one request in the gateway.
type call struct {
	g        *Gateway
	settings *settings // in effect when the request arrived
	w        *writer
	r        *http.Request
	start    time.Time

	raw         string // the path as the client sent it
	route       route
	dialect     wire.Dialect
	pattern     string // the path's pattern, for logs and metrics
	errorFormat errorFormat

	who        access.Principal
	headers    turnHeaders
	up         *upstream
	body       *requestBody         // the body as it arrives; nil if there is none
	whole      []byte               // the body to send; nil if it is passed on as it arrives
	isWhole    bool                 // whole is the complete body
	reserved   int64                // bytes of bodyMemory
	untouched  string               // why the body is not inspected; "" if it is
	side       bool                 // a side call: see sideCallOf
	exchange   *middleware.Exchange // nil if the layer does not handle the call
	socket     *socket              // nil unless the messages of a WebSocket are inspected
	embeddings embeddingsRequest    // for route embeddings only

	requestedModel string // the model that the request names; "" if it was not read
	countUsage     bool   // count the call in the key's usage
	meter          *meter // reads the upstream's answer; nil if it is not read
	answeringModel string // the model that the answer names; "" if it names none
	used           wire.Usage
	usageKnown     bool // the answer has token counts

	fault  *fault // an error answer of the gateway itself; nil for none
	err    error  // logged as the cause; nil if nothing failed
	server *trace.Span
	client *trace.Span
}

func (g *Gateway) newCall(w http.ResponseWriter, r *http.Request) *call {
	now := g.settings.Load()
	c := &call{g: g, settings: now, w: newWriter(w, now.cfg.Stall, g.o.Now), start: g.o.Now(), raw: rawPath(r)}
	c.route, c.dialect, c.pattern = g.routeOf(r, c.raw)
	c.w.limitRead(r)
	c.errorFormat = errorFormatOf(c.route, r.URL.Path, r.Header)
	ctx, span := g.o.beside.Tracer.Request(r.Context(), r)
	c.server = span
	c.r = r.WithContext(context.WithValue(ctx, callKey{}, c))
	span.Route(r.Method + " " + c.pattern)
	return c
}

type callKey struct{}

func callOf(ctx context.Context) *call { return ctx.Value(callKey{}).(*call) }

// done records the end of the call, however it ended.
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
	c.g.release(c.reserved)
	c.recordUsage()
	if c.untouched != "" {
		c.g.o.beside.Metrics.Untouched(c.untouched)
	}
	c.server.Session(c.who.Owner, session)
	c.server.End(c.w.status, c.err)
	c.g.o.beside.Metrics.Request(c.pattern, c.w.status, end.Sub(c.start), first)
	c.log(session, end.Sub(c.start), first)
}

// log writes the request's log line. It contains no text that the client chose freely, except for
// the names in Ken's headers and the name of the model.
func (c *call) log(session string, total, first time.Duration) {
	level := slog.LevelInfo
	switch {
	case c.w.status >= http.StatusInternalServerError && c.route != ready, c.err != nil && !errors.Is(c.err, context.Canceled):
		level = slog.LevelWarn
	case c.fault != nil:
	case c.route == health, c.route == ready, c.route == scrape: // requested every few seconds
		level = slog.LevelDebug
	}
	ctx := c.r.Context()
	if !c.g.o.Log.Enabled(ctx, level) {
		return
	}
	attrs := make([]slog.Attr, 0, 24)
	attrs = append(attrs, slog.String("method", method(c.r.Method)), slog.String("route", c.pattern), slog.Int("status", c.w.status),
		slog.Int64("bytes", c.w.written), slog.Float64("ms", ms(total)))
	if first > 0 {
		attrs = append(attrs, slog.Float64("first_ms", ms(first)))
	}
	if c.who.Name != "" {
		attrs = append(attrs, slog.String("key", c.who.Name), slog.String("owner", c.who.Owner))
	}
	if name := c.modelName(); name != "" {
		attrs = append(attrs, slog.String("model", shorten(name)))
	}
	if c.usageKnown {
		attrs = append(attrs, slog.Int("input_tokens", c.used.Input), slog.Int("cached_tokens", c.used.Cached), slog.Int("output_tokens", c.used.Output))
	}
	if x := c.exchange; x != nil {
		attrs = append(attrs, slog.String("session", session), slog.String("turn", x.Receipt.Turn), slog.String("mode", string(x.Receipt.Mode)),
			slog.Int("block_chars", x.Receipt.Chars), slog.Float64("ken_ms", x.Receipt.MS["total"]))
		if x.Receipt.Policy != "" {
			attrs = append(attrs, slog.String("policy", x.Receipt.Policy))
		}
		if !x.Receipt.Reused { // a reused block has the stages of an earlier request
			attrs = append(attrs, stages(x.Receipt.MS))
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

// stages returns the duration of each stage of the turn, as a group of attributes.
func stages(spent map[string]float64) slog.Attr {
	of := make([]slog.Attr, 0, len(spent))
	for name, took := range spent {
		if name != "total" {
			of = append(of, slog.Float64(name, took))
		}
	}
	slices.SortFunc(of, func(a, b slog.Attr) int { return strings.Compare(a.Key, b.Key) })
	return slog.GroupAttrs("stage_ms", of...)
}

// method returns the request's method for the log, or "other" if it is long: clients may send any
// text.
func method(m string) string {
	if len(m) > 16 {
		return "other"
	}
	return m
}

func ms(d time.Duration) float64 { return float64(d.Microseconds()) / 1000 }
