package shared

import (
	"cmp"
	"context"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"net"
	"os"
	"path/filepath"
	"strconv"
	"sync"
	"sync/atomic"
	"time"

	"github.com/kenlayer/ken"
	"github.com/kenlayer/ken/internal/store/bolt"
	"github.com/kenlayer/ken/internal/store/commitlog"
	"github.com/kenlayer/ken/internal/store/engine"
	"github.com/kenlayer/ken/internal/store/remote"
)

// host is a store that this process holds, together with the server for other processes.
type host struct {
	s      *ownerConn
	lock   *bolt.Lock
	store  *bolt.Store
	tenure *tenure // nil without a node
	server *remote.Server
	token  string
	role   *role

	leaving atomic.Bool // set by move: the store goes to another place
	stop    context.CancelFunc
	running sync.WaitGroup

	l    net.Listener // nil while there is no listener; used by keepListening's goroutine only, once it runs
	path string       // of the Unix socket; "" for none
}

// hold locks the folder, starts the server and opens the store. The error is ken.ErrHeld if another
// process holds the store: a heldElsewhere if it is another node.
func (s *ownerConn) hold() (*role, error) {
	o := s.w.store(s.owner)
	h := &host{s: s, token: newToken()}
	n := s.w.o.Node
	h.server = remote.NewServer(remote.ServerOptions{Owner: s.owner, Token: h.token, Log: s.w.o.Log,
		Use: func() func() { return s.w.use(s) }, Valid: h.entitled, Takes: h.valid, Move: h.move, OnEvent: s.onEvent()})
	tell := o.Progress
	o.Progress = func(stage string, done, total int) {
		h.server.Progress(stage, done, total)
		tell(stage, done, total)
	}
	var lease commitlog.Lease
	if n != nil {
		l, another, err := n.holder(s.ctx, s.owner)
		if err != nil {
			return nil, errors.Join(err, bolt.HeldError(s.dir))
		}
		if lease = l; another {
			return nil, &heldElsewhere{lease, bolt.HeldError(s.dir)}
		}
	}
	select {
	case s.w.opening <- struct{}{}:
		defer func() { <-s.w.opening }()
	case <-s.ctx.Done():
		return nil, errClosed
	}
	lost := n == nil && bolt.LacksFile(s.dir)
	var err error
	h.lock, err = bolt.Acquire(s.dir, o)
	if n != nil && errors.Is(err, ken.ErrCorrupt) {
		s.w.o.Log.Warn("an owner's store can't be read; a copy is made again", "owner", s.owner, "cause", err)
		if err = discard(s.dir, err); err == nil {
			h.lock, err = bolt.Acquire(s.dir, o)
		}
	}
	if err != nil {
		return nil, err
	}
	if n == nil {
		err = isHere(h.lock, s.dir, s.owner)
	} else if h.tenure, err = n.begin(s.ctx, h.lock, s.owner, s.dir, h.token, s.w.arrival(s.owner), lease); err == nil {
		n.router.Add(h.server)
	}
	if err != nil {
		return nil, errors.Join(err, h.lock.Release())
	}
	if err := h.listen(); err != nil { // this process can use the store all the same
		s.w.o.Log.Warn("other processes can't work on this store meanwhile", "owner", s.owner, "cause", err)
	}
	if lost {
		s.w.o.Log.Warn("there is no ken.db in "+s.dir+", though a store was there: an empty one was made", "owner", s.owner,
			"try", "If you moved ken.db, end what uses Ken and move it back. If it is lost, run ken restore with a backup.")
	}
	h.store, err = h.lock.Open(s.ctx)
	if n != nil && errors.Is(err, ken.ErrCorrupt) {
		s.w.o.Log.Warn("an owner's store is damaged; a copy is made again", "owner", s.owner, "cause", err)
		if err = h.tenure.reload(s.ctx, h.lock, err); err == nil {
			h.store, err = h.lock.Open(s.ctx)
		}
	}
	if err != nil {
		h.server.Fail(err)
		h.end(false) // before the lock is released: only the holder may remove the socket
		err = errors.Join(err, h.lock.Release())
		if h.tenure != nil {
			h.tenure.end()
			n.giveBack(s.owner, h.tenure.lease)
		}
		return nil, err
	}
	r := &role{store: h.store, host: h}
	h.role = r
	h.server.Ready(h.store)
	ctx, stop := context.WithCancel(context.Background())
	h.stop = stop
	h.running.Go(func() { h.keepListening(ctx) })
	if h.tenure != nil {
		h.running.Go(func() { h.tenure.watch(ctx, h.store, func() { s.lost(r, false) }) })
	}
	return r, nil
}

