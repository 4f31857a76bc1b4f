package api

import (
	"net/http"
	"reflect"
)

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
