package shared_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"iter"
	"log/slog"
	"path/filepath"
	"slices"
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

// site is a place that owners are moved from or to, and can be opened.
type site struct {
	name string
	log  *logtest.Memory // nil for a folder
	dir  string
}

func engineSite(t *testing.T, name string) *site {
	return &site{name: name, log: logtest.NewMemory(), dir: t.TempDir()}
}

func folderSite(t *testing.T) *site {
	dir := t.TempDir()
	return &site{name: dir, dir: dir}
}

func (s *site) place() shared.Place {
	if s.log == nil {
		return shared.Place{Name: s.name, Dir: s.dir}
	}
	return shared.Place{Name: s.name, Log: s.log.Join()}
}

var started atomic.Int32

// open simulates a process at the site: a node with a folder of its own, or a process that opens the
// site's folder.
func (s *site) open(t *testing.T) *shared.Owners {
	t.Helper()
	o, dir := shared.Options{Log: slog.New(slog.DiscardHandler)}, s.dir
	if s.log != nil {
		node, err := shared.StartNode(t.Context(), shared.NodeOptions{Log: s.log.Join(), ID: fmt.Sprint("m", started.Add(1)), Logger: o.Log})
		must(t, err)
		t.Cleanup(func() { _ = node.Close() })
		o.Node, dir = node, t.TempDir()
	}
	return owners(t, dir, o)
}

func (s *site) texts(t *testing.T, owner string) (out []string) {
	t.Helper()
	return textsOf(t, s.open(t), owner)
}

func textsOf(t *testing.T, w *shared.Owners, owner string) (out []string) {
	t.Helper()
	e, release, err := w.Get(t.Context(), owner)
	must(t, err)
	defer release()
	for c, err := range e.Claims(t.Context()) {
		must(t, err)
		out = append(out, c.Text)
	}
	slices.Sort(out)
	if _, err := e.VerifyLog(t.Context()); err != nil {
		t.Errorf("%s: %v", owner, err)
	}
	return out
}

// writer writes until a write is refused because the owner has moved. It sends the acknowledged
// writes to acked.
func writer(ctx context.Context, e store.Engine, name string, acked chan<- string) error {
	for n := 0; ; n++ {
		text := fmt.Sprintf("%s wrote word%d", name, n)
		c, err := ken.NewClaim(text, ken.FromUserStatement("s", "m"))
		if err == nil {
			_, err = e.WriteClaim(ctx, c)
		}
		if err != nil {
			return err
		}
		acked <- text
	}
}

// compare fails the test if an acknowledged write is missing, or if any write is there twice. Each
// writer may have one more write, which was not acknowledged. It returns the writes that are there.
func compare(t *testing.T, there, acked []string, writers int) []string {
	t.Helper()
	for _, text := range acked {
		if !slices.Contains(there, text) {
			t.Errorf("lost: %q", text)
		}
	}
	if n := len(slices.Compact(slices.Clone(there))); n != len(there) {
		t.Errorf("%d are there twice", len(there)-n)
	}
	if len(there) > len(acked)+writers {
		t.Errorf("%d are there, and %d were acknowledged", len(there), len(acked))
	}
	return there
}