// heldElsewhere is the error for an owner whose lease another node has, which is alive.
type heldElsewhere struct {
	lease commitlog.Lease
	error // ken.ErrHeld
}

func (e *heldElsewhere) Unwrap() error { return e.error }

// isHere returns an error if the folder's store must not be used without a node. Either the owner
// has moved to another place, or the store is a copy of an engine's log. Writes to such a copy would
// not get into the log.
func isHere(lock *bolt.Lock, dir, owner string) error {
	standing, err := lock.Standing()
	if err == nil {
		err = standing.CheckUsable(owner)
	}
	if err != nil {
		return err
	}
	at, used, err := lock.Mark()
	if err != nil || used && at.Position == 0 {
		return err
	}
	if standing, err = lock.Aside(); err == nil {
		err = standing.CheckUsable(owner)
	}
	if err != nil || at.Position == 0 {
		return err
	}
	return &ken.Error{Code: ken.CodeRefused, Field: "store.url", Msg: dir + " is a copy of what an engine has, and no engine is configured",
		Try: "Set store.url as before. To go on without an engine: ken backup with it, move the folder away, and ken restore without it."}
}

// newToken returns a random token of 128 bits, in hexadecimal.
func newToken() string {
	b := make([]byte, 16)
	rand.Read(b) // never fails
	return hex.EncodeToString(b)
}

// listen opens a listener, writes its address to holder.json, and starts to serve on it.
func (h *host) listen() error {
	l, network, address, err := listen(h.s.dir, h.s.w.o.RuntimeDir)
	if err != nil {
		return err
	}
	if err := h.lock.Announce(network, address, h.token, h.s.w.o.OnEvent != nil); err != nil {
		return errors.Join(err, l.Close())
	}
	h.l, h.path = l, ""
	if network == "unix" {
		h.path = address
	}
	h.running.Go(func() { _ = h.server.Serve(l) }) // keepListening does not need the error: it checks the socket itself
	return nil
}

// keepListening restores the socket and holder.json until ctx ends. Programs that clean
// up temporary folders may delete either file. It checks them every Options.CheckSocket,
// and tries again if it fails, for example on a full disk or for lack of file handles.
func (h *host) keepListening(ctx context.Context) {
	tick := time.NewTicker(h.s.w.o.CheckSocket)
	defer tick.Stop()
	for warned := h.l == nil; ; {
		select {
		case <-tick.C:
		case <-ctx.Done():
			return
		}
		if h.l != nil {
			if h.there() {
				continue
			}
			h.server.Drop(h.l) // before listen: closing it deletes the socket's file
			h.l = nil
		}
		err := h.listen()
		if err != nil && !warned {
			h.s.w.o.Log.Warn("other processes can't reach this store for now", "owner", h.s.owner, "cause", err)
		}
		warned = err != nil
	}
}

// there reports whether holder.json names this host and its socket exists.
func (h *host) there() bool {
	if at := bolt.ReadHolder(h.s.dir); at.Token != h.token {
		return false
	}
	if h.path == "" {
		return true
	}
	_, err := os.Lstat(h.path)
	return err == nil
}

