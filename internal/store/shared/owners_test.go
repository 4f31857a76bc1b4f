package shared_test

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"testing"

	"github.com/kenlayer/ken"
	"github.com/kenlayer/ken/internal/store/shared"
	"github.com/kenlayer/ken/store"
)

// Owners share no file: what one writes, no call on another finds, be the store
// held here or elsewhere.
func TestOwnersAreApart(t *testing.T) {
	ctx := context.Background()
	dir := t.TempDir()
	first, second := shared.NewOwners(dir, 2, shared.Options{}), shared.NewOwners(dir, 0, shared.Options{})
	defer func() { must(t, errors.Join(second.Close(), first.Close())) }()
	names := []string{"alice", "bob", "../alice", "", "a/b", "ALICE%2F", "日本"}
	ids := map[string]string{}
	for _, name := range names {
		s, release, err := first.Get(ctx, name)
		if err != nil {
			t.Fatalf("owner %q: %v", name, err)
		}
		ids[name] = write(t, s, claim(t, "the shared word and owner "+name))
		release()
	}
	for _, w := range []*shared.Owners{first, second} {
		for _, name := range names {
			s, release, err := w.Get(ctx, name)
			must(t, err)
			if got := texts(t, s, "shared word"); len(got) != 1 || got[0] != "the shared word and owner "+name {
				t.Errorf("owner %q sees %q", name, got)
			}
			for other, id := range ids {
				if _, err := s.Get(ctx, id); (err == nil) != (other == name) {
					t.Errorf("owner %q asks for the claim of %q: %v", name, other, err)
				}
			}
			release()
		}
	}
	entries, err := os.ReadDir(dir)
	must(t, err)
	if len(entries) != len(names) {
		t.Errorf("%d folders for %d owners", len(entries), len(names))
	}
	if _, err := os.Stat(filepath.Join(filepath.Dir(dir), "alice")); err == nil {
		t.Error("an owner's name led out of the folder")
	}
}

func TestClosedOwnersOpenNothing(t *testing.T) {
	w := shared.NewOwners(t.TempDir(), 0, shared.Options{})
	s := open(t, w)
	must(t, w.Close())
	if _, _, err := w.Get(context.Background(), "a"); !errors.Is(err, ken.ErrUnavailable) {
		t.Errorf("after Close: %v", err)
	}
	if _, err := s.WriteClaim(context.Background(), claim(t, "too late")); !errors.Is(err, ken.ErrUnavailable) || ken.Hint(err) == "" {
		t.Errorf("a store of before: %v", err)
	}
	if err := s.Shelf().Update(context.Background(), func(store.ShelfTx) error { return nil }); !errors.Is(err, ken.ErrUnavailable) {
		t.Errorf("its shelf: %v", err)
	}
}

// A store in use stays open beyond the limit; an idle one is closed.
func TestOwnersLimit(t *testing.T) {
	ctx := context.Background()
	w := shared.NewOwners(t.TempDir(), 1, shared.Options{})
	defer w.Close()
	a, releaseA, err := w.Get(ctx, "a")
	must(t, err)
	_, releaseB, err := w.Get(ctx, "b")
	must(t, err)
	write(t, a, claim(t, "still open"))
	releaseA()
	releaseB()
	_, releaseC, err := w.Get(ctx, "c")
	must(t, err)
	defer releaseC()
	if _, err := a.WriteClaim(ctx, claim(t, "too late")); !errors.Is(err, ken.ErrUnavailable) {
		t.Errorf("the idle store is still open: %v", err)
	}
	again, releaseA, err := w.Get(ctx, "a")
	must(t, err)
	defer releaseA()
	if got := texts(t, again, "open"); len(got) != 1 {
		t.Errorf("opened again it has %q", got)
	}
}

// A process that is connected and asks for nothing keeps no store open elsewhere,
// and one that has a use for it takes it over.
func TestIdleClientsPinNoStore(t *testing.T) {
	ctx := context.Background()
	dir := t.TempDir()
	holder := shared.NewOwners(dir, 1, shared.Options{})
	defer func() { must(t, holder.Close()) }()
	idle, busy := owners(t, dir, shared.Options{}), owners(t, dir, shared.Options{})
	s, release, err := holder.Get(ctx, "a")
	must(t, err)
	write(t, s, claim(t, "the port is 8080"))
	_, releaseIdle, err := idle.Get(ctx, "a")
	must(t, err)
	releaseIdle()
	used, releaseBusy, err := busy.Get(ctx, "a")
	must(t, err)
	defer releaseBusy()
	release()
	_, releaseB, err := holder.Get(ctx, "b") // no room for two
	must(t, err)
	defer releaseB()
	eventually(t, "the one with a use for it takes over", func() bool { return busy.Holds("a") })
	if idle.Holds("a") {
		t.Error("the idle one holds it as well")
	}
	if got := texts(t, used, "port"); len(got) != 1 {
		t.Errorf("it has %q", got)
	}
}

// A caller that gives up does not spoil the opening for others.
func TestGetHonoursItsContext(t *testing.T) {
	over, cancel := context.WithCancel(context.Background())
	cancel()
	w := owners(t, t.TempDir(), shared.Options{})
	if _, _, err := w.Get(over, ""); err != nil && !errors.Is(err, context.Canceled) {
		t.Errorf("it returns %v", err)
	}
	write(t, open(t, w), claim(t, "the port is 8080"))
}
