package shared_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/uuid"
	"go.etcd.io/bbolt"

	"github.com/kenlayer/ken"
	"github.com/kenlayer/ken/internal/store/bolt"
	"github.com/kenlayer/ken/internal/store/commitlog"
	"github.com/kenlayer/ken/internal/store/commitlog/logtest"
	"github.com/kenlayer/ken/internal/store/remote/remotetest"
	"github.com/kenlayer/ken/internal/store/shared"
	"github.com/kenlayer/ken/store"
)

// foreign is a log that makes its node look like one of another build. Other nodes reach
// it through a proxy.
type foreign struct {
	commitlog.Log
	proxy *remotetest.Proxy
	at    string
}

func (f *foreign) SetLease(ctx context.Context, owner string, l commitlog.Lease) (commitlog.Lease, error) {
	if l.Node != "" {
		f.proxy.To("tcp", l.Address)
		l.Address = f.at
	}
	return f.Log.SetLease(ctx, owner, l)
}

// versioned starts a node whose messages look like those of another build to all other nodes. Its
// records have this program's format, or a later one.
func versioned(t *testing.T, log *logtest.Memory, id string, later commitlog.Format, met *atomic.Int64) (*shared.Owners, func()) {
	t.Helper()
	return ofBuild(t, log, id, remotetest.Own().Later(), later, met)
}

// ofBuild starts a node whose messages have the schema s for all other nodes.
func ofBuild(t *testing.T, log *logtest.Memory, id string, s remotetest.Schema, later commitlog.Format, met *atomic.Int64) (*shared.Owners, func()) {
	t.Helper()
	quiet := slog.New(slog.DiscardHandler)
	version := fmt.Sprint("v", 1+later)
	l, err := (&net.ListenConfig{}).Listen(t.Context(), "tcp", "127.0.0.1:0")
	must(t, err)
	proxy := remotetest.Listen(l, remotetest.Options{Schema: s, Version: version})
	node, err := shared.StartNode(t.Context(), shared.Later(shared.NodeOptions{Log: &foreign{log.Join(), proxy, l.Addr().String()}, ID: id, Version: version, Logger: quiet}, later))
	must(t, err)
	w := shared.NewOwners(t.TempDir(), 0, shared.Options{Node: node, Log: quiet})
	end := sync.OnceFunc(func() {
		must(t, errors.Join(w.Close(), node.Close(), proxy.Close()))
		met.Add(int64(proxy.Met()))
	})
	t.Cleanup(end)
	return w, end
}

// TestARollingUpgrade replaces nodes by those of a later version, one after another, while clients
// write through any node that accepts it. No write may be refused because of a node's version, lost,
// or applied twice. A node of the earlier version stays a client for an owner that a later node
// serves and has written to. If no later node serves that owner, it refuses the owner and says why.
func TestARollingUpgrade(t *testing.T) {
	log := logtest.NewMemory()
	const nodes, owners, clients = 3, 4, 6
	var met atomic.Int64 // how often nodes found that they are of different builds
	var mu sync.Mutex    // guards all
	all, ends := make([]*shared.Owners, nodes), make([]func(), nodes)
	for i := range all {
		all[i], ends[i] = versioned(t, log, fmt.Sprint("old", i), 0, &met)
	}
	var versions, later atomic.Int64 // refusals
	once := func(ctx context.Context, i int, owner, text string) error {
		mu.Lock()
		w := all[i%nodes]
		mu.Unlock()
		ctx, cancel := context.WithTimeout(ctx, 5*time.Second)
		defer cancel()
		s, release, err := w.Get(ctx, owner)
		if err != nil {
			return err
		}
		defer release()
		_, err = s.WriteClaim(ctx, claim(t, text))
		return err
	}
	acked := make([]map[string]bool, owners)
	for i := range acked {
		acked[i] = map[string]bool{}
	}
	ctx, stop := context.WithCancel(t.Context())
	var wg sync.WaitGroup
	var count atomic.Int64
	for c := range clients {
		wg.Go(func() {
			for n := 0; ctx.Err() == nil; n++ {
				owner, text := (c+n)%owners, fmt.Sprintf("client%d wrote word%d", c, n)
				named := store.WithCommit(t.Context(), uuid.Must(uuid.NewV7()))
				for try := c; ; try++ { // the load balancer
					err := once(named, try, fmt.Sprint("o", owner), text)
					if err == nil {
						break
					}
					var e *ken.Error
					switch {
					case errors.As(err, &e) && e.Field == "version" && e.Code == ken.CodeHeld:
						versions.Add(1)
					case errors.As(err, &e) && e.Field == "version":
						later.Add(1) // no other node serves the owner at this moment
					}
				}
				mu.Lock()
				acked[owner][text] = true
				mu.Unlock()
				count.Add(1)
			}
		})
	}
	flow := func() {
		for i := range owners { // each owner is written to again
			mu.Lock()
			before := len(acked[i])
			mu.Unlock()
			eventually(t, fmt.Sprintf("owner %d is written to", i), func() bool {
				mu.Lock()
				defer mu.Unlock()
				return len(acked[i]) > before+10
			})
		}
	}
	flow()
	for i := range nodes {
		ends[i]()
		w, end := versioned(t, log, fmt.Sprint("new", i), 1, &met)
		mu.Lock()
		all[i], ends[i] = w, end
		mu.Unlock()
		flow()
	}
	stop()
	wg.Wait()
	// A node of the earlier version that comes back works with what the later ones serve.
	old, _ := versioned(t, log, "back", 0, &met)
	back, release, err := old.Get(t.Context(), "o0")
	must(t, err)
	write(t, back, claim(t, "written by way of an earlier node"))
	acked[0]["written by way of an earlier node"] = true
	if old.Holds("o0") {
		t.Error("it holds what a later node serves")
	}
	release()
	for i := range nodes - 1 {
		ends[i]()
	}
	ends[nodes-1]()
	before, err := log.Last(t.Context(), "o0")
	must(t, err)
	// The node may not have noticed yet that the holder has left, so it is the write that must fail.
	s, release, err := old.Get(t.Context(), "o0")
	if err == nil {
		_, err = s.WriteClaim(t.Context(), claim(t, "written while nobody serves the owner"))
		release()
	}
	if !errors.Is(err, ken.ErrRefused) || !strings.Contains(err.Error(), "later version") {
		t.Errorf("when nobody serves the owner it says %v", err)
	}
	if last, err := log.Last(t.Context(), "o0"); err != nil || last != before {
		t.Errorf("it has appended to the log: %d, %d, %v", before, last, err)
	}
	verify, _ := versioned(t, log, "verify", 1, &met)
	for i := range owners {
		there := map[string]int{}
		s, release, err := verify.Get(t.Context(), fmt.Sprint("o", i))
		must(t, err)
		for c, err := range s.Claims(t.Context()) {
			must(t, err)
			there[c.Text]++
		}
		for text := range acked[i] {
			if there[text] != 1 {
				t.Errorf("%q is there %d times", text, there[text])
			}
		}
		if len(there) != len(acked[i]) {
			t.Errorf("%d are there, and %d were acknowledged", len(there), len(acked[i]))
		}
		_, err = s.VerifyLog(t.Context())
		must(t, err)
		release()
	}
	t.Logf("%d writes; a later record was met %d times", count.Load(), later.Load())
	if met.Load() == 0 {
		t.Error("the two versions never met")
	}
	if versions.Load() > 0 {
		t.Errorf("%d writes were refused because of a node's version", versions.Load())
	}
}

