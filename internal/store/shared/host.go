package shared

import (
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
	"github.com/kenlayer/ken/internal/store/engine"
	"github.com/kenlayer/ken/internal/store/remote"
)

// host is a store that this process holds, and its server.
type host struct {
	s      *ownerConn
	lock   *bolt.Lock
	store  *bolt.Store
	tenure *tenure // nil without a node
	server *remote.Server
	token  string
	role   *role

	leaving atomic.Bool // for another place: see move
	stop    context.CancelFunc
	running sync.WaitGroup

	l    net.Listener // nil while nobody can be served; guarded by mend's goroutine
	path string       // of the socket; "" for none
}

// hold takes the folder, and opens the store. ken.ErrHeld: another process has it.
func (s *ownerConn) hold() (*role, error) {
	o := s.w.o.Store
	o.Owner = s.owner
	h := &host{s: s, token: newToken()}
	n := s.w.o.Node
	h.server = remote.NewServer(remote.ServerOptions{Owner: s.owner, Token: h.token, Log: s.w.o.Log,
		Use: func() func() { return s.w.use(s) }, Valid: h.entitled, Takes: h.valid, Move: h.move, OnEvent: s.onEvent()})
	tell := o.Progress
	o.Progress = func(stage string, done, total int) {
		h.server.Progress(stage, done, total)
		tell(stage, done, total)
	}
	var err error
	if n != nil {
		if _, another, err := n.holder(s.ctx, s.owner); err != nil || another {
			return nil, errors.Join(err, bolt.HeldError(s.dir))
		}
	}
	select {
	case s.w.opening <- struct{}{}:
		defer func() { <-s.w.opening }()
	case <-s.ctx.Done():
		return nil, errClosed
	}
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
		if err := isHere(h.lock, s.dir, s.owner); err != nil {
			return nil, errors.Join(err, h.lock.Release())
		}
	}
	if n != nil {
		if h.tenure, err = n.begin(s.ctx, h.lock, s.owner, s.dir, h.token, s.w.arrival(s.owner)); err != nil {
			return nil, errors.Join(err, h.lock.Release())
		}
		n.router.Add(h.server)
	}
	if err := h.listen(); err != nil { // the store is worth more than company
		s.w.o.Log.Warn("other processes can't work on this store meanwhile", "owner", s.owner, "cause", err)
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
		h.end(false) // before the lock goes: the socket is only the holder's to remove
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
	h.running.Go(func() { h.mend(ctx) })
	if h.tenure != nil {
		h.running.Go(func() { h.tenure.watch(ctx, h.store, func() { s.lost(r, false) }) })
	}
	return r, nil
}

// isHere refuses a store that is elsewhere: one that has moved, and a copy of a log that nobody
// keeps up to date. What is written to it would be in no log.
func isHere(lock *bolt.Lock, dir, owner string) error {
	standing, err := lock.Standing()
	if err == nil {
		err = standing.Away(owner)
	}
	if err != nil {
		return err
	}
	at, used, err := lock.Mark()
	if err != nil || used && at.Position == 0 {
		return err
	}
	if standing, err = lock.Aside(); err == nil {
		err = standing.Away(owner)
	}
	if err != nil || at.Position == 0 {
		return err
	}
	return &ken.Error{Code: ken.CodeRefused, Field: "store.url", Msg: dir + " is a copy of what an engine has, and no engine is configured",
		Try: "Set store.url as before. To go on without an engine: ken backup with it, move the folder away, and ken restore without it."}
}

func newToken() string {
	b := make([]byte, 16)
	rand.Read(b) // never fails
	return hex.EncodeToString(b)
}

// listen begins to serve, and says where.
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
	h.running.Go(func() { _ = h.server.Serve(l) }) // mend sees that it has ended
	return nil
}

// mend looks after the socket and the file that names it: those who clean up
// folders for temporary files take both. What can't be made now, on a full disk or
// without a file handle to spare, is tried again.
func (h *host) mend(ctx context.Context) {
	tick := time.NewTicker(h.s.w.o.Mend)
	defer tick.Stop()
	for told := h.l == nil; ; {
		select {
		case <-tick.C:
		case <-ctx.Done():
			return
		}
		if h.l != nil {
			if h.there() {
				continue
			}
			h.server.Drop(h.l) // first: it takes the socket's file with it
			h.l = nil
		}
		err := h.listen()
		if err != nil && !told {
			h.s.w.o.Log.Warn("other processes can't reach this store for now", "owner", h.s.owner, "cause", err)
		}
		told = err != nil
	}
}