// TestAnOwnerMovesWhileItIsUsed moves an owner during writes, between all kinds of places and back.
// Each acknowledged write must be there once, and the old place must refuse the owner and name the
// new place.
func TestAnOwnerMovesWhileItIsUsed(t *testing.T) {
	a, b, folder := engineSite(t, "nats://a:4222"), engineSite(t, "postgres://b/ken"), folderSite(t)
	var all []string
	first := folder.open(t)
	e, release, err := first.Get(t.Context(), "ada")
	must(t, err)
	write(t, e, claim(t, "the port is 8080"))
	must(t, e.Shelf().Update(t.Context(), func(tx store.ShelfTx) error { return tx.Put("k", []byte("v")) }))
	release()
	all = append(all, "the port is 8080")
	for i, way := range [][2]*site{{folder, a}, {a, b}, {b, a}, {a, folder}, {folder, b}} {
		from, to := way[0], way[1]
		user, mover := from.open(t), from.open(t)
		e, release, err := user.Get(t.Context(), "ada")
		must(t, err)
		acked := make(chan string, 1<<20)
		var wg sync.WaitGroup
		for w := range 3 {
			wg.Go(func() {
				err := writer(t.Context(), e, fmt.Sprintf("move%d writer%d", i, w), acked)
				if !errors.Is(err, ken.ErrRefused) && !errors.Is(err, ken.ErrUnavailable) || !strings.Contains(err.Error(), to.name) {
					t.Errorf("move %d: the writer ends with %v", i, err)
				}
			})
		}
		for range 50 {
			all = append(all, <-acked)
		}
		dry, err := mover.Move(t.Context(), "ada", from.name, to.place(), true)
		if err != nil || dry.State != shared.MoveWaits {
			t.Fatalf("move %d, dry: %+v, %v", i, dry, err)
		}
		got, err := mover.Move(t.Context(), "ada", from.name, to.place(), false)
		if err != nil || got.State != shared.MoveDone || got.Events == 0 {
			t.Fatalf("move %d: %+v, %v", i, got, err)
		}
		again, err := mover.Move(t.Context(), "ada", from.name, to.place(), false)
		if err != nil || again.State != shared.MoveDone {
			t.Errorf("move %d, again: %+v, %v", i, again, err)
		}
		wg.Wait()
		release()
		close(acked)
		for text := range acked {
			all = append(all, text)
		}
		all = compare(t, to.texts(t, "ada"), all, 3)
		if _, _, err := from.open(t).Get(t.Context(), "ada"); !errors.Is(err, ken.ErrRefused) {
			t.Errorf("move %d: the old place says %v", i, err)
		}
	}
	e, release, err = b.open(t).Get(t.Context(), "ada")
	must(t, err)
	defer release()
	must(t, e.Shelf().View(t.Context(), func(r store.ShelfReader) error {
		if string(r.Get("k")) != "v" {
			t.Error("the shelf did not come along")
		}
		return nil
	}))
}

// dying is a log whose calls all fail after a number of calls.
type dying struct {
	commitlog.Log
	left atomic.Int64
}

var errDead = errors.New("the process was killed")

func (d *dying) dead() error {
	if d.left.Add(-1) < 0 {
		return errDead
	}
	return nil
}

func (d *dying) Append(ctx context.Context, owner string, after uint64, data []byte) (uint64, error) {
	if err := d.dead(); err != nil {
		return 0, err
	}
	return d.Log.Append(ctx, owner, after, data)
}

func (d *dying) Last(ctx context.Context, owner string) (uint64, error) {
	if err := d.dead(); err != nil {
		return 0, err
	}
	return d.Log.Last(ctx, owner)
}

func (d *dying) Read(ctx context.Context, owner string, after uint64) iter.Seq2[commitlog.Record, error] {
	if err := d.dead(); err != nil {
		return func(yield func(commitlog.Record, error) bool) { yield(commitlog.Record{}, err) }
	}
	return d.Log.Read(ctx, owner, after)
}

func (d *dying) PutSnapshot(ctx context.Context, owner string, position uint64, r io.Reader) error {
	if err := d.dead(); err != nil {
		return err
	}
	return d.Log.PutSnapshot(ctx, owner, position, r)
}

func (d *dying) Truncate(ctx context.Context, owner string, upTo uint64) error {
	if err := d.dead(); err != nil {
		return err
	}
	return d.Log.Truncate(ctx, owner, upTo)
}