// TestNodesWhoseMessagesDoNotFit checks nodes with incompatible messages. They do not take each
// other's owners, and the error names the node, the versions and the field.
func TestNodesWhoseMessagesDoNotFit(t *testing.T) {
	log := logtest.NewMemory()
	var met atomic.Int64
	first, _ := ofBuild(t, log, "first", remotetest.Own().Retype("WithoutWords", "Reason"), 1, &met)
	s, release, err := first.Get(t.Context(), "ada")
	must(t, err)
	write(t, s, claim(t, "the port is 8080"))
	release()
	second, _ := versioned(t, log, "second", 0, &met)
	_, _, err = second.Get(t.Context(), "ada")
	var e *ken.Error
	if !errors.As(err, &e) || e.Code != ken.CodeHeld || e.Field != "version" || ken.Hint(err) == "" {
		t.Fatalf("it says %v", err)
	}
	for _, part := range []string{"node first", "version v2", "version v1", "remote.supersedeRequest.WithoutWords is of kind string there, and of kind bool here"} {
		if !strings.Contains(err.Error(), part) {
			t.Errorf("it does not say %q, but %v", part, err)
		}
	}
}

// TestALaterLayout checks that a file of a later layout is refused, whether it is in the folder or a
// snapshot of the log, and that nothing is appended to the log.
func TestALaterLayout(t *testing.T) {
	dir := t.TempDir()
	alone := shared.NewOwners(dir, 0, shared.Options{})
	s, release, err := alone.Get(t.Context(), "ada")
	must(t, err)
	write(t, s, claim(t, "the port is 8080"))
	release()
	must(t, alone.Close())
	db, err := bbolt.Open(filepath.Join(dir, "ada", "ken.db"), 0o600, nil)
	must(t, err)
	must(t, db.Update(func(tx *bbolt.Tx) error {
		return tx.Bucket([]byte("meta")).Put([]byte("layout"), []byte{bolt.Layout + 1})
	}))
	must(t, db.Close())
	c := newCluster(t)
	refused := func(m *member) {
		t.Helper()
		if _, _, err := m.Get(t.Context(), "ada"); !errors.Is(err, ken.ErrRefused) || !strings.Contains(err.Error(), "later version") {
			t.Errorf("it says %v", err)
		}
		if last, err := c.log.Last(t.Context(), "ada"); err != nil || last != 0 {
			t.Errorf("it has appended to the log: %d, %v", last, err)
		}
	}
	refused(c.startIn(dir, shared.Options{}))
	f, err := os.Open(filepath.Join(dir, "ada", "ken.db"))
	must(t, err)
	defer f.Close()
	must(t, c.log.PutSnapshot(t.Context(), "ada", 1, f))
	refused(c.start(shared.Options{}))
}
