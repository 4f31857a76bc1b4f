package openai_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"
	"go.uber.org/goleak"

	"github.com/kenlayer/ken"
	"github.com/kenlayer/ken/embed"
	"github.com/kenlayer/ken/embed/embedtest"
	"github.com/kenlayer/ken/embed/openai"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// serve starts a gateway and returns an embedder for it.
func serve(t *testing.T, h http.Handler, o openai.Options) *openai.Embedder {
	t.Helper()
	server := httptest.NewServer(h)
	o.BaseURL = server.URL + "/v1"
	if o.Model == "" {
		o.Model = embedtest.GatewayModel
	}
	e, err := openai.New(o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		e.Close()
		server.Close()
	})
	return e
}

// respond answers every request in the same way.
func respond(status int, contentType, body string) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", contentType)
		w.WriteHeader(status)
		fmt.Fprint(w, body)
	}
}

func TestSuite(t *testing.T) {
	embedtest.Run(t, func(t *testing.T) embed.Embedder {
		return serve(t, embedtest.Gateway(), openai.Options{Batch: 3})
	})
}

func TestNewRefusesWhatCanNotWork(t *testing.T) {
	for name, o := range map[string]openai.Options{
		"no model":    {BaseURL: "http://localhost/v1"},
		"no scheme":   {BaseURL: "localhost:11434/v1", Model: "m"},
		"no host":     {BaseURL: "http:///v1", Model: "m"},
		"not http":    {BaseURL: "ftp://localhost/v1", Model: "m"},
		"not an URL":  {BaseURL: "http://local host/%zz", Model: "m"},
		"a file path": {BaseURL: "/v1", Model: "m"},
	} {
		_, err := openai.New(o)
		var kenErr *ken.Error
		if !errors.As(err, &kenErr) || kenErr.Code != ken.CodeInvalid || kenErr.Field == "" || kenErr.Try == "" {
			t.Errorf("%s: %v, want invalid with a field and a hint", name, err)
		}
	}
	e, err := openai.New(openai.Options{Model: "text-embedding-3-small", Dimensions: 512})
	if err != nil || e.Model() != "openai:text-embedding-3-small@512" || e.Dim() != 512 {
		t.Errorf("%v, %v", e, err)
	}
}

// recorder is a gateway that keeps what it was sent.
type recorder struct {
	mu       sync.Mutex
	requests []sent
}

type sent struct {
	Auth  string
	Body  map[string]any
	Texts []string
}

func (rec *recorder) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	var body map[string]any
	if err := json.NewDecoder(r.Body).Decode(&body); err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	s := sent{Auth: r.Header.Get("Authorization"), Body: body}
	var data []string
	for i, input := range body["input"].([]any) {
		s.Texts = append(s.Texts, input.(string))
		data = append(data, fmt.Sprintf(`{"index":%d,"embedding":[3,4]}`, i))
	}
	rec.mu.Lock()
	rec.requests = append(rec.requests, s)
	rec.mu.Unlock()
	fmt.Fprintf(w, `{"data":[%s]}`, strings.Join(data, ","))
}

func TestRequestIsWhatGatewaysRead(t *testing.T) {
	rec := &recorder{}
	e := serve(t, rec, openai.Options{Key: "sk-secret", Dimensions: 2})
	if _, err := e.Embed(t.Context(), []string{"<b>&", "ünï"}); err != nil {
		t.Fatal(err)
	}
	want := sent{
		Auth:  "Bearer sk-secret",
		Body:  map[string]any{"model": embedtest.GatewayModel, "dimensions": 2.0, "input": []any{"<b>&", "ünï"}},
		Texts: []string{"<b>&", "ünï"},
	}
	if diff := cmp.Diff([]sent{want}, rec.requests); diff != "" {
		t.Errorf("request (-want +got):\n%s", diff)
	}
}

