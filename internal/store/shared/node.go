package shared

import (
	"cmp"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"sync"
	"time"

	"github.com/kenlayer/ken"
	"github.com/kenlayer/ken/internal/store/bolt"
	"github.com/kenlayer/ken/internal/store/commitlog"
	"github.com/kenlayer/ken/internal/store/remote"
)

// NodeOptions configures a node. Log and ID are required.
type NodeOptions struct {
	Log commitlog.Log
	// ID identifies the process. No other process, current or past, may have the same ID.
	ID string
	// Listen is the address at which this node serves its owners to other nodes. Default a free
	// port of 127.0.0.1. If the port is in use, the node listens on a free port of the same host.
	Listen string
	// Advertise is the host, or the host and port, at which other nodes connect to this one. Default
	// the host of Listen, or an address of this machine if Listen names none.
	Advertise string
	// Server and Client are the TLS configurations of the connections between nodes. Both nil
	// means no TLS, which is allowed only if the node listens on a loopback address.
	Server, Client *tls.Config
	Version        string
	Wall           func() time.Time // the wall clock; default time.Now
	Logger         *slog.Logger     // default slog.Default()

	later commitlog.Format // for tests: added to the format of the node's records
}

// Node is this process as a member of the processes that share a log. It is safe for concurrent use.
type Node struct {
	o       NodeOptions
	router  remote.Router
	address string
	sole    bool // no other live process can have the same address

	stop    context.CancelFunc
	running sync.WaitGroup

	mu   sync.Mutex          // guards the rest
	beat time.Time           // when the last successful beat began; zero if others may consider this node dead
	wall time.Time           // the same time by the wall clock
	era  uint64              // how often others may have considered this node dead: see checkEra
	seen map[string]sighting // other nodes, by ID
	full time.Time           // when the folder's disk was last full; zero for never
}

// sighting holds what this node observed about another node.
type sighting struct {
	beats  uint64
	since  time.Time // when beats was last seen to change
	looked time.Time // when the node was last read from the log
	asked  time.Time // when Lives was last called for the node
	gone   time.Time // when its machine last refused a connection to its address; zero for never
}

const (
	// leaveWait is the timeout for giving back a lease and removing a node from the engine.
	leaveWait = 2 * time.Second
	// lookEvery is the age after which Lives reads a node again.
	lookEvery = 200 * time.Millisecond
	// leaseWait is the timeout for reading an owner's lease. It is longer than the time after which
	// a NATS client leaves a server that does not answer.
	leaseWait = 5 * time.Second
	// fullWait is how long a node whose disk is full opens no stores, so that other nodes can.
	fullWait = 3 * time.Second
	// meetEvery is the interval at which a node lists the others, and the timeout for it: see meet.
	meetEvery = 10 * time.Second
	// watched is how long a node is read regularly after the last call of Lives for it.
	watched = 10 * time.Minute
)

// StartNode sends a first beat, listens, and starts to send beats regularly. ctx is for the start
// only. While the engine is not reached, the node can't serve owners, and goes on by itself later.
// Node.Close closes o.Log; if StartNode fails, the caller has to close it. Errors:
// ken.ErrRefused without TLS on an address that is not a loopback address.
func StartNode(ctx context.Context, o NodeOptions) (*Node, error) {
	o.Logger = cmp.Or(o.Logger, slog.Default())
	if o.Wall == nil {
		o.Wall = time.Now
	}
	o.Listen = cmp.Or(o.Listen, "127.0.0.1:0")
	l, err := (&net.ListenConfig{}).Listen(ctx, "tcp", o.Listen)
	host, port, split := net.SplitHostPort(o.Listen)
	fixed := err == nil && split == nil && port != "0"
	if err != nil && split == nil && port != "0" {
		l, err = (&net.ListenConfig{}).Listen(ctx, "tcp", net.JoinHostPort(host, "0"))
	}
	if err != nil {
		return nil, fmt.Errorf("listen for other nodes: %w", err)
	}
	n := &Node{o: o, seen: map[string]sighting{}}
	_, _, split = net.SplitHostPort(o.Advertise)
	n.sole = fixed || split != nil
	if n.address, err = advertised(l.Addr(), o.Advertise); err == nil && o.Server == nil && !loopback(n.address) {
		err = &ken.Error{Code: ken.CodeRefused, Field: "store.cert", Msg: "nodes of several machines need TLS: " + n.address + " is no address of this machine alone",
			Try: "Set store.ca, store.cert and store.key, or listen on 127.0.0.1."}
	}
	if err == nil {
		if err = n.beatOnce(ctx); errors.Is(err, commitlog.ErrUnreachable) {
			err = nil // the next beats tell
		}
	}
	if err != nil {
		return nil, errors.Join(err, l.Close())
	}
	if o.Server != nil {
		l = tls.NewListener(l, o.Server)
	}
	life, stop := context.WithCancel(context.Background())
	n.stop = stop
	n.running.Go(func() { n.router.Serve(l) })
	n.running.Go(func() { n.beats(life) })
	n.running.Go(func() { n.observes(life) })
	n.running.Go(func() { n.meets(life) })
	return n, nil
}

