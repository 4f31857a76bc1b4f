package decision

import (
	"context"
	"iter"
	"maps"
	"os"
	"path/filepath"
	"testing"
	"time"
)

func mapKeys[K comparable, V any](m map[K]V) iter.Seq[K] { return maps.Keys(m) }

// today is the time at which tests run.
func today() time.Time { return time.Date(2026, 11, 22, 9, 0, 0, 0, time.UTC) }

func openAt(t testing.TB, dir string, o Options) *Registry {
	t.Helper()
	if o.Now == nil {
		o.Now = today
	}
	r, err := Open(context.Background(), dir, o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := r.Close(); err != nil {
			t.Error(err)
		}
	})
	return r
}

// project writes files into a new folder and opens it.
func project(t testing.TB, files map[string]string) (*Registry, string) {
	t.Helper()
	dir := t.TempDir()
	for name, text := range files {
		put(t, dir, name, text)
	}
	return openAt(t, dir, Options{}), dir
}

func put(t testing.TB, dir, name, text string) {
	t.Helper()
	at := filepath.Join(dir, filepath.FromSlash(name))
	if err := os.MkdirAll(filepath.Dir(at), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(at, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
}

func get(t testing.TB, dir, name string) string {
	t.Helper()
	b, err := os.ReadFile(filepath.Join(dir, filepath.FromSlash(name)))
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

func refresh(t testing.TB, r *Registry) Changes {
	t.Helper()
	c, err := r.Refresh(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// viewOf returns the snapshot of files that are only in memory.
func viewOf(files map[string]string) *snapshot {
	pages := map[string]*page{}
	for name, text := range files {
		pages[name] = pageOf(parse(name, []byte(text)))
	}
	return newSnapshot(pages, nil)
}
