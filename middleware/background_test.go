package middleware_test

import (
	"context"
	"net/http"
	"net/http/httptest"
	"sync/atomic"
	"testing"

	"github.com/kenlayer/ken"
	"github.com/kenlayer/ken/config"
	"github.com/kenlayer/ken/middleware"
)

// A claim that is written while the layer runs gets its vector from a gateway
// in the background; the write did not wait for it.
func TestNewClaimsAreEmbeddedInTheBackground(t *testing.T) {
	var slow atomic.Bool
	wait := make(chan struct{})
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if slow.Load() {
			<-wait
		}
		vectors(8, nil)(w, r)
	}))
	t.Cleanup(srv.Close)
	done := make(chan int, 16)
	l := open(t, settings(func(c *config.Config) { c.Knowledge.EmbedModel, c.Knowledge.EmbedBaseURL = "m", srv.URL }),
		func(o *middleware.Options) {
			o.Foreground = false
			o.Progress = func(stage string, n, _ int) {
				if stage == "embed" {
					done <- n
				}
			}
		})
	slow.Store(true)
	learn(t, l, fact(t, about)) // returns although no vector can be had yet
	close(wait)
	<-done
	r := l.Assemble(context.Background(), asked(question)).Receipt
	if r.Mode != ken.ModeHybrid || len(r.Degraded) > 0 {
		t.Errorf("mode %q, cause %q, degraded %v", r.Mode, r.Cause, r.Degraded)
	}
}
