package main

import (
	"io"
	"path/filepath"
	"testing"

	"github.com/kenlayer/ken/internal/cli"
)

// BenchmarkAsk is a question to a project that is indexed already, start to end:
// what a person waits for.
func BenchmarkAsk(b *testing.B) {
	dir := b.TempDir()
	for name, text := range map[string]string{".ken/config.yaml": "", "lamp.md": "The lighthouse lamp restarts from a pilot flame.\n"} {
		if err := writeTestFile(filepath.Join(dir, name), text); err != nil {
			b.Fatal(err)
		}
	}
	for b.Loop() {
		if status := run(b.Context(), []string{"ask", "--dir", dir, "how does the lighthouse lamp restart?"}, cli.Streams{Out: io.Discard, Err: io.Discard}); status != cli.ExitOK {
			b.Fatalf("exit status %d", status)
		}
	}
}