// meets calls meet at once and then every meetEvery, until ctx ends.
func (n *Node) meets(ctx context.Context) {
	for tick := time.NewTicker(meetEvery); ; {
		n.meet(ctx)
		select {
		case <-tick.C:
		case <-ctx.Done():
			tick.Stop()
			return
		}
	}
}

// meet lists the nodes in the engine and begins to observe each. So when a node is needed later, this
// one already knows for how long it has been silent. An entry with this node's own address belongs to
// a process that has ended: meet removes it, so that no node waits for it. If that process is alive
// after all, its next beat adds the entry again.
func (n *Node) meet(ctx context.Context) {
	ctx, cancel := context.WithTimeout(ctx, meetEvery)
	defer cancel()
	all, err := n.o.Log.Nodes(ctx)
	for _, other := range all {
		switch {
		case other.ID == n.o.ID:
		case n.sole && other.Address == n.address:
			err = errors.Join(err, n.o.Log.Leave(ctx, other.ID))
		default:
			n.Lives(ctx, other.ID)
		}
	}
	if err != nil && !errors.Is(err, commitlog.ErrUnreachable) && ctx.Err() == nil {
		n.o.Logger.Warn("other nodes could not be looked at", "cause", err)
	}
}

// format returns the format of the node's records.
func (n *Node) format() commitlog.Format { return commitlog.Current + n.o.later }

// otherVersion returns the error for an owner whose node speaks another version of the protocol.
func (n *Node) otherVersion(ctx context.Context, owner, id string, cause error) error {
	other, _ := n.o.Log.Node(ctx, id) // after an error its version is unknown
	return &ken.Error{Code: ken.CodeHeld, Field: "version", Err: cause,
		Msg: fmt.Sprintf("owner %q is served by node %s at %s, version %s, whose messages version %s can't read", owner, id, other.Address, cmp.Or(other.Version, "unknown"), cmp.Or(n.o.Version, "unknown")),
		Try: "Start all nodes with one version. Until then, ask that node, or stop it: another node takes over."}
}

// advertised returns the address that other nodes connect to. listens is the listener's address;
// advertise is NodeOptions.Advertise.
func advertised(listens net.Addr, advertise string) (string, error) {
	tcp, is := listens.(*net.TCPAddr)
	if !is {
		return "", fmt.Errorf("listen for other nodes: %s is no TCP address", listens)
	}
	host, port := advertise, fmt.Sprint(tcp.Port)
	if h, p, err := net.SplitHostPort(advertise); err == nil {
		host, port = h, p
	}
	if host == "" {
		if host = tcp.IP.String(); tcp.IP.IsUnspecified() {
			host = ownAddress()
		}
		if host == "" {
			return "", &ken.Error{Code: ken.CodeInvalid, Field: "store.advertise", Msg: "store.listen names no host by which other nodes reach this one",
				Try: "Set store.advertise to this machine's name or address."}
		}
	}
	return net.JoinHostPort(host, port), nil
}

// ownAddress returns a global unicast address of this machine; "" if there is none.
func ownAddress() string {
	all, err := net.InterfaceAddrs()
	if err != nil {
		return ""
	}
	for _, a := range all {
		if ip, is := a.(*net.IPNet); is && ip.IP.IsGlobalUnicast() {
			return ip.IP.String()
		}
	}
	return ""
}

// loopback reports whether the host of an address is localhost or a loopback IP address.
func loopback(address string) bool {
	host, _, _ := net.SplitHostPort(address)
	ip := net.ParseIP(host)
	return host == "localhost" || ip != nil && ip.IsLoopback()
}

