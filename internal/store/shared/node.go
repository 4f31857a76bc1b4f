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

// NodeOptions configures a node. Log and ID are needed.
type NodeOptions struct {
	Log commitlog.Log
	// ID names the process, unlike any other and any before.
	ID string
	// Listen is the address at which other nodes reach the owners that this one serves. Default a
	// free port of 127.0.0.1. Where it is taken, by another process of this machine, another
	// port is.
	Listen string
	// Advertise is the host or the address that other nodes are told. Default Listen's, or one of
	// this machine's.
	Advertise string
	// Server and Client are for the connections between nodes. Both nil: there is no TLS, which
	// is for one machine alone.
	Server, Client *tls.Config
	Version        string
	Wall           func() time.Time // the clock of the machine, which may be set; default time.Now
	Logger         *slog.Logger     // default slog.Default()

	later commitlog.Format // by how much its records are of a later format than this program's: for tests
}

// Node is this process among those that share a log. It is safe for concurrent use.
type Node struct {
	o       NodeOptions
	router  remote.Router
	address string
	sole    bool // no other process of this machine can be reached at that address

	stop    context.CancelFunc
	running sync.WaitGroup

	mu   sync.Mutex // guards the rest
	beat time.Time  // when the last beat that was heard began
	wall time.Time  // the same, by the clock of the machine
	era  uint64     // how often others may have taken this node for dead
	seen map[string]sighting
	full time.Time // when the disk of the folder had no room last
}

// sighting is what is known of another node.
type sighting struct {
	beats  uint64
	since  time.Time // when it changed
	looked time.Time
	asked  time.Time // when somebody last wanted to know
	gone   time.Time // when its machine last said that nobody listens at its address
}

const (
	// leaveWait bounds how long the engine is told that something is over.
	leaveWait = 2 * time.Second
	// lookEvery is how often a node that is waited for is looked at.
	lookEvery = 200 * time.Millisecond
	// leaseWait bounds how long the engine is asked who serves an owner, which is longer than a
	// client of NATS stays with a server that does not answer.
	leaseWait = 5 * time.Second
	// fullWait is how long a node whose disk has no room leaves its owners to others.
	fullWait = 3 * time.Second
	// meetEvery is how often a node looks for others that it does not know.
	meetEvery = 10 * time.Second
	// watched is how long a node is looked at after somebody wanted to know of it.
	watched = 10 * time.Minute
)

// StartNode begins to beat and to listen. The log is the node's, and is closed with it.
func StartNode(ctx context.Context, o NodeOptions) (*Node, error) {
	if o.Logger == nil {
		o.Logger = slog.Default()
	}
	if o.Wall == nil {
		o.Wall = time.Now
	}
	if o.Listen == "" {
		o.Listen = "127.0.0.1:0"
	}
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
		err = n.beatOnce(ctx)
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
	n.running.Go(func() { n.meets(life) })
	return n, nil
}

// meets looks for other nodes again and again, until ctx ends.
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

// meet begins to watch the nodes that there are, so that it is known since when one that is needed
// later has been silent. One that had this node's address has ended: it is forgotten, so that
// nobody waits for it. If it has not, its next beat says so.
func (n *Node) meet(ctx context.Context) {
	ctx, cancel := context.WithTimeout(ctx, leaveWait)
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

// format is that of the node's records.
func (n *Node) format() commitlog.Format { return commitlog.Current + n.o.later }

// otherVersion says which node has messages that this one can't read.
func (n *Node) otherVersion(ctx context.Context, owner, id string, cause error) error {
	other, _ := n.o.Log.Node(ctx, id) // else its version is not known
	return &ken.Error{Code: ken.CodeHeld, Field: "version", Err: cause,
		Msg: fmt.Sprintf("owner %q is served by node %s at %s, version %s, whose messages version %s can't read", owner, id, other.Address, cmp.Or(other.Version, "unknown"), cmp.Or(n.o.Version, "unknown")),
		Try: "Start all nodes with one version. Until then, ask that node, or stop it: another node takes over."}
}

// advertised is what others are told of where a node listens.
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

// ownAddress is an address of this machine that others may reach; "" for none.
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

func loopback(address string) bool {
	host, _, _ := net.SplitHostPort(address)
	ip := net.ParseIP(host)
	return host == "localhost" || ip != nil && ip.IsLoopback()
}

// beats says that the node lives, until ctx ends.
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
		if err == nil {
			n.lookAtOthers(ctx)
		}
		if err != nil && !told && ctx.Err() == nil {
			n.o.Logger.Warn("the engine of the store is not reached", "cause", err)
		} else if err == nil && told {
			n.o.Logger.Info("the engine of the store is reached again")
		}
		told = err != nil
	}
}

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

// checkEra notes whether others may have taken this node for dead since it was last heard. A
// process that was paused knows it by its clock; of a machine that slept, the wall clock knows.
// n.mu is held.
func (n *Node) checkEra() {
	if !n.beat.IsZero() && max(time.Since(n.beat), n.o.Wall().Round(0).Sub(n.wall)) >= commitlog.Valid {
		n.era++
		n.beat = time.Time{}
	}
}

