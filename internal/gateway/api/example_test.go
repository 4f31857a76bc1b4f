package api_test

import (
	"context"
	"fmt"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"

	"github.com/kenlayer/ken/config"
	"github.com/kenlayer/ken/internal/access"
	"github.com/kenlayer/ken/internal/gateway/api"
	"github.com/kenlayer/ken/middleware"
)

func Example() {
	dir, err := os.MkdirTemp("", "ken-example")
	if err != nil {
		panic(err)
	}
	defer os.RemoveAll(dir)
	cfg := config.Default()
	l, err := middleware.Open(context.Background(), middleware.Options{Root: dir, Config: &cfg, Foreground: true, Log: slog.New(slog.DiscardHandler)})
	if err != nil {
		panic(err)
	}
	defer l.Close()

	h := api.New(l, api.Options{})
	ask := func(method, path, body string) *httptest.ResponseRecorder {
		r := httptest.NewRequest(method, path, strings.NewReader(body))
		r.Header.Set("Content-Type", "application/json")
		// The gateway finds out who asks.
		who := access.Principal{Name: "ci", Owner: "default", Rights: []access.Right{access.Read, access.Write}}
		w := httptest.NewRecorder()
		h.ServeHTTP(w, r.WithContext(access.With(r.Context(), who)))
		return w
	}
	w := ask(http.MethodPost, "/api/claims", `{"text":"Payments are retried three times.","evidence":[{"kind":"test_result","id":"TestRetry"}]}`)
	fmt.Println(w.Code)
	w = ask(http.MethodGet, "/api/search?q=payments&stauts=observed", "")
	fmt.Print(w.Body)
	// Output:
	// 201
	// {"type":"/api/problems/invalid","title":"The request is wrong","status":400,"code":"invalid","detail":"unknown parameter","instance":"/api/search","field":"stauts","try":"Did you mean status?"}
}
