package cli

import (
	"bytes"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/kenlayer/ken/internal/store/bolt"
)

func TestOwnersAreReadFromTheirFolders(t *testing.T) {
	dir := t.TempDir()
	want := []string{".dot", "a/b", "c:d", "e f", "kim@example.org", "東京"}
	for _, owner := range want {
		if err := os.Mkdir(filepath.Join(dir, bolt.FolderName(owner)), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	for _, other := range []string{".hidden", "100%"} {
		if err := os.Mkdir(filepath.Join(dir, other), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	got, err := OwnersIn(dir)
	slices.Sort(got)
	if diff := cmp.Diff(want, got); err != nil || diff != "" {
		t.Errorf("%v\n%s", err, diff)
	}
}

// A hundred damaged claims are one warning on the screen.
func TestARepeatedWarningIsPrintedOnce(t *testing.T) {
	var b bytes.Buffer
	a := &App{}
	a.Err = &b
	log := a.Logger()
	for range 3 {
		log.Error("a claim is damaged", "error", "of claim 3", "try", "Run ken check.")
	}
	log.Warn("another one")
	log.Error("a claim is damaged")
	if diff := cmp.Diff("ken: a claim is damaged\nTry: Run ken check.\nken: another one\nken: a claim is damaged\n", b.String()); diff != "" {
		t.Error(diff)
	}
}
