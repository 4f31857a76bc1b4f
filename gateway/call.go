package gateway

import (
	"bytes"
	"context"
	"errors"
	"io"
	"log/slog"
	"net/http"
	"runtime/debug"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	"github.com/kenlayer/ken/internal/access"
	"github.com/kenlayer/ken/internal/middleware/wire"
	"github.com/kenlayer/ken/internal/run/telemetry/trace"
	"github.com/kenlayer/ken/internal/websocket"
	"github.com/kenlayer/ken/middleware"
)

// gatewayCall is one request on its way through the gateway.
type gatewayCall struct {
	g     *Gateway
	terms *servingConfig // as they were when it came
	w     *writer
	r     *http.Request
	start time.Time

	raw     string // the path as it came
	route   route
	dialect wire.Dialect
	pattern string // of the path, for logs and metrics
	speaks  dialect

	who       access.Principal
	asked     turnHeaders
	up        *upstream
	body      *body  // as it comes; nil when there is none
	whole     []byte // the body to send; nil when it is passed on as it comes
	isWhole   bool
	held      int64                // of the room for bodies
	untouched string               // why it is not looked into
	side      bool                 // an agent's call for itself
	exchange  *middleware.Exchange // nil when the layer has no part in it
	socket    *socket              // nil when it asks for none, or none that is looked into
	wants     embeddingsRequest    // of embeddings

	asks     string       // the model, as far as the request was read for it
	counted  bool         // towards the key's usage
	meter    *answerMeter // of the upstream's answer; nil when nothing is read of it
	answered string       // the model that answered; "" when it does not say
	used     wire.Usage
	told     bool // the answer said what was used

	fault  *fault // of the gateway's own
	err    error  // what went wrong, for the log
	server *trace.Span
	client *trace.Span
}