func TestBatches(t *testing.T) {
	rec := &recorder{}
	e := serve(t, rec, openai.Options{Batch: 3, BatchBytes: 10, TextBytes: 8})
	texts := []string{"a", "b", "c", "d", "eeeee", "fffff", "", "ggggggggggggg", "äöüäöü"}
	vectors, err := e.Embed(t.Context(), texts)
	if err != nil {
		t.Fatal(err)
	}
	var got [][]string
	for _, r := range rec.requests {
		got = append(got, r.Texts)
	}
	want := [][]string{{"a", "b", "c"}, {"d", "eeeee"}, {"fffff"}, {"gggggggg"}, {"äöüä"}}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("batches (-want +got):\n%s", diff)
	}
	if i := slices.IndexFunc(vectors, func(v []float32) bool { return v == nil }); i != 6 || len(vectors) != len(texts) {
		t.Errorf("%d vectors, the first nil one is %d; want %d and only the empty text's", len(vectors), i, len(texts))
	}
}

func TestTextsAreCutAtARunesBorder(t *testing.T) {
	rec := &recorder{}
	e := serve(t, rec, openai.Options{TextBytes: 5})
	e.Embed(t.Context(), []string{"日本語", "aaaa日", "aaaaa"})
	if diff := cmp.Diff([]string{"日", "aaaa", "aaaaa"}, rec.requests[0].Texts); diff != "" {
		t.Errorf("sent (-want +got):\n%s", diff)
	}
	for _, text := range rec.requests[0].Texts {
		if !utf8.ValidString(text) {
			t.Errorf("%q was cut within a character", text)
		}
	}
}

func TestAnswersThatAreFine(t *testing.T) {
	unit := [][]float32{{0.6, 0.8}, {1, 0}}
	for name, body := range map[string]string{
		"as asked":         `{"data":[{"index":0,"embedding":[3,4]},{"index":1,"embedding":[1,0]}]}`,
		"in another order": `{"data":[{"index":1,"embedding":[1,0]},{"index":0,"embedding":[3,4]}]}`,
		"not numbered":     `{"data":[{"embedding":[3,4]},{"embedding":[1,0]}]}`,
		"base64":           `{"data":[{"index":0,"embedding":"AABAQAAAgEA="},{"index":1,"embedding":"AACAPwAAAAA="}]}`,
		"more fields":      `{"id":"x","data":[{"index":0,"embedding":[3e0,4.0],"x":1},{"index":1,"embedding":[5,0]}],"usage":null}`,
	} {
		t.Run(name, func(t *testing.T) {
			e := serve(t, respond(200, "application/json", body), openai.Options{})
			got, err := e.Embed(t.Context(), []string{"a", "b"})
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(unit, got); diff != "" || e.Dim() != 2 {
				t.Errorf("dimension %d (-want +got):\n%s", e.Dim(), diff)
			}
		})
	}
}

