package console

import (
	"bytes"
	"context"
	"crypto/sha256"
	"embed"
	"encoding/hex"
	"fmt"
	"html/template"
	"log/slog"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/kenlayer/ken"
	"github.com/kenlayer/ken/internal/access"
	panics "github.com/kenlayer/ken/internal/caught"
	"github.com/kenlayer/ken/internal/console/chart"
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
	tallies  behind[string, tally]     // by owner
	catching behind[string, readError] // of turns, by owner
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

//go:embed assets/*
var assetFiles embed.FS

// assetTypes are the types of what is served, by the end of the name.
var assetTypes = map[string]string{".css": "text/css; charset=utf-8", ".js": "text/javascript; charset=utf-8", ".svg": "image/svg+xml"}

// assets is every asset with its hash, which is part of its path: a browser may keep
// it for ever, and asks anew when it is another one.
var assets = sync.OnceValue(func() map[string]bundled {
	out := map[string]bundled{}
	entries, err := assetFiles.ReadDir("assets")
	if err != nil {
		panic(err) // it is embedded
	}
	for _, e := range entries {
		b, err := assetFiles.ReadFile("assets/" + e.Name())
		if err != nil {
			panic(err)
		}
		if e.Name() == "console.css" {
			b = append(b, chart.CSS...)
		}
		sum := sha256.Sum256(b)
		out[e.Name()] = bundled{b, hex.EncodeToString(sum[:6])}
	}
	return out
})

type bundled struct {
	bytes []byte
	hash  string
}

// assetPath is where an asset is served.
func assetPath(name string) string { return Prefix + "assets/" + assets()[name].hash + "/" + name }

func asset(v *visit) error {
	name := v.r.PathValue("name")
	a, ok := assets()[name]
	kind := assetTypes[name[max(strings.LastIndexByte(name, '.'), 0):]]
	if !ok || kind == "" {
		return notHere
	}
	h := v.w.Header()
	h.Set("Content-Type", kind)
	if v.r.PathValue("hash") == a.hash {
		h.Set("Cache-Control", "public, max-age=31536000, immutable")
	}
	http.ServeContent(v.w, v.r, "", time.Time{}, bytes.NewReader(a.bytes))
	return nil
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
		{get, Prefix + "events", access.Read, events},
		{get, Prefix + "assets/{hash}/{name}", "", asset},
		{get, LoginPath, "", loginForm},
		{post, LoginPath, "", login},
		{post, Prefix + "logout", "", logout},
		{post, Prefix + "theme", "", chooseTheme},
		{post, Prefix + "owner", access.Operate, chooseOwner},

		{get, Prefix + "claims", access.Read, claimsPage},
		{get, Prefix + "claims/{id}", access.Read, claimPage},
		{get, Prefix + "claims/{id}/text", access.Read, claimText},
		{post, Prefix + "claims/{id}/verify", access.Operate, deciding("verified", verifyClaim)},
		{post, Prefix + "claims/{id}/dispute", access.Operate, deciding("disputed", disputeClaim)},
		{post, Prefix + "claims/{id}/archive", access.Operate, deciding("archived", archiveClaim)},
		{post, Prefix + "claims/{id}/supersede", access.Operate, supersedeClaim},
		{get, Prefix + "claims/{id}/forget", access.Operate, forgetPage},
		{post, Prefix + "claims/{id}/forget", access.Operate, forget},
		{get, Prefix + "claims/new", access.Operate, newClaimPage},
		{post, Prefix + "claims", access.Operate, writeClaim},

		// Lenses: what a session learned, what an agent knows, what changed, what rests on a file.
		{get, Prefix + "sessions", access.Operate, sessionsPage},
		{get, Prefix + "sessions/{id}", access.Read, sessionPage},
		{post, Prefix + "sessions/{id}/end", access.Operate, changingSession("ended", endSession)},
		{post, Prefix + "sessions/{id}/harvest", access.Operate, changingSession("harvested", harvestSession)},
		{post, Prefix + "sessions/{id}/forget", access.Operate, changingSession("forgotten", forgetSession)},
		{get, Prefix + "agents", access.Read, agentsPage},
		{get, Prefix + "agents/{name}", access.Read, agentPage},
		{get, Prefix + "changes", access.Read, changesPage},
		{get, Prefix + "files", access.Read, filesPage},

		// What is known by what it is about, and the code.
		{get, Prefix + "entities", access.Read, entitiesPage},
		{post, Prefix + "entities", access.Operate, describeNew},
		{get, Prefix + "entities/{name}", access.Read, entityPage},
		{post, Prefix + "entities/{name}/describe", access.Operate, editing("described", describeEntity)},
		{post, Prefix + "entities/{name}/rename", access.Operate, renameEntity},
		{post, Prefix + "entities/{name}/merge", access.Operate, editing("merged", mergeEntity)},
		{post, Prefix + "entities/{name}/alias", access.Operate, editing("named", aliasEntity)},
		{post, Prefix + "entities/{name}/split", access.Operate, editing("split", splitEntity)},
		{post, Prefix + "entities/{name}/rule", access.Operate, editing("ruled", ruleEntity)},
		{post, Prefix + "entities/{name}/link", access.Operate, editing("linked", linkEntity)},
		{post, Prefix + "entities/{name}/unlink", access.Operate, editing("unlinked", unlinkEntity)},
		{get, Prefix + "tasks", access.Read, tasksPage},
		{get, Prefix + "code", access.Read, codePage},
		{get, Prefix + "code/symbol", access.Read, symbolPage},

		// What turns were given, and what they would be.
		{get, Prefix + "turns", access.Read, turnsPage},
		{get, Prefix + "turns/{id}", access.Read, turnPage},
		{get, Prefix + "turns/{id}/replay", access.Operate, replayPage},
		{get, Prefix + "turns/{id}/whatif", access.Operate, whatifPage},
		{get, Prefix + "try", access.Read, tryPage},

		// The project's decisions, objectives and layers.
		{get, Prefix + "decisions", access.Read, decisionsPage},
		{get, Prefix + "decisions/new", access.Operate, newDecisionPage},
		{get, Prefix + "decisions/{id}", access.Read, decisionPage},
		{post, Prefix + "decisions", access.Operate, writeDecision},
		{post, Prefix + "decisions/{id}/status", access.Operate, changingDecision(moveDecision)},
		{post, Prefix + "decisions/{id}/supersede", access.Operate, changingDecision(supersedeDecision)},
		{post, Prefix + "decisions/{id}/archive", access.Operate, changingDecision(archiveDecision)},
		{get, Prefix + "objectives", access.Read, objectivesPage},
		{get, Prefix + "objectives/new", access.Operate, newObjectivePage},
		{get, Prefix + "objectives/{id}", access.Read, objectivePage},
		{post, Prefix + "objectives", access.Operate, writeObjective},
		{post, Prefix + "objectives/{id}", access.Operate, changingObjective(editObjective)},
		{post, Prefix + "objectives/{id}/status", access.Operate, changingObjective(moveObjective)},
		{post, Prefix + "objectives/{id}/task", access.Operate, changingObjective(addTask)},
		{post, Prefix + "objectives/{id}/done", access.Operate, changingObjective(tickTask)},
		{post, Prefix + "objectives/{id}/link", access.Operate, changingObjective(linkObjective)},
		{get, Prefix + "drift", access.Read, driftPage},
		{get, Prefix + "drift/proposal", access.Read, driftProposal},

		// How Ken does.
		{get, Prefix + "health", access.Read, healthPage},
		{get, Prefix + "jobs", access.Operate, jobsPage},
		{post, Prefix + "jobs/retry", access.Operate, retryDead},
		{get, Prefix + "jobs/{id}", access.Operate, jobPage},
		{post, Prefix + "jobs/{id}/retry", access.Operate, retryJob},
		{get, Prefix + "sweeps", access.Read, sweepsPage},
		{get, Prefix + "keys", access.Read, keysPage},
		{post, Prefix + "keys", access.Operate, createKey},
		{post, Prefix + "keys/{name}/revoke", access.Operate, revokeKey},

		// What waits for a person.
		{get, Prefix + "review", access.Read, reviewPage},
		{post, Prefix + "review", access.Operate, review},
		{get, Prefix + "attention", access.Read, attentionPage},
		{get, Prefix + "attention/{item}", access.Read, attentionItemPage},
		{post, Prefix + "attention/{item}/{what}", access.Operate, settle},
	}
}

