package api

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"sync"

	"github.com/google/jsonschema-go/jsonschema"
)

// Description returns the OpenAPI 3.1 description of all routes, as served at /api/openapi.json.
// The caller must not change it.
func Description() ([]byte, error) {
	described.once.Do(func() {
		doc, err := describe(table())
		if err == nil {
			var b bytes.Buffer
			enc := json.NewEncoder(&b)
			enc.SetEscapeHTML(false)
			enc.SetIndent("", "  ")
			err = enc.Encode(doc)
			described.body, described.tag = b.Bytes(), etagOf(b.Bytes())
		}
		if err != nil {
			described.err = fmt.Errorf("describe the API: %w", err)
		}
	})
	return described.body, described.err
}

var described struct {
	once sync.Once
	body []byte
	tag  string
	err  error
}

// document is an OpenAPI description, with the fields that are used here.
type document struct {
	OpenAPI    string                           `json:"openapi"`
	Info       map[string]string                `json:"info"`
	Servers    []map[string]string              `json:"servers"`
	Tags       []map[string]string              `json:"tags"`
	Security   []map[string][]string            `json:"security"`
	Paths      map[string]map[string]*operation `json:"paths"`
	Components components                       `json:"components"`
}

type components struct {
	Schemas         map[string]*jsonschema.Schema `json:"schemas"`
	Responses       map[string]*response          `json:"responses"`
	Headers         map[string]*header            `json:"headers"`
	Parameters      map[string]*parameter         `json:"parameters"`
	SecuritySchemes map[string]map[string]string  `json:"securitySchemes"`
}

type operation struct {
	ID          string               `json:"operationId"`
	Tags        []string             `json:"tags"`
	Summary     string               `json:"summary"`
	Description string               `json:"description"`
	Right       string               `json:"x-ken-right,omitempty"`
	Parameters  []*parameter         `json:"parameters,omitempty"`
	Body        *requestBody         `json:"requestBody,omitempty"`
	Responses   map[string]*response `json:"responses"`
	// Security is empty, but not nil, for operations that need no key.
	Security *[]map[string][]string `json:"security,omitempty"`
}

type parameter struct {
	Ref         string             `json:"$ref,omitempty"`
	Name        string             `json:"name,omitempty"`
	In          string             `json:"in,omitempty"`
	Description string             `json:"description,omitempty"`
	Required    bool               `json:"required,omitempty"`
	Style       string             `json:"style,omitempty"`
	Explode     *bool              `json:"explode,omitempty"`
	Schema      *jsonschema.Schema `json:"schema,omitempty"`
	Example     any                `json:"example,omitempty"`
}

type requestBody struct {
	Required bool              `json:"required"`
	Content  map[string]*media `json:"content"`
}

type media struct {
	Schema  *jsonschema.Schema `json:"schema,omitempty"`
	Example json.RawMessage    `json:"example,omitempty"`
}

type response struct {
	Ref         string             `json:"$ref,omitempty"`
	Description string             `json:"description,omitempty"`
	Headers     map[string]*header `json:"headers,omitempty"`
	Content     map[string]*media  `json:"content,omitempty"`
}

type header struct {
	Ref         string             `json:"$ref,omitempty"`
	Description string             `json:"description,omitempty"`
	Schema      *jsonschema.Schema `json:"schema,omitempty"`
}

// tagTexts lists the tags in the order in which they are shown.
var tagTexts = [][2]string{
	{"search", "Finding what bears on a question."},
	{"claims", "Claims and their life cycle."},
	{"sessions", "What was said, and what came of it."},
	{"turns", "What was injected into a model call, and why."},
	{"attention", "What a person should look at."},
	{"structure", "Entities, the rules that hold for them, and what depends on what."},
	{"tasks", "What is to be done."},
	{"jobs", "Work of the background."},
	{"export", "Everything, to be kept elsewhere."},
	{"stats", "Counts."},
	{"usage", "What keys have used: requests, tokens and cost."},
	{"about", "The interface itself."},
}

