package gateway

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"net/http/pprof"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"github.com/kenlayer/ken"
	"github.com/kenlayer/ken/config"
	"github.com/kenlayer/ken/internal/access"
	"github.com/kenlayer/ken/internal/store/remote"
)

// Serve answers requests from l until ctx ends. Then it continues for gateway.notice, while /readyz
// says "stopping". After that it accepts no more requests, lets those in progress continue for
// gateway.drain, and cuts off the rest. If now ends, it cuts them off at once. It closes l. It
// returns nil after a requested stop, and ErrRefused if other machines can reach the listener and
// there are no keys. When it returns, no request is in progress.
func (g *Gateway) Serve(ctx, now context.Context, l net.Listener) error {
	at, in := l.Addr(), g.settings.Load()
	cfg := in.cfg
	g.at.Store(&at)
	if err := reachable(at, in.ring != nil); err != nil {
		return errors.Join(err, l.Close())
	}
	base, cut := context.WithCancel(context.WithoutCancel(ctx))
	defer cut()
	var running handlers
	srv := &http.Server{
		Handler:           running.wrap(g),
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
	srv.Protocols.SetUnencryptedHTTP2(true) // for clients that start with HTTP/2 without TLS
	ended := make(chan error, 1)
	go func() { ended <- srv.Serve(l) }()
	select {
	case err := <-ended:
		return errors.Join(err, g.Close())
	case <-ctx.Done():
	}
	cfg = g.settings.Load().cfg
	g.o.Log.Info("stopping", "cause", context.Cause(ctx), "in_flight", g.limits.inFlight.Load())
	_ = g.Close() // never fails
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
	case <-all: // includes hijacked connections, which Shutdown does not wait for
	case <-drain.Done():
		if n := g.limits.inFlight.Load(); n > 0 {
			g.o.Log.Warn("answers were cut off", "in_flight", n)
		}
	}
	cut()
	_ = srv.Close() // makes the remaining requests fail
	<-ended         //nolint:errcheck // the server reports that it was closed
	<-all
	if drain.Err() != nil {
		return nil
	}
	return err
}

// handlers counts running handlers.
type handlers struct {
	mu     sync.RWMutex
	closed bool
	wg     sync.WaitGroup
}

