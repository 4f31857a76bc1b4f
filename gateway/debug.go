package gateway

import (
	"context"
	"errors"
	"log/slog"
	"net"
	"net/http"
	"net/http/pprof"

	"github.com/kenlayer/ken"
	"github.com/kenlayer/ken/config"
	"github.com/kenlayer/ken/internal/access"
)

// ListenDebug opens the address of gateway.debug_listen, as Listen does that of
// gateway.listen. It returns nil where there is none.
func ListenDebug(cfg config.Gateway) (net.Listener, error) {
	if cfg.DebugListen == "" {
		return nil, nil
	}
	cfg.Listen = cfg.DebugListen
	l, err := Listen(cfg)
	var e *ken.Error
	if errors.As(err, &e) && e.Field == "gateway.listen" {
		e.Field = "gateway.debug_listen"
	}
	return l, err
}

// ServeDebug answers requests for Go's profiles, /debug/pprof/, at l until ctx ends, and
// closes it. Profiles hold no texts but names of functions, and a heap's addresses. With
// keys they are for who may operate; without, for this machine.
func (g *Gateway) ServeDebug(ctx context.Context, l net.Listener) error {
	mux := http.NewServeMux()
	mux.HandleFunc("/debug/pprof/", pprof.Index)
	mux.HandleFunc("/debug/pprof/profile", pprof.Profile)
	mux.HandleFunc("/debug/pprof/symbol", pprof.Symbol)
	mux.HandleFunc("/debug/pprof/trace", pprof.Trace) // not cmdline: it may name files
	mux.HandleFunc("/debug/pprof/cmdline", http.NotFound)
	srv := &http.Server{
		Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if f := g.mayDebug(r); f != nil {
				f.write(w, problem)
				return
			}
			mux.ServeHTTP(w, r)
		}),
		ReadHeaderTimeout: g.terms.Load().cfg.ReadHeader,
		ErrorLog:          slog.NewLogLogger(g.o.Log.Handler(), slog.LevelDebug),
	}
	defer context.AfterFunc(ctx, func() { _ = srv.Close() })() // Serve says so
	if err := srv.Serve(l); !errors.Is(err, http.ErrServerClosed) {
		return err
	}
	return nil
}

// mayDebug says why a request gets no profile; nil when it may.
func (g *Gateway) mayDebug(r *http.Request) *fault {
	t := g.terms.Load()
	if t.ring == nil {
		return addressed(r, t.cfg.Hosts)
	}
	who, f := t.identify(r.Header)
	if f == nil && !who.Can(access.Operate) {
		f = lacks(access.Operate)
	}
	return f
}
