package shared_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/kenlayer/ken"
	"github.com/kenlayer/ken/internal/store/commitlog"
	"github.com/kenlayer/ken/internal/store/commitlog/logtest"
	"github.com/kenlayer/ken/internal/store/shared"
	"github.com/kenlayer/ken/store"
)

// cluster is a set of nodes that share a log in memory. Each has a folder of its own.
type cluster struct {
	t   *testing.T
	log *logtest.Memory
	n   int
}

// member is a node of a cluster, with its Owners.
type member struct {
	*shared.Owners
	dir     string
	node    *shared.Node
	log     *logtest.Memory
	end     func()
	putAway chan string // the owners whose stores were closed; set by bounded
}

func newCluster(t *testing.T) *cluster { return &cluster{t: t, log: logtest.NewMemory()} }

func (c *cluster) start(o shared.Options) *member {
	c.t.Helper()
	return c.startIn(c.t.TempDir(), o)
}

func (c *cluster) startIn(dir string, o shared.Options) *member {
	c.t.Helper()
	c.n++
	m := &member{dir: dir, log: c.log.Join()}
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	var err error
	m.node, err = shared.StartNode(c.t.Context(), shared.NodeOptions{Log: m.log, ID: fmt.Sprint("node", c.n), Logger: o.Log})
	must(c.t, err)
	o.Node = m.node
	m.Owners = shared.NewOwners(m.dir, 0, o)
	m.end = sync.OnceFunc(func() { must(c.t, errors.Join(m.Owners.Close(), m.node.Close())) })
	c.t.Cleanup(m.end)
	return m
}

func (m *member) engine(t *testing.T, owner string) store.Engine {
	t.Helper()
	s, release, err := m.Get(t.Context(), owner)
	must(t, err)
	t.Cleanup(release)
	return s
}

// TestAnotherNodeTakesOver checks that a second node, with another folder, has what the first one
// wrote.
func TestAnotherNodeTakesOver(t *testing.T) {
	c := newCluster(t)
	first := c.start(shared.Options{})
	id := write(t, first.engine(t, ""), claim(t, "the port is 8080"))
	second := c.start(shared.Options{})
	s := second.engine(t, "")
	write(t, s, claim(t, "the host is ada"))
	if second.Holds("") || !first.Holds("") {
		t.Fatal("the second node holds the owner already")
	}
	first.end()
	if got := texts(t, s, "port host"); len(got) != 2 || !second.Holds("") || !s.Has(id) {
		t.Errorf("it holds: %v, and finds %q", second.Holds(""), got)
	}
	third := c.start(shared.Options{})
	if got := texts(t, third.engine(t, ""), "port host"); len(got) != 2 {
		t.Errorf("the third one finds %q", got)
	}
}

// TestANodeThatStartsCutOff starts a node that does not reach the engine. Once it holds an owner, it
// keeps it, although its next beat is still to come.
func TestANodeThatStartsCutOff(t *testing.T) {
	log, quiet := logtest.NewMemory(), slog.New(slog.DiscardHandler)
	log.Cut(commitlog.ErrUnreachable)
	node, err := shared.StartNode(t.Context(), shared.NodeOptions{Log: log, ID: "node", Logger: quiet})
	must(t, err)
	var holds atomic.Int64
	m := &member{Owners: shared.NewOwners(t.TempDir(), 0, shared.Options{Node: node, Log: quiet, OnHold: func(string) { holds.Add(1) }})}
	t.Cleanup(func() { must(t, errors.Join(m.Close(), node.Close())) })
	log.Cut(nil)
	for range 3 {
		write(t, m.engine(t, ""), claim(t, "the port is 8080"))
	}
	if n := holds.Load(); n != 1 {
		t.Errorf("it became the holder %d times", n)
	}
}

