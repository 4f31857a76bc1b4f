package api

import (
	"cmp"
	"log/slog"
	"net/http"
	"time"

	"github.com/google/uuid"

	"github.com/kenlayer/ken"
	"github.com/kenlayer/ken/internal/access"
	"github.com/kenlayer/ken/internal/locks"
	"github.com/kenlayer/ken/internal/lru"
	"github.com/kenlayer/ken/internal/run/telemetry/usage"
	"github.com/kenlayer/ken/middleware"
)

// Prefix is the beginning of every route's path.
const Prefix = "/api/"

// DefaultMaxBody is the default limit of a request's body in bytes. A claim with the longest text,
// escaped, and evidence fits.
const DefaultMaxBody = 4 << 20

// Options configures an API. The zero value works.
type Options struct {
	// MaxBody is the maximum size of a request's body in bytes; less than 1 means DefaultMaxBody.
	MaxBody int64
	// Usage has the usage of the keys. Nil means that none is recorded.
	Usage *usage.Store
	// Log receives internal errors, and errors that can no longer be sent in an answer. It never
	// receives content of requests. Nil means slog.Default().
	Log *slog.Logger
	Now func() time.Time // nil means time.Now
	// NewID returns an id for this API value, which distinguishes its ETags of lists from those of
	// another process. Nil means UUID version 4.
	NewID func() string
}

func (o Options) withDefaults() Options {
	o.MaxBody = cmp.Or(max(o.MaxBody, 0), DefaultMaxBody)
	o.Log = cmp.Or(o.Log, slog.Default())
	if o.Now == nil {
		o.Now = time.Now
	}
	if o.NewID == nil {
		o.NewID = uuid.NewString
	}
	return o
}

// API serves the routes below Prefix. It is safe for concurrent use and need not be closed. The
// layer must be open while it is used.
type API struct {
	l        *middleware.Layer
	o        Options
	instance string                        // part of the ETags of lists
	changing locks.Locks                   // by claim, so that comparing If-Match and changing the claim is one step in this process
	counts   lru.Map[string, *ownerCounts] // by owner

	// unanswered holds the functions that receive the answers of prepared turns.
	unanswered lru.Map[turnKey, func(ken.Message)]

	// served is called after each call of a handler, for tests.
	served func(*call, *reply, error)
}

// New returns the API of a layer. It opens no store.
func New(l *middleware.Layer, o Options) *API {
	o = o.withDefaults()
	return &API{l: l, o: o, instance: o.NewID(), unanswered: lru.Map[turnKey, func(ken.Message)]{Max: maxUnanswered}, served: func(*call, *reply, error) {}}
}

// ServeHTTP answers a request for a path below Prefix. The principal is the one in the request's
// context; without one, only the description of the API can be read.
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

// answer finds the route, validates the request against its description, and runs it.
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

// secure sets headers that make a browser treat an answer as data only.
func secure(h http.Header) {
	h.Set("X-Content-Type-Options", "nosniff")
	h.Set("Cross-Origin-Resource-Policy", "same-origin")
	h.Set("Content-Security-Policy", "default-src 'none'; frame-ancestors 'none'")
	h.Set("Referrer-Policy", "no-referrer")
	h.Set("Cache-Control", "no-store")
}
