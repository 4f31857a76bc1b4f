package api_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/jsonschema-go/jsonschema"
	"go.uber.org/goleak"

	"github.com/kenlayer/ken"
	"github.com/kenlayer/ken/config"
	"github.com/kenlayer/ken/internal/access"
	"github.com/kenlayer/ken/internal/gateway/api"
	"github.com/kenlayer/ken/internal/middleware/inspect"
	"github.com/kenlayer/ken/internal/run/telemetry/usage"
	"github.com/kenlayer/ken/middleware"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

var now = time.Date(2026, 3, 14, 9, 0, 0, 0, time.UTC)

// kit is an API over a layer of its own. Every answer that it gets is checked: the
// headers that all have, and the body against the description.
type kit struct {
	testing.TB
	layer *middleware.Layer
	api   *api.API
	usage *usage.Store
	who   access.Principal
	log   *bytes.Buffer
	calls []api.Served
}

var schemas = sync.OnceValues(api.AnswerSchemas)

// operator has every right on the knowledge of an owner.
func operator(owner string) access.Principal {
	return access.Principal{Name: "op-" + owner, Owner: owner, Rights: access.Rights()}
}

// agent may read and write.
func agent(owner string) access.Principal {
	return access.Principal{Name: "agent-" + owner, Owner: owner, Rights: []access.Right{access.Read, access.Write}}
}

func newKit(t testing.TB, change ...func(*middleware.Options)) *kit {
	t.Helper()
	cfg := config.Default()
	cfg.Retrieval.Deadline = 30 * time.Second // a busy machine must not change what is found
	cfg.Repository.Index, cfg.Middleware.Events = false, false
	cfg.Knowledge.Owner, cfg.Knowledge.Nearest = "anna", 0
	k := &kit{TB: t, who: operator("anna"), log: &bytes.Buffer{}}
	o := middleware.Options{Root: t.TempDir(), Config: &cfg, Foreground: true, Strict: true, Log: slog.New(slog.DiscardHandler)}
	for _, f := range change {
		f(&o)
	}
	l, err := middleware.Open(context.Background(), o)
	if err != nil {
		t.Fatalf("open layer: %v", err)
	}
	t.Cleanup(func() {
		if err := l.Close(); err != nil {
			t.Errorf("close layer: %v", err)
		}
	})
	if k.usage, err = usage.Open("", usage.Options{}); err != nil {
		t.Fatal(err)
	}
	k.layer, k.api = l, api.New(l, api.Options{Usage: k.usage, Log: slog.New(slog.NewTextHandler(k.log, nil)), NewID: func() string { return "instance" }})
	var mu sync.Mutex
	k.api.OnServed(func(s api.Served) {
		mu.Lock()
		defer mu.Unlock()
		k.calls = append(k.calls, s)
	})
	return k
}

// as is the kit of another principal.
func (k *kit) as(who access.Principal) *kit {
	c := *k
	c.who = who
	return &c
}

// answer is what came back.
type answer struct {
	kit    *kit
	status int
	header http.Header
	body   []byte
}

// ask sends a request. A body that is no string is sent as JSON.
func (k *kit) ask(method, path string, body any, headers ...string) *answer {
	k.Helper()
	var in io.Reader
	switch b := body.(type) {
	case nil:
	case string:
		in = strings.NewReader(b)
	default:
		text, err := json.Marshal(b)
		if err != nil {
			k.Fatal(err)
		}
		in = bytes.NewReader(text)
	}
	r := httptest.NewRequestWithContext(access.With(k.Context(), k.who), method, path, in)
	if method == http.MethodPost || method == http.MethodPatch {
		r.Header.Set("Content-Type", "application/json")
	}
	for i := 0; i < len(headers); i += 2 {
		if headers[i+1] == "" {
			r.Header.Del(headers[i])
		} else {
			r.Header.Set(headers[i], headers[i+1])
		}
	}
	w := httptest.NewRecorder()
	k.api.ServeHTTP(w, r)
	a := &answer{kit: k, status: w.Code, header: w.Header(), body: w.Body.Bytes()}
	a.check(r)
	return a
}

