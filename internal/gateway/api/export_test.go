package api

import (
	"context"
	"net/http"
	"reflect"
	"slices"

	"github.com/google/jsonschema-go/jsonschema"
)

// Served is what a test sees of a call that was answered.
type Served struct {
	Route  string
	Status int // of the reply; 0 for the route's
	Err    error
	Read   []string
}

// OnServed has fn told of every call.
func (a *API) OnServed(fn func(Served)) {
	a.served = func(c *call, rep *reply, err error) {
		s := Served{Err: err}
		if c.route != nil {
			s.Route = c.route.id
		}
		if rep != nil {
			s.Status = rep.status
		}
		for _, p := range c.read {
			s.Read = append(s.Read, p.name)
		}
		fn(s)
	}
}

// Line is a route of the table.
type Line struct {
	ID, Method, Path, Right string
	Params                  []string
	Status                  int
	Also                    []int
	JSON                    bool
	Example                 string
}

// Table lists the routes.
func Table() (out []Line) {
	for _, r := range table() {
		l := Line{ID: r.id, Method: r.method, Path: r.path, Right: string(r.right), Status: r.status, JSON: r.answer != nil, Example: r.example}
		for _, p := range r.params {
			l.Params = append(l.Params, p.name)
		}
		for s := range r.also {
			l.Also = append(l.Also, s)
		}
		out = append(out, l)
	}
	return out
}

// RouteOf finds the route of a request; "" for none.
func RouteOf(r *http.Request) string {
	f, err := findRoute(r)
	if err != nil || f.route == nil {
		return ""
	}
	return f.route.id
}

// AnswerSchemas are the schemas of the answers by route, and of problems under
// "problem": strict, so that a field which the description does not have is found.
func AnswerSchemas() (map[string]*jsonschema.Resolved, error) {
	s, err := newSchemas(table())
	if err != nil {
		return nil, err
	}
	out := map[string]*jsonschema.Resolved{}
	add := func(name string, t reflect.Type) error {
		root := s.ref(t)
		root.Ref = "#/$defs/" + s.names[t]
		root.Defs = map[string]*jsonschema.Schema{}
		for needed := []string{s.names[t]}; len(needed) > 0; needed = needed[1:] {
			if n := needed[0]; root.Defs[n] == nil {
				c, refs := pointed(s.all[n])
				root.Defs[n], needed = c, append(needed, refs...)
			}
		}
		out[name], err = root.Resolve(nil)
		return err
	}
	for _, r := range table() {
		if r.answer != nil {
			if err := add(r.id, r.answer); err != nil {
				return nil, err
			}
		}
	}
	return out, add("problem", reflect.TypeFor[Problem]())
}

// pointed is a copy of a schema whose references are within a schema of their own,
// and the names that it refers to.
func pointed(s *jsonschema.Schema) (c *jsonschema.Schema, refs []string) {
	c = s.CloneSchemas()
	var visit func(*jsonschema.Schema)
	visit = func(s *jsonschema.Schema) {
		if s == nil {
			return
		}
		if name, ok := cutRef(s.Ref); ok {
			s.Ref = "#/$defs/" + name
			refs = append(refs, name)
		}
		for _, p := range s.Properties {
			visit(p)
		}
		visit(s.Items)
		visit(s.AdditionalProperties)
	}
	visit(c)
	return c, refs
}

// ParseQueryFor reads a query as a route of the table does, and returns the names of
// what it gives.
func ParseQueryFor(id, raw string) ([]string, error) {
	for _, r := range table() {
		if r.id == id {
			v, err := parseQuery(raw, r.params)
			var names []string
			for n := range v {
				names = append(names, n)
			}
			slices.Sort(names)
			return names, err
		}
	}
	panic("no route " + id)
}

// Place is a place in a list.
type Place = position

// NewPlace returns a place.
func NewPlace(rank uint8, at int64, id string) Place { return position{rank, at, id} }

// ParseCursor and a cursor's writing, apart from the query that it is tied to.
var ParseCursor = parseCursor

// WriteCursor writes the cursor of a place for a query of a route.
func WriteCursor(id string, p Place) string {
	for _, r := range table() {
		if r.id == id {
			req, err := http.NewRequestWithContext(context.Background(), r.method, r.path, nil)
			if err != nil {
				panic(err)
			}
			return (&call{r: req, route: r}).cursor(p)
		}
	}
	panic("no route " + id)
}

// DecodeStrict is how bodies are read.
var DecodeStrict = decodeStrict

// Tags reads a list of versions.
var Tags = parseETags

// Hold keeps everybody else from changing a claim.
func (a *API) Hold(ctx context.Context, owner, id string) (release func(), err error) {
	return a.changing.Take(ctx, owner+"\x00"+id)
}

// Codes returns the codes of all problems.
func Codes() (out []string) {
	for code := range problems {
		out = append(out, string(code))
	}
	return out
}