// there reports whether others find the way here.
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

// end stops serving, once what was asked is answered. Who has lost the right to answer does
// not wait.
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

// close ends the server and then the store, and with it the lock: whoever connects
// in between finds nobody, and tries again.
func (h *host) close(evicted bool) error {
	h.end(evicted)
	err := h.store.Close()
	if h.tenure != nil {
		h.tenure.end()
		h.tenure.n.giveBack(h.s.owner, h.tenure.lease)
	}
	return err
}

// valid reports whether the store is this process's, and what is asked of it is done.
func (h *host) valid() bool { return !h.leaving.Load() && h.entitled() }

// entitled reports whether the store is this process's: what it answers is true.
func (h *host) entitled() bool { return h.tenure == nil || h.tenure.valid() }

// move leaves the store for another place. Nothing is taken on from then on, so that nobody hears
// what is old when the other place is written to. Whoever asks next finds out where it is. What
// was asked before has an answer.
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
	// Store is how stores are opened. Owner and LockTimeout are ignored.
	Store bolt.Options

	// Node shares the stores with other machines, by a log that all reach. Nil: the folder is
	// all there is. It is closed after the Owners, by who made it.
	Node *Node
	// Next is this process as a node of the engine that owners are moved to, which NextName
	// names as Place.Name does. An owner that has moved there is served from there. Nil for none.
	Next     *Node
	NextName string
	// Folder is how many bytes of stores a node keeps in its folder: see copies. 0 or less: as many
	// as there are. Without a node, nothing is ever deleted.
	Folder int64

	// OnHold is called when this process has come to hold an owner's folder, the
	// first time as well as by taking over: it is who looks after the store from now
	// on. It must not take long, nor call Close. May be nil.
	OnHold func(owner string)

	// OnPutAway is called when this process has closed an owner's store because it was the one
	// least recently used. It may be open again by then. It must not call Close. May be nil.
	OnPutAway func(owner string)

	// OnEvent answers what SendEvent of another process sends while this one holds the
	// owner's folder. Nil answers nothing.
	OnEvent func(ctx context.Context, owner string, body []byte) ([]byte, error)

	// Wait is how long a folder may be held by a process that can't be reached before
	// that is an error. Default 10 s.
	Wait time.Duration
	// RuntimeDir is where sockets lie whose path would be too long in the folder of
	// the store: in a folder of this user alone. Default XDG_RUNTIME_DIR, else the
	// folder for temporary files.
	RuntimeDir string
	// Mend is how often a holder looks whether its socket is still there. Default 1 s.
	Mend time.Duration
	Log  *slog.Logger // default slog.Default()
}

// drain is how long a holder that ends waits for what it was asked.
const drain = 5 * time.Second

func (o Options) withDefaults() Options {
	if o.OnHold == nil {
		o.OnHold = func(string) {}
	}
	if o.OnPutAway == nil {
		o.OnPutAway = func(string) {}
	}
	if o.Wait <= 0 {
		o.Wait = 10 * time.Second
	}
	if o.RuntimeDir == "" {
		if o.RuntimeDir = os.Getenv("XDG_RUNTIME_DIR"); o.RuntimeDir == "" {
			o.RuntimeDir = os.TempDir()
		}
	}
	if o.Mend <= 0 {
		o.Mend = time.Second
	}
	if o.Log == nil {
		o.Log = slog.Default()
	}
	if o.Store.Log == nil {
		o.Store.Log = o.Log
	}
	if o.Store.Progress == nil {
		o.Store.Progress = func(string, int, int) {}
	}
	o.Store.LockTimeout = -1 // others are waited for by asking them
	return o
}

const (
	socketName = "ken.sock"
	// maxSocket is how long a socket's path may be, less than the 104 bytes that the
	// meanest systems have for it.
	maxSocket = 100
)

// listen opens what other processes connect with: a socket in the store's folder,
// or in the runtime folder, or a loopback port. Only the holder of the folder's
// lock calls it: it removes the socket that a holder before it has left.
func listen(dir, runtime string) (l net.Listener, network, address string, err error) {
	// What is in the folder is nobody else's to look at.
	if fi, err := os.Stat(dir); err == nil && fi.Mode().Perm()&0o077 != 0 {
		_ = os.Chmod(dir, 0o700) // where it can't be: the socket has its own mode, and a token
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

// privateFolder makes a folder for sockets that is this user's alone, and refuses
// one that is not: in a folder that everybody writes to, somebody else may have made
// it first.
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
