package objective

import (
	"os"
	"path/filepath"
	"testing"
	"time"
)

// noon is the time at which tests run.
var noon = time.Date(2026, 11, 22, 12, 0, 0, 0, time.UTC)

// project writes files into the folder of objectives and opens it.
func project(t testing.TB, files map[string]string) (*Store, string) {
	t.Helper()
	dir := t.TempDir()
	for name, text := range files {
		put(t, dir, name, text)
	}
	return open(t, dir), dir
}

func open(t testing.TB, dir string) *Store {
	t.Helper()
	s, err := Open(dir, Options{Now: func() time.Time { return noon }})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	})
	return s
}

func put(t testing.TB, dir, name, text string) {
	t.Helper()
	at := filepath.Join(dir, DefaultFolder, name)
	if err := os.MkdirAll(filepath.Dir(at), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(at, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
}

func get(t testing.TB, dir, name string) string {
	t.Helper()
	b, err := os.ReadFile(filepath.Join(dir, DefaultFolder, name))
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}