// Every failure has a code, and says what happened and what to do.
func TestEveryWrongAnswerSaysWhatToDo(t *testing.T) {
	const page = "<!DOCTYPE html><html><title>Bad gateway</title></html>"
	two := func(vectors string) http.Handler { return respond(200, "application/json", `{"data":[`+vectors+`]}`) }
	tests := map[string]struct {
		gateway http.Handler
		code    ken.Code
		field   string
		msg     string // part of the error
	}{
		"401": {respond(401, "application/json", `{"error":{"message":"Incorrect API key: sk-secret"}}`),
			ken.CodeInvalid, "knowledge.embed_api_key_env", "refused the key (401): Incorrect API key: ***"},
		"403 in plain text": {respond(403, "text/plain", "go away"), ken.CodeInvalid, "knowledge.embed_api_key_env", "(403): go away"},
		"404 without a list of models": {respond(404, "text/plain", "404 page not found"),
			ken.CodeInvalid, "knowledge.embed_model", "does not embed with bag-of-words (404): 404 page not found"},
		"400":               {respond(400, "application/json", `{"error":"input too long"}`), ken.CodeInvalid, "", "refused the request (400): input too long"},
		"422 with a detail": {respond(422, "application/json", `{"detail":"bad\u001b[31m\ninput"}`), ken.CodeInvalid, "", "(422): bad[31m input"},
		"429":               {respond(429, "application/json", `{"error":{"message":"slow down"}}`), ken.CodeUnavailable, "", "too many requests (429): slow down"},
		"500 with a page":   {respond(500, "text/html", page), ken.CodeUnavailable, "", "failed (500): it answered with a web page"},
		"503 without words": {respond(503, "text/plain", ""), ken.CodeUnavailable, "", "failed (503)"},
		"200 with a page":   {respond(200, "text/html", page), ken.CodeInvalid, "knowledge.embed_base_url", "web page instead of JSON"},
		"200 with an error": {respond(200, "application/json", `{"error":{"message":"model is loading"}}`), ken.CodeUnavailable, "", "model is loading"},
		"200 with nothing":  {respond(200, "application/json", ""), ken.CodeUnavailable, "", "not the API's JSON"},
		"cut off":           {respond(200, "application/json", `{"data":[{"index":0,"emb`), ken.CodeUnavailable, "", "not the API's JSON"},
		"another JSON":      {respond(200, "application/json", `{"embedding":[1,2]}`), ken.CodeUnavailable, "", "0 vectors for 2 texts"},
		"too few":           {two(`{"index":0,"embedding":[1,0]}`), ken.CodeUnavailable, "", "1 vectors for 2 texts"},
		"too many":          {two(`{"index":0,"embedding":[1]},{"index":1,"embedding":[1]},{"index":2,"embedding":[1]}`), ken.CodeUnavailable, "", "3 vectors for 2 texts"},
		"one number twice":  {two(`{"index":1,"embedding":[1]},{"index":1,"embedding":[1]}`), ken.CodeUnavailable, "", "numbered otherwise"},
		"number too high":   {two(`{"index":0,"embedding":[1]},{"index":9,"embedding":[1]}`), ken.CodeUnavailable, "", "numbered otherwise"},
		"null":              {two(`{"index":0,"embedding":[1]},{"index":1,"embedding":null}`), ken.CodeUnavailable, "", "no vector for text 1"},
		"empty vector":      {two(`{"index":0,"embedding":[1]},{"index":1,"embedding":[]}`), ken.CodeUnavailable, "", "no dimensions"},
		"zero vector":       {two(`{"index":0,"embedding":[1,0]},{"index":1,"embedding":[0,0]}`), ken.CodeUnavailable, "", "all zeros"},
		"NaN":               {two(`{"index":0,"embedding":[NaN,0]},{"index":1,"embedding":[0,1]}`), ken.CodeUnavailable, "", "NaN"},
		"NaN in base64":     {two(`{"index":0,"embedding":"AADAfwAAgD8="},{"index":1,"embedding":"AACAPwAAAAA="}`), ken.CodeUnavailable, "", "NaN"},
		"two dimensions":    {two(`{"index":0,"embedding":[1,0]},{"index":1,"embedding":[1,0,0]}`), ken.CodeInvalid, "knowledge.embed_model", "3 dimensions after 2 before"},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			e := serve(t, tt.gateway, openai.Options{Key: "sk-secret"})
			vectors, err := e.Embed(t.Context(), []string{"a", "b"})
			var kenErr *ken.Error
			if vectors != nil || !errors.As(err, &kenErr) {
				t.Fatalf("%v, %v; want a *ken.Error alone", vectors, err)
			}
			if kenErr.Code != tt.code || kenErr.Field != tt.field {
				t.Errorf("code %s, field %q; want %s, %q", kenErr.Code, kenErr.Field, tt.code, tt.field)
			}
			if !strings.Contains(err.Error(), tt.msg) || strings.Contains(err.Error(), "secret") || kenErr.Try == "" {
				t.Errorf("error %q, try %q; want %q, no key, and a hint", err, kenErr.Try, tt.msg)
			}
		})
	}
}

