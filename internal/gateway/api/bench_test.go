package api_test

import (
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/kenlayer/ken/internal/access"
	"github.com/kenlayer/ken/internal/gateway/api"
)

// Ten thousand claims, through the handler and without the checks of a kit.
func BenchmarkRoutes(b *testing.B) {
	k := newKit(b)
	ids := importClaims(k, 10_000)
	deep := ""
	for range 10 {
		deep = get[api.ClaimList](k, "/api/claims?limit=500&cursor="+deep).Next
	}
	for _, bb := range []struct{ name, path string }{
		{"claim", "/api/claims/" + ids[17]},
		{"list", "/api/claims?limit=50"},
		{"list deep", "/api/claims?limit=50&cursor=" + deep},
		{"list rare", "/api/claims?limit=50&tag=none"},
		{"search", "/api/search?limit=10&q=claim+number+77"},
		{"stats", "/api/stats"},
		{"description", "/api/openapi.json"},
	} {
		b.Run(bb.name, func(b *testing.B) {
			r := httptest.NewRequestWithContext(access.With(b.Context(), k.who), http.MethodGet, bb.path, nil)
			b.ReportAllocs()
			for b.Loop() {
				w := httptest.NewRecorder()
				if k.api.ServeHTTP(w, r); w.Code != http.StatusOK {
					b.Fatalf("status %d: %s", w.Code, w.Body)
				}
			}
		})
	}
}
