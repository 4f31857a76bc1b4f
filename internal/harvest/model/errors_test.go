package model_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/kenlayer/ken"
	"github.com/kenlayer/ken/embed"
	"github.com/kenlayer/ken/internal/harvest/model"
	"github.com/kenlayer/ken/internal/harvest/model/modeltest"
)

// wantError checks that err is a *ken.Error to act on.
func wantError(t *testing.T, err error, code ken.Code, field string) {
	t.Helper()
	var kenErr *ken.Error
	if !errors.As(err, &kenErr) {
		t.Fatalf("%v, want a *ken.Error", err)
	}
	if kenErr.Code != code || kenErr.Field != field || kenErr.Msg == "" {
		t.Errorf("%v: code %s, field %q; want %s, %q", err, kenErr.Code, kenErr.Field, code, field)
	}
	if !strings.Contains(kenErr.Try, "harvest.") && !strings.Contains(kenErr.Try, "upstream.base_url") {
		t.Errorf("%v: try %q names no key", err, kenErr.Try)
	}
}

func answers(status int, contentType, body string) modeltest.Play {
	return func(w http.ResponseWriter, _ *http.Request, _ *modeltest.Request) {
		w.Header().Set("Content-Type", contentType)
		w.WriteHeader(status)
		fmt.Fprint(w, body)
	}
}

// A job decides by the code: unavailable is tried again later, invalid is not.
func TestEveryWayToFailSaysWhatToDo(t *testing.T) {
	const page = "<!DOCTYPE html><html><title>Bad gateway</title></html>"
	for name, tt := range map[string]struct {
		play  modeltest.Play
		code  ken.Code
		field string
		msg   string
	}{
		"401":             {modeltest.Fails(401, "Incorrect API key: sk-secret"), ken.CodeInvalid, "harvest.api_key_env", "refused the key (401): Incorrect API key: ***"},
		"403":             {modeltest.Fails(403, "go away"), ken.CodeInvalid, "harvest.api_key_env", "(403): go away"},
		"404 of a model":  {modeltest.UnknownModel(), ken.CodeInvalid, "harvest.model", "serves auxiliary, which is no chat model"},
		"408":             {modeltest.Fails(408, ""), ken.CodeUnavailable, "", "failed (408)"},
		"413":             {modeltest.Fails(413, "too large"), ken.CodeInvalid, "harvest.window", "accepts only shorter requests (413): too large"},
		"429":             {modeltest.Throttled(0), ken.CodeUnavailable, "", "too many requests (429): Rate limit"},
		"500":             {modeltest.Fails(500, "out of memory"), ken.CodeUnavailable, "", "failed (500): out of memory"},
		"502 with a page": {answers(502, "text/html", page), ken.CodeUnavailable, "", "failed (502): it answered with a web page"},
		"503 in silence":  {answers(503, "text/plain", ""), ken.CodeUnavailable, "", "failed (503)"},
		"200 with a page": {answers(200, "text/html", page), ken.CodeInvalid, "harvest.base_url", "web page instead of JSON"},
		"200 with error":  {answers(200, "application/json", `{"error":{"message":"model is loading"}}`), ken.CodeUnavailable, "", "model is loading"},
		"200 of nothing":  {answers(200, "application/json", ``), ken.CodeUnavailable, "", "not the API's JSON"},
		"no choices":      {answers(200, "application/json", `{"choices":[]}`), ken.CodeUnavailable, "", "not the API's JSON"},
		"cut off":         {answers(200, "application/json", `{"choices":[{"mess`), ken.CodeUnavailable, "", "not the API's JSON"},
		"hung up":         {modeltest.Drops(), ken.CodeUnavailable, "", "can't reach http://127.0.0.1:"},
		"endless":         {answers(200, "application/json", strings.Repeat(" ", 9<<20)), ken.CodeInvalid, "harvest.base_url", "does not answer like a chat API"},
	} {
		t.Run(name, func(t *testing.T) {
			server := modeltest.Serve(t, tt.play)
			d, err := client(t, server, model.Options{APIKey: "sk-secret"}).Draft(t.Context(), modeltest.Session(), nil)
			if tt.code == ken.CodeUnavailable && name != "hung up" && !strings.Contains(ken.Hint(err), "harvest.model") {
				t.Errorf("try %q", ken.Hint(err))
			}
			wantError(t, err, tt.code, tt.field)
			if !strings.Contains(err.Error(), tt.msg) || strings.Contains(err.Error(), "sk-secret") || d.Summary != "" || d.Statements != nil {
				t.Errorf("%v, want %q; %+v", err, tt.msg, d)
			}
			if n := len(server.Requests()); n != 1 {
				t.Errorf("%d requests: nothing is tried again here", n)
			}
		})
	}
}

func TestModelThatIsNotServedIsNamedWithThoseThatAre(t *testing.T) {
	server := modeltest.Serve(t, modeltest.UnknownModel())
	_, err := client(t, server, model.Options{Model: "gpt-9"}).Draft(t.Context(), modeltest.Session(), nil)
	wantError(t, err, ken.CodeInvalid, "harvest.model")
	if !strings.Contains(err.Error(), "gpt-9 is not served at http://127.0.0.1:") || !strings.Contains(err.Error(), "it serves auxiliary") {
		t.Error(err)
	}
	c := model.New(model.Options{BaseURL: strings.TrimSuffix(server.URL, "/v1"), Model: "m"})
	defer c.Close()
	_, err = c.Draft(t.Context(), modeltest.Session(), nil)
	wantError(t, err, ken.CodeInvalid, "harvest.model")
	if !strings.Contains(ken.Hint(err), "it usually ends in /v1") {
		t.Errorf("try %q does not think of the address", ken.Hint(err))
	}
}

