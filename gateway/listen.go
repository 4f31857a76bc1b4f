package gateway

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strings"

	"github.com/kenlayer/ken"
	"github.com/kenlayer/ken/config"
)

// Listen opens the address that cfg names, with TLS if it names a certificate. One
// that others could reach is refused as ErrRefused as long as there are no keys.
// Other errors: ErrInvalid for a certificate or address that can't be used, and
// ErrUnavailable for one that is taken.
func Listen(cfg config.Gateway) (net.Listener, error) {
	l, err := listen(cfg)
	if err != nil || cfg.TLSCert == "" {
		return l, err
	}
	cert, err := tls.LoadX509KeyPair(cfg.TLSCert, cfg.TLSKey)
	if err != nil {
		return nil, errors.Join(&ken.Error{Code: ken.CodeInvalid, Field: "gateway.tls_cert", Msg: "load certificate", Err: err,
			Try: "Check gateway.tls_cert and gateway.tls_key: PEM files that belong together."}, l.Close())
	}
	return tls.NewListener(l, &tls.Config{Certificates: []tls.Certificate{cert}, NextProtos: []string{"h2", "http/1.1"}}), nil
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

// reachable refuses an address that others could reach while there are no keys.
func reachable(at net.Addr, keyed bool) error {
	if tcp, ok := at.(*net.TCPAddr); !ok || keyed || tcp.IP.IsLoopback() {
		return nil
	}
	return &ken.Error{Code: ken.CodeRefused, Field: "gateway.listen",
		Msg: at.String() + " can be reached from other machines, and there are no keys",
		Try: "Make a key with ken key create NAME, or listen on 127.0.0.1."}
}

// maxSocketPath is the longest path that a socket can have on every system.
const maxSocketPath = 103

// listenUnix opens a socket that only this user can connect to. It is made in a
// folder of this user's and moved into place, so that there is no moment at which
// others could.
func listenUnix(path string) (net.Listener, error) {
	refuse := func(err error, try string) error {
		return &ken.Error{Code: ken.CodeUnavailable, Field: "gateway.listen", Msg: "listen on the socket", Err: err, Try: try}
	}
	if len(path) > maxSocketPath {
		return nil, refuse(fmt.Errorf("its path has %d bytes", len(path)), fmt.Sprintf("Give a path of at most %d bytes.", maxSocketPath))
	}
	if fi, err := os.Lstat(path); err == nil {
		if fi.Mode()&os.ModeSocket == 0 {
			return nil, refuse(fmt.Errorf("%s is no socket", path), "Give another path; what is there is not removed.")
		}
		if conn, err := (&net.Dialer{}).DialContext(context.Background(), "unix", path); err == nil {
			return nil, errors.Join(refuse(fmt.Errorf("%s is in use", path), "See whether ken serve runs already."), conn.Close())
		}
	}
	dir, err := os.MkdirTemp(filepath.Dir(path), ".ken-")
	if err != nil {
		return nil, refuse(err, "Give a path in a folder that exists and that you may write to.")
	}
	defer func() { _ = os.RemoveAll(dir) }() // an empty folder that stays does no harm
	made := filepath.Join(dir, "s")
	l, err := net.ListenUnix("unix", &net.UnixAddr{Name: made, Net: "unix"})
	if err != nil {
		return nil, refuse(err, "Give a shorter path: a socket's has at most about 100 bytes.")
	}
	l.SetUnlinkOnClose(false) // it would look for it where it was made
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
