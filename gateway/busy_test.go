package gateway_test

import (
	"context"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/kenlayer/ken/config"
	"github.com/kenlayer/ken/gateway"
	"github.com/kenlayer/ken/internal/gateway/upstreamtest"
	"github.com/kenlayer/ken/internal/run/telemetry/metrics"
	"github.com/kenlayer/ken/middleware"
)

// A call that comes while too many turns are composed is passed on at once, and its
// answer and the metrics say so. What the upstream says of when to come back stays.
func TestCallsBeyondTheBoundSaySo(t *testing.T) {
	hold, entered := make(chan struct{}), make(chan struct{})
	cfg := config.Default()
	cfg.Repository.Index, cfg.Middleware.Events, cfg.Retrieval.AtOnce, cfg.Retrieval.Deadline = false, false, 1, 30*time.Second
	l, err := middleware.Open(context.Background(), middleware.Options{Root: t.TempDir(), Config: &cfg, Foreground: true, Strict: true, Log: quiet,
		Use: []middleware.Middleware{func(next middleware.Handler) middleware.Handler {
			return func(ctx context.Context, st *middleware.State) error {
				entered <- struct{}{}
				<-hold
				return next(ctx, st)
			}
		}}})
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	up, m := upstreamtest.New(t), metrics.New()
	g := start(t, l, up.URL, func(o *gateway.Options) { o.Metrics = m })
	done := make(chan reply, 1)
	go func() { done <- post(t, g.URL+"/v1/chat/completions", chat(question), "X-Ken-Session", "first") }()
	<-entered
	up.Next(upstreamtest.Recording("error_429").With("Retry-After", "7"))
	got := post(t, g.URL+"/v1/chat/completions", chat(question), "X-Ken-Session", "second")
	if got.Header.Get("X-Ken-Untouched") != "turns" || got.StatusCode != http.StatusTooManyRequests || !strings.Contains(strings.Join(got.Header.Values("Retry-After"), ","), "7") {
		t.Errorf("%d %v", got.StatusCode, got.Header)
	}
	if string(up.Last(t).Body) != chat(question) {
		t.Errorf("arrived as %s", up.Last(t).Body)
	}
	close(hold)
	if first := <-done; first.Header.Get("X-Ken-Untouched") != "" {
		t.Errorf("the first one: %v", first.Header)
	}
	g.stop() // so that every call has been counted
	w := httptest.NewRecorder()
	m.Handler().ServeHTTP(w, httptest.NewRequest(http.MethodGet, "/metrics", nil))
	if !strings.Contains(w.Body.String(), `ken_untouched_total{reason="turns"} 1`) {
		t.Error("the metrics do not say so")
	}
}
