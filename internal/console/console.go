package console

import (
	"context"
	"crypto/rand"
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
	// Ring holds the keys that may log in. Nil: there are none, and a request without a
	// Principal is refused.
	Ring *access.Ring
	// LocalKey is the key of whoever runs the gateway, who may log in with it and choose any
	// owner. Empty: there is none.
	LocalKey string
	// Keys are the managed keys. An operator of the configured owner creates and revokes
	// them. The value is for the console alone. Nil: keys are not managed here.
	Keys *operator.Keys
	// Usage has the usage of the keys. Nil: none is counted.
	Usage *usage.Store
	// Secure says that the pages are served over TLS alone, so that cookies must be.
	Secure bool
	// Upstream is the base URL of the API behind the gateway, to be shown; "" for none.
	Upstream string
	// Model is the configured model, which an operator can ask. Nil: there is none.
	Model   *Model
	Version string
	// Log receives internal errors, never the content of a request. Default slog.Default().
	Log *slog.Logger
	Now func() time.Time // default time.Now
	// Patience is how long a page waits for a value that is computed in the background,
	// before it shows the previous value or none. Default 20 ms.
	Patience time.Duration
	// Tick is the interval at which a live page polls for changes that send no signal.
	// Default one second.
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
	layer      *middleware.Layer
	opts       Options
	mux        *http.ServeMux
	origin     *http.CrossOriginProtection
	logins     loginSessions
	ring       atomic.Pointer[access.Ring] // the keys that may log in
	token      [32]byte                    // of forms where nobody logs in
	claims     *facet.Index
	turns      *ledger.Ledger
	pending    backgroundCache[string, pendingCounts] // by owner
	turnReads  backgroundCache[string, turnRead]      // of turns, by owner
	started    time.Time
	health     healthCache // what its pages remember
	drift      backgroundCache[struct{}, driftResult]
	streams    atomic.Int64 // pages that follow changes
	background background

	stop   context.Context // done when the console is closed
	cancel context.CancelFunc
}

// New returns the console of a layer. It opens nothing.
func New(l *middleware.Layer, o Options) *Console {
	o = o.withDefaults()
	c := &Console{layer: l, opts: o, mux: http.NewServeMux(), origin: http.NewCrossOriginProtection(),
		claims: facet.New(facet.Options{Now: o.Now, DecayDays: l.Config().Knowledge.DecayDays, Log: o.Log, Open: l.Store}),
		turns:  ledger.New(ledger.Options{Now: o.Now})}
	c.logins.now, c.started = o.Now, o.Now()
	c.token = randomToken()
	c.ring.Store(o.Ring)
	c.stop, c.cancel = context.WithCancel(context.Background())
	for _, rt := range routes() {
		c.mux.Handle(rt.method+" "+rt.path, c.handler(rt))
	}
	return c
}

// Admit replaces the keys that may log in; nil means none. Visitors whose key is not in r
// are logged out, and the others get the rights in r.
func (c *Console) Admit(r *access.Ring) { c.ring.Store(r) }

// Close ends what goes on behind the pages. Live pages notice and ask again later.
func (c *Console) Close() error {
	c.cancel()
	c.background.close()
	c.claims.Close()
	return nil
}

// ServeHTTP implements http.Handler.
func (c *Console) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	setSecurityHeaders(w.Header())
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
	v.renderError(errNoPage)
}

// handler runs a page with all that its line in the table promises.
func (c *Console) handler(rt route) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		v := c.visit(w, r)
		if err := v.authorize(rt); err != nil {
			v.renderError(err)
			return
		}
		v.logSeq = v.seq() // before anything is read
		if err := rt.serve(v); err != nil {
			v.renderError(err)
		}
	})
}

// policy lets a page have what this origin serves, and nothing else: no inline script
// or style, no frame around it, no form to elsewhere. Markup that a script puts into
// the page has to pass the one policy that console.js declares for what it fetched.
const contentSecurityPolicy = "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; form-action 'self'; " +
	"base-uri 'none'; frame-ancestors 'none'; require-trusted-types-for 'script'; trusted-types ken"

