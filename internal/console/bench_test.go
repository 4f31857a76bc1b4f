package console_test

import (
	"context"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/kenlayer/ken/config"
	"github.com/kenlayer/ken/internal/access"
	"github.com/kenlayer/ken/internal/console"
	"github.com/kenlayer/ken/internal/console/consoletest"
	"github.com/kenlayer/ken/middleware"
)

// manyClaims is what the pages have to be quick with.
const manyClaims = 100_000

// BenchmarkPages is how long each page takes at 100,000 claims, from the request to the
// last byte, as the median and the 95th percentile in milliseconds. Making the project
// takes minutes.
func BenchmarkPages(b *testing.B) {
	ctx := context.Background()
	dir := filepath.Join(b.TempDir(), "project")
	now := time.Now()
	p, err := consoletest.Furnish(ctx, dir, consoletest.Options{Now: now, Seed: 1, Claims: manyClaims})
	if err != nil {
		b.Fatal(err)
	}
	cfg := config.Default()
	l, err := middleware.Open(ctx, middleware.Options{Root: dir, Config: &cfg, Strict: true, Foreground: true, Log: slog.New(slog.DiscardHandler)})
	if err != nil {
		b.Fatal(err)
	}
	con := console.New(l, console.Options{Log: slog.New(slog.DiscardHandler)})
	b.Cleanup(func() {
		_ = con.Close()
		_ = l.Close()
	})
	ask := func(path string) (w *httptest.ResponseRecorder, took time.Duration) {
		r := httptest.NewRequestWithContext(context.Background(), http.MethodGet, path, nil)
		r = r.WithContext(access.With(r.Context(), operator))
		w = httptest.NewRecorder()
		start := time.Now()
		con.ServeHTTP(w, r)
		return w, time.Since(start)
	}
	claim, turn, session := p.Claims["wrong fact"], p.Turns["today 2"], p.Sessions["today"]
	for _, path := range []string{"", "claims", "claims?q=how+does+the+ledger+retry", "claims?kind=fact&status=observed", "claims?order=reinforced", "claims/" + claim,
		"sessions", "sessions/" + session, "agents", "changes", "files", "turns", "turns/" + turn, "turns/" + turn + "/replay", "turns/" + turn + "/whatif", "try?text=how+does+the+ledger+retry", "review", "attention", "entities", "entities?q=pay",
		"entities/" + p.Entities[0], "code", "decisions", "objectives", "drift", "health", "jobs", "sweeps"} {
		b.Run("/"+path, func(b *testing.B) {
			path := console.Prefix + path
			for end := time.Now().Add(time.Minute); ; { // data is read in the background the first time
				w, _ := ask(path)
				if w.Code != http.StatusOK {
					b.Fatalf("%s: %d", path, w.Code)
				}
				if !strings.Contains(w.Body.String(), "data-pending") || time.Now().After(end) {
					break
				}
			}
			var all []time.Duration
			for b.Loop() {
				_, took := ask(path)
				all = append(all, took)
			}
			slices.Sort(all)
			ms := func(d time.Duration) float64 { return float64(d.Microseconds()) / 1000 }
			b.ReportMetric(ms(all[len(all)/2]), "p50-ms")
			b.ReportMetric(ms(all[len(all)*95/100]), "p95-ms")
			b.ReportMetric(0, "ns/op")
		})
	}
}
