package gateway

import (
	"context"
	"errors"
	"log/slog"
	"net"
	"net/http"
	"sync"
	"time"
)

// Serve answers what comes in at l until ctx ends. Then /readyz says "stopping" while
// it serves on for gateway.notice; after that it takes no more, lets answers that are
// under way go on for gateway.drain, and cuts off what is left, which it does at once
// when now ends. It closes l. The error is nil after a stop
// that was asked for, and ErrRefused for a listener that others could reach while
// there are no keys. No answer is under way when it returns.
func (g *Gateway) Serve(ctx, now context.Context, l net.Listener) error {
	at, in := l.Addr(), g.terms.Load()
	cfg := in.cfg
	g.at.Store(&at)
	if err := reachable(at, in.ring != nil); err != nil {
		return errors.Join(err, l.Close())
	}
	base, cut := context.WithCancel(context.WithoutCancel(ctx))
	defer cut()
	var running handlers
	srv := &http.Server{
		Handler:           running.count(g),
		ReadHeaderTimeout: cfg.ReadHeader,
		IdleTimeout:       cfg.Idle,
		MaxHeaderBytes:    cfg.HeaderBytes,
		BaseContext:       func(net.Listener) context.Context { return base },
		ErrorLog:          slog.NewLogLogger(g.o.Log.Handler(), slog.LevelDebug),
		HTTP2:             &http.HTTP2Config{MaxConcurrentStreams: 1000},
		Protocols:         new(http.Protocols),
	}
	srv.Protocols.SetHTTP1(true)
	srv.Protocols.SetHTTP2(true)
	srv.Protocols.SetUnencryptedHTTP2(true) // for clients that begin with it
	ended := make(chan error, 1)
	go func() { ended <- srv.Serve(l) }()
	select {
	case err := <-ended:
		return errors.Join(err, g.Close())
	case <-ctx.Done():
	}
	cfg = g.terms.Load().cfg
	g.o.Log.Info("stopping", "cause", context.Cause(ctx), "in_flight", g.limits.inFlight.Load())
	_ = g.Close() // it can't fail
	notice := time.NewTimer(cfg.Notice)
	defer notice.Stop()
	select {
	case <-notice.C:
	case <-now.Done():
	case err := <-ended:
		return err
	}
	drain, done := context.WithTimeout(now, cfg.Drain)
	defer done()
	err := srv.Shutdown(drain)
	all := running.close()
	select {
	case <-all: // connections that were taken over included, which Shutdown doesn't see
	case <-drain.Done():
		g.o.Log.Warn("answers were cut off", "in_flight", g.limits.inFlight.Load())
	}
	cut()
	_ = srv.Close() // what is left fails with it
	<-ended         //nolint:errcheck // it says that the server was closed
	<-all
	if drain.Err() != nil {
		return nil
	}
	return err
}

// handlers counts the handlers that run.
type handlers struct {
	mu     sync.RWMutex
	closed bool
	wg     sync.WaitGroup
}

func (h *handlers) count(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		h.mu.RLock()
		if h.closed {
			h.mu.RUnlock()
			panic(http.ErrAbortHandler)
		}
		h.wg.Add(1)
		h.mu.RUnlock()
		defer h.wg.Done()
		next.ServeHTTP(w, r)
	})
}

// close lets no handler begin; what it returns is closed when the last has ended.
func (h *handlers) close() <-chan struct{} {
	h.mu.Lock()
	h.closed = true
	h.mu.Unlock()
	all := make(chan struct{})
	go func() {
		h.wg.Wait()
		close(all)
	}()
	return all
}