// setSecurityHeaders sets what keeps a browser from doing more with a page than to show it.
func setSecurityHeaders(h http.Header) {
	h.Set("Content-Security-Policy", contentSecurityPolicy)
	h.Set("X-Content-Type-Options", "nosniff")
	h.Set("X-Frame-Options", "DENY")
	h.Set("Cross-Origin-Opener-Policy", "same-origin")
	h.Set("Cross-Origin-Resource-Policy", "same-origin")
	h.Set("Referrer-Policy", "same-origin") // what is searched for is in the address
	h.Set("Permissions-Policy", "camera=(), geolocation=(), microphone=(), payment=()")
	h.Set("Cache-Control", "no-store")
}

// randomToken returns 256 random bits.
func randomToken() (b [32]byte) {
	_, _ = rand.Read(b[:]) // it never fails
	return b
}

// route is one line of the table: a page, or what a form does.
type route struct {
	method string
	path   string       // a pattern of http.ServeMux, without the method
	right  access.Right // that it needs; "" for none
	serve  func(*visit) error
}

const (
	get  = http.MethodGet
	post = http.MethodPost
)

// routes is every route. Whoever may read sees a page; what changes something needs
// operate, and so does what tells of everybody's conversations.
func routes() []route {
	return []route{
		{get, Prefix + "{$}", access.Read, home},
		{get, Prefix + "events", access.Read, serveEvents},
		{get, Prefix + "assets/{hash}/{name}", "", asset},
		{get, LoginPath, "", loginForm},
		{post, LoginPath, "", login},
		{post, Prefix + "logout", "", logout},
		{post, Prefix + "theme", "", setTheme},
		{post, Prefix + "owner", access.Operate, setOwner},

		{get, Prefix + "claims", access.Read, claimsPage},
		{get, Prefix + "claims/{id}", access.Read, claimPage},
		{get, Prefix + "claims/{id}/text", access.Read, claimText},
		{post, Prefix + "claims/{id}/verify", access.Operate, claimAction("verified", verifyClaim)},
		{post, Prefix + "claims/{id}/dispute", access.Operate, claimAction("disputed", disputeClaim)},
		{post, Prefix + "claims/{id}/archive", access.Operate, claimAction("archived", archiveClaim)},
		{post, Prefix + "claims/{id}/file", access.Operate, claimAction("filed", refileClaim)},
		{post, Prefix + "claims/{id}/supersede", access.Operate, supersedeClaim},
		{get, Prefix + "claims/{id}/forget", access.Operate, forgetPage},
		{post, Prefix + "claims/{id}/forget", access.Operate, forgetClaim},
		{get, Prefix + "claims/new", access.Operate, newClaimPage},
		{post, Prefix + "claims", access.Operate, writeClaim},

		// Lenses: what a session learned, what an agent knows, what changed, what rests on a file.
		{get, Prefix + "sessions", access.Read, sessionsPage},
		{get, Prefix + "sessions/{id}", access.Read, sessionPage},
		{post, Prefix + "sessions/{id}/end", access.Operate, sessionAction("ended", endSession)},
		{post, Prefix + "sessions/{id}/harvest", access.Operate, sessionAction("harvested", harvestSession)},
		{post, Prefix + "sessions/{id}/forget", access.Operate, sessionAction("forgotten", forgetSession)},
		{get, Prefix + "agents", access.Read, agentsPage},
		{get, Prefix + "agents/{name}", access.Read, agentPage},
		{get, Prefix + "changes", access.Read, changesPage},
		{get, Prefix + "files", access.Read, filesPage},

		// What is known by what it is about, and the code.
		{get, Prefix + "entities", access.Read, entitiesPage},
		{post, Prefix + "entities", access.Operate, describeNew},
		{get, Prefix + "entities/{name}", access.Read, entityPage},
		{post, Prefix + "entities/{name}/describe", access.Operate, entityAction("described", describeEntity)},
		{post, Prefix + "entities/{name}/rename", access.Operate, renameEntity},
		{post, Prefix + "entities/{name}/merge", access.Operate, entityAction("merged", mergeEntity)},
		{post, Prefix + "entities/{name}/alias", access.Operate, entityAction("named", aliasEntity)},
		{post, Prefix + "entities/{name}/split", access.Operate, entityAction("split", splitEntity)},
		{post, Prefix + "entities/{name}/rule", access.Operate, entityAction("ruled", ruleEntity)},
		{post, Prefix + "entities/{name}/link", access.Operate, entityAction("linked", linkEntity)},
		{post, Prefix + "entities/{name}/unlink", access.Operate, entityAction("unlinked", unlinkEntity)},
		{get, Prefix + "tasks", access.Read, tasksPage},
		{get, Prefix + "code", access.Read, codePage},
		{get, Prefix + "code/symbol", access.Read, symbolPage},

		// What turns were given, and what they would be.
		{get, Prefix + "turns", access.Read, turnsPage},
		{get, Prefix + "turns/{id}", access.Read, turnPage},
		{get, Prefix + "turns/{id}/replay", access.Operate, replayPage},
		{get, Prefix + "turns/{id}/whatif", access.Operate, whatifPage},
		{get, Prefix + "turns/{id}/test", access.Operate, testPage},
		{post, Prefix + "turns/{id}/test", access.Operate, saveTest},
		{get, Prefix + "try", access.Read, tryPage},
		{post, Prefix + "try", access.Operate, askModel},

		// The project's decisions, objectives and layers.
		{get, Prefix + "decisions", access.Read, decisionsPage},
		{get, Prefix + "decisions/new", access.Operate, newDecisionPage},
		{get, Prefix + "decisions/{id}", access.Read, decisionPage},
		{post, Prefix + "decisions", access.Operate, writeDecision},
		{post, Prefix + "decisions/{id}/status", access.Operate, decisionAction(moveDecision)},
		{post, Prefix + "decisions/{id}/supersede", access.Operate, decisionAction(supersedeDecision)},
		{post, Prefix + "decisions/{id}/archive", access.Operate, decisionAction(archiveDecision)},
		{get, Prefix + "objectives", access.Read, objectivesPage},
		{get, Prefix + "objectives/new", access.Operate, newObjectivePage},
		{get, Prefix + "objectives/{id}", access.Read, objectivePage},
		{post, Prefix + "objectives", access.Operate, writeObjective},
		{post, Prefix + "objectives/{id}", access.Operate, objectiveAction(editObjective)},
		{post, Prefix + "objectives/{id}/status", access.Operate, objectiveAction(moveObjective)},
		{post, Prefix + "objectives/{id}/task", access.Operate, objectiveAction(addTask)},
		{post, Prefix + "objectives/{id}/done", access.Operate, objectiveAction(completeTask)},
		{post, Prefix + "objectives/{id}/link", access.Operate, objectiveAction(linkObjective)},
		{get, Prefix + "drift", access.Read, driftPage},
		{get, Prefix + "drift/proposal", access.Read, driftProposal},

		// How Ken does.
		{get, Prefix + "health", access.Read, healthPage},
		{get, Prefix + "jobs", access.Operate, jobsPage},
		{post, Prefix + "jobs/retry", access.Operate, retryDead},
		{get, Prefix + "jobs/{id}", access.Operate, jobPage},
		{post, Prefix + "jobs/{id}/retry", access.Operate, retryJob},
		{get, Prefix + "sweeps", access.Read, sweepsPage},
		{get, Prefix + "nodes", access.Operate, nodesPage},
		{get, Prefix + "keys", access.Read, keysPage},
		{post, Prefix + "keys", access.Operate, createKey},
		{post, Prefix + "keys/{name}/revoke", access.Operate, revokeKey},

		// What waits for a person.
		{get, Prefix + "review", access.Read, reviewPage},
		{post, Prefix + "review", access.Operate, decideReview},
		{get, Prefix + "attention", access.Read, attentionPage},
		{post, Prefix + "attention", access.Operate, decideGroup},
		{get, Prefix + "attention/{item}", access.Read, attentionItemPage},
		{post, Prefix + "attention/{item}/{what}", access.Operate, decideAttention},
	}
}