// end stops serving. It first waits up to drain for the answers to pending requests. A host that is
// not entitled does not wait. evicted is that of remote.Server.Shutdown.
func (h *host) end(evicted bool) {
	if h.stop != nil {
		h.stop()
	}
	ctx, cancel := context.WithTimeout(context.Background(), drain)
	defer cancel()
	if !h.entitled() {
		cancel()
		h.tenure.end()
	}
	if h.tenure != nil {
		h.tenure.n.router.Remove(h.server)
	}
	h.server.Shutdown(ctx, evicted)
	h.running.Wait()
}

// close ends the server, and then closes the store, which releases the lock. A
// process that connects after the server has ended gets no answer, and tries again.
func (h *host) close(evicted bool) error {
	h.end(evicted)
	err := h.store.Close()
	if h.tenure != nil {
		h.tenure.end()
		h.tenure.n.giveBack(h.s.owner, h.tenure.lease)
	}
	return err
}

// valid reports whether the host accepts new requests: it is entitled, and the store is not
// leaving for another place.
func (h *host) valid() bool { return !h.leaving.Load() && h.entitled() }

// entitled reports whether this process still has the right to the store, so that its answers are
// current. Without a node it always has.
func (h *host) entitled() bool { return h.tenure == nil || h.tenure.valid() }

// move records in the store that the owner is in another place, and gives up the store. The host
// accepts no new requests from then on. Otherwise a caller could read old data while the other place
// is written to. Later requests look for the store again. Pending requests are answered.
func (h *host) move(ctx context.Context, m engine.Move) error {
	if err := h.store.MayMove(m); err != nil {
		return err
	}
	h.leaving.Store(true)
	err := h.store.Move(context.WithoutCancel(ctx), m)
	go h.s.lost(h.role, false)
	return err
}

// Options configures Owners; the zero value works.
type Options struct {
	// Store holds the options for opening stores. Owner and LockTimeout are ignored.
	Store bolt.Options

	// Node shares the stores with other machines, through a log that all of them reach. Nil:
	// the stores are in the folder alone. The caller closes it, after the Owners.
	Node *Node
	// Next is this process's node in the engine that owners are moved to. NextName is the
	// Place.Name of that engine. Owners serves an owner that has moved there from there. Nil for
	// none.
	Next     *Node
	NextName string
	// Folder is the maximum size of a node's folder, in bytes: see copies. Stores that are in use
	// or not completely in the engine are kept beyond it. 0 or less means no limit. Without a
	// node, nothing is ever deleted.
	Folder int64

	// OnHold is called each time that this process has become the holder of an owner's
	// folder, at the first opening or by a takeover. From then on this process is
	// responsible for the store's maintenance. OnHold must return soon, and must not
	// call Close. May be nil.
	OnHold func(owner string)

	// OnPutAway is called when this process has closed an owner's store because it was the least
	// recently used one, or because it could not be opened. The store may be open again by then.
	// OnPutAway must not call Close. May be nil.
	OnPutAway func(owner string)

	// OnEvent answers the events that other processes send with SendEvent while this
	// one holds the owner's folder. Nil: this process accepts no events.
	OnEvent func(ctx context.Context, owner string, body []byte) ([]byte, error)

	// Wait is how long an opening tries to reach the process that holds the folder
	// before it fails. Default 10 s.
	Wait time.Duration
	// RuntimeDir is the folder for sockets whose path in the store's folder would be
	// too long. They are put into a subfolder that only this user can access. Default
	// XDG_RUNTIME_DIR, else os.TempDir.
	RuntimeDir string
	// CheckSocket is the interval at which a holder checks that its socket still exists. Default 1 s.
	CheckSocket time.Duration
	Log         *slog.Logger // default slog.Default()
}

// drain is how long a holder that ends waits for pending requests.
const drain = 5 * time.Second

