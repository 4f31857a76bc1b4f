package remote_test

import (
	"context"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/google/uuid"
	"go.uber.org/goleak"

	"github.com/kenlayer/ken"
	"github.com/kenlayer/ken/embed"
	"github.com/kenlayer/ken/internal/store/bolt"
	"github.com/kenlayer/ken/internal/store/remote"
	"github.com/kenlayer/ken/store"
	"github.com/kenlayer/ken/store/storetest"
)

func TestStore(t *testing.T) {
	storetest.Run(t, func(t *testing.T, o storetest.Options) ken.Store { return serve(t, o, remote.ServerOptions{}) })
}

func TestProjections(t *testing.T) {
	storetest.RunProjections(t, func(t *testing.T, o storetest.Options) *served { return serve(t, o, remote.ServerOptions{}) })
}

func TestShelf(t *testing.T) {
	storetest.Shelf(t, func(t *testing.T) store.Shelf { return serve(t, storetest.Options{}, remote.ServerOptions{}).Shelf() })
}

// TestOutlinesTakeOneRoundTrip checks that Outlines takes one round trip, and reading the rows
// of its records takes none.
func TestOutlinesTakeOneRoundTrip(t *testing.T) {
	ctx := context.Background()
	s := serve(t, storetest.Options{}, remote.ServerOptions{})
	for i := range 30 {
		c := claim(t, fmt.Sprint("claim ", i))
		c.Entities, c.Constraint = []string{"payments", "ledger"}, i%3 == 0
		if i%5 == 1 {
			c.Kind = ken.KindDependency
		}
		write(t, s.disk, c)
	}
	trips := s.Trips()
	out, err := s.Outlines(ctx, []string{"payments", "ledger", ""}, &ken.Filter{}, store.OutlineOptions{})
	must(t, err)
	if got := s.Trips() - trips; got != 1 {
		t.Errorf("%d round trips", got)
	}
	refs := out[0].Constraints
	for _, l := range out[0].Links {
		refs = append(refs, l.Ref)
	}
	for _, a := range out[0].Aspects {
		refs = append(refs, a.Top...)
	}
	if len(refs) != 30 {
		t.Fatalf("%d records", len(refs))
	}
	for _, ref := range refs {
		if row, ok := s.Row(ref); !ok || row.ID == "" {
			t.Errorf("record %d has no row", ref)
		}
	}
	if got := s.Trips() - trips; got != 1 {
		t.Errorf("their rows cost %d round trips more", got-1)
	}
	trips = s.Trips()
	if known := s.Known([]string{"payments", "nobody"}); !known[0] || known[1] || s.Trips() != trips+1 {
		t.Errorf("known %v, after %d round trips", known, s.Trips()-trips)
	}
	for range s.Names(ctx, &ken.Filter{}) {
	}
	if s.Trips() != trips+2 {
		t.Errorf("two names take %d round trips", s.Trips()-trips-1)
	}
}

// TestAnAssignmentIsDoneOnce checks that an assignment that is repeated with the same commit id
// is done once.
func TestAnAssignmentIsDoneOnce(t *testing.T) {
	s := serve(t, storetest.Options{}, remote.ServerOptions{})
	id := write(t, s, claim(t, "deploys are slow"))
	ctx := store.WithCommit(context.Background(), uuid.Must(uuid.NewV7()))
	for range 2 {
		changed, err := s.Assign(ctx, ken.Assignment{ID: id, By: ken.AssignedByRules, Entities: []string{"payments"}})
		if must(t, err); !changed {
			t.Error("it changed nothing")
		}
	}
	if h, err := s.History(context.Background(), id); err != nil || len(h) != 2 {
		t.Errorf("%+v, %v", h, err)
	}
}

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// suiteEmbedder implements embed.Embedder with the suite's embedding function.
type suiteEmbedder struct{ o storetest.Options }

func (e suiteEmbedder) Embed(ctx context.Context, texts []string) ([][]float32, error) {
	return e.o.Embed(ctx, texts)
}
func (suiteEmbedder) Model() string { return "test:suite" }
func (e suiteEmbedder) Dim() int    { return e.o.Dim }
func (suiteEmbedder) Local() bool   { return true }

// served is a store on disk, its server on a socket, and a client of it.
type served struct {
	*remote.Client
	disk   *bolt.Store
	server *remote.Server
	socket string
}

// serve serves a new store. Everything is closed when the test ends.
func serve(t testing.TB, o storetest.Options, so remote.ServerOptions) *served {
	t.Helper()
	return serveAs(t, o, so, func(socket string) string { return socket })
}

// serveAs is serve for clients that connect to another socket, by(socket).
func serveAs(t testing.TB, o storetest.Options, so remote.ServerOptions, by func(socket string) string) *served {
	t.Helper()
	b := bolt.Options{Owner: o.Owner, Now: o.Now, NewID: o.NewID, Assign: o.Assign, NoSync: true}
	if o.Embed != nil {
		b.Embedder = suiteEmbedder{o}
	}
	dir := t.TempDir()
	disk, err := bolt.Open(context.Background(), dir, b)
	must(t, err)
	s := &served{disk: disk, socket: socket(t)}
	so.Owner = disk.Owner()
	s.server = remote.NewServer(so)
	l, err := (&net.ListenConfig{}).Listen(t.Context(), "unix", s.socket)
	must(t, err)
	ended := make(chan error, 1)
	go func() { ended <- s.server.Serve(l) }()
	s.server.Ready(disk)
	s.socket = by(s.socket)
	s.Client = dial(t, s, b.Embedder)
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), 5*time.Second)
		defer cancel()
		must(t, s.Close())
		s.server.Shutdown(ctx, false)
		must(t, <-ended)
		if _, err := disk.VerifyLog(context.Background()); err != nil {
			t.Errorf("verify log: %v", err)
		}
		must(t, disk.Close())
	})
	return s
}

// dial returns a further client, which is closed when the test ends.
func dial(t testing.TB, s *served, e embed.Embedder) *remote.Client {
	t.Helper()
	c, err := remote.Dial(context.Background(), "unix", s.socket, remote.Options{Owner: s.disk.Owner(), Dir: s.disk.Dir(), Embedder: e})
	must(t, err)
	t.Cleanup(func() { must(t, c.Close()) })
	return c
}

// socket returns a path that is short enough for a Unix socket, whatever the test's name.
func socket(t testing.TB) string {
	dir, err := os.MkdirTemp("", "ken")
	must(t, err)
	t.Cleanup(func() { must(t, os.RemoveAll(dir)) })
	return filepath.Join(dir, "s")
}

func claim(t testing.TB, text string) ken.Claim {
	t.Helper()
	c, err := ken.NewClaim(text, ken.FromUserStatement("session", "message"))
	must(t, err)
	return c
}

func write(t testing.TB, s ken.Store, c ken.Claim) string {
	t.Helper()
	id, err := s.WriteClaim(context.Background(), c)
	must(t, err)
	return id
}

func get(t testing.TB, s store.Shelf, key string) (value string, there bool) {
	t.Helper()
	must(t, s.View(context.Background(), func(r store.ShelfReader) error {
		b := r.Get(key)
		value, there = string(b), b != nil
		return nil
	}))
	return value, there
}

func put(t testing.TB, s store.Shelf, key, value string) {
	t.Helper()
	must(t, s.Update(context.Background(), func(tx store.ShelfTx) error { return tx.Put(key, []byte(value)) }))
}
