package bolt_test

import (
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/kenlayer/ken/internal/store/bolt"
)

// Whatever an owner is called, the list of a folder names it as it is.
func TestListNamesOwners(t *testing.T) {
	dir := t.TempDir()
	names := []string{"default", "a/b", "..", ".hidden", "C:x", "a b", "100%", "日本", "*", "Ada"}
	for _, name := range names {
		must(t, open(t, filepath.Join(dir, bolt.FolderName(name)), bolt.Options{Owner: name}).Close())
	}
	for _, other := range []string{"events", "%zz"} { // of something else
		if err := os.MkdirAll(filepath.Join(dir, other), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	got, err := bolt.List(dir)
	slices.Sort(got)
	slices.Sort(names)
	if err != nil || !slices.Equal(got, names) {
		t.Errorf("%q, %v; want %q", got, err, names)
	}
	if got, err := bolt.List(filepath.Join(dir, "nowhere")); len(got) != 0 || err != nil {
		t.Errorf("%q, %v", got, err)
	}
}
