package rerank_test

import (
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"testing"
	"time"

	"github.com/kenlayer/ken"
	"github.com/kenlayer/ken/breaker"
	"github.com/kenlayer/ken/internal/retriever/rerank"
)

// serve returns the address of a service that answers so.
func serve(t *testing.T, answer http.HandlerFunc) string {
	t.Helper()
	s := httptest.NewServer(answer)
	t.Cleanup(s.Close)
	return s.URL + "/v1"
}

func says(status int, body string) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) {
		w.WriteHeader(status)
		_, _ = w.Write([]byte(body))
	}
}

func TestScores(t *testing.T) {
	for name, body := range map[string]string{
		"Cohere, Jina":              `{"results": [{"index": 1, "relevance_score": 0.9}, {"index": 0, "relevance_score": 0.2}]}`,
		"Voyage":                    `{"data": [{"index": 1, "relevance_score": 0.9}, {"index": 0, "relevance_score": 0.2}]}`,
		"text-embeddings-inference": `[{"index": 1, "score": 0.9}, {"index": 0, "score": 0.2}]`,
	} {
		c := rerank.New(rerank.Options{BaseURL: serve(t, says(200, body)), Deadline: time.Minute})
		got, err := c.Scores(t.Context(), "why?", []string{"a", "b"})
		if err != nil || !slices.Equal(got, []float64{0.2, 0.9}) {
			t.Errorf("%s: %v, %v", name, got, err)
		}
		c.Close()
	}
}

// Where a service calls the texts otherwise, the client finds out once.
func TestServicesNameTheTextsOtherwise(t *testing.T) {
	calls := 0
	c := rerank.New(rerank.Options{Model: "m", Key: "secret", Deadline: time.Minute, BaseURL: serve(t, func(w http.ResponseWriter, r *http.Request) {
		calls++
		var in struct {
			Query, Model string
			Texts        []string
		}
		if err := json.NewDecoder(r.Body).Decode(&in); err != nil || len(in.Texts) == 0 {
			w.WriteHeader(http.StatusUnprocessableEntity)
			return
		}
		if in.Query != "why?" || in.Model != "m" || r.Header.Get("Authorization") != "Bearer secret" || r.URL.Path != "/v1/rerank" {
			t.Errorf("asked %+v at %s", in, r.URL.Path)
		}
		_, _ = w.Write([]byte(`[{"index": 0, "score": 1}]`))
	})})
	defer c.Close()
	for range 2 {
		if _, err := c.Scores(t.Context(), "why?", []string{"a"}); err != nil {
			t.Fatal(err)
		}
	}
	if calls != 3 {
		t.Errorf("%d calls, want 3", calls)
	}
}

func TestBadAnswers(t *testing.T) {
	for name, answer := range map[string]http.HandlerFunc{
		"garbage":      says(200, "<html>"),
		"too few":      says(200, `{"results": [{"index": 0, "relevance_score": 1}]}`),
		"one twice":    says(200, `[{"index": 0, "score": 1}, {"index": 0, "score": 2}]`),
		"out of range": says(200, `[{"index": 0, "score": 1}, {"index": 2, "score": 2}]`),
		"no score":     says(200, `[{"index": 0}, {"index": 1, "score": 2}]`),
		"empty":        says(200, ""),
		"broken":       says(500, "no"),
		"a redirect": func(w http.ResponseWriter, r *http.Request) {
			http.Redirect(w, r, "http://192.0.2.1/", http.StatusTemporaryRedirect)
		},
		"refused twice":  says(400, "no"),
		"a refused key":  says(401, "no"),
		"hangs up":       func(http.ResponseWriter, *http.Request) { panic(http.ErrAbortHandler) },
		"too many bytes": func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write(make([]byte, 2<<20)) },
	} {
		c := rerank.New(rerank.Options{BaseURL: serve(t, answer), Deadline: time.Minute})
		got, err := c.Scores(t.Context(), "why?", []string{"a", "b"})
		if e, ok := errors.AsType[*ken.Error](err); got != nil || !ok || e.Try == "" || e.Field == "" {
			t.Errorf("%s: %v, %v", name, got, err)
		}
		c.Close()
	}
}

// A service that is slow costs the deadline, and after some failures nothing.
func TestASlowServiceIsLeftAlone(t *testing.T) {
	c := rerank.New(rerank.Options{Deadline: time.Millisecond, Breaker: breaker.Options{Failures: 2, OpenFor: time.Hour}, BaseURL: serve(t, func(_ http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body) // otherwise the server does not notice that the client has closed the connection
		<-r.Context().Done()
	})})
	defer c.Close()
	for range 2 {
		if _, err := c.Scores(t.Context(), "why?", []string{"a"}); !errors.Is(err, ken.ErrUnavailable) {
			t.Errorf("%v", err)
		}
	}
	if _, err := c.Scores(t.Context(), "why?", []string{"a"}); !errors.Is(err, breaker.ErrOpen) {
		t.Errorf("%v, want an open circuit", err)
	}
}

func FuzzParse(f *testing.F) {
	f.Add([]byte(`{"results": [{"index": 1, "relevance_score": 0.9}, {"index": 0, "relevance_score": 0.2}]}`), 2)
	f.Add([]byte(`[{"index": 0, "score": 1e999}]`), 1)
	f.Add([]byte(`null`), 0)
	f.Fuzz(func(t *testing.T, answer []byte, n int) {
		if n = min(n, 100); n < 0 {
			return
		}
		if scores, err := rerank.Parse(answer, n); err == nil && len(scores) != n {
			t.Errorf("%d scores for %d texts", len(scores), n)
		}
	})
}