func (g *Gateway) newCall(w http.ResponseWriter, r *http.Request) *gatewayCall {
	now := g.terms.Load()
	c := &gatewayCall{g: g, terms: now, w: newWriter(w, now.cfg.Stall, g.o.Now), start: g.o.Now(), raw: rawPath(r)}
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

func callOf(ctx context.Context) *gatewayCall { return ctx.Value(callKey{}).(*gatewayCall) }

// done notes that the call is over, however it ended.
func (c *gatewayCall) done() {
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
	c.account()
	if c.untouched != "" {
		c.g.o.Metrics.Untouched(c.untouched)
	}
	c.server.Session(c.who.Owner, session)
	c.server.End(c.w.status, c.err)
	c.g.o.Metrics.Request(c.pattern, c.w.status, end.Sub(c.start), first)
	c.log(session, end.Sub(c.start), first)
}

// log writes the request's line. What a client chose freely, other than names that
// it gave to Ken and the model that it asked, is not in it.
func (c *gatewayCall) log(session string, total, first time.Duration) {
	level := slog.LevelInfo
	switch {
	case c.w.status >= http.StatusInternalServerError && c.route != ready, c.err != nil && !errors.Is(c.err, context.Canceled):
		level = slog.LevelWarn
	case c.fault != nil:
	case c.route == health, c.route == ready, c.route == scrape: // asked for every few seconds
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
	if c.told {
		attrs = append(attrs, slog.Int("input_tokens", c.used.Input), slog.Int("cached_tokens", c.used.Cached), slog.Int("output_tokens", c.used.Output))
	}
	if x := c.exchange; x != nil {
		attrs = append(attrs, slog.String("session", session), slog.String("turn", x.Receipt.Turn), slog.String("mode", string(x.Receipt.Mode)),
			slog.Int("block_chars", x.Receipt.Chars), slog.Float64("ken_ms", x.Receipt.MS["total"]))
		if x.Receipt.Policy != "" {
			attrs = append(attrs, slog.String("policy", x.Receipt.Policy))
		}
		if !x.Receipt.Reused { // the stages are those of the request that composed the block
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

// method is one of the usual ones; a client may send anything.
func method(m string) string {
	if len(m) > 16 {
		return "other"
	}
	return m
}

func ms(d time.Duration) float64 { return float64(d.Microseconds()) / 1000 }

// byteBudget is the bytes that bodies which are looked into may still take, all together. It
// is below zero after it was made smaller while they held more.
type byteBudget struct {
	left    atomic.Int64
	freeing atomic.Bool
}

func (r *byteBudget) take(n int64) bool {
	for {
		left := r.left.Load()
		if left < n {
			return false
		}
		if r.left.CompareAndSwap(left, left-n) {
			return true
		}
	}
}

// Why a model call is passed on without being looked into; "" when it is not, or when
// the client wants it so.
const (
	tooMany    = "memory"   // gateway.look_bytes are taken
	tooLarge   = "length"   // it has more than maxLook
	compressed = "encoding" // it is compressed
	tooBusy    = "turns"    // retrieval.at_once turns are composed
)

// maxLook bounds the bodies that are looked into: 32 MiB, well above what any model
// reads.
const maxLook = 32 << 20

// firstLook is as much as room is made for before anything has arrived: a client may
// announce what it never sends.
const firstLook = 1 << 20

// messageBytes is about what a message takes while it is looked into, in bytes, however
// little it says.
const messageBytes = 1 << 10

// unlookable says why the body is not even begun to be read.
func (c *gatewayCall) unlookable() string {
	switch encoding := c.r.Header.Get("Content-Encoding"); {
	case c.body == nil:
		return ""
	case encoding != "" && !strings.EqualFold(encoding, "identity"):
		return compressed
	case c.r.ContentLength > maxLook:
		return tooLarge
	}
	return ""
}

// hold takes room for n bytes more until the call is done.
func (c *gatewayCall) hold(n int) bool {
	if !c.g.room.take(int64(n)) {
		return false
	}
	c.held += int64(n)
	return true
}

// largeBody is a body, in bytes, after which it is worth to give memory back at once.
const largeBody = 8 << 20

// release gives back the room that a call had. After a large body its memory goes back
// to the system, which otherwise would take minutes.
func (g *Gateway) release(held int64) {
	g.room.left.Add(held)
	if held < largeBody || !g.room.freeing.CompareAndSwap(false, true) {
		return
	}
	go func() {
		defer g.room.freeing.Store(false)
		debug.FreeOSMemory()
	}()
}

// read reads the body into whole. One that turns out to be longer than maxLook, or for
// which there is no room, is left to be passed on as it comes.
func (c *gatewayCall) read() *fault {
	if c.isWhole {
		return nil
	}
	size := bytes.MinRead
	if n := c.r.ContentLength; n > 0 {
		size += int(min(n, firstLook))
	}
	var b []byte
	for len(b) <= maxLook {
		if len(b) == cap(b) {
			if !c.hold(size - cap(b)) {
				c.pass(b, tooMany)
				return nil
			}
			b = append(make([]byte, 0, size), b...)
			if size = 2 * size; c.r.ContentLength > 0 {
				size = int(c.r.ContentLength) + bytes.MinRead
			}
			size = max(min(size, maxLook+bytes.MinRead), cap(b)+bytes.MinRead)
		}
		n, err := c.body.Read(b[len(b):cap(b)])
		b = b[:len(b)+n]
		if errors.Is(err, io.EOF) {
			c.set(b)
			return nil
		}
		if err != nil {
			return c.bodyFault(err)
		}
	}
	c.pass(b, tooLarge)
	return nil
}

// pass has the body passed on as it comes, after what was read of it.
func (c *gatewayCall) pass(begun []byte, why string) {
	c.untouched = why
	c.r.Body = struct {
		io.Reader
		io.Closer
	}{io.MultiReader(bytes.NewReader(begun), c.body), c.body}
}

// route is what is done with a request.
type route uint8

const (
	pass        route = iota // on, as it is
	model                    // on, with knowledge
	count                    // on, with the knowledge that the model call would have
	socketRoute              // on, with knowledge in what goes over the WebSocket
	noSocket                 // a WebSocket for model calls that go over HTTP alone
	embeddings               // on, or served here
	models                   // on, or served here
	api
	mcp
	scrape
	console
	health
	ready
)

// own reports the routes that are never passed on.
func (r route) own() bool { return r >= api }

// ownsAPI reports whether a path is one of Ken's API. Ollama's API is under /api as well:
// what Ken's does not know is passed on where there is an upstream.
func (g *Gateway) ownsAPI(path string) bool {
	if path != "/api" && !strings.HasPrefix(path, "/api/") {
		return false
	}
	api, ok := g.o.API.(interface{ Serves(path string) bool })
	return !ok || g.upstream == nil || api.Serves(path)
}

// routeOf looks at the path as it came for what goes to the upstream, so that what
// is spelled in another way is passed on, and at the path that it means for what is
// Ken's own.
func (g *Gateway) routeOf(r *http.Request, raw string) (route, wire.Dialect, string) {
	switch path := r.URL.Path; {
	case path == "/healthz":
		return health, 0, path
	case path == "/readyz":
		return ready, 0, path
	case path == "/metrics":
		return scrape, 0, path
	case path == "/mcp" || strings.HasPrefix(path, "/mcp/"):
		return mcp, 0, "/mcp"
	case g.ownsAPI(path):
		return api, 0, "/api"
	case path == "/console" || strings.HasPrefix(path, "/console/"):
		return console, 0, "/console"
	}
	if r.Method == http.MethodGet && websocket.Asked(r.Header) {
		if d, ok := wire.DialectOf(raw); ok && d == wire.Responses {
			return socketRoute, d, "/v1/responses (websocket)"
		} else if ok {
			return noSocket, d, patterns[d]
		}
	}
	if r.Method == http.MethodPost {
		if d, ok := wire.DialectOf(raw); ok {
			return model, d, patterns[d]
		}
		if d, ok := wire.CountOf(raw); ok {
			return count, d, counts[d]
		}
	}
	switch path := strings.TrimRight(raw, "/"); {
	case r.Method == http.MethodPost && path == "/v1/embeddings":
		return embeddings, 0, path
	case r.Method == http.MethodGet && path == "/v1/models":
		return models, 0, path
	}
	return pass, 0, "/*"
}

var (
	patterns = map[wire.Dialect]string{wire.Chat: "/v1/chat/completions", wire.Responses: "/v1/responses", wire.Messages: "/v1/messages", wire.Ollama: "/api/chat"}
	counts   = map[wire.Dialect]string{wire.Messages: "/v1/messages/count_tokens", wire.Responses: "/v1/responses/input_tokens"}
)
