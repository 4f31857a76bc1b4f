package shared_test

import (
	"context"
	"fmt"
	"log/slog"
	"os"
	"os/exec"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/kenlayer/ken"
	"github.com/kenlayer/ken/embed/embedtest"
	"github.com/kenlayer/ken/internal/race"
	"github.com/kenlayer/ken/internal/store/bolt"
	"github.com/kenlayer/ken/internal/store/shared"
	"github.com/kenlayer/ken/store"
	"github.com/kenlayer/ken/store/storetest"
)

func suiteOptions(o storetest.Options) shared.Options {
	b := bolt.Options{Now: o.Now, NewID: o.NewID, Assign: o.Assign, NoSync: true, Log: slog.New(slog.DiscardHandler)}
	if o.Embed != nil {
		b.Embedder = suiteEmbedder{o}
	}
	return shared.Options{Store: b}
}

// roles holds a function for each way in which a process can open a store: on one machine, or as a
// node among others.
var roles = map[string]func(t *testing.T, o storetest.Options) store.Engine{
	"holder": func(t *testing.T, o storetest.Options) store.Engine {
		return openAs(t, owners(t, t.TempDir(), suiteOptions(o)), o.Owner)
	},
	"client": func(t *testing.T, o storetest.Options) store.Engine {
		dir := t.TempDir()
		openAs(t, owners(t, dir, suiteOptions(o)), o.Owner)
		w := owners(t, dir, suiteOptions(o))
		s := openAs(t, w, o.Owner)
		if w.Holds(o.Owner) {
			t.Fatal("the second one holds the folder")
		}
		return s
	},
	"node": func(t *testing.T, o storetest.Options) store.Engine {
		return newCluster(t).start(suiteOptions(o)).engine(t, o.Owner)
	},
	"another node": func(t *testing.T, o storetest.Options) store.Engine {
		c := newCluster(t)
		c.start(suiteOptions(o)).engine(t, o.Owner)
		return c.start(suiteOptions(o)).engine(t, o.Owner)
	},
}

func openAs(t *testing.T, w *shared.Owners, owner string) store.Engine {
	t.Helper()
	s, release, err := w.Get(context.Background(), owner)
	must(t, err)
	t.Cleanup(release)
	return s
}

func TestStore(t *testing.T) {
	for name, open := range roles {
		t.Run(name, func(t *testing.T) {
			storetest.Run(t, func(t *testing.T, o storetest.Options) ken.Store { return open(t, o) })
		})
	}
}

func TestProjections(t *testing.T) {
	for name, open := range roles {
		if race.Enabled && name == "node" { // reading is the holder's own; all run without the detector
			continue
		}
		t.Run(name, func(t *testing.T) { storetest.RunProjections(t, open) })
	}
}

func TestShelf(t *testing.T) {
	for name, open := range roles {
		t.Run(name, func(t *testing.T) {
			storetest.Shelf(t, func(t *testing.T) store.Shelf { return open(t, storetest.Options{}).Shelf() })
		})
	}
}

// suiteOptionsPlain returns the options of the child processes.
func suiteOptionsPlain() shared.Options {
	return shared.Options{Store: bolt.Options{Embedder: embedtest.Bag{}}}
}

// TestMain runs the tests, or the role of a child process.
func TestMain(m *testing.M) {
	if role := os.Getenv("KEN_TEST_CHILD"); role != "" {
		children[role]()
		return
	}
	goleak.VerifyTestMain(m)
}

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// owners returns an Owners that acts like one of another process: file locks also exclude
// each other within one process. It is closed at the end of the test.
func owners(t testing.TB, dir string, o shared.Options) *shared.Owners {
	t.Helper()
	w := shared.NewOwners(dir, 0, o)
	t.Cleanup(func() {
		if err := w.Close(); err != nil {
			t.Errorf("close: %v", err)
		}
	})
	return w
}

// open opens the default owner's store, and releases it at the end of the test.
func open(t testing.TB, w *shared.Owners) store.Engine {
	t.Helper()
	s, release, err := w.Get(context.Background(), "")
	must(t, err)
	t.Cleanup(release)
	return s
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

func texts(t testing.TB, s ken.Store, question string) (out []string) {
	t.Helper()
	got, err := s.Query(context.Background(), ken.Query{Question: question, Limit: 100})
	must(t, err)
	for i := range got {
		out = append(out, got[i].Text)
	}
	return out
}

func put(t testing.TB, s store.Shelf, key, value string) {
	t.Helper()
	must(t, s.Update(context.Background(), func(tx store.ShelfTx) error { return tx.Put(key, []byte(value)) }))
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

// eventually waits until is returns true, because of another goroutine or process.
func eventually(t testing.TB, what string, is func() bool) {
	t.Helper()
	tick := time.NewTicker(time.Millisecond)
	defer tick.Stop()
	give := time.NewTimer(time.Minute)
	defer give.Stop()
	for !is() {
		select {
		case <-tick.C:
		case <-give.C:
			t.Fatalf("%s: it never comes", what)
		}
	}
}

// child returns a command that runs this test binary in a role: see children.
func child(t testing.TB, role, dir string) *exec.Cmd {
	cmd := exec.CommandContext(t.Context(), os.Args[0], "-test.run=^$")
	cmd.Env = append(os.Environ(), "KEN_TEST_CHILD="+role, "KEN_TEST_DIR="+dir)
	cmd.Stderr = os.Stderr
	return cmd
}

// suiteEmbedder is the suite's embedding function as an embedder.
type suiteEmbedder struct{ o storetest.Options }

func (e suiteEmbedder) Embed(ctx context.Context, texts []string) ([][]float32, error) {
	return e.o.Embed(ctx, texts)
}
func (suiteEmbedder) Model() string { return "test:suite" }
func (e suiteEmbedder) Dim() int    { return e.o.Dim }
func (suiteEmbedder) Local() bool   { return true }

// ExampleOwners opens one folder in two processes. The second continues when the first has ended.
func ExampleOwners() {
	ctx := context.Background()
	dir, err := os.MkdirTemp("", "ken")
	if err != nil {
		panic(err)
	}
	defer os.RemoveAll(dir)

	first := shared.NewOwners(dir, 0, shared.Options{})
	second := shared.NewOwners(dir, 0, shared.Options{})
	defer second.Close()
	a, releaseA, err := first.Get(ctx, "")
	if err != nil {
		panic(err)
	}
	b, releaseB, err := second.Get(ctx, "")
	if err != nil {
		panic(err)
	}
	defer releaseB()
	fmt.Println("the first one holds it:", first.Holds(""))

	c, err := ken.NewClaim("The port is 8080.", ken.FromFile("main.go", "", ""))
	if err != nil {
		panic(err)
	}
	if _, err := a.WriteClaim(ctx, c); err != nil {
		panic(err)
	}
	releaseA()
	if err := first.Close(); err != nil {
		panic(err)
	}

	found, err := b.Query(ctx, ken.Query{Question: "port"})
	if err != nil {
		panic(err)
	}
	fmt.Println("the second one finds:", found[0].Text)
	fmt.Println("and holds it:", second.Holds(""))
	// Output:
	// the first one holds it: true
	// the second one finds: The port is 8080.
	// and holds it: true
}