//go:embed pages/*.html parts/*.html
var files embed.FS

// templates are parsed when they are first asked for: a process that serves no page
// pays nothing for them.
var templates = library{pages: map[string]*template.Template{}}

// library is safe for concurrent use.
type library struct {
	mu    sync.Mutex
	parts *template.Template // the frame and what pages share
	pages map[string]*template.Template
}

// page returns the template of a page, with the frame and the parts around it.
func (l *library) page(name string) (*template.Template, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if t := l.pages[name]; t != nil {
		return t, nil
	}
	if l.parts == nil {
		parts, err := template.New("parts").Funcs(funcs).ParseFS(files, "parts/*.html")
		if err != nil {
			return nil, fmt.Errorf("parse the parts of pages: %w", err)
		}
		l.parts = parts
	}
	t, err := l.parts.Clone()
	if err == nil {
		t, err = t.ParseFS(files, "pages/"+name+".html")
	}
	if err != nil {
		return nil, fmt.Errorf("parse page %s: %w", name, err)
	}
	l.pages[name] = t
	return t, nil
}

// modes are the ways in which retrieval runs, the best first, with the tone of each.
var modes = []struct {
	mode ken.Mode
	tone chart.Tone
}{{ken.ModeHybrid, chart.OK}, {ken.ModeVector, ""}, {ken.ModeKeyword, ""}, {ken.ModeLate, chart.Warn}, {ken.ModeNone, chart.Muted}}

