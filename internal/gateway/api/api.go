package api

import (
	"log/slog"
	"net/http"
	"time"

	"github.com/google/uuid"

	"github.com/kenlayer/ken/internal/access"
	"github.com/kenlayer/ken/internal/locks"
	"github.com/kenlayer/ken/internal/run/telemetry/usage"
	"github.com/kenlayer/ken/middleware"
)

// Prefix begins the path of every route.
const Prefix = "/api/"

// DefaultMaxBody bounds a request's body in bytes: a claim's text of the greatest
// length, escaped, with evidence.
const DefaultMaxBody = 4 << 20

// Options configures an API; the zero value works.
type Options struct {
	// MaxBody is the most bytes of a request's body; less than 1 means DefaultMaxBody.
	MaxBody int64
	// Usage has the usage of the keys. Nil: none is counted.
	Usage *usage.Store
	// Log hears of faults of ours and of what can't be told in an answer any more.
	// Never of what was asked or sent. Default slog.Default().
	Log *slog.Logger
	Now func() time.Time // default time.Now
	// NewID makes the id that tells versions of lists of this API from those of
	// another process. Default UUID version 4.
	NewID func() string
}

func (o Options) withDefaults() Options {
	if o.MaxBody < 1 {
		o.MaxBody = DefaultMaxBody
	}
	if o.Log == nil {
		o.Log = slog.Default()
	}
	if o.Now == nil {
		o.Now = time.Now
	}
	if o.NewID == nil {
		o.NewID = uuid.NewString
	}
	return o
}

// API serves the routes below Prefix. It is safe for concurrent use and needs no
// closing; the layer must be open as long as it is used.
type API struct {
	l        *middleware.Layer
	o        Options
	instance string      // part of the versions of lists
	changing locks.Locks // of claims, so that a comparison with If-Match and the change are one step in this process
	counts   counts

	unanswered unanswered

	// served is told of every call that a handler has answered, for tests.
	served func(*call, *reply, error)
}

// New returns the API of a layer. It opens nothing.
func New(l *middleware.Layer, o Options) *API {
	o = o.withDefaults()
	return &API{l: l, o: o, instance: o.NewID(), served: func(*call, *reply, error) {}}
}

// ServeHTTP answers a request for a path below Prefix. The principal is the one in
// the request's context; without one, only the description can be read.
func (a *API) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	secure(w.Header())
	who := access.From(r.Context())
	c := &call{api: a, r: r, who: who}
	rep, err := a.answer(c, w)
	a.served(c, rep, err)
	if err != nil {
		a.refuse(w, r, c, err)
		return
	}
	a.send(w, r, c, rep)
}

// answer finds the route, checks all that its description promises, and runs it.
func (a *API) answer(c *call, w http.ResponseWriter) (*reply, error) {
	found, err := findRoute(c.r)
	if err != nil {
		return nil, err
	}
	if found.allow != "" { // OPTIONS
		return &reply{status: http.StatusNoContent, header: map[string]string{"Allow": found.allow}}, nil
	}
	c.route, c.path = found.route, found.path
	if err := sameSite(c.r); err != nil {
		return nil, err
	}
	if err := c.permitted(); err != nil {
		return nil, err
	}
	if err := acceptable(c.r, c.route.mediaType()); err != nil {
		return nil, err
	}
	if c.query, err = parseQuery(c.r.URL.RawQuery, c.route.params); err != nil {
		return nil, err
	}
	if err := c.readBody(w); err != nil {
		return nil, err
	}
	return c.route.serve(a, c)
}

// secure sets headers that keep a browser from treating an answer as more than data.
func secure(h http.Header) {
	h.Set("X-Content-Type-Options", "nosniff")
	h.Set("Cross-Origin-Resource-Policy", "same-origin")
	h.Set("Content-Security-Policy", "default-src 'none'; frame-ancestors 'none'")
	h.Set("Referrer-Policy", "no-referrer")
	h.Set("Cache-Control", "no-store")
}