// check compares an answer with the description.
func (a *answer) check(r *http.Request) {
	k := a.kit
	k.Helper()
	resolved, err := schemas()
	if err != nil {
		k.Fatal(err)
	}
	what := r.Method + " " + r.URL.Path
	if a.header.Get("X-Content-Type-Options") != "nosniff" || a.header.Get("Cache-Control") == "" {
		k.Errorf("%s: headers %v", what, a.header)
	}
	if r.Method == http.MethodHead || a.status == http.StatusNotModified || a.status == http.StatusNoContent {
		if len(a.body) > 0 {
			k.Errorf("%s: %d with a body: %s", what, a.status, a.body)
		}
		return
	}
	media := a.header.Get("Content-Type")
	if a.status >= 400 {
		if media != "application/problem+json" {
			k.Errorf("%s: an error of type %s", what, media)
		}
		a.fits(what, resolved["problem"])
		var p api.Problem
		a.into(&p)
		if p.Status != a.status || p.Title == "" || !strings.HasPrefix(p.Type, "/api/problems/") || p.Instance != r.URL.EscapedPath() {
			k.Errorf("%s: problem %s", what, a.body)
		}
		return
	}
	if s := resolved[api.RouteOf(r)]; s != nil {
		if media != "application/json" {
			k.Errorf("%s: type %s", what, media)
		}
		a.fits(what, s)
	}
}

func (a *answer) fits(what string, s *jsonschema.Resolved) {
	a.kit.Helper()
	var v any
	if err := json.Unmarshal(a.body, &v); err != nil {
		a.kit.Fatalf("%s: %v in %s", what, err, a.body)
	}
	if err := s.Validate(v); err != nil {
		a.kit.Errorf("%s: %v\nin %s", what, err, a.body)
	}
}

func (a *answer) into(v any) {
	a.kit.Helper()
	if err := json.Unmarshal(a.body, v); err != nil {
		a.kit.Fatalf("%v in %s", err, a.body)
	}
}

// want checks the status.
func (a *answer) want(status int) *answer {
	a.kit.Helper()
	if a.status != status {
		a.kit.Fatalf("status %d, want %d: %s", a.status, status, a.body)
	}
	return a
}

// problem checks that the answer is a problem, with these words in its detail or what
// to try.
func (a *answer) problem(status int, code string, says ...string) api.Problem {
	a.kit.Helper()
	a.want(status)
	var p api.Problem
	a.into(&p)
	if p.Type != "/api/problems/"+code || p.Code != code {
		a.kit.Errorf("problem %s, want %s: %s", p.Type, code, a.body)
	}
	for _, s := range says {
		if !strings.Contains(p.Field+"\n"+p.Detail+"\n"+p.Try, s) {
			a.kit.Errorf("no %q in %s", s, a.body)
		}
	}
	return p
}

// get asks for something that is there.
func get[T any](k *kit, path string, headers ...string) (v T) {
	k.Helper()
	k.ask(http.MethodGet, path, nil, headers...).want(http.StatusOK).into(&v)
	return v
}

// post changes something.
func post[T any](k *kit, path string, body any) (v T) {
	k.Helper()
	a := k.ask(http.MethodPost, path, body)
	if a.status >= 300 {
		k.Fatalf("%s: status %d: %s", path, a.status, a.body)
	}
	a.into(&v)
	return v
}

// file is evidence for tests.
func file() []ken.Evidence { return []ken.Evidence{ken.FromFile("a.go", "", "")} }

// learn writes a claim over the API.
func (k *kit) learn(text string, change ...func(*api.LearnRequest)) inspect.Claim {
	k.Helper()
	r := api.LearnRequest{Text: text, Evidence: file()}
	for _, f := range change {
		f(&r)
	}
	return post[inspect.Claim](k, "/api/claims", r)
}

// turn has the layer prepare a model call, and returns its id.
func (k *kit) turn(session, question string) string {
	k.Helper()
	id := fmt.Sprintf("turn-%d", len(k.calls))
	k.layer.Assemble(context.Background(), ken.Turn{ID: id, Owner: k.who.Owner, Session: session, Project: "payments",
		Messages: []ken.Message{{Role: "user", Text: question}}})
	return id
}

func query(pairs ...string) string {
	v := url.Values{}
	for i := 0; i < len(pairs); i += 2 {
		v.Add(pairs[i], pairs[i+1])
	}
	return "?" + v.Encode()
}