func (o Options) withDefaults() Options {
	if o.OnHold == nil {
		o.OnHold = func(string) {}
	}
	if o.OnPutAway == nil {
		o.OnPutAway = func(string) {}
	}
	o.Wait = cmp.Or(max(o.Wait, 0), 10*time.Second)
	if o.RuntimeDir == "" {
		if o.RuntimeDir = os.Getenv("XDG_RUNTIME_DIR"); o.RuntimeDir == "" {
			o.RuntimeDir = os.TempDir()
		}
	}
	o.CheckSocket = cmp.Or(max(o.CheckSocket, 0), time.Second)
	o.Log = cmp.Or(o.Log, slog.Default())
	if o.Store.Log == nil {
		o.Store.Log = o.Log
	}
	if o.Store.Progress == nil {
		o.Store.Progress = func(string, int, int) {}
	}
	o.Store.LockTimeout = -1 // findRole waits: it tries the lock and the holder alternately
	return o
}

const (
	socketName = "ken.sock"
	// maxSocket is the maximum length of a socket's path, in bytes. The smallest limit
	// of the supported systems is 104 bytes, with a terminating zero.
	maxSocket = 100
)

// listen opens the listener for other processes: a Unix socket in the store's folder
// or in the runtime folder, else a loopback port. It removes a socket that an earlier
// holder has left, so the caller must have the folder's lock.
func listen(dir, runtime string) (l net.Listener, network, address string, err error) {
	// Other users must not read the folder.
	if fi, err := os.Stat(dir); err == nil && fi.Mode().Perm()&0o077 != 0 {
		_ = os.Chmod(dir, 0o700) // an error is harmless: the socket has its own mode, and needs a token
	}
	path := filepath.Join(dir, socketName)
	if len(path) <= maxSocket {
		if l, err = listenUnix(path); err == nil {
			return l, "unix", path, nil
		}
	}
	private, err2 := privateFolder(runtime)
	if err2 == nil {
		sum := sha256.Sum256([]byte(dir))
		path = filepath.Join(private, hex.EncodeToString(sum[:12])+".sock")
		if len(path) > maxSocket {
			err2 = fmt.Errorf("%s is too long for a socket", path)
		} else if l, err2 = listenUnix(path); err2 == nil {
			return l, "unix", path, nil
		}
	}
	l, err3 := (&net.ListenConfig{}).Listen(context.Background(), "tcp", "127.0.0.1:0")
	if err3 != nil {
		return nil, "", "", fmt.Errorf("serve the store: %w", errors.Join(err, err2, err3))
	}
	return l, "tcp", l.Addr().String(), nil
}

// listenUnix listens on a Unix socket with mode 0600. It replaces an old socket, but no other file.
func listenUnix(path string) (net.Listener, error) {
	switch fi, err := os.Lstat(path); {
	case errors.Is(err, fs.ErrNotExist):
	case err != nil:
		return nil, err
	case fi.Mode().Type() != fs.ModeSocket:
		return nil, fmt.Errorf("%s is no socket of ours", path)
	default:
		if err := os.Remove(path); err != nil {
			return nil, err
		}
	}
	l, err := (&net.ListenConfig{}).Listen(context.Background(), "unix", path)
	if err != nil {
		return nil, err
	}
	if err := os.Chmod(path, 0o600); err != nil {
		return nil, errors.Join(err, l.Close())
	}
	return l, nil
}

// privateFolder creates a folder for sockets below base that only this user can
// access, and returns its path. It returns an error if the folder exists but is another
// user's or open to others. In a shared folder such as /tmp, anyone may have created it.
func privateFolder(base string) (string, error) {
	dir := filepath.Join(base, "ken-"+strconv.Itoa(os.Getuid()))
	if err := os.Mkdir(dir, 0o700); err != nil && !errors.Is(err, fs.ErrExist) {
		return "", err
	}
	fi, err := os.Lstat(dir)
	if err != nil {
		return "", err
	}
	if !fi.IsDir() || fi.Mode().Perm()&0o077 != 0 || !ours(fi) {
		return "", fmt.Errorf("%s is not a folder of this user alone", dir)
	}
	return dir, nil
}
