package shared

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/kenlayer/ken"
	"github.com/kenlayer/ken/internal/store/bolt"
	"github.com/kenlayer/ken/internal/store/commitlog"
	"github.com/kenlayer/ken/internal/store/remote"
	"github.com/kenlayer/ken/store"
)

// ownerConn is this process's connection to an owner's store, as its holder or as a
// client of its holder.
type ownerConn struct {
	w      *Owners
	owner  string
	dir    string
	engine *proxyEngine
	uses   int // number of current users, see Owners.use; guarded by Owners.mu

	ctx     context.Context // ends when the connection is closed
	cancel  context.CancelFunc
	role    atomic.Pointer[role]         // nil while the process has no role; written with mu held
	running sync.WaitGroup               // of elections
	silent  atomic.Pointer[silentHolder] // nil unless the last attempt met a holder that does not answer
	gone    atomic.Bool                  // set by retire; written with mu held

	mu     sync.Mutex // guards the rest
	trying *election  // the current election; nil for none
	err    error      // result of the last election
}

// role is the way in which this process accesses a store. Exactly one of host, client and alone is set.
type role struct {
	store  store.Engine
	host   *host
	client *remote.Client
	alone  io.Closer // a store that this process has opened read-only
}

// silentHolder is a process that holds the folder but does not answer.
type silentHolder struct {
	pid   int
	since time.Time // since when it has not answered
}

func (h *silentHolder) err() error { return remote.HungError(h.pid, time.Since(h.since)) }

// election is an attempt to get a role, which all callers wait for together.
type election struct {
	done chan struct{} // closed after role or err is set
	role *role
	err  error
}

// newSeat returns an ownerConn without a role: see current.
func newSeat(w *Owners, owner, dir string) *ownerConn {
	s := &ownerConn{w: w, owner: owner, dir: dir}
	s.engine = &proxyEngine{s}
	s.ctx, s.cancel = context.WithCancel(context.Background())
	return s
}

// current returns the current role. If there is none, it waits for the result of an
// election. A retired connection returns errClosed, even while earlier calls are still
// being answered.
func (s *ownerConn) current(ctx context.Context) (*role, error) {
	if s.gone.Load() {
		return nil, errClosed
	}
	if r := s.role.Load(); r != nil {
		if r.valid() {
			return r, nil
		}
		s.lost(r, false)
	}
	s.mu.Lock()
	if r := s.role.Load(); r != nil || s.gone.Load() {
		s.mu.Unlock()
		if r == nil {
			return nil, errClosed
		}
		return r, nil
	}
	e := s.elect(nil)
	s.mu.Unlock()
	if h := s.silent.Load(); h != nil {
		if _, bounded := ctx.Deadline(); bounded { // a call with a deadline must not use it up on a hung holder
			return nil, h.err()
		}
	}
	select {
	case <-e.done:
		return e.role, e.err
	case <-ctx.Done():
		return nil, s.late(ctx)
	}
}

// late returns the error for a ctx that has ended before an answer came. After a timeout it includes
// the reason why this node can't serve owners, if there is one.
func (s *ownerConn) late(ctx context.Context) error {
	err := ctx.Err()
	if n := s.w.o.Node; n != nil && errors.Is(err, context.DeadlineExceeded) {
		if why := n.trouble(); why != nil {
			err = fmt.Errorf("%w: %w", why, err)
		}
	}
	return err
}

// elect starts an election, or returns the current one. The new election first closes before, the
// role that was lost; nil for none. s.mu is held.
func (s *ownerConn) elect(before *role) *election {
	if s.trying != nil {
		return s.trying
	}
	e := &election{done: make(chan struct{})}
	s.trying = e
	s.running.Go(func() {
		if before != nil {
			if err := before.close(false); err != nil {
				s.w.o.Log.Warn("close a store that another node holds", "owner", s.owner, "cause", err)
			}
		}
		begun := time.Now()
		r, err := s.findRole()
		s.w.o.Log.Debug("who serves an owner was looked for", "owner", s.owner, "here", r != nil && r.host != nil, "took", time.Since(begun), "cause", err)
		s.mu.Lock()
		if err == nil && s.gone.Load() {
			s.mu.Unlock()
			_ = r.close(false)
			s.mu.Lock()
			r, err = nil, errClosed
		}
		s.trying, s.err = nil, err
		e.role, e.err = r, err
		s.role.Store(r)
		s.mu.Unlock()
		close(e.done)
		if r != nil && r.host != nil {
			s.w.grows()
			s.w.o.OnHold(s.owner)
		}
	})
	return e
}

const (
	// firstPause and lastPause are the shortest and the longest pause between two attempts
	// to find a holder, before random variation. They are short because a new holder
	// needs only some milliseconds to open its socket.
	firstPause = time.Millisecond
	lastPause  = 20 * time.Millisecond
	// nodePause replaces lastPause on a node, because each attempt is a request to the engine.
	nodePause = 100 * time.Millisecond
)