func TestDimensionsAskedForButNotGiven(t *testing.T) {
	e := serve(t, respond(200, "application/json", `{"data":[{"embedding":[1,0,0]}]}`), openai.Options{Dimensions: 2})
	_, err := e.Embed(t.Context(), []string{"a"})
	if !errors.Is(err, ken.ErrInvalid) || !strings.Contains(err.Error(), "knowledge.embed_dimensions") || !strings.Contains(ken.Hint(err), "0 or 3") {
		t.Errorf("%v, try %q", err, ken.Hint(err))
	}
}

// The model behind a name was replaced while the process ran: its vectors must
// not be compared with those of before.
func TestChangedDimensionIsAnErrorNotSilence(t *testing.T) {
	answers := []string{`[1,0]`, `[1,0,0]`}
	e := serve(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		fmt.Fprintf(w, `{"data":[{"embedding":%s}]}`, answers[0])
		answers = answers[1:]
	}), openai.Options{})
	if _, err := e.Embed(t.Context(), []string{"a"}); err != nil {
		t.Fatal(err)
	}
	if _, err := e.Embed(t.Context(), []string{"a"}); !errors.Is(err, ken.ErrInvalid) {
		t.Errorf("error %v, want invalid", err)
	}
}

func TestModelThatIsNotServedIsNamedWithThoseThatAre(t *testing.T) {
	list := `{"data":[{"id":"llama3"},{"id":"nomic-embed-text"},{"id":"gemma"}]}`
	for name, status := range map[string]int{"404": 404, "400": 400} {
		t.Run(name, func(t *testing.T) {
			e := serve(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				if r.Method == http.MethodGet {
					fmt.Fprint(w, list)
					return
				}
				respond(status, "application/json", `{"error":{"message":"unknown model"}}`)(w, r)
			}), openai.Options{Model: "ada"})
			_, err := e.Embed(t.Context(), []string{"a"})
			if !errors.Is(err, ken.ErrInvalid) || !strings.Contains(err.Error(), "model ada is not served at http://127.0.0.1:") ||
				!strings.Contains(err.Error(), "it serves nomic-embed-text, gemma, llama3") || ken.Hint(err) == "" {
				t.Errorf("%v, try %q", err, ken.Hint(err))
			}
		})
	}
	t.Run("a chat model", func(t *testing.T) {
		e := serve(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if r.Method == http.MethodGet {
				fmt.Fprint(w, list)
				return
			}
			respond(400, "application/json", `{"error":{"message":"this model does not support embeddings"}}`)(w, r)
		}), openai.Options{Model: "llama3"})
		_, err := e.Embed(t.Context(), []string{"a"})
		if !errors.Is(err, ken.ErrInvalid) || !strings.Contains(err.Error(), "serves llama3 but does not embed with it") {
			t.Errorf("%v", err)
		}
	})
}

func TestModels(t *testing.T) {
	e := serve(t, embedtest.Gateway(), openai.Options{})
	got, err := e.Models(t.Context())
	if diff := cmp.Diff([]string{embedtest.GatewayModel}, got); err != nil || diff != "" {
		t.Errorf("%v (-want +got):\n%s", err, diff)
	}
	e = serve(t, respond(404, "text/plain", "no"), openai.Options{})
	if _, err := e.Models(t.Context()); !errors.Is(err, ken.ErrInvalid) || !strings.Contains(ken.Hint(err), "/v1") {
		t.Errorf("%v, try %q", err, ken.Hint(err))
	}
}

