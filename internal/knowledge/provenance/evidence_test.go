package provenance_test

import (
	"cmp"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/kenlayer/ken"
	"github.com/kenlayer/ken/internal/knowledge/provenance"
)

// put writes a file below a folder.
func put(t *testing.T, dir, name, text string) string {
	t.Helper()
	path := filepath.Join(dir, filepath.FromSlash(name))
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
	return path
}

// A file is evidence as it is now, under one name however it is named.
func TestEvidence(t *testing.T) {
	root := t.TempDir()
	abs := put(t, root, "pay/retry.go", "package pay\n")
	const hash = "sha256:0c567765e6ad48e8b76905c944d4bbb3166df2e2808c07703352e28ff955e32b"
	names := []string{"pay/retry.go", "./pay//retry.go", `pay\retry.go`, "pay/../pay/retry.go", abs}
	if elsewhere := filepath.Join(t.TempDir(), "project"); os.Symlink(root, elsewhere) == nil {
		names = append(names, filepath.Join(elsewhere, "pay", "retry.go"))
	}
	for _, name := range names {
		e, err := provenance.Evidence(root, name)
		if err != nil || e.Kind != ken.EvidenceFile || e.Path != "pay/retry.go" || e.ContentHash != hash {
			t.Errorf("%s: %+v, %v", name, e, err)
		}
	}
}

// Nothing outside of the project is read, and each error says which file it is about.
func TestEvidenceThatIsNone(t *testing.T) {
	root, outside := t.TempDir(), put(t, t.TempDir(), "secret", "x")
	put(t, root, "a/b.go", "package b\n")
	if err := os.Symlink(outside, filepath.Join(root, "link")); err != nil {
		t.Skip(err)
	}
	large := put(t, root, "large", "")
	if err := os.Truncate(large, 64<<20+1); err != nil { // a hole: it takes no room
		t.Fatal(err)
	}
	for name, want := range map[string]error{
		"../x": ken.ErrInvalid, outside: ken.ErrInvalid, "link": ken.ErrInvalid, "a": ken.ErrInvalid, ".": ken.ErrInvalid, "": ken.ErrInvalid,
		"a/../../x": ken.ErrInvalid, "a\x00b": ken.ErrInvalid, "large": ken.ErrInvalid, "none.go": ken.ErrNotFound,
	} {
		e, err := provenance.Evidence(root, name)
		if !errors.Is(err, want) || !strings.Contains(err.Error(), cmp.Or(name, "empty")) || ken.Hint(err) == "" || e != (ken.Evidence{}) {
			t.Errorf("%q: %+v, %v", name, e, err)
		}
	}
	if _, err := provenance.Evidence(filepath.Join(root, "gone"), "a/b.go"); !errors.Is(err, ken.ErrInvalid) {
		t.Errorf("a project that is not there: %v", err)
	}
}