// TestANodeThatIsCutOff cuts a node off from the engine. Another node must become the holder, with all
// acknowledged writes of the first one. Later writes of the first one must not be acknowledged.
func TestANodeThatIsCutOff(t *testing.T) {
	c := newCluster(t)
	first, second := c.start(shared.Options{}), c.start(shared.Options{})
	a, b := first.engine(t, ""), second.engine(t, "")
	write(t, a, claim(t, "the port is 8080"))
	write(t, b, claim(t, "the host is ada"))
	first.log.Cut(commitlog.ErrUnreachable)
	begun := time.Now()
	write(t, b, claim(t, "the user is root"))
	if pause := time.Since(begun); pause > 15*time.Second {
		t.Errorf("the write took %v", pause)
	}
	if !second.Holds("") {
		t.Error("the second node does not hold the owner")
	}
	first.log.Cut(nil)
	eventually(t, "the first one comes back", func() bool {
		return len(texts(t, a, "user")) == 1
	})
	if first.Holds("") {
		t.Error("the first node holds the owner as well")
	}
	write(t, a, claim(t, "the key is in the safe"))
	if got := texts(t, b, "port host user key"); len(got) != 4 {
		t.Errorf("it finds %q", got)
	}
}

// TestNodesComeAndGo runs many writers for many owners while nodes start and end. No acknowledged
// write may be lost, and none may be there twice.
func TestNodesComeAndGo(t *testing.T) {
	c := newCluster(t)
	const writers, rounds, owners = 4, 25, 3
	stay := c.start(shared.Options{})
	var wg sync.WaitGroup
	for w := range writers {
		wg.Go(func() {
			for i := range rounds {
				owner := fmt.Sprint("o", (w+i)%owners)
				s, release, err := stay.Get(t.Context(), owner)
				if err != nil {
					t.Error(err)
					return
				}
				if _, err := s.WriteClaim(t.Context(), claim(t, fmt.Sprintf("writer%d says round%d", w, i))); err != nil {
					t.Errorf("writer %d, round %d: %v", w, i, err)
				}
				release()
			}
		})
	}
	for range 4 {
		m := c.start(shared.Options{})
		for i := range owners {
			_, release, err := m.Get(t.Context(), fmt.Sprint("o", i))
			must(t, err)
			release()
		}
		m.end()
	}
	wg.Wait()
	found := 0
	for i := range owners {
		s := stay.engine(t, fmt.Sprint("o", i))
		found += s.Len()
		if _, err := s.VerifyLog(t.Context()); err != nil {
			t.Error(err)
		}
	}
	if found != writers*rounds {
		t.Errorf("%d of %d claims are there", found, writers*rounds)
	}
}

// TestAStoreOfBeforeIsAdopted checks that a store that is older than its log becomes the beginning
// of the log.
func TestAStoreOfBeforeIsAdopted(t *testing.T) {
	dir := t.TempDir()
	alone := shared.NewOwners(dir, 0, shared.Options{})
	s, release, err := alone.Get(t.Context(), "")
	must(t, err)
	write(t, s, claim(t, "the port is 8080"))
	release()
	must(t, alone.Close())
	c := newCluster(t)
	first := c.startIn(dir, shared.Options{})
	write(t, first.engine(t, ""), claim(t, "the host is ada"))
	first.end()
	second := c.start(shared.Options{})
	if got := texts(t, second.engine(t, ""), "port host"); len(got) != 2 {
		t.Errorf("another node finds %q", got)
	}
	second.end()
	// A third one has a store of its own as well: neither is lost.
	dir = t.TempDir()
	alone = shared.NewOwners(dir, 0, shared.Options{})
	s, release, err = alone.Get(t.Context(), "")
	must(t, err)
	write(t, s, claim(t, "the user is root"))
	release()
	must(t, alone.Close())
	third := c.startIn(dir, shared.Options{})
	if _, _, err := third.Get(t.Context(), ""); !errors.Is(err, ken.ErrRefused) || !strings.Contains(ken.Hint(err), "Export") {
		t.Errorf("it says %v", err)
	}
}