func TestRetryAfter(t *testing.T) {
	date := func(d time.Duration) string { return time.Unix(1e9, 0).Add(d).UTC().Format(http.TimeFormat) }
	for name, tt := range map[string]struct {
		value string
		want  time.Duration
		ok    bool
	}{
		"seconds":  {"7", 7 * time.Second, true},
		"a date":   {date(90 * time.Second), 90 * time.Second, true},
		"the past": {date(-time.Hour), 0, true},
		"years":    {"999999999", 24 * time.Hour, true},
		"negative": {"-1", 0, false},
		"nothing":  {"", 0, false},
		"nonsense": {"soon", 0, false},
	} {
		t.Run(name, func(t *testing.T) {
			e := serve(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				w.Header().Set("Date", date(0))
				w.Header().Set("Retry-After", tt.value)
				w.WriteHeader(http.StatusTooManyRequests)
			}), openai.Options{})
			_, err := e.Embed(t.Context(), []string{"a"})
			var got *embed.Throttled
			if errors.As(err, &got) != tt.ok || tt.ok && got.After != tt.want {
				t.Errorf("%v, want a wait of %v: %v", err, tt.want, tt.ok)
			}
		})
	}
}

func TestNobodyListens(t *testing.T) {
	server := httptest.NewServer(nil)
	server.Close()
	e, err := openai.New(openai.Options{BaseURL: server.URL, Model: "m"})
	if err != nil {
		t.Fatal(err)
	}
	defer e.Close()
	_, err = e.Embed(t.Context(), []string{"a"})
	if !errors.Is(err, ken.ErrUnavailable) || !strings.Contains(err.Error(), "nothing listens at "+server.URL) || ken.Hint(err) == "" {
		t.Errorf("%v, try %q", err, ken.Hint(err))
	}
}

// hang answers only when the client has gone.
var hang = http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
	io.Copy(io.Discard, r.Body) // the server notices only then
	<-r.Context().Done()
})

func TestSilenceEndsWithTheRequestsTimeout(t *testing.T) {
	e := serve(t, hang, openai.Options{Timeout: time.Millisecond})
	_, err := e.Embed(t.Context(), []string{"a"})
	if !errors.Is(err, ken.ErrUnavailable) || !errors.Is(err, context.DeadlineExceeded) || !strings.Contains(err.Error(), "did not answer in time") {
		t.Errorf("%v", err)
	}
}

func TestCallersCancellationIsItsOwnError(t *testing.T) {
	started := make(chan struct{})
	e := serve(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		close(started)
		hang(w, r)
	}), openai.Options{})
	ctx, cancel := context.WithCancel(t.Context())
	go func() { <-started; cancel() }()
	if _, err := e.Embed(ctx, []string{"a"}); err != context.Canceled {
		t.Errorf("error %v, want context.Canceled itself", err)
	}
}

// The turn path must not multiply a slow gateway's delay.
func TestNothingIsSentTwice(t *testing.T) {
	calls := 0
	e := serve(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		calls++
		w.WriteHeader(http.StatusInternalServerError)
	}), openai.Options{})
	e.Embed(t.Context(), []string{"a"})
	if calls != 1 {
		t.Errorf("%d requests, want one", calls)
	}
}

func FuzzAnswer(f *testing.F) {
	for _, s := range []string{`{"data":[{"index":0,"embedding":[1,0]}]}`, `{"data":[{"embedding":"AACAPw=="}]}`, `<html>`, `{"error":{"message":1}}`, `{"data":[{"embedding":"A"}]}`, "\xff", `{"error":[]}`} {
		f.Add(200, s)
		f.Add(400, s)
	}
	var status int
	var body string
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.WriteHeader(status)
		fmt.Fprint(w, body)
	}))
	f.Cleanup(server.Close)
	f.Fuzz(func(t *testing.T, s int, b string) {
		if s < 200 || s > 599 || s == 204 || s == 304 {
			t.Skip()
		}
		status, body = s, b
		e, err := openai.New(openai.Options{BaseURL: server.URL, Model: "m"})
		if err != nil {
			t.Fatal(err)
		}
		defer e.Close()
		vectors, err := e.Embed(t.Context(), []string{"a"})
		var kenErr *ken.Error
		switch {
		case err == nil && embed.Check(vectors, 1, e.Dim()) != nil:
			t.Errorf("%q gave %v", b, vectors)
		case err != nil && !errors.As(err, &kenErr):
			t.Errorf("%q gave the untyped error %v", b, err)
		}
	})
}