// TestAMoveThatIsCutShort interrupts a move at each call of a log. The next move must complete it, and
// at no time may two places accept a write.
func TestAMoveThatIsCutShort(t *testing.T) {
	for n := int64(0); ; n++ {
		a, b := engineSite(t, "nats://a:4222"), engineSite(t, "postgres://b/ken")
		user, mover, next := a.open(t), a.open(t), b.open(t)
		e, release, err := user.Get(t.Context(), "ada")
		must(t, err)
		acked := make(chan string, 1<<20)
		done := make(chan error, 1)
		go func() { done <- writer(t.Context(), e, "one", acked) }()
		all := []string{<-acked}
		log := &dying{Log: b.log.Join()}
		log.left.Store(n)
		_, err = mover.Move(t.Context(), "ada", a.name, shared.Place{Name: b.name, Log: log}, false)
		if err != nil && !errors.Is(err, errDead) {
			t.Fatalf("after %d calls: %v", n, err)
		}
		whole := err == nil
		if last, err := b.log.Last(t.Context(), "ada"); err != nil || last > 0 { // it keeps what it has read so far
			look, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
			if _, release, err := next.Get(look, "ada"); err == nil {
				release()
			}
			cancel()
		}
		if _, err := mover.Move(t.Context(), "ada", a.name, b.place(), false); err != nil {
			t.Fatalf("again, after %d calls: %v", n, err)
		}
		if err := <-done; !errors.Is(err, ken.ErrRefused) && !errors.Is(err, ken.ErrUnavailable) {
			t.Errorf("the writer ends with %v", err)
		}
		release()
		close(acked)
		for text := range acked {
			all = append(all, text)
		}
		compare(t, textsOf(t, next, "ada"), all, 1)
		must(t, next.Close())
		compare(t, b.texts(t, "ada"), all, 1)
		if whole {
			if n < 5 {
				t.Fatalf("a move takes %d calls of the log", n)
			}
			return
		}
	}
}

// TestAnOwnerThatComes checks that a caller at the new place waits until the move is complete, and
// does not get an empty store.
func TestAnOwnerThatComes(t *testing.T) {
	a, b := engineSite(t, "nats://a:4222"), engineSite(t, "postgres://b/ken")
	e, release, err := a.open(t).Get(t.Context(), "ada")
	must(t, err)
	write(t, e, claim(t, "the port is 8080"))
	release()
	mover := a.open(t)
	log := &dying{Log: b.log.Join()}
	log.left.Store(3) // enough to begin
	if _, err := mover.Move(t.Context(), "ada", a.name, shared.Place{Name: b.name, Log: log}, false); !errors.Is(err, errDead) {
		t.Fatal(err)
	}
	got := make(chan error, 1)
	next := b.open(t)
	go func() {
		_, release, err := next.Get(t.Context(), "ada")
		if err == nil {
			release()
		}
		got <- err
	}()
	if _, err := mover.Move(t.Context(), "ada", a.name, b.place(), false); err != nil {
		t.Fatal(err)
	}
	if err := <-got; err != nil {
		t.Errorf("it says %v", err)
	}
	// Another store of that owner is not overwritten.
	c := engineSite(t, "nats://c:4222")
	e, release, err = c.open(t).Get(t.Context(), "ada")
	must(t, err)
	write(t, e, claim(t, "the host is ada"))
	release()
	if _, err := c.open(t).Move(t.Context(), "ada", c.name, b.place(), false); !errors.Is(err, ken.ErrExists) {
		t.Errorf("over another store: %v", err)
	}
	// Nor is one that left for elsewhere used again.
	if _, err := mover.Move(t.Context(), "ada", a.name, c.place(), false); !errors.Is(err, ken.ErrRefused) || !strings.Contains(err.Error(), b.name) {
		t.Errorf("once more: %v", err)
	}
}