// TestAFolderIsACopy checks that a node restores its folder after it was deleted, wholly or in part,
// or damaged.
func TestAFolderIsACopy(t *testing.T) {
	for name, harm := range map[string]func(t *testing.T, dir string){
		"deleted": func(t *testing.T, dir string) { must(t, os.RemoveAll(dir)) },
		"index":   func(t *testing.T, dir string) { must(t, os.RemoveAll(filepath.Join(dir, ken.DefaultOwner, "index"))) },
		"a page": func(t *testing.T, dir string) {
			f, err := os.OpenFile(filepath.Join(dir, ken.DefaultOwner, "ken.db"), os.O_RDWR, 0)
			must(t, err)
			info, err := f.Stat()
			must(t, err)
			for at := int64(8192); at < info.Size(); at += 4096 { // all but the two at the start
				_, err = f.WriteAt([]byte("this is no page of a store"), at)
				must(t, err)
			}
			must(t, f.Close())
		},
		"damaged": func(t *testing.T, dir string) {
			must(t, os.WriteFile(filepath.Join(dir, ken.DefaultOwner, "ken.db"), []byte("no store"), 0o600))
		},
	} {
		t.Run(name, func(t *testing.T) {
			c := newCluster(t)
			m := c.start(shared.Options{})
			s := m.engine(t, "")
			write(t, s, claim(t, "the port is 8080"))
			must(t, s.Compact(t.Context())) // makes a snapshot
			write(t, s, claim(t, "the host is ada"))
			m.end()
			harm(t, m.dir)
			again := c.startIn(m.dir, shared.Options{})
			if got := texts(t, again.engine(t, ""), "port host"); len(got) != 2 {
				t.Errorf("it finds %q", got)
			}
		})
	}
}

// TestForgettingReachesNodesThatWereAway checks a node that was away while a claim was forgotten. When
// it answers again, its files must not contain the claim's text.
func TestForgettingReachesNodesThatWereAway(t *testing.T) {
	c := newCluster(t)
	away := c.start(shared.Options{})
	id := write(t, away.engine(t, ""), claim(t, "the codename of the vault is xyzzyplugh"))
	write(t, away.engine(t, ""), claim(t, "the port is 8080"))
	away.end()
	if !onDisk(t, away.dir, "xyzzyplugh") {
		t.Fatal("the test looks for something that is not there")
	}
	other := c.start(shared.Options{})
	_, err := other.engine(t, "").Forget(t.Context(), id, "a secret", ken.Actor{})
	must(t, err)
	other.end()
	back := c.startIn(away.dir, shared.Options{})
	if got := texts(t, back.engine(t, ""), "port password"); len(got) != 1 {
		t.Errorf("it finds %q", got)
	}
	for _, dir := range []string{away.dir, other.dir} {
		if onDisk(t, dir, "xyzzyplugh") {
			t.Errorf("it is in %s", dir)
		}
	}
}

func onDisk(t *testing.T, dir, word string) (found bool) {
	t.Helper()
	must(t, filepath.WalkDir(dir, func(path string, d os.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		b, err := os.ReadFile(path)
		if errors.Is(err, os.ErrNotExist) || d.Type()&os.ModeSocket != 0 {
			return nil
		}
		found = found || strings.Contains(string(b), word)
		return err
	}))
	return found
}

// TestACopyWithoutItsEngineIsRefused checks that a copy of a log can't be opened without its engine:
// writes to it would not get into the log.
func TestACopyWithoutItsEngineIsRefused(t *testing.T) {
	c := newCluster(t)
	m := c.start(shared.Options{})
	write(t, m.engine(t, ""), claim(t, "the port is 8080"))
	m.end()
	alone := owners(t, m.dir, shared.Options{Log: slog.New(slog.DiscardHandler)})
	if _, _, err := alone.Get(t.Context(), ""); !errors.Is(err, ken.ErrRefused) || !strings.Contains(ken.Hint(err), "store.url") {
		t.Errorf("it says %v", err)
	}
}