// modeShares is how retrieval ran over time.
func modeShares(title string, series []ledger.Bucket) chart.SharesData {
	d := chart.SharesData{Title: title, Unit: "turns"}
	for _, m := range modes {
		d.Names, d.Tones = append(d.Names, string(m.mode)), append(d.Tones, m.tone)
	}
	for i := range series {
		x := &series[i]
		b := chart.Bucket{At: x.From, Counts: make([]float64, len(modes))}
		for j, m := range modes {
			b.Counts[j] = float64(x.Modes[m.mode])
		}
		d.Buckets, d.Width = append(d.Buckets, b), x.To.Sub(x.From)
	}
	return d
}

// statusTones are the tones of statuses in charts.
var statusTones = map[string]chart.Tone{string(ken.StatusVerified): chart.OK, string(ken.StatusDisputed): chart.Warn,
	string(ken.StatusSuperseded): chart.Muted}

// statusParts is how many claims stand where.
func statusParts(values []facet.Value) chart.StackData {
	d := chart.StackData{Title: "Claims by status", Unit: "claims"}
	for _, v := range values {
		d.Parts = append(d.Parts, chart.Part{Label: v.Value, Value: float64(v.Count), Tone: statusTones[v.Value]})
	}
	return d
}

// background is what goes on behind the pages until the console is closed. The zero
// value is ready.
type background struct {
	mu     sync.Mutex
	closed bool
	all    sync.WaitGroup
}

// Go runs f on a goroutine of its own, unless the console is closed. A panic ends f alone.
func (b *background) Go(f func()) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if !b.closed {
		b.all.Go(func() {
			if err := panics.Run(func() error { f(); return nil }); err != nil {
				slog.Default().Error("work behind the console's pages failed", "cause", err, "stack", panics.Stack(err))
			}
		})
	}
}

// close waits for what runs, and lets nothing begin.
func (b *background) close() {
	b.mu.Lock()
	b.closed = true
	b.mu.Unlock()
	b.all.Wait()
}
