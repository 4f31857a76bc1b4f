package api

import (
	"cmp"
	"net/http"
	"net/url"
	"reflect"
	"slices"
	"strings"
	"sync"
	"unicode/utf8"

	"github.com/kenlayer/ken/internal/access"
	"github.com/kenlayer/ken/internal/spelling"
)

// route defines one route: how it is served and documented.
type route struct {
	method      string
	path        string // with {name} for variable parts
	id          string // operationId
	tag         string
	summary     string
	about       string
	right       access.Right // required right; "" for none
	params      []*param
	body        reflect.Type   // of the request's body; nil if it has none
	example     string         // of the request's body, as JSON
	status      int            // on success
	also        map[int]string // other success statuses with the same body, with a description
	answer      reflect.Type   // type of the answer on success; nil for none
	media       string         // media type on success; "" means JSON
	fails       []problemCode
	hasETag     bool // the answer has an ETag, and If-None-Match is supported
	usesIfMatch bool // If-Match is supported
	serve       func(*API, *call) (*reply, error)
}

func (r *route) mediaType() string { return cmp.Or(r.media, mediaJSON) }

// segments returns the parts of the path after Prefix.
func (r *route) segments() []string { return strings.Split(strings.TrimPrefix(r.path, Prefix), "/") }

// variables returns the names of the path's variable parts, in order.
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

// table returns all routes. It is built on first use, because one of its handlers serves the
// description of the table.
func table() []*route {
	routes.once.Do(func() {
		for _, group := range [][]*route{searchRoutes(), claimRoutes(), lifeRoutes(), reviewRoutes(), sessionRoutes(), turnRoutes(), prepareRoutes(),
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

// Serves reports whether a path belongs to a collection of the API, such as /api/claims, even if
// nothing exists at the path. A misspelled collection counts as one of the API. Paths of other
// programs under /api do not.
func (*API) Serves(path string) bool {
	first, _, _ := strings.Cut(strings.TrimPrefix(path, Prefix), "/")
	return first == "" || !strings.HasPrefix(path, Prefix) ||
		slices.ContainsFunc(table(), func(r *route) bool { return meant(first, r.segments()[0]) })
}

// meant reports whether a part of a path is name, misspelled or in the singular.
func meant(given, name string) bool {
	return given == name || spelling.Nearest(given, []string{name}) != "" ||
		strings.HasSuffix(name, "ies") && strings.TrimSuffix(given, "y") == strings.TrimSuffix(name, "ies")
}

// noRoute is the error for a path that no route has. It suggests the paths that were probably meant.
func noRoute(given []string) error {
	p := problemf(codeNoRoute, "There is nothing at this path.")
	p.Try = "All paths are in " + Prefix + "openapi.json."
	var near []string
	for _, rt := range table() {
		pattern := rt.segments()
		if len(given) == 0 || !meant(given[0], pattern[0]) {
			continue
		}
		same := len(pattern) == len(given)
		for i := 1; same && i < len(given); i++ {
			_, free := variable(pattern[i])
			same = free || meant(given[i], pattern[i])
		}
		if same {
			p.Try = "Did you mean " + rt.path + "?"
			return p
		}
		if !slices.Contains(near, rt.path) {
			near = append(near, rt.path)
		}
	}
	if len(near) > 0 {
		p.Try = "Use one of " + strings.Join(near, ", ") + "."
	}
	return p
}

// routeMatch is the route of a request, with its path variables.
type routeMatch struct {
	route *route
	path  map[string]string
	allow string // the Allow header for an OPTIONS request
}

func findRoute(r *http.Request) (routeMatch, error) {
	given, ok := split(r.URL.EscapedPath())
	if !ok {
		return routeMatch{}, noRoute(nil)
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
			for name, v := range vars {
				if !utf8.ValidString(v) {
					return routeMatch{}, invalid(name, "not valid UTF-8", "Convert it to UTF-8 first.")
				}
			}
			return routeMatch{route: rt, path: vars}, nil
		}
		allow = append(allow, rt.method)
	}
	if allow == nil {
		return routeMatch{}, noRoute(given)
	}
	list := allowed(allow)
	if method == http.MethodOptions {
		return routeMatch{allow: list}, nil
	}
	p := problemf(codeMethod, "This path does not serve %s.", printable(r.Method, 20))
	p.Try, p.header = "Use "+list+".", map[string]string{"Allow": list}
	return routeMatch{}, p
}

func allowed(methods []string) string {
	if slices.Contains(methods, http.MethodGet) {
		methods = append(methods, http.MethodHead)
	}
	methods = append(methods, http.MethodOptions)
	slices.Sort(methods)
	return strings.Join(slices.Compact(methods), ", ")
}

// split splits a path before it unescapes the parts, so that an escaped slash can be part of an id.
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

// match returns the values of the variable parts if a path matches a route's pattern.
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