// findRole tries to become the holder or a client of the holder, in turn, until one
// succeeds. It gives up after Options.Wait, when the connection is closed, or at an error
// that would not change.
func (s *ownerConn) findRole() (*role, error) {
	begun, longest := time.Now(), lastPause
	end := begun.Add(s.w.o.Wait)
	if s.w.o.Node != nil {
		longest = nodePause
	}
	for pause := firstPause; ; pause = min(2*pause, longest) {
		r, err := s.holdWithRoom()
		if err == nil {
			s.silent.Store(nil)
			return r, nil
		}
		unwritable := errors.Is(err, os.ErrPermission) || errors.Is(err, syscall.EROFS)
		full := s.w.o.Node != nil && bolt.IsFull(err)
		if !unwritable && !full && !isAway(err) && !isArriving(err) && !errors.Is(err, errLess) && !errors.Is(err, ken.ErrHeld) {
			return nil, err
		}
		r, connect := s.join(err)
		s.listenFor(connect)
		switch over := time.Now().After(end); {
		case connect == nil:
			return r, nil
		case final(connect):
			return nil, connect
		case unwritable: // no process serves the store, and this one can't hold it
			return s.readOnly(err)
		case s.ctx.Err() != nil:
			return nil, errClosed
		case s.hangs() || over && s.silent.Load() != nil:
			return nil, s.silent.Load().err()
		case full && time.Since(begun) > fullWait: // no other node has taken the owner over
			return nil, err
		case over:
			return nil, s.noRole(err, connect)
		}
		select {
		case <-time.After(pause/2 + rand.N(pause)): // clients of one holder should not try at the same time
		case <-s.ctx.Done():
			return nil, errClosed
		}
	}
}

// noRole returns the error for a role that was not found in time. held is the last error of hold, connect that of join.
func (s *ownerConn) noRole(held, connect error) error {
	switch {
	case isArriving(held) || errors.Is(held, errLess): // a shorter log: perhaps a server lags behind
		return held
	case isAway(held):
		return with(errAway, held)
	case s.w.o.Node != nil:
		return &ken.Error{Code: ken.CodeHeld, Msg: fmt.Sprintf("owner %q is served by another node, which does not answer", s.owner), Err: connect,
			Try: "See ken doctor for the nodes, and whether they reach each other's store.listen."}
	}
	return bolt.HeldError(s.dir)
}

// isAway reports whether the log's engine is not reached, or the lease was lost during the opening.
func isAway(err error) bool {
	_, fenced := remote.Lost(err)
	return fenced || errors.Is(err, commitlog.ErrUnreachable)
}

// isArriving reports whether the store's owner is being moved to this place.
func isArriving(err error) bool {
	elsewhere, ok := errors.AsType[*bolt.AwayError](err)
	return ok && elsewhere.Moved.ID == ""
}

// holdWithRoom is hold, with a treatment of full disks on a node: it deletes copies of other stores
// and tries again. If that does not help, it returns errFull for the next fullWait, so that another
// node can hold the owner.
func (s *ownerConn) holdWithRoom() (*role, error) {
	n := s.w.o.Node
	if n != nil && n.wasFull() {
		return nil, with(errFull, syscall.ENOSPC)
	}
	r, err := s.hold()
	if n == nil || !bolt.IsFull(err) {
		return r, err
	}
	if s.w.makeRoom(s.ctx) {
		r, err = s.hold()
	}
	if bolt.IsFull(err) {
		n.noteFull(err)
		err = with(errFull, err)
	}
	return r, err
}

// hangs reports whether the holder has not answered for twice remote.Silence, the time of two
// attempts to connect.
func (s *ownerConn) hangs() bool {
	h := s.silent.Load()
	return h != nil && time.Since(h.since) >= 2*remote.Silence
}

// listenFor updates s.silent after an attempt to connect, which returned connect. The holder is
// silent if it accepted the connection and did not answer in time.
func (s *ownerConn) listenFor(connect error) {
	if !errors.Is(connect, os.ErrDeadlineExceeded) {
		s.silent.Store(nil)
		return
	}
	if s.silent.Load() == nil {
		s.silent.Store(&silentHolder{bolt.ReadHolder(s.dir).PID, time.Now().Add(-remote.Silence)})
	}
}

// readOnly opens the store read-only, because its folder can't be written. cause is the error of hold.
func (s *ownerConn) readOnly(cause error) (*role, error) {
	b, err := bolt.OpenReadOnly(s.ctx, s.dir, s.w.store(s.owner))
	if err != nil {
		return nil, errors.Join(cause, err)
	}
	s.w.o.Log.Warn("the store's folder can't be written: it is read, and nothing is learned", "owner", s.owner)
	return &role{store: b, alone: b}, nil
}

// errNobody means that no address of a holder is known.
var errNobody = errors.New("nobody serves the store")

