package cli

import (
	"errors"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"testing"

	"github.com/kenlayer/ken"
)

// A file is replaced where a link leads to, the link stays, and so does a device behind one.
func TestReplaceFileKeepsLinks(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("links need rights there")
	}
	dir := t.TempDir()
	at := func(name string) string { return filepath.Join(dir, name) }
	for link, target := range map[string]string{"to-file": at("file"), "to-device": os.DevNull} {
		if err := os.Symlink(target, at(link)); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.WriteFile(at("file"), []byte("old"), 0o600); err != nil {
		t.Fatal(err)
	}
	write := func(w io.Writer) error {
		_, err := io.WriteString(w, "new")
		return err
	}
	if err := ReplaceFile(at("to-file"), write); err != nil {
		t.Error(err)
	}
	if got, err := os.ReadFile(at("file")); string(got) != "new" {
		t.Errorf("%q, %v", got, err)
	}
	if err := ReplaceFile(at("to-device"), write); !errors.Is(err, ken.ErrInvalid) {
		t.Errorf("a device: %v", err)
	}
	for _, link := range []string{"to-file", "to-device"} {
		if fi, err := os.Lstat(at(link)); err != nil || fi.Mode()&os.ModeSymlink == 0 {
			t.Errorf("%s is no link any more: %v, %v", link, fi, err)
		}
	}
}