func describe(routes []*route) (*document, error) {
	doc := &document{OpenAPI: "3.1.1",
		Info: map[string]string{"title": "Ken", "version": "1",
			"description": "The knowledge of one owner, who is named by the key and by nothing else. Every error is a problem as RFC 9457 has it. " +
				"Lists come in pages: next in the body, and the header Link, lead to the one after. Changes are POST, PATCH and DELETE; what has a body is marked " +
				"as application/json, also without a body. Fields may be added: ignore those that you don't know."},
		Servers:  []map[string]string{{"url": "/"}},
		Security: []map[string][]string{{"key": {}}, {}},
		Paths:    map[string]map[string]*operation{},
		Components: components{Responses: map[string]*response{}, Headers: sharedHeaders(),
			SecuritySchemes: map[string]map[string]string{"key": {"type": "http", "scheme": "bearer",
				"description": "A key of the gateway. Without configured keys the gateway listens on loopback alone, and none is needed."}}},
	}
	for _, t := range tagTexts {
		doc.Tags = append(doc.Tags, map[string]string{"name": t[0], "description": t[1]})
	}
	schemas, err := newSchemas(routes)
	if err != nil {
		return nil, err
	}
	if doc.Components.Parameters, err = sharedParameters(routes); err != nil {
		return nil, err
	}
	schemas.allowNewFields()
	doc.Components.Schemas = schemas.all
	for code, t := range problems {
		doc.Components.Responses[string(code)] = &response{Description: t.Title + ". " + t.About,
			Content: map[string]*media{mediaProblem: {Schema: schemas.ref(reflect.TypeFor[Problem]()), Example: exampleProblem(code)}}}
	}
	for _, rt := range routes {
		if doc.Paths[rt.path] == nil {
			doc.Paths[rt.path] = map[string]*operation{}
		}
		doc.Paths[rt.path][strings.ToLower(rt.method)] = rt.operation(schemas)
	}
	return doc, nil
}

func exampleProblem(code problemCode) json.RawMessage {
	t, _ := typeOf(code)
	b, err := json.Marshal(Problem{Type: t.Type, Title: t.Title, Status: t.Status, Code: string(code), Instance: "/api/claims"})
	if err != nil { // impossible: it consists of strings
		panic(err)
	}
	return b
}

func sharedHeaders() map[string]*header {
	text := &jsonschema.Schema{Type: "string"}
	return map[string]*header{
		"ETag":     {Description: "The version of the answer.", Schema: text},
		"Link":     {Description: `The next page, as <…>; rel="next".`, Schema: text},
		"Location": {Description: "Where it is.", Schema: text},
	}
}

// sharedParameters returns the parameters of all routes.
func sharedParameters(routes []*route) (map[string]*parameter, error) {
	text := &jsonschema.Schema{Type: "string"}
	out := map[string]*parameter{
		"If-None-Match": {Name: "If-None-Match", In: "header", Schema: text,
			Description: "The ETag of an answer that is there already: 304 if it is still the same."},
		"If-Match": {Name: "If-Match", In: "header", Schema: text,
			Description: "The ETag of the claim as the sender knows it: 412 if somebody has changed it."},
	}
	of := map[string]*param{}
	for _, r := range routes {
		for _, name := range r.variables() {
			p := &parameter{Name: name, In: "path", Required: true, Description: pathParams[name], Schema: text}
			if name == "id" {
				p.Schema = &jsonschema.Schema{Type: "string", Format: "uuid"}
			}
			out["path."+name] = p
		}
		for _, p := range r.params {
			if had := of[p.name]; had != nil && had != p {
				return nil, fmt.Errorf("two parameters are called %s", p.name)
			}
			of[p.name], out[p.name] = p, p.describe()
		}
	}
	return out, nil
}

func (r *route) operation(s *schemas) *operation {
	op := &operation{ID: r.id, Tags: []string{r.tag}, Summary: r.summary, Description: r.about, Right: string(r.right), Responses: map[string]*response{}}
	if r.right == "" {
		op.Security = &[]map[string][]string{}
	} else {
		op.Description += " It needs the right " + string(r.right) + "."
	}
	use := func(name string) {
		op.Parameters = append(op.Parameters, &parameter{Ref: "#/components/parameters/" + name})
	}
	for _, name := range r.variables() {
		use("path." + name)
	}
	for _, p := range r.params {
		use(p.name)
	}
	if r.hasETag {
		use("If-None-Match")
	}
	if r.usesIfMatch {
		use("If-Match")
	}
	if r.body != nil {
		op.Body = &requestBody{Required: len(requiredIn(s, r.body)) > 0,
			Content: map[string]*media{mediaJSON: {Schema: s.ref(r.body), Example: json.RawMessage(r.example)}}}
	}
	r.responses(op, s)
	return op
}