func (h *handlers) wrap(next http.Handler) http.Handler {
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

// close prevents new handlers. The returned channel is closed after the last handler has ended.
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

// Listen listens on the address of cfg, with TLS if cfg names a certificate. The certificate is read again
// when its files change. Listen returns ErrRefused if other machines can reach the address and there are no
// keys, ErrInvalid for an invalid certificate or address, and ErrUnavailable for an address that is in use.
func Listen(cfg config.Gateway) (net.Listener, error) {
	l, err := listen(cfg)
	if err != nil || cfg.TLSCert == "" {
		return l, err
	}
	cert, err := remote.ReadCertificate(cfg.TLSCert, cfg.TLSKey)
	if err != nil {
		return nil, errors.Join(&ken.Error{Code: ken.CodeInvalid, Field: "gateway.tls_cert", Msg: "load certificate", Err: err,
			Try: "Check gateway.tls_cert and gateway.tls_key: PEM files of one key pair."}, l.Close())
	}
	return tls.NewListener(l, &tls.Config{NextProtos: []string{"h2", "http/1.1"},
		GetCertificate: func(*tls.ClientHelloInfo) (*tls.Certificate, error) { return cert.Current(), nil }}), nil
}

func listen(cfg config.Gateway) (net.Listener, error) {
	if path, ok := strings.CutPrefix(cfg.Listen, "unix:"); ok {
		return listenUnix(path)
	}
	addr, err := net.ResolveTCPAddr("tcp", cfg.Listen)
	if err != nil {
		return nil, &ken.Error{Code: ken.CodeInvalid, Field: "gateway.listen", Msg: "resolve address", Err: err,
			Try: "Write it as in 127.0.0.1:8484."}
	}
	if err := reachable(addr, len(cfg.Keys) > 0); err != nil {
		return nil, err
	}
	l, err := net.ListenTCP("tcp", addr)
	if err != nil {
		return nil, &ken.Error{Code: ken.CodeUnavailable, Field: "gateway.listen", Msg: "listen on " + cfg.Listen, Err: err,
			Try: "See whether ken serve runs already, or give another address with --listen."}
	}
	return l, nil
}

// reachable returns ErrRefused if other machines can reach the address and there are no keys.
func reachable(at net.Addr, keyed bool) error {
	if tcp, ok := at.(*net.TCPAddr); !ok || keyed || tcp.IP.IsLoopback() {
		return nil
	}
	return &ken.Error{Code: ken.CodeRefused, Field: "gateway.listen",
		Msg: at.String() + " can be reached from other machines, and there are no keys",
		Try: "Make a key with ken key create NAME, or for several nodes with ken serve key NAME, or listen on 127.0.0.1."}
}

// maxSocketPath is the maximum length of a socket's path that all systems support.
const maxSocketPath = 103

// listenUnix opens a socket to which only this user can connect. It creates the socket in a private
// folder and then moves it, so that others can't connect at any time.
func listenUnix(path string) (net.Listener, error) {
	refuse := func(err error, try string) error {
		return &ken.Error{Code: ken.CodeUnavailable, Field: "gateway.listen", Msg: "listen on the socket", Err: err, Try: try}
	}
	if len(path) > maxSocketPath {
		return nil, refuse(fmt.Errorf("its path has %d bytes", len(path)), fmt.Sprintf("Give a path of at most %d bytes.", maxSocketPath))
	}
	if fi, err := os.Lstat(path); err == nil {
		if fi.Mode()&os.ModeSocket == 0 {
			return nil, refuse(fmt.Errorf("%s is not a socket", path), "Give another path; Ken does not remove other files.")
		}
		if conn, err := (&net.Dialer{}).DialContext(context.Background(), "unix", path); err == nil {
			return nil, errors.Join(refuse(fmt.Errorf("%s is in use", path), "See whether ken serve runs already."), conn.Close())
		}
	}
	dir, err := os.MkdirTemp(filepath.Dir(path), ".ken-")
	if err != nil {
		return nil, refuse(err, "Give a path in a folder that exists and that you may write to.")
	}
	defer func() { _ = os.RemoveAll(dir) }() // an empty folder that remains is harmless
	made := filepath.Join(dir, "s")
	l, err := net.ListenUnix("unix", &net.UnixAddr{Name: made, Net: "unix"})
	if err != nil {
		return nil, refuse(err, "Give a shorter path: a socket's has at most about 100 bytes.")
	}
	l.SetUnlinkOnClose(false) // it would remove the path before the move
	err = errors.Join(os.Chmod(made, 0o600), os.Rename(made, path))
	if err != nil {
		return nil, errors.Join(refuse(err, "Check the permissions of the folder."), l.Close())
	}
	return &unixListener{l, path}, nil
}

// unixListener removes its socket when it is closed.
type unixListener struct {
	*net.UnixListener
	path string
}

// Close implements net.Listener.
func (l *unixListener) Close() error {
	err := l.UnixListener.Close()
	if rm := os.Remove(l.path); rm != nil && !errors.Is(rm, os.ErrNotExist) {
		err = errors.Join(err, rm)
	}
	return err
}

// ListenDebug listens on gateway.debug_listen, as Listen does on gateway.listen. It returns nil if
// that is not set.
func ListenDebug(cfg config.Gateway) (net.Listener, error) {
	if cfg.DebugListen == "" {
		return nil, nil
	}
	cfg.Listen = cfg.DebugListen
	l, err := Listen(cfg)
	if e, ok := errors.AsType[*ken.Error](err); ok && e.Field == "gateway.listen" {
		if e.Field = "gateway.debug_listen"; errors.Is(err, ken.ErrUnavailable) {
			e.Try = "See whether ken serve runs already, or give another address."
		}
	}
	return l, err
}

// ServeDebug serves Go's profiles, /debug/pprof/, from l until ctx ends, and closes l. Profiles
// contain only names of functions and addresses. With keys, callers need the right operate. Without
// keys, only this machine has access.
func (g *Gateway) ServeDebug(ctx context.Context, l net.Listener) error {
	mux := http.NewServeMux()
	mux.HandleFunc("/debug/pprof/", pprof.Index)
	mux.HandleFunc("/debug/pprof/profile", pprof.Profile)
	mux.HandleFunc("/debug/pprof/symbol", pprof.Symbol)
	mux.HandleFunc("/debug/pprof/trace", pprof.Trace) // no cmdline, which may contain file names
	mux.HandleFunc("/debug/pprof/cmdline", http.NotFound)
	srv := &http.Server{
		Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if f := g.mayDebug(r); f != nil {
				f.write(w, problem)
				return
			}
			mux.ServeHTTP(w, r)
		}),
		ReadHeaderTimeout: g.settings.Load().cfg.ReadHeader,
		ErrorLog:          slog.NewLogLogger(g.o.Log.Handler(), slog.LevelDebug),
	}
	defer context.AfterFunc(ctx, func() { _ = srv.Close() })() // the error of Serve tells the result
	if err := srv.Serve(l); !errors.Is(err, http.ErrServerClosed) {
		return err
	}
	return nil
}

// mayDebug returns a fault if the request may not read profiles; nil otherwise.
func (g *Gateway) mayDebug(r *http.Request) *fault {
	t := g.settings.Load()
	if !t.keyed() {
		return checkHost(r, t.cfg.Hosts)
	}
	who, f := t.identify(r.Header)
	if f == nil && !who.Can(access.Operate) {
		f = missingRight(access.Operate)
	}
	return f
}
