package middleware_test

import (
	"context"
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/kenlayer/ken"
	"github.com/kenlayer/ken/config"
)

// A turn gets what a reranker puts first, and goes on in its own order without one that fails.
func TestRerank(t *testing.T) {
	best := func(word string) http.HandlerFunc {
		return func(w http.ResponseWriter, r *http.Request) {
			var in struct {
				Query     string
				Documents []string
			}
			if err := json.NewDecoder(r.Body).Decode(&in); err != nil || in.Query == "" {
				t.Errorf("asked %+v, %v", in, err)
			}
			var list []map[string]any
			for i, text := range in.Documents {
				list = append(list, map[string]any{"index": i, "relevance_score": strings.Count(text, word)})
			}
			_ = json.NewEncoder(w).Encode(map[string]any{"results": list})
		}
	}
	for name, tt := range map[string]struct {
		answer   http.HandlerFunc
		first    string
		degraded bool
	}{
		"the one in cents": {best("cents"), "cents", false},
		"the one in euros": {best("euros"), "euros", false},
		"wrong":            {func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write([]byte(`{"results": []}`)) }, "", true},
		"garbage":          {func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write([]byte("<html>")) }, "", true},
		"down":             {func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusBadGateway) }, "", true},
		"slow, to no avail": {func(_ http.ResponseWriter, r *http.Request) {
			_, _ = io.Copy(io.Discard, r.Body) // otherwise the server does not notice that the client has closed the connection
			<-r.Context().Done()
		}, "", true},
	} {
		t.Run(name, func(t *testing.T) {
			service := httptest.NewServer(tt.answer)
			t.Cleanup(service.Close)
			l := open(t, settings(func(c *config.Config) {
				c.Rerank.BaseURL, c.Rerank.Timeout = service.URL, 10*time.Second
				if strings.HasPrefix(name, "slow") {
					c.Rerank.Timeout = time.Millisecond
				}
			}), withVectors)
			learn(t, l, fact(t, "Refunds of payments are kept in cents."), fact(t, "Refunds of payments are shown in euros."))
			r := l.Assemble(context.Background(), asked("How are refunds of payments kept?")).Receipt
			if len(r.Items) != 2 {
				t.Fatalf("%d items:\n%s", len(r.Items), r.Block)
			}
			if !strings.Contains(r.Items[0].Text, tt.first) {
				t.Errorf("first is %q", r.Items[0].Text)
			}
			if got := strings.Contains(strings.Join(r.Degraded, "\n"), "rerank"); got != tt.degraded {
				t.Errorf("degraded: %q", r.Degraded)
			}
		})
	}
}

// Small talk is sent nowhere, and neither is anything without an address.
func TestRerankAsksNobodyWithoutNeed(t *testing.T) {
	service := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { t.Error("the service was asked") }))
	t.Cleanup(service.Close)
	for _, tt := range []struct{ url, ask string }{{service.URL, "thanks!"}, {"", "How are refunds of payments kept?"}} {
		l := open(t, settings(func(c *config.Config) { c.Rerank.BaseURL = tt.url }), withVectors)
		learn(t, l, fact(t, "Refunds of payments are kept in cents."), fact(t, "Refunds of payments are shown in euros."))
		l.Assemble(context.Background(), ken.Turn{Session: "s", Messages: []ken.Message{{Role: "user", Text: tt.ask}}})
	}
}
