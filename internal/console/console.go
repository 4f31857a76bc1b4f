package console

import (
	"cmp"
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

// Prefix begins the path of every page.
const Prefix = "/console/"

// Options configures a Console; the zero value works.
type Options struct {
	// Ring holds the keys that may log in. If nil, there are none, and a request without a
	// Principal is rejected.
	Ring *access.Ring
	// LocalKey is the key of the person who runs the gateway. It allows logging in and
	// choosing any owner. If empty, there is none.
	LocalKey string
	// Keys are the managed keys, which an operator of the configured owner creates and
	// revokes. Only the console may use the value. If nil, the console manages no keys.
	Keys *operator.Keys
	// Usage holds the usage of the keys. If nil, none is shown.
	Usage *usage.Store
	// Secure says that the pages are only served over TLS, so cookies get the attribute
	// Secure.
	Secure bool
	// Upstream is the base URL of the API behind the gateway, for display; "" for none.
	Upstream string
	// Model is the configured model, which an operator can ask. If nil, there is none.
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
	o.Log = cmp.Or(o.Log, slog.Default())
	if o.Now == nil {
		o.Now = time.Now
	}
	o.Patience = cmp.Or(max(o.Patience, 0), defaultPatience)
	o.Tick = cmp.Or(max(o.Tick, 0), time.Second)
	return o
}

// Console serves the pages. It is safe for concurrent use. Its layer must stay open while it
// is used; close the Console before the layer.
type Console struct {
	layer      *middleware.Layer
	opts       Options
	mux        *http.ServeMux
	origin     *http.CrossOriginProtection
	logins     loginSessions
	ring       atomic.Pointer[access.Ring] // the keys that may log in
	token      [32]byte                    // form token for visitors without a login
	claims     *facet.Index
	turns      *ledger.Ledger
	pending    backgroundCache[string, pendingCounts] // by owner
	turnReads  backgroundCache[string, turnRead]      // of turns, by owner
	started    time.Time
	health     healthCache // caches of the health pages
	drift      backgroundCache[struct{}, driftResult]
	streams    atomic.Int64 // open event streams
	background background

	stop   context.Context // done when the console is closed
	cancel context.CancelFunc
}

// New returns the console of a layer. It opens nothing. The caller closes the console.
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

// Close ends the background work. Live pages reconnect later.
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
	// Show an unknown path or method as a page instead of the mux's plain text.
	v := c.visit(w, r)
	v.renderError(errNoPage)
}

func (c *Console) handler(rt route) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		v := c.visit(w, r)
		if err := v.authorize(rt); err != nil {
			v.renderError(err)
			return
		}
		v.logSeq = v.seq() // before anything else is read
		if err := rt.serve(v); err != nil {
			v.renderError(err)
		}
	})
}

// contentSecurityPolicy allows what this origin serves, and nothing else: no inline script
// or style, no frame around the page, no form to another site. Markup that a script inserts
// must pass the one Trusted Types policy that console.js declares for fetched pages.
const contentSecurityPolicy = "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; form-action 'self'; " +
	"base-uri 'none'; frame-ancestors 'none'; require-trusted-types-for 'script'; trusted-types ken"

// setSecurityHeaders sets the headers that restrict what a browser does with a page.
func setSecurityHeaders(h http.Header) {
	h.Set("Content-Security-Policy", contentSecurityPolicy)
	h.Set("X-Content-Type-Options", "nosniff")
	h.Set("X-Frame-Options", "DENY")
	h.Set("Cross-Origin-Opener-Policy", "same-origin")
	h.Set("Cross-Origin-Resource-Policy", "same-origin")
	h.Set("Referrer-Policy", "same-origin") // the address contains search words
	h.Set("Permissions-Policy", "camera=(), geolocation=(), microphone=(), payment=()")
	h.Set("Cache-Control", "no-store")
}

// randomToken returns 256 random bits.
func randomToken() (b [32]byte) {
	_, _ = rand.Read(b[:]) // never fails
	return b
}

type route struct {
	method string
	path   string       // a pattern of http.ServeMux, without the method
	right  access.Right // the right that it requires; "" for none
	serve  func(*visit) error
}

const (
	get  = http.MethodGet
	post = http.MethodPost
)

// routes returns all routes. Pages need the right read. Changes, and pages about everybody's
// conversations, need operate.
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

		// Claims by session, agent, time and file.
		{get, Prefix + "sessions", access.Read, sessionsPage},
		{get, Prefix + "sessions/{id}", access.Read, sessionPage},
		{post, Prefix + "sessions/{id}/end", access.Operate, sessionAction("ended", endSession)},
		{post, Prefix + "sessions/{id}/harvest", access.Operate, sessionAction("harvested", harvestSession)},
		{post, Prefix + "sessions/{id}/forget", access.Operate, sessionAction("forgotten", forgetSession)},
		{get, Prefix + "sessions/{id}/learned", access.Operate, forgetLearnedPage},
		{post, Prefix + "sessions/{id}/learned", access.Operate, forgetLearned},
		{get, Prefix + "agents", access.Read, agentsPage},
		{get, Prefix + "agents/{name}", access.Read, agentPage},
		{get, Prefix + "changes", access.Read, changesPage},
		{get, Prefix + "files", access.Read, filesPage},

		// Entities and the code.
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

		// Turns and dry runs.
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

		// Health and measurements.
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

		// The review queue and the attention queue.
		{get, Prefix + "review", access.Read, reviewPage},
		{post, Prefix + "review", access.Operate, decideReview},
		{get, Prefix + "attention", access.Read, attentionPage},
		{post, Prefix + "attention", access.Operate, decideGroup},
		{get, Prefix + "attention/{item}", access.Read, attentionItemPage},
		{post, Prefix + "attention/{item}/{what}", access.Operate, decideAttention},
	}
}
