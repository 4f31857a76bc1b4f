package durable

import (
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"testing"
)

func TestDir(t *testing.T) {
	dir := t.TempDir()
	if err := Dir(dir); err != nil {
		t.Error(err)
	}
	if err := Dir(filepath.Join(dir, "none")); runtime.GOOS != "windows" && !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("a folder that is not there: %v", err)
	}
}

// A file is replaced although somebody reads it until a moment later.
func TestRename(t *testing.T) {
	dir := t.TempDir()
	from, to := filepath.Join(dir, "from"), filepath.Join(dir, "to")
	for path, text := range map[string]string{from: "new", to: "old"} {
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	f, err := os.Open(to)
	if err != nil {
		t.Fatal(err)
	}
	go f.Close()
	if err := Rename(from, to); err != nil {
		t.Error(err)
	}
	if got, err := os.ReadFile(to); err != nil || string(got) != "new" {
		t.Errorf("%q, %v", got, err)
	}
	if err := Rename(from, to); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("a file that is not there: %v", err)
	}
}

// A file that can't be written whole keeps its content, and nothing is left beside it.
func TestReplaceFails(t *testing.T) {
	dir, full := t.TempDir(), errors.New("the disk is full")
	path := filepath.Join(dir, "a")
	if err := WriteFile(path, []byte("old"), 0o600); err != nil {
		t.Fatal(err)
	}
	err := Replace(path, 0o600, func(w io.Writer) error {
		_, _ = io.WriteString(w, "new")
		return full
	})
	if !errors.Is(err, full) {
		t.Errorf("%v", err)
	}
	if got, err := os.ReadFile(path); err != nil || string(got) != "old" {
		t.Errorf("%q, %v", got, err)
	}
	if left, err := os.ReadDir(dir); err != nil || len(left) != 1 {
		t.Errorf("left behind: %v, %v", left, err)
	}
}
