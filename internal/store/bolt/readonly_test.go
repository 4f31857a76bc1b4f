package bolt_test

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/kenlayer/ken"
	"github.com/kenlayer/ken/internal/store/bolt"
	"github.com/kenlayer/ken/store"
)

// content is every file below a folder.
func content(t *testing.T, dir string) map[string]string {
	t.Helper()
	out := map[string]string{}
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		b, err := os.ReadFile(path)
		out[path] = string(b)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return out
}

// A folder that is read alone is searched, exported and checked, by any number of
// processes, and not one byte of it changes.
func TestReadOnly(t *testing.T) {
	dir, led := furnished(t)
	before := content(t, dir)
	ctx := context.Background()
	first, err := bolt.OpenReadOnly(ctx, dir, quiet())
	if err != nil {
		t.Fatal(err)
	}
	second, err := bolt.OpenReadOnly(ctx, dir, quiet())
	if err != nil {
		t.Fatal(err)
	}
	for _, s := range []*bolt.Store{first, second} {
		if n := led.compare(t, s, "read alone"); n != len(led.texts) {
			t.Errorf("%d claims of %d", n, len(led.texts))
		}
		if got := texts(t, s, "which port has service17"); len(got) == 0 || got[0] != "the port of service17 is 8017" {
			t.Errorf("found %q", got)
		}
		if _, err := s.WriteClaim(ctx, claim(t, "the host is example")); !errors.Is(err, ken.ErrUnavailable) || ken.Hint(err) == "" {
			t.Errorf("write: %v", err)
		}
		if err := s.Shelf().Update(ctx, func(tx store.ShelfTx) error { return tx.Put("k", []byte("v")) }); !errors.Is(err, ken.ErrUnavailable) {
			t.Errorf("write to the shelf: %v", err)
		}
		if report, err := s.Check(ctx); err != nil || report.Found > 0 {
			t.Errorf("check: %+v, %v", report, err)
		}
		if faults, _ := s.Faults(ctx); len(faults) != 1 || faults[0].Name != store.FaultReadOnly {
			t.Errorf("faults %v", faults)
		}
	}
	closeStore(t, first)
	closeStore(t, second)
	if diff := cmp.Diff(before, content(t, dir)); diff != "" {
		t.Errorf("the folder changed: %.300s", diff)
	}
	if _, err := bolt.OpenReadOnly(ctx, t.TempDir(), quiet()); !errors.Is(err, ken.ErrNotFound) {
		t.Errorf("an empty folder: %v", err)
	}
}