func TestNobodyListens(t *testing.T) {
	server := modeltest.Serve(t)
	server.Stop()
	_, err := client(t, server, model.Options{}).Draft(t.Context(), modeltest.Session(), nil)
	wantError(t, err, ken.CodeUnavailable, "")
	if !strings.Contains(err.Error(), "nothing listens at "+server.URL) {
		t.Error(err)
	}
}

func TestRetryAfterReachesTheJob(t *testing.T) {
	server := modeltest.Serve(t, modeltest.Throttled(7*time.Second))
	_, err := client(t, server, model.Options{}).Draft(t.Context(), modeltest.Session(), nil)
	var wait *embed.Throttled
	if !errors.Is(err, ken.ErrUnavailable) && !errors.As(err, &wait) {
		t.Fatal(err)
	}
	if !errors.As(err, &wait) || wait.After != 7*time.Second {
		t.Errorf("%v, want a wait of 7 s", err)
	}
	// A date counts from the server's own clock.
	server.Then(func(w http.ResponseWriter, _ *http.Request, _ *modeltest.Request) {
		now := time.Date(2001, 2, 3, 4, 5, 6, 0, time.UTC)
		w.Header().Set("Date", now.Format(http.TimeFormat))
		w.Header().Set("Retry-After", now.Add(90*time.Second).Format(http.TimeFormat))
		w.WriteHeader(http.StatusServiceUnavailable)
	})
	_, err = client(t, server, model.Options{}).Draft(t.Context(), modeltest.Session(), nil)
	if !errors.As(err, &wait) || wait.After != 90*time.Second {
		t.Errorf("%v, want a wait of 90 s", err)
	}
}

func TestSilenceEndsWithTheTimeout(t *testing.T) {
	server := modeltest.Serve(t, modeltest.Hangs())
	_, err := client(t, server, model.Options{Timeout: time.Millisecond}).Draft(t.Context(), modeltest.Session(), nil)
	wantError(t, err, ken.CodeUnavailable, "")
	if !errors.Is(err, context.DeadlineExceeded) || !strings.Contains(err.Error(), "did not answer in time") || !strings.Contains(ken.Hint(err), "harvest.timeout") {
		t.Errorf("%v, try %q", err, ken.Hint(err))
	}
}

// A shutdown in the middle is no fault of the endpoint, and not one of the session.
func TestCallerStops(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	hangs := modeltest.Hangs()
	server := modeltest.Serve(t, func(w http.ResponseWriter, r *http.Request, req *modeltest.Request) {
		cancel()
		hangs(w, r, req)
	})
	_, err := client(t, server, model.Options{}).Draft(ctx, modeltest.Session(), nil)
	wantError(t, err, ken.CodeUnavailable, "")
	if !errors.Is(err, context.Canceled) || !strings.Contains(err.Error(), "was stopped") {
		t.Error(err)
	}
	if _, err := client(t, server, model.Options{}).Draft(ctx, modeltest.Session(), nil); !errors.Is(err, context.Canceled) {
		t.Errorf("%v, want the same without a request", err)
	}
}

func TestOptionsThatCanNotWork(t *testing.T) {
	for name, tt := range map[string]struct {
		o     model.Options
		field string
	}{
		"no model":   {model.Options{BaseURL: "http://127.0.0.1:1/v1"}, "harvest.model"},
		"no address": {model.Options{Model: "m"}, "harvest.base_url"}, // nothing may go to a default
		"no scheme":  {model.Options{BaseURL: "localhost:11434/v1", Model: "m"}, "harvest.base_url"},
		"not a URL":  {model.Options{BaseURL: "http://local host/%zz", Model: "m"}, "harvest.base_url"},
	} {
		t.Run(name, func(t *testing.T) {
			c := model.New(tt.o)
			defer c.Close()
			_, err := c.Draft(t.Context(), modeltest.Session(), nil)
			wantError(t, err, ken.CodeInvalid, tt.field)
		})
	}
	// Known to the library as one that completes and does not chat.
	c := model.New(model.Options{BaseURL: "http://127.0.0.1:1/v1", Model: "text-davinci-003"})
	defer c.Close()
	_, err := c.Draft(t.Context(), modeltest.Session(), nil)
	wantError(t, err, ken.CodeInvalid, "harvest.model")
}

// Endpoints that validate requests like to repeat them in their errors, and errors
// end in logs and in a job's record.
func TestErrorsDoNotRepeatTheSession(t *testing.T) {
	var b bytes.Buffer
	log := slog.New(slog.NewTextHandler(&b, &slog.HandlerOptions{Level: slog.LevelDebug}))
	for name, play := range map[string]modeltest.Play{
		"a field of the body": modeltest.Fails(500, "can't parse: The nightly build of the billing service fails since Tuesday"),
		"the whole body": func(w http.ResponseWriter, _ *http.Request, req *modeltest.Request) {
			w.WriteHeader(http.StatusUnprocessableEntity)
			fmt.Fprintf(w, `{"detail":[{"loc":["body"],"input":%q}]}`, req.Messages[1].Content)
		},
		"in upper case": modeltest.Fails(500, "BAD INPUT: I PREFER SMALL COMMITS, ONE CHANGE EACH."),
	} {
		server := modeltest.Serve(t, play)
		_, err := client(t, server, model.Options{Log: log}).Draft(t.Context(), modeltest.Session(), nil)
		if said := strings.ToLower(err.Error() + b.String()); strings.Contains(said, "nightly") || strings.Contains(said, "commits") ||
			!strings.Contains(said, "repeats what was sent") {
			t.Errorf("%s: %s", name, said)
		}
	}
}