// TestANodeInTheFolderThatWasLeft starts a node of an engine in the folder that its owner has left.
// The node must load the owner from the engine, and keep the old file beside it.
func TestANodeInTheFolderThatWasLeft(t *testing.T) {
	folder, b := folderSite(t), engineSite(t, "postgres://b/ken")
	w := folder.open(t)
	e, release, err := w.Get(t.Context(), "ada")
	must(t, err)
	write(t, e, claim(t, "the port is 8080"))
	release()
	_, err = w.Move(t.Context(), "ada", folder.name, b.place(), false)
	must(t, err)
	there := b.open(t)
	e, release, err = there.Get(t.Context(), "ada")
	must(t, err)
	write(t, e, claim(t, "the host is ada"))
	release()
	must(t, errors.Join(w.Close(), there.Close()))
	for range 2 {
		b.dir = folder.dir
		node, err := shared.StartNode(t.Context(), shared.NodeOptions{Log: b.log.Join(), ID: fmt.Sprint("m", started.Add(1))})
		must(t, err)
		in := shared.NewOwners(folder.dir, 0, shared.Options{Node: node, Log: slog.New(slog.DiscardHandler)})
		e, release, err := in.Get(t.Context(), "ada")
		must(t, err)
		if got := texts(t, e, "port host"); len(got) != 2 {
			t.Errorf("it finds %q", got)
		}
		release()
		must(t, errors.Join(in.Close(), node.Close()))
	}
	if kept, _ := filepath.Glob(filepath.Join(folder.dir, "ada", "ken.db.moved")); len(kept) != 1 {
		t.Error("the old file is gone")
	}
	// An engine that it did not go to does not take it.
	c := engineSite(t, "nats://c:4222")
	other := folderSite(t)
	w = other.open(t)
	e, release, err = w.Get(t.Context(), "eve")
	must(t, err)
	write(t, e, claim(t, "the user is root"))
	release()
	_, err = w.Move(t.Context(), "eve", other.name, b.place(), false)
	must(t, err)
	must(t, w.Close())
	node, err := shared.StartNode(t.Context(), shared.NodeOptions{Log: c.log.Join(), ID: fmt.Sprint("m", started.Add(1))})
	must(t, err)
	in := shared.NewOwners(other.dir, 0, shared.Options{Node: node, Log: slog.New(slog.DiscardHandler)})
	if _, _, err := in.Get(t.Context(), "eve"); !errors.Is(err, ken.ErrRefused) || !strings.Contains(err.Error(), b.name) {
		t.Errorf("it says %v", err)
	}
	must(t, errors.Join(in.Close(), node.Close()))
}

// following simulates a process at one site that has the other site as Options.Next.
func following(t *testing.T, from, to *site) *shared.Owners {
	t.Helper()
	o, dir := shared.Options{Log: slog.New(slog.DiscardHandler), NextName: to.name}, from.dir
	start := func(s *site) *shared.Node {
		node, err := shared.StartNode(t.Context(), shared.NodeOptions{Log: s.log.Join(), ID: fmt.Sprint("m", started.Add(1)), Logger: o.Log})
		must(t, err)
		t.Cleanup(func() { _ = node.Close() })
		return node
	}
	o.Next = start(to)
	if from.log != nil {
		o.Node, dir = start(from), t.TempDir()
	}
	return owners(t, dir, o)
}

// TestAMoveThatIsFollowed checks processes that also have a node of the new engine. They continue
// there: their clients' writes wait, and none fails. They do not follow to an engine that the owner
// has not moved to.
func TestAMoveThatIsFollowed(t *testing.T) {
	folder, a := folderSite(t), engineSite(t, "nats://a:4222")
	b, c := engineSite(t, "postgres://b/ken"), engineSite(t, "postgres://c/ken")
	all := []string{}
	for i, way := range [][2]*site{{folder, a}, {a, b}} {
		from, to := way[0], way[1]
		users := []*shared.Owners{following(t, from, to), following(t, from, to)}
		stop, acked := make(chan struct{}), make(chan string, 1<<20)
		var wg sync.WaitGroup
		for u, user := range users {
			for w := range 2 {
				wg.Go(func() {
					e, release, err := user.Get(t.Context(), "ada") // one that was opened before the move
					must(t, err)
					defer release()
					for n := 0; ; n++ {
						text := fmt.Sprintf("move%d user%d writer%d wrote word%d", i, u, w, n)
						id, err := e.WriteClaim(t.Context(), claim(t, text))
						if err != nil {
							t.Errorf("move %d: %v", i, err)
							return
						}
						acked <- text
						if got, err := e.Get(t.Context(), id); err != nil || got.Text != text {
							t.Errorf("move %d: it reads %q, %v", i, got.Text, err)
						}
						select {
						case <-stop:
							return
						default:
						}
					}
				})
			}
		}
		for range 50 {
			all = append(all, <-acked)
		}
		mover := from.open(t)
		got, err := mover.Move(t.Context(), "ada", from.name, to.place(), false)
		must(t, err)
		if got.State != shared.MoveDone {
			t.Errorf("move %d: %+v", i, got)
		}
		for len(acked) > 0 {
			all = append(all, <-acked)
		}
		for range 50 { // and on
			all = append(all, <-acked)
		}
		close(stop)
		wg.Wait()
		close(acked)
		for text := range acked {
			all = append(all, text)
		}
		slices.Sort(all)
		if there := to.texts(t, "ada"); !slices.Equal(there, all) {
			t.Errorf("move %d: %d are there, and %d were acknowledged", i, len(there), len(all))
		}
		for _, user := range users {
			must(t, user.Close())
		}
	}
	wrong := following(t, a, &site{name: b.name, log: c.log})
	if _, _, err := wrong.Get(t.Context(), "ada"); !errors.Is(err, ken.ErrRefused) || !strings.Contains(err.Error(), "not to this engine") {
		t.Errorf("where it did not go to, it says %v", err)
	}
	if last, err := c.log.Last(t.Context(), "ada"); err != nil || last != 0 {
		t.Errorf("it was made there: %d, %v", last, err)
	}
	other := following(t, a, c)
	if _, _, err := other.Get(t.Context(), "ada"); !errors.Is(err, ken.ErrRefused) || !strings.Contains(err.Error(), b.name) {
		t.Errorf("with another engine, it says %v", err)
	}
}