// join connects to the holder as a client. The holder is a process on this machine, or another node.
// held is the error of hold; if it has the lease, join does not read the lease again.
func (s *ownerConn) join(held error) (*role, error) {
	h, err := bolt.ReadHolder(s.dir), errNobody
	if h.Address != "" {
		var r *role
		if r, err = s.joinAt(h, nil, ""); err == nil || s.w.o.Node == nil {
			return r, err
		}
	}
	if n := s.w.o.Node; n != nil { // holder.json may be that of a killed process, so the lease counts as well
		elsewhere, another := errors.AsType[*heldElsewhere](held)
		if !another {
			l, lives, err := n.holder(s.ctx, s.owner)
			if err != nil {
				return nil, err
			}
			elsewhere, another = &heldElsewhere{lease: l}, lives
		}
		if l := elsewhere.lease; another {
			return s.joinAt(bolt.Holder{Network: "tcp", Address: l.Address, Token: l.Token}, n.o.Client, l.Node)
		}
	}
	return nil, err
}

// joinAt connects as a client to the process that serves the store at h.Address. node is the ID of
// another node; "" for a process on this machine.
func (s *ownerConn) joinAt(h bolt.Holder, config *tls.Config, node string) (*role, error) {
	r := &role{}
	mine := make(chan struct{})
	o := remote.Options{Owner: s.owner, Dir: s.dir, Token: h.Token, PID: h.PID, TLS: config,
		Embedder: s.w.o.Store.Embedder, Progress: s.w.o.Store.Progress,
		Lost: func(evicted bool) { <-mine; s.lost(r, evicted) }}
	if node != "" {
		o.Dead = func(ctx context.Context) bool {
			ctx, cancel := context.WithTimeout(ctx, leaseWait)
			defer cancel()
			return !s.w.o.Node.Lives(ctx, node)
		}
	}
	c, err := remote.Dial(s.ctx, h.Network, h.Address, o)
	if err != nil {
		if node != "" && errors.Is(err, syscall.ECONNREFUSED) {
			s.w.o.Node.refused(node)
		}
		var e *ken.Error
		if node != "" && errors.As(err, &e) && e.Code == ken.CodeHeld && e.Field == "version" {
			err = s.w.o.Node.otherVersion(s.ctx, s.owner, node, e.Err)
		}
		return nil, err
	}
	r.store, r.client = c, c
	close(mine)
	return r, nil
}

// final reports whether connecting again would give the same error: the holder has another
// version of the protocol, or serves another owner.
func final(err error) bool {
	var e *ken.Error
	return errors.Is(err, ken.ErrHeld) || errors.As(err, &e) && e.Code == ken.CodeRefused && e.Field == "owner"
}

// lost gives up a role: that of a client whose holder is gone, or of a holder that has lost its
// right. Then it starts an election, so that the store soon has a holder again. If evicted, the
// former holder has only closed an idle store, and a client starts an election only if the store is
// in use here. lost does nothing if r is no longer the current role.
func (s *ownerConn) lost(r *role, evicted bool) {
	wanted := !evicted || s.w.inUse(s)
	s.mu.Lock()
	mine := s.role.Load() == r && !(r.host != nil && s.gone.Load()) // otherwise close ends the role
	if mine {
		s.role.Store(nil)
		switch {
		case r.host != nil:
			s.elect(r)
		case wanted && !s.gone.Load():
			s.elect(nil)
		}
	}
	s.mu.Unlock()
	if mine && r.client != nil {
		r.client.Leave() // a holder that ends still answers pending calls
	}
}

// failed reports whether there is no role because the last election failed.
func (s *ownerConn) failed() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.role.Load() == nil && s.trying == nil && s.err != nil
}

// retire makes later calls of current fail with errClosed.
func (s *ownerConn) retire() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.gone.Store(true)
}

// close gives up the role of a retired connection. A role as holder stays set: callers
// that still use the store get its error that it is closed. Without a role, calls that
// return no error would return nothing, as if the store were empty.
func (s *ownerConn) close(evicted bool) error {
	s.cancel()
	s.running.Wait()
	s.mu.Lock()
	r := s.role.Load()
	if r != nil && r.client != nil {
		s.role.Store(nil)
	}
	s.mu.Unlock()
	if r == nil {
		return nil
	}
	return r.close(evicted)
}

// valid reports whether a role can still be used.
func (r *role) valid() bool { return r.host == nil || r.host.valid() }

// held is a fast version of valid for frequent calls: it reads no clock, so it may not notice yet
// that the holder has lost its right.
func (r *role) held() bool {
	return r.host == nil || !r.host.leaving.Load() && (r.host.tenure == nil || !r.host.tenure.lost.Load())
}

func (r *role) close(evicted bool) error {
	switch {
	case r.host != nil:
		return r.host.close(evicted)
	case r.alone != nil:
		return r.alone.Close()
	}
	return r.client.Close()
}
