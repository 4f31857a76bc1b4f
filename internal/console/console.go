package console

import (
	"context"
	"log/slog"
	"net/http"
	"sync/atomic"
	"time"

	"github.com/kenlayer/ken/internal/access"
	"github.com/kenlayer/ken/internal/console/facet"
	"github.com/kenlayer/ken/internal/console/ledger"
	"github.com/kenlayer/ken/internal/knowledge/operator"
	"github.com/kenlayer/ken/internal/run/telemetry/usage"
	"github.com/kenlayer/ken/middleware"
)

// Prefix is what the path of every page begins with.
const Prefix = "/console/"

// Options configures a Console; the zero value works.
type Options struct {
	// Ring is the keys that may log in. Nil: there are none, and whoever comes without
	// a Principal is turned away.
	Ring *access.Ring
	// Keys are those that were handed out, which an operator of the configured owner adds
	// to and revokes. The value is for the console alone. Nil: keys are not managed here.
	Keys *operator.Keys
	// Usage has the usage of the keys. Nil: none is counted.
	Usage *usage.Store
	// Secure says that the pages are served over TLS alone, so that cookies must be.
	Secure bool
	// Upstream is the base URL of the API behind the gateway, to be shown; "" for none.
	Upstream string
	Version  string
	// Log hears of faults of ours. Never of what was asked or sent. Default slog.Default().
	Log *slog.Logger
	Now func() time.Time // default time.Now
	// Patience is how long a page waits for what is found out behind it, before it is shown
	// without, or with what was found the last time. Default 20 ms.
	Patience time.Duration
	// Tick is how long a page that follows changes waits between two looks at what has no
	// signal of its own. Default one second.
	Tick time.Duration
}

func (o Options) withDefaults() Options {
	if o.Log == nil {
		o.Log = slog.Default()
	}
	if o.Now == nil {
		o.Now = time.Now
	}
	if o.Patience <= 0 {
		o.Patience = defaultPatience
	}
	if o.Tick <= 0 {
		o.Tick = time.Second
	}
	return o
}

// Console serves the pages. It is safe for concurrent use; the layer must be open as
// long as it is used. Close it before the layer.
type Console struct {
	l        *middleware.Layer
	o        Options
	mux      *http.ServeMux
	origin   *http.CrossOriginProtection
	visits   visits
	ring     atomic.Pointer[access.Ring] // the keys that may log in
	token    [32]byte                    // of forms where nobody logs in
	claims   *facet.Index
	turns    *ledger.Ledger
	tallies  behind[string, tally]  // by owner
	catching behind[string, caught] // of turns, by owner
	began    time.Time
	health   health // what its pages remember
	drift    behind[struct{}, driftFound]
	streams  atomic.Int64 // pages that follow changes
	running  background

	stop    context.Context // done when the console is closed
	closing context.CancelFunc
}

// New returns the console of a layer. It opens nothing.
func New(l *middleware.Layer, o Options) *Console {
	o = o.withDefaults()
	c := &Console{l: l, o: o, mux: http.NewServeMux(), origin: http.NewCrossOriginProtection(),
		claims: facet.New(facet.Options{Now: o.Now, DecayDays: l.Config().Knowledge.DecayDays, Log: o.Log, Open: l.Store}),
		turns:  ledger.New(ledger.Options{Now: o.Now})}
	c.visits.now, c.began = o.Now, o.Now()
	c.token = secret()
	c.ring.Store(o.Ring)
	c.stop, c.closing = context.WithCancel(context.Background())
	for _, rt := range routes() {
		c.mux.Handle(rt.method+" "+rt.path, c.handler(rt))
	}
	return c
}

// Admit has the keys of r log in from now on, nil for none at all. Who logged in with a
// key that r lacks is logged out, and the others have the rights that r says.
func (c *Console) Admit(r *access.Ring) { c.ring.Store(r) }

// Close ends what goes on behind the pages. Live pages notice and ask again later.
func (c *Console) Close() error {
	c.closing()
	c.running.close()
	c.claims.Close()
	return nil
}

// ServeHTTP implements http.Handler.
func (c *Console) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	secure(w.Header())
	if r.URL.Path == "/console" {
		http.Redirect(w, r, Prefix, http.StatusPermanentRedirect)
		return
	}
	if _, pattern := c.mux.Handler(r); pattern != "" {
		c.mux.ServeHTTP(w, r)
		return
	}
	// What the mux would say of a path or a method that is not there is no page.
	v := c.visit(w, r)
	v.fail(notHere)
}

// handler runs a page with all that its line in the table promises.
func (c *Console) handler(rt route) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		v := c.visit(w, r)
		if err := v.admit(rt); err != nil {
			v.fail(err)
			return
		}
		v.from = v.seq() // before anything is read
		if err := rt.serve(v); err != nil {
			v.fail(err)
		}
	})
}