// beats sends a beat every commitlog.Every, until ctx ends.
func (n *Node) beats(ctx context.Context) {
	tick := time.NewTicker(commitlog.Every)
	defer tick.Stop()
	for told := false; ; {
		select {
		case <-tick.C:
		case <-ctx.Done():
			return
		}
		err := n.beatOnce(ctx)
		if err != nil && !told && ctx.Err() == nil {
			n.o.Logger.Warn("the engine of the store is not reached", "cause", err)
		} else if err == nil && told {
			n.o.Logger.Info("the engine of the store is reached again")
		}
		told = err != nil
	}
}

// beatOnce sends a beat, and records its time if it succeeds.
func (n *Node) beatOnce(ctx context.Context) error {
	began, wall := time.Now(), n.o.Wall().Round(0)
	ctx, cancel := context.WithTimeout(ctx, commitlog.Valid/2)
	defer cancel()
	if err := n.o.Log.Beat(ctx, commitlog.Node{ID: n.o.ID, Address: n.address, Version: n.o.Version}); err != nil {
		return err
	}
	n.mu.Lock()
	defer n.mu.Unlock()
	n.checkEra()
	n.beat, n.wall = began, wall
	return nil
}

// checkEra begins a new era if the last beat was commitlog.Valid ago or more: others may have
// considered this node dead meanwhile. It checks two clocks. The monotonic clock shows that the
// process was paused; only the wall clock shows that the machine was suspended. n.mu is held.
func (n *Node) checkEra() {
	if !n.beat.IsZero() && max(time.Since(n.beat), n.o.Wall().Round(0).Sub(n.wall)) >= commitlog.Valid {
		n.era++
		n.beat = time.Time{}
	}
}

// currentEra returns the current era, after checkEra.
func (n *Node) currentEra() uint64 {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.checkEra()
	return n.era
}

// valid reports whether the era is still the current one, and this node has sent a beat in it. Then
// no other node has considered this one dead since the era began.
func (n *Node) valid(era uint64) bool {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.checkEra()
	return n.era == era && !n.beat.IsZero()
}

// Lives reports whether a node is alive, as far as this node has observed. A node that the log lacks
// is not alive. A node that is read for the first time is considered alive, and so is every node
// that can't be read. It makes no request for a node whose last beat was observed a moment ago.
func (n *Node) Lives(ctx context.Context, id string) bool {
	if id == n.o.ID {
		return true
	}
	n.mu.Lock()
	was, known := n.seen[id]
	if known {
		was.asked = time.Now()
		n.seen[id] = was
	}
	n.mu.Unlock()
	if known && was.beats != 0 && time.Since(was.since) < commitlog.Gone {
		return true
	}
	if !known || time.Since(was.looked) > lookEvery {
		var err error
		if was, err = n.look(ctx, id); err != nil {
			return true
		}
	}
	silent := time.Since(was.since)
	return was.beats != 0 && silent < commitlog.Dead && (silent < commitlog.Gone || was.gone.Before(was.since))
}

// look reads a node from the log, and records whether it has sent a beat since the last time.
func (n *Node) look(ctx context.Context, id string) (sighting, error) {
	got, err := n.o.Log.Node(ctx, id)
	if err != nil {
		return sighting{}, err
	}
	now := time.Now() // after the call, which may have waited for an election
	n.mu.Lock()
	defer n.mu.Unlock()
	was, known := n.seen[id]
	if !known {
		was.asked = now
	}
	if !known || got.Beats > was.beats || got.Beats == 0 { // a server that lags behind may return an older value
		was.beats, was.since = got.Beats, now
	}
	was.looked = now
	n.seen[id] = was
	return was, nil
}

// observes calls lookAtOthers every commitlog.Every, until ctx ends.
func (n *Node) observes(ctx context.Context) {
	tick := time.NewTicker(commitlog.Every)
	defer tick.Stop()
	for {
		select {
		case <-tick.C:
			n.lookAtOthers(ctx)
		case <-ctx.Done():
			return
		}
	}
}