// snapshots is a log that calls before and after around each PutSnapshot.
type snapshots struct {
	commitlog.Log
	before, after func() error
}

func (s *snapshots) PutSnapshot(ctx context.Context, owner string, position uint64, r io.Reader) error {
	if err := s.before(); err != nil {
		return err
	}
	if err := s.Log.PutSnapshot(ctx, owner, position, r); err != nil {
		return err
	}
	return s.after()
}

// TestWhatANodeHasReadOfAMove checks a node of the new place that has read the records of an earlier
// move and the beginning of the next one. It must not mix them with the data of the next move.
func TestWhatANodeHasReadOfAMove(t *testing.T) {
	a, b := engineSite(t, "nats://a:4222"), engineSite(t, "postgres://b/ken")
	e, release, err := a.open(t).Get(t.Context(), "ada")
	must(t, err)
	write(t, e, claim(t, "the port is 8080"))
	mover, next := a.open(t), b.open(t)
	look := func() error {
		ctx, cancel := context.WithTimeout(t.Context(), 400*time.Millisecond)
		defer cancel()
		if _, release, err := next.Get(ctx, "ada"); err == nil {
			release()
			t.Error("it is open before all is there")
		}
		return nil
	}
	nothing := func() error { return nil }
	cut := &snapshots{b.log.Join(), nothing, func() error { return errors.Join(look(), errDead) }}
	if _, err := mover.Move(t.Context(), "ada", a.name, shared.Place{Name: b.name, Log: cut}, false); !errors.Is(err, errDead) {
		t.Fatal(err)
	}
	write(t, e, claim(t, "the host is ada"))
	release()
	looks := 0
	var got []string
	again := &snapshots{b.log.Join(), func() error {
		if looks++; looks == 1 {
			return look()
		}
		got = textsOf(t, next, "ada") // all is there, and no later snapshot
		return nil
	}, nothing}
	_, err = mover.Move(t.Context(), "ada", a.name, shared.Place{Name: b.name, Log: again}, false)
	must(t, err)
	if len(got) != 2 {
		t.Errorf("it has %q", got)
	}
}

// TestACallThatAMoveOvertakes checks a call in the holder's process that has the store already when a move closes it.
func TestACallThatAMoveOvertakes(t *testing.T) {
	folder, a := folderSite(t), engineSite(t, "nats://a:4222")
	user := following(t, folder, a)
	e, release, err := user.Get(t.Context(), "ada")
	must(t, err)
	defer release()
	write(t, e, claim(t, "the port is 8080"))
	calls := 0
	must(t, shared.Read(t.Context(), e, func(s store.Engine) (err error) {
		view := func() error { return s.Shelf().View(t.Context(), func(store.ShelfReader) error { return nil }) }
		if calls++; calls > 1 {
			return view()
		}
		_, err = folder.open(t).Move(t.Context(), "ada", folder.name, a.place(), false)
		must(t, err)
		for err == nil {
			err = view()
		}
		return err
	}))
	if calls != 2 {
		t.Errorf("%d calls", calls)
	}
}