// currentEra is the era that begins no later than now.
func (n *Node) currentEra() uint64 {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.checkEra()
	return n.era
}

// valid reports whether others have taken this node for alive since an era began.
func (n *Node) valid(era uint64) bool {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.checkEra()
	return n.era == era && !n.beat.IsZero()
}

// Lives reports whether a node lives, as far as this one has seen: one that is looked at for
// the first time does. When it can't be found out, it does.
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
	if !known || time.Since(was.looked) > lookEvery {
		var err error
		if was, err = n.look(ctx, id); err != nil {
			return true
		}
	}
	silent := time.Since(was.since)
	return was.beats != 0 && silent < commitlog.Dead && (silent < commitlog.Gone || time.Since(was.gone) > commitlog.Gone)
}

// look looks at a node, and notes whether it has changed.
func (n *Node) look(ctx context.Context, id string) (sighting, error) {
	got, err := n.o.Log.Node(ctx, id)
	if err != nil {
		return sighting{}, err
	}
	now := time.Now() // not before: the answer may have waited for an election
	n.mu.Lock()
	defer n.mu.Unlock()
	was, known := n.seen[id]
	if !known {
		was.asked = now
	}
	if !known || got.Beats > was.beats || got.Beats == 0 { // a server that is behind may give an older one
		was.beats, was.since = got.Beats, now
	}
	was.looked = now
	n.seen[id] = was
	return was, nil
}

// lookAtOthers looks at the nodes that somebody wanted to know of, so that it is known since
// when one that is needed later has been silent.
func (n *Node) lookAtOthers(ctx context.Context) {
	var ids []string
	n.mu.Lock()
	for id, s := range n.seen {
		if s.beats == 0 || time.Since(s.asked) > watched {
			delete(n.seen, id)
			continue
		}
		ids = append(ids, id)
	}
	n.mu.Unlock()
	ctx, cancel := context.WithTimeout(ctx, commitlog.Every)
	defer cancel()
	for _, id := range ids {
		_, _ = n.look(ctx, id) // else it is looked at next time
	}
}

// refused notes that the machine of a node says that nobody listens at its address.
func (n *Node) refused(id string) {
	n.mu.Lock()
	defer n.mu.Unlock()
	if s, known := n.seen[id]; known {
		s.gone = time.Now()
		n.seen[id] = s
	}
}

// noteFull notes that the disk has no room, if that is what an error says.
func (n *Node) noteFull(err error) {
	if !bolt.IsFull(err) {
		return
	}
	n.mu.Lock()
	defer n.mu.Unlock()
	n.full = time.Now()
}

// trouble is why this node can't serve anybody just now; nil when it can.
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

// Errors of a node that can't serve anybody.
var (
	errFull = &ken.Error{Code: ken.CodeUnavailable, Msg: "the disk of this node's folder is full", Try: "Make room there, set a smaller store.folder_mb, or ask another node: it takes the owner over."}
	errAway = &ken.Error{Code: ken.CodeUnavailable, Msg: "the engine of the store is not reached", Try: "See ken doctor, and whether the servers of store.url run and have room on their disks."}
)

// with returns one of these errors with its cause.
func with(e *ken.Error, cause error) error {
	full := *e
	full.Err = cause
	return &full
}

// wasFull reports whether the disk had no room a moment ago.
func (n *Node) wasFull() bool {
	n.mu.Lock()
	defer n.mu.Unlock()
	return !n.full.IsZero() && time.Since(n.full) < fullWait
}

// holder returns the lease of an owner, and whether another node that lives has it.
func (n *Node) holder(ctx context.Context, owner string) (l commitlog.Lease, another bool, err error) {
	ctx, cancel := context.WithTimeout(ctx, leaseWait)
	defer cancel()
	l, err = n.o.Log.Lease(ctx, owner)
	return l, err == nil && l.Node != "" && l.Node != n.o.ID && n.Lives(ctx, l.Node), err
}

// take takes an owner's lease. Errors: ken.ErrHeld while a node that lives has it.
func (n *Node) take(ctx context.Context, owner, token string) (commitlog.Lease, error) {
	l, another, err := n.holder(ctx, owner)
	if err != nil {
		return l, err
	}
	if !another {
		l.Node, l.Address, l.Token = n.o.ID, n.address, token
		l, err = n.o.Log.SetLease(ctx, owner, l)
		if !errors.Is(err, commitlog.ErrFenced) {
			return l, err
		}
	}
	return l, &ken.Error{Code: ken.CodeHeld, Msg: fmt.Sprintf("owner %q is served by another node", owner), Try: "Try again."}
}

// giveBack lets a lease go. Where that fails, others find out that nobody serves the owner.
func (n *Node) giveBack(owner string, l commitlog.Lease) {
	ctx, cancel := context.WithTimeout(context.Background(), leaveWait)
	defer cancel()
	l.Node, l.Address, l.Token = "", "", ""
	if _, err := n.o.Log.SetLease(ctx, owner, l); err != nil && !errors.Is(err, commitlog.ErrFenced) {
		n.o.Logger.Warn("the lease of an owner could not be given back", "owner", owner, "cause", err)
	}
}

// Close ends the node, once its owners are closed.
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
