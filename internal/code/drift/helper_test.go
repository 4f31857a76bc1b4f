package drift_test

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/rogpeppe/go-internal/txtar"

	"github.com/kenlayer/ken/internal/code/codebase"
	"github.com/kenlayer/ken/internal/code/codegraph"
	"github.com/kenlayer/ken/internal/code/drift"
)

// project writes the files of an archive into a folder of its own.
func project(t testing.TB, a *txtar.Archive) (root string) {
	t.Helper()
	root = t.TempDir()
	for _, f := range a.Files {
		write(t, filepath.Join(root, filepath.FromSlash(f.Name)), string(f.Data))
	}
	return root
}

func archive(t testing.TB, name string) *txtar.Archive {
	t.Helper()
	a, err := txtar.ParseFile(filepath.Join("testdata", name))
	if err != nil {
		t.Fatal(err)
	}
	return a
}

func write(t testing.TB, name, text string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(name), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(name, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
}

// graph reads the files of a project.
func graph(t testing.TB, root string) *codegraph.View {
	t.Helper()
	c, err := codebase.Open(t.Context(), codebase.Options{Root: root})
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	if _, err := c.Build(t.Context()); err != nil {
		t.Fatal(err)
	}
	return c.View()
}

func read(root, name string) (string, error) {
	b, err := os.ReadFile(filepath.Join(root, name))
	return string(b), err
}

func parse(t testing.TB, text string) *drift.Manifest {
	t.Helper()
	m, err := drift.Parse("architecture.yaml", []byte(text))
	if err != nil {
		t.Fatal(err)
	}
	return m
}