func requiredIn(s *schemas, t reflect.Type) []string {
	if c := s.all[s.names[t]]; c != nil {
		return c.Required
	}
	return nil
}

func (r *route) responses(op *operation, s *schemas) {
	ok := &response{Description: "Done.", Headers: map[string]*header{}}
	switch {
	case r.answer != nil:
		ok.Content = map[string]*media{r.mediaType(): {Schema: s.ref(r.answer)}}
	case r.media != "":
		ok.Content = map[string]*media{r.media: {Schema: &jsonschema.Schema{Type: "string"}}}
	default:
		ok.Content = map[string]*media{mediaJSON: {Schema: &jsonschema.Schema{Type: "object"}}}
	}
	link := func(name string) { ok.Headers[name] = &header{Ref: "#/components/headers/" + name} }
	if r.hasETag || r.usesIfMatch && r.method == http.MethodPost {
		link("ETag")
	}
	if slices.Contains(r.params, pCursor) {
		link("Link")
	}
	if r.method == http.MethodPost && r.status == http.StatusCreated {
		link("Location")
		link("ETag")
	}
	op.Responses[strconv.Itoa(r.status)] = ok
	for status, why := range r.also {
		also := *ok
		also.Description = why
		op.Responses[strconv.Itoa(status)] = &also
	}
	if r.hasETag {
		op.Responses["304"] = &response{Description: "It is what If-None-Match names."}
	}
	byStatus := map[int][]problemCode{}
	for _, code := range r.problems() {
		status := problems[code].Status
		byStatus[status] = append(byStatus[status], code)
	}
	for status, codes := range byStatus {
		op.Responses[strconv.Itoa(status)] = refusal(codes, s)
	}
}

// refusal returns the response for one status, which may have several problems.
func refusal(codes []problemCode, s *schemas) *response {
	if len(codes) == 1 {
		return &response{Ref: "#/components/responses/" + string(codes[0])}
	}
	var says []string
	for _, code := range codes {
		says = append(says, problems[code].Title+" ("+typePrefix+string(code)+")")
	}
	return &response{Description: strings.Join(says, "; ") + ".",
		Content: map[string]*media{mediaProblem: {Schema: s.ref(reflect.TypeFor[Problem]())}}}
}

// problems returns the sorted problems of a route, including those that all routes of its kind
// have.
func (r *route) problems() []problemCode {
	set := map[problemCode]bool{codeInvalid: true, codeAccept: true, codeMethod: true}
	for _, code := range r.fails {
		set[code] = true
	}
	if r.right != "" {
		for _, code := range []problemCode{codeUnauthorized, codeForbidden, codeHeld, codeUnavailable, codeCorrupt, codeInternal} {
			set[code] = true
		}
	}
	if r.method != http.MethodGet {
		set[codeCrossSite] = true
	}
	if hasBody(r.method) {
		set[codeMedia], set[codeTooLarge] = true, true
	}
	return slices.Sorted(maps.Keys(set))
}

// describe returns the description of a query parameter.
func (p *param) describe() *parameter {
	one := &jsonschema.Schema{Type: "string"}
	switch {
	case p.form == formNumber:
		low, high := float64(p.low), float64(p.high)
		one = &jsonschema.Schema{Type: "integer", Minimum: &low, Maximum: &high}
	case p.form == formFlag:
		one = &jsonschema.Schema{Type: "boolean"}
	case p.enum != nil:
		for _, v := range p.enum {
			one.Enum = append(one.Enum, v)
		}
	}
	if p.def != "" {
		one.Default = json.RawMessage(p.def)
		if p.form == formText {
			one.Default, _ = json.Marshal(p.def) // strings can always be marshaled
		}
	}
	out := &parameter{Name: p.name, In: "query", Description: p.about, Required: p.must, Schema: one}
	if p.example != "" {
		out.Example = p.example
	}
	if p.many {
		explode := true
		out.Schema, out.Style, out.Explode = &jsonschema.Schema{Type: "array", Items: one}, "form", &explode
		if p.example != "" {
			out.Example = []string{p.example}
		}
	}
	return out
}
