package api_test

import (
	"bytes"
	"encoding/json"
	"flag"
	"net/http"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/jsonschema-go/jsonschema"

	"github.com/kenlayer/ken/internal/access"
	"github.com/kenlayer/ken/internal/gateway/api"
)

var update = flag.Bool("update", false, "write docs/openapi.json anew")

const golden = "../../../docs/openapi.json"

// What the documentation shows is what is served.
func TestDescriptionIsTheGoldenCopy(t *testing.T) {
	got, err := api.Description()
	if err != nil {
		t.Fatal(err)
	}
	if *update {
		if err := os.WriteFile(golden, got, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(golden)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(strings.Split(string(want), "\n"), strings.Split(string(got), "\n")); diff != "" {
		t.Errorf("%s", diff)
		t.Error("docs/openapi.json differs from what is served: run go test ./internal/gateway/api -run Description -update, and review the difference")
	}
	k := newKit(t).as(access.Principal{})
	a := k.ask(http.MethodGet, "/api/openapi.json", nil).want(http.StatusOK)
	if !bytes.Equal(a.body, got) || a.header.Get("Content-Type") != "application/json" {
		t.Errorf("served %d bytes of %s", len(a.body), a.header.Get("Content-Type"))
	}
	k.ask(http.MethodGet, "/api/openapi.json", nil, "If-None-Match", a.header.Get("ETag")).want(http.StatusNotModified)
}

type object = map[string]any

func document(t *testing.T) object {
	t.Helper()
	b, err := api.Description()
	if err != nil {
		t.Fatal(err)
	}
	var doc object
	if err := json.Unmarshal(b, &doc); err != nil {
		t.Fatal(err)
	}
	return doc
}

// The rules of OpenAPI 3.1 that generators of clients depend on.
func TestDescriptionKeepsTheRules(t *testing.T) {
	doc := document(t)
	if v, _ := doc["openapi"].(string); !strings.HasPrefix(v, "3.1.") {
		t.Errorf("openapi %q", v)
	}
	info := doc["info"].(object)
	if info["title"] == "" || info["version"] == "" {
		t.Errorf("info %v", info)
	}
	tags := map[string]bool{}
	for _, tag := range doc["tags"].([]any) {
		tags[tag.(object)["name"].(string)] = true
	}
	ids := map[string]string{}
	inPath := regexp.MustCompile(`\{([^}]+)\}`)
	for path, item := range doc["paths"].(object) {
		if !strings.HasPrefix(path, "/") {
			t.Errorf("path %s", path)
		}
		for method, op := range item.(object) {
			if !slices.Contains([]string{"get", "post", "patch", "delete"}, method) {
				t.Errorf("%s: method %s", path, method)
			}
			op := op.(object)
			id, _ := op["operationId"].(string)
			if id == "" || ids[id] != "" {
				t.Errorf("%s %s: operationId %q is that of %q", method, path, id, ids[id])
			}
			ids[id] = method + " " + path
			for _, tag := range op["tags"].([]any) {
				if !tags[tag.(string)] {
					t.Errorf("%s: tag %v is not declared", id, tag)
				}
			}
			var want []string
			for _, m := range inPath.FindAllStringSubmatch(path, -1) {
				want = append(want, m[1])
			}
			checkParameters(t, id, op, want, doc["components"].(object)["parameters"].(object))
			if _, ok := op["requestBody"]; ok && method != "post" && method != "patch" {
				t.Errorf("%s: a body with %s", id, method)
			}
			checkResponses(t, id, op["responses"].(object))
		}
	}
	checkReferences(t, doc, doc, "")
}

func checkParameters(t *testing.T, id string, op object, inPath []string, shared object) {
	var got []string
	seen := map[string]bool{}
	list, _ := op["parameters"].([]any)
	for _, p := range list {
		p, ok := shared[strings.TrimPrefix(p.(object)["$ref"].(string), "#/components/parameters/")].(object)
		if !ok {
			t.Fatalf("%s: parameters %v", id, list)
		}
		name, in := p["name"].(string), p["in"].(string)
		if seen[in+" "+name] {
			t.Errorf("%s: parameter %s in %s twice", id, name, in)
		}
		seen[in+" "+name] = true
		if p["schema"] == nil || p["description"] == "" {
			t.Errorf("%s: parameter %s has no schema or description", id, name)
		}
		switch in {
		case "path":
			got = append(got, name)
			if p["required"] != true {
				t.Errorf("%s: %s in the path is not required", id, name)
			}
		case "query", "header":
			if slices.Contains([]string{"Accept", "Content-Type", "Authorization"}, name) {
				t.Errorf("%s: %s is no parameter in OpenAPI", id, name)
			}
		default:
			t.Errorf("%s: %s in %s", id, name, in)
		}
	}
	if !slices.Equal(got, inPath) {
		t.Errorf("%s: parameters of the path %v, want %v", id, got, inPath)
	}
}

func checkResponses(t *testing.T, id string, responses object) {
	ok := false
	for status, r := range responses {
		if !regexp.MustCompile(`^[1-5]\d\d$`).MatchString(status) {
			t.Errorf("%s: status %s", id, status)
		}
		r := r.(object)
		if r["$ref"] == nil && r["description"] == "" {
			t.Errorf("%s: response %s has no description", id, status)
		}
		ok = ok || status[0] == '2'
	}
	if !ok {
		t.Errorf("%s: no success", id)
	}
}

// checkReferences follows every reference, and reads every schema as one.
func checkReferences(t *testing.T, doc object, v any, at string) {
	switch v := v.(type) {
	case object:
		if ref, ok := v["$ref"].(string); ok {
			var target any = doc
			for part := range strings.SplitSeq(strings.TrimPrefix(ref, "#/"), "/") {
				o, _ := target.(object)
				target = o[part]
			}
			if target == nil {
				t.Errorf("%s: %s leads nowhere", at, ref)
			}
		}
		for name, child := range v {
			checkReferences(t, doc, child, at+"/"+name)
		}
	case []any:
		for _, child := range v {
			checkReferences(t, doc, child, at+"/*")
		}
	}
}

// Every schema is one of JSON Schema 2020-12, and every example fits its own.
func TestExamplesFitTheirSchemas(t *testing.T) {
	doc := document(t)
	// All schemas are one schema, of an object with a property for each body: to
	// resolve it is to look at every definition, and takes its time.
	bodies, examples := object{}, object{}
	for path, item := range doc["paths"].(object) {
		for method, op := range item.(object) {
			body, ok := op.(object)["requestBody"].(object)
			if !ok {
				continue
			}
			m := body["content"].(object)["application/json"].(object)
			name := method + " " + path
			bodies[name], examples[name] = m["schema"], m["example"]
		}
	}
	if len(examples) < 5 {
		t.Errorf("only %d examples", len(examples))
	}
	b, err := json.Marshal(object{"$defs": doc["components"].(object)["schemas"], "properties": bodies})
	if err != nil {
		t.Fatal(err)
	}
	var s jsonschema.Schema
	if err := json.Unmarshal(bytes.ReplaceAll(b, []byte("#/components/schemas/"), []byte("#/$defs/")), &s); err != nil {
		t.Fatal(err)
	}
	r, err := s.Resolve(&jsonschema.ResolveOptions{ValidateDefaults: true})
	if err != nil {
		t.Fatal(err)
	}
	if err := r.Validate(examples); err != nil {
		t.Error(err)
	}
}

// A generated client must survive a field that is added later; a field that is sent
// and not known would be lost.
func TestAnswersAreOpenAndBodiesAreNot(t *testing.T) {
	defs := document(t)["components"].(object)["schemas"].(object)
	for name, closed := range map[string]bool{"LearnRequest": true, "Evidence": true, "Claim": false, "SearchAnswer": false, "Problem": false} {
		_, has := defs[name].(object)["additionalProperties"]
		if has != closed {
			t.Errorf("%s: closed %t", name, has)
		}
	}
}