// lookAtOthers reads the observed nodes, all at once, so that this node knows for how long each has
// been silent. It stops observing nodes that have left, and those that Lives was not called for
// during watched.
func (n *Node) lookAtOthers(ctx context.Context) {
	ctx, cancel := context.WithTimeout(ctx, commitlog.Valid/2)
	defer cancel()
	var looks sync.WaitGroup
	defer looks.Wait()
	n.mu.Lock()
	defer n.mu.Unlock()
	for id, s := range n.seen {
		if s.beats == 0 || time.Since(s.asked) > watched {
			delete(n.seen, id)
			continue
		}
		looks.Go(func() { _, _ = n.look(ctx, id) }) // after an error it is read next time
	}
}

// refused records that the machine of a node refused a connection to the node's address.
func (n *Node) refused(id string) {
	n.mu.Lock()
	defer n.mu.Unlock()
	if s, known := n.seen[id]; known {
		s.gone = time.Now()
		n.seen[id] = s
	}
}

// noteFull records that the disk is full, if err says so.
func (n *Node) noteFull(err error) {
	if !bolt.IsFull(err) {
		return
	}
	n.mu.Lock()
	defer n.mu.Unlock()
	n.full = time.Now()
}

// trouble returns the reason why this node can't serve owners now; nil if it can.
func (n *Node) trouble() error {
	if n.wasFull() {
		return errFull
	}
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.beat.IsZero() || time.Since(n.beat) > leaseWait/2 {
		return errAway
	}
	return nil
}

// Errors of a node that can't serve owners.
var (
	errFull = &ken.Error{Code: ken.CodeUnavailable, Msg: "the disk of this node's folder is full", Try: "Make room there, set a smaller store.folder_mb, or ask another node: it takes the owner over."}
	errAway = &ken.Error{Code: ken.CodeUnavailable, Msg: "the engine of the store is not reached", Try: "See ken doctor, and whether the servers of store.url run and have room on their disks."}
)

// with returns a copy of one of these errors, with a cause.
func with(e *ken.Error, cause error) error {
	full := *e
	full.Err = cause
	return &full
}

// wasFull reports whether the disk was full within the last fullWait.
func (n *Node) wasFull() bool {
	n.mu.Lock()
	defer n.mu.Unlock()
	return !n.full.IsZero() && time.Since(n.full) < fullWait
}

// holder returns the lease of an owner, and whether another node that is alive has it.
func (n *Node) holder(ctx context.Context, owner string) (l commitlog.Lease, another bool, err error) {
	ctx, cancel := context.WithTimeout(ctx, leaseWait)
	defer cancel()
	l, err = n.o.Log.Lease(ctx, owner)
	return l, err == nil && l.Node != "" && l.Node != n.o.ID && n.Lives(ctx, l.Node), err
}

// take takes an owner's lease for this node. l is the lease as holder returned it, of no other node
// that is alive. token is what other nodes must send to connect. Errors: ken.ErrHeld if the lease
// has changed since.
func (n *Node) take(ctx context.Context, owner, token string, l commitlog.Lease) (commitlog.Lease, error) {
	l.Node, l.Address, l.Token = n.o.ID, n.address, token
	l, err := n.o.Log.SetLease(ctx, owner, l)
	if !errors.Is(err, commitlog.ErrFenced) {
		return l, err
	}
	return l, &ken.Error{Code: ken.CodeHeld, Msg: fmt.Sprintf("owner %q is served by another node", owner), Try: "Try again."}
}

// giveBack releases a lease. If that fails, other nodes find out by themselves that this node no
// longer serves the owner.
func (n *Node) giveBack(owner string, l commitlog.Lease) {
	ctx, cancel := context.WithTimeout(context.Background(), leaveWait)
	defer cancel()
	l.Node, l.Address, l.Token = "", "", ""
	if _, err := n.o.Log.SetLease(ctx, owner, l); err != nil && !errors.Is(err, commitlog.ErrFenced) {
		n.o.Logger.Warn("the lease of an owner could not be given back", "owner", owner, "cause", err)
	}
}

// Close ends the node and closes its log. Its Owners must be closed before.
func (n *Node) Close() error {
	n.stop()
	err := n.router.Close()
	n.running.Wait()
	ctx, cancel := context.WithTimeout(context.Background(), leaveWait)
	defer cancel()
	if left := n.o.Log.Leave(ctx, n.o.ID); left != nil {
		n.o.Logger.Warn("other nodes will wait for this one", "cause", left)
	}
	return errors.Join(err, n.o.Log.Close())
}
