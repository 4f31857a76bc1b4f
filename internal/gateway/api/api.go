package api

import (
	"cmp"
	"log/slog"
	"net/http"
	"net/url"
	"reflect"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/google/uuid"

	"github.com/kenlayer/ken/internal/access"
	"github.com/kenlayer/ken/internal/locks"
	"github.com/kenlayer/ken/internal/run/telemetry/usage"
	"github.com/kenlayer/ken/middleware"
)

// Prefix is what the path of every route begins with.
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
	found, err := find(c.r)
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

// secure sets what keeps a browser from making more of an answer than data.
func secure(h http.Header) {
	h.Set("X-Content-Type-Options", "nosniff")
	h.Set("Cross-Origin-Resource-Policy", "same-origin")
	h.Set("Content-Security-Policy", "default-src 'none'; frame-ancestors 'none'")
	h.Set("Referrer-Policy", "no-referrer")
	h.Set("Cache-Control", "no-store")
}

// route is one line of the table: what is served, and what is said of it.
type route struct {
	method  string
	path    string // with {name} for a part that varies
	id      string // operationId
	tag     string
	summary string
	about   string
	right   access.Right // that it needs; "" for none
	params  []*param
	body    reflect.Type   // of the request; nil for none
	example string         // of the request's body, as JSON
	status  int            // of success
	also    map[int]string // other statuses of success with the same body, and when
	answer  reflect.Type   // of success; nil for none
	media   string         // of success; "" is JSON
	fails   []problemCode
	tagged  bool // the answer has an ETag, and If-None-Match is honoured
	matched bool // If-Match is honoured
	serve   func(*API, *call) (*reply, error)
}

func (r *route) mediaType() string { return cmp.Or(r.media, mediaJSON) }

// segments are the path's parts after Prefix.
func (r *route) segments() []string { return strings.Split(strings.TrimPrefix(r.path, Prefix), "/") }

// variables are the names of the parts that vary, in order.
func (r *route) variables() (names []string) {
	for _, s := range r.segments() {
		if name, ok := variable(s); ok {
			names = append(names, name)
		}
	}
	return names
}

func variable(segment string) (string, bool) {
	if strings.HasPrefix(segment, "{") && strings.HasSuffix(segment, "}") {
		return segment[1 : len(segment)-1], true
	}
	return "", false
}

// table is every route, made once: a handler of the table serves its description.
func table() []*route {
	routes.once.Do(func() {
		for _, group := range [][]*route{searchRoutes(), claimRoutes(), lifeRoutes(), reviewRoutes(), sessionRoutes(), turnRoutes(),
			attentionRoutes(), entityRoutes(), provenanceRoutes(), constraintRoutes(), dependencyRoutes(), taskRoutes(),
			jobRoutes(), exportRoutes(), statsRoutes(), usageRoutes(), aboutRoutes()} {
			routes.all = append(routes.all, group...)
		}
	})
	return routes.all
}

var routes struct {
	once sync.Once
	all  []*route
}

// Serves reports whether a path is below a collection of the API, such as /api/claims,
// whether or not there is something at it. Paths of other programs under /api are not.
func (*API) Serves(path string) bool {
	first, _, _ := strings.Cut(strings.TrimPrefix(path, Prefix), "/")
	return first == "" || !strings.HasPrefix(path, Prefix) ||
		slices.ContainsFunc(table(), func(r *route) bool { return r.segments()[0] == first })
}

// finding is what a request's method and path lead to.
type finding struct {
	route *route
	path  map[string]string
	allow string // of an OPTIONS request
}

// find looks a request up in the table.
func find(r *http.Request) (finding, error) {
	given, ok := split(r.URL.EscapedPath())
	if !ok {
		return finding{}, problemf(codeNoRoute, "There is nothing at this path.")
	}
	method := r.Method
	if method == http.MethodHead {
		method = http.MethodGet
	}
	var allow []string
	for _, rt := range table() {
		vars, ok := match(rt.segments(), given)
		if !ok {
			continue
		}
		if rt.method == method {
			return finding{route: rt, path: vars}, nil
		}
		allow = append(allow, rt.method)
	}
	if allow == nil {
		return finding{}, problemf(codeNoRoute, "There is nothing at this path.")
	}
	list := allowed(allow)
	if method == http.MethodOptions {
		return finding{allow: list}, nil
	}
	p := problemf(codeMethod, "This path does not serve %s.", printable(r.Method, 20))
	p.Try, p.header = "Use "+list+".", map[string]string{"Allow": list}
	return finding{}, p
}

func allowed(methods []string) string {
	if slices.Contains(methods, http.MethodGet) {
		methods = append(methods, http.MethodHead)
	}
	methods = append(methods, http.MethodOptions)
	slices.Sort(methods)
	return strings.Join(slices.Compact(methods), ", ")
}

// split takes a path apart before it is unescaped, so that an escaped slash is a
// part of an id and not a border.
func split(escaped string) ([]string, bool) {
	rest, ok := strings.CutPrefix(escaped, Prefix)
	if !ok {
		return nil, false
	}
	parts := strings.Split(rest, "/")
	for i := range parts {
		var err error
		if parts[i], err = url.PathUnescape(parts[i]); err != nil || parts[i] == "" {
			return nil, false
		}
	}
	return parts, true
}

// match compares a path with a route's.
func match(pattern, given []string) (map[string]string, bool) {
	if len(pattern) != len(given) {
		return nil, false
	}
	var vars map[string]string
	for i, p := range pattern {
		if name, ok := variable(p); ok {
			if vars == nil {
				vars = map[string]string{}
			}
			vars[name] = given[i]
		} else if p != given[i] {
			return nil, false
		}
	}
	return vars, true
}

func aboutRoutes() []*route {
	return []*route{{
		method: http.MethodGet, path: "/api/openapi.json", id: "getDescription", tag: "about",
		summary: "Read this description", about: "Read the OpenAPI description of these routes. It needs no right.",
		status: http.StatusOK, tagged: true, serve: (*API).description,
	}, {
		method: http.MethodGet, path: "/api/problems/{code}", id: "getProblem", tag: "about",
		summary: "Read what a problem means", about: "Read what a problem's type means. It needs no right.",
		status: http.StatusOK, answer: reflect.TypeFor[ProblemType](), fails: []problemCode{codeNotFound}, serve: (*API).problem,
	}}
}

func (a *API) description(*call) (*reply, error) {
	body, err := Description()
	// It is the same for everybody and holds nothing of anybody's.
	return &reply{raw: body, etag: described.tag, header: map[string]string{"Cache-Control": "no-cache"}}, err
}

func (a *API) problem(c *call) (*reply, error) {
	t, ok := typeOf(problemCode(c.path["code"]))
	if !ok {
		return nil, problemf(codeNotFound, "no problem is called %q", printable(c.path["code"], 60))
	}
	return &reply{body: t}, nil
}