// TestADamagedStoreOfItsOwnIsKept checks that a damaged store that is not a copy of a log is not
// deleted, even if the engine has a store of the same owner.
func TestADamagedStoreOfItsOwnIsKept(t *testing.T) {
	c := newCluster(t)
	write(t, c.start(shared.Options{}).engine(t, ""), claim(t, "the port is 8080"))
	dir := t.TempDir()
	file := filepath.Join(dir, ken.DefaultOwner, "ken.db")
	must(t, os.MkdirAll(filepath.Dir(file), 0o700))
	must(t, os.WriteFile(file, []byte("what is left of a store"), 0o600))
	m := c.startIn(dir, shared.Options{})
	_, release, err := m.Get(t.Context(), "")
	if err == nil { // it is a client of the other node, which is as good
		release()
	}
	if b, err := os.ReadFile(file); err != nil || string(b) != "what is left of a store" {
		t.Errorf("the file is %q, %v", b, err)
	}
}

// TestAStaleHolderFile checks that the holder.json of a killed process does not prevent the next
// process from reaching the node that holds the owner now.
func TestAStaleHolderFile(t *testing.T) {
	c := newCluster(t)
	other := c.start(shared.Options{})
	write(t, other.engine(t, ""), claim(t, "the port is 8080"))
	dir := t.TempDir()
	must(t, os.MkdirAll(filepath.Join(dir, ken.DefaultOwner), 0o700))
	must(t, os.WriteFile(filepath.Join(dir, ken.DefaultOwner, "holder.json"), []byte(`{"pid":99999,"network":"unix","address":"`+filepath.Join(dir, "gone.sock")+`"}`), 0o600))
	m := c.startIn(dir, shared.Options{})
	if got := texts(t, m.engine(t, ""), "port"); len(got) != 1 {
		t.Errorf("it finds %q", got)
	}
}

// brokenSnapshots is a log that accepts no snapshots while broken is set.
type brokenSnapshots struct {
	*logtest.Memory
	broken atomic.Bool
}

func (b *brokenSnapshots) PutSnapshot(ctx context.Context, owner string, position uint64, r io.Reader) error {
	if b.broken.Load() {
		return commitlog.ErrUnreachable
	}
	return b.Memory.PutSnapshot(ctx, owner, position, r)
}

// TestAdoptingIsDoneAgain checks that the interrupted adoption of a store is repeated.
func TestAdoptingIsDoneAgain(t *testing.T) {
	dir := t.TempDir()
	alone := shared.NewOwners(dir, 0, shared.Options{})
	s, release, err := alone.Get(t.Context(), "")
	must(t, err)
	write(t, s, claim(t, "the port is 8080"))
	release()
	must(t, alone.Close())
	log := &brokenSnapshots{Memory: logtest.NewMemory()}
	log.broken.Store(true)
	for _, wait := range []time.Duration{time.Second, 0} {
		node, err := shared.StartNode(t.Context(), shared.NodeOptions{Log: log, ID: fmt.Sprint("node", wait), Logger: slog.New(slog.DiscardHandler)})
		must(t, err)
		w := shared.NewOwners(dir, 0, shared.Options{Node: node, Wait: wait, Log: slog.New(slog.DiscardHandler)})
		s, release, err := w.Get(t.Context(), "")
		if log.broken.Load() {
			if err == nil {
				t.Error("the store is open although the engine has not got it")
			}
			log.broken.Store(false)
		} else {
			must(t, err)
			if got := texts(t, s, "port"); len(got) != 1 {
				t.Errorf("it finds %q", got)
			}
			release()
		}
		must(t, errors.Join(w.Close(), node.Close()))
	}
	other := &cluster{t: t, log: log.Memory, n: 10}
	if got := texts(t, other.start(shared.Options{}).engine(t, ""), "port"); len(got) != 1 {
		t.Errorf("another node finds %q", got)
	}
}
