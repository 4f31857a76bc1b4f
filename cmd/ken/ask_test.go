package main

import (
	"io"
	"path/filepath"
	"testing"
)

// BenchmarkAsk is a question to a project that is indexed already, start to end:
// what a person waits for.
func BenchmarkAsk(b *testing.B) {
	dir := b.TempDir()
	for name, text := range map[string]string{".ken/config.yaml": "", "lamp.md": "The lighthouse lamp restarts from a pilot flame.\n"} {
		if err := writePrivate(filepath.Join(dir, name), text); err != nil {
			b.Fatal(err)
		}
	}
	for b.Loop() {
		if status := run(b.Context(), []string{"ask", "--dir", dir, "how does the lighthouse lamp restart?"}, streams{out: io.Discard, err: io.Discard}); status != exitOK {
			b.Fatalf("exit status %d", status)
		}
	}
}
