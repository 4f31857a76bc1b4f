package bolt_test

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/kenlayer/ken"
	"github.com/kenlayer/ken/store/bolt"
)

// Owners share no file: what one writes, no call on another finds.
func TestOwnersAreApart(t *testing.T) {
	ctx := context.Background()
	dir := t.TempDir()
	w := bolt.NewOwners(dir, 2, bolt.Options{})
	defer w.Close()
	names := []string{"alice", "bob", "../alice", "", "a/b", "ALICE%2F", "日本"}
	ids := map[string]string{}
	for _, name := range names {
		s, release, err := w.Get(ctx, name)
		if err != nil {
			t.Fatalf("owner %q: %v", name, err)
		}
		ids[name] = write(t, s, claim(t, "the shared word and owner "+name))
		release()
	}
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
	entries, err := os.ReadDir(dir)
	must(t, err)
	if len(entries) != len(names) {
		t.Errorf("%d folders for %d owners", len(entries), len(names))
	}
	if _, err := os.Stat(filepath.Join(filepath.Dir(dir), "alice")); err == nil {
		t.Error("an owner's name led out of the folder")
	}
}

func TestFolderOfAnotherOwnerIsRefused(t *testing.T) {
	dir := t.TempDir()
	must(t, open(t, dir, bolt.Options{Owner: "alice"}).Close())
	_, err := bolt.Open(context.Background(), dir, bolt.Options{Owner: "bob"})
	if !errors.Is(err, ken.ErrRefused) || !strings.Contains(err.Error(), "alice") {
		t.Errorf("error %v", err)
	}
}

func TestClosedOwnersOpenNothing(t *testing.T) {
	w := bolt.NewOwners(t.TempDir(), 0, bolt.Options{})
	must(t, w.Close())
	if _, _, err := w.Get(context.Background(), "a"); !errors.Is(err, ken.ErrUnavailable) {
		t.Errorf("after Close: %v", err)
	}
}

// A store in use stays open beyond the limit; an idle one is closed.
func TestOwnersLimit(t *testing.T) {
	ctx := context.Background()
	w := bolt.NewOwners(t.TempDir(), 1, bolt.Options{})
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
}
