package decision

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/kenlayer/ken/internal/evaldata"
)

func realFiles(b *testing.B) (names []string, texts [][]byte) {
	files, err := filepath.Glob(filepath.Join(evaldata.Dir(b, "adr"), "*.md"))
	if err != nil {
		b.Fatal(err)
	}
	for _, f := range files {
		text, err := os.ReadFile(f)
		if err != nil {
			b.Fatal(err)
		}
		names, texts = append(names, filepath.Base(f)), append(texts, text)
	}
	return names, texts
}

func BenchmarkParse105(b *testing.B) {
	names, texts := realFiles(b)
	b.ReportAllocs()
	for b.Loop() {
		for i, n := range names {
			Parse(n, texts[i])
		}
	}
}

func BenchmarkOpen105(b *testing.B) {
	dir := evaldata.Dir(b, "adr")
	b.ReportAllocs()
	for b.Loop() {
		openAt(b, dir, Options{Folders: []string{"."}, Now: time.Now})
	}
}

// BenchmarkOpen500 measures the start-up cost of a process in a project with many records.
func BenchmarkOpen500(b *testing.B) {
	names, texts := realFiles(b)
	dir := b.TempDir()
	for i := range 500 {
		put(b, dir, fmt.Sprintf("docs/adr/%04d-%s", i+1, strings.TrimLeft(names[i%len(names)], "0123456789-")), string(texts[i%len(names)]))
	}
	b.ReportAllocs()
	for b.Loop() {
		openAt(b, dir, Options{Now: time.Now})
	}
}

// BenchmarkRefreshNothing measures the cost for a turn if nothing has changed.
func BenchmarkRefreshNothing(b *testing.B) {
	r := openAt(b, evaldata.Dir(b, "adr"), Options{Folders: []string{"."}, Now: time.Now})
	b.ReportAllocs()
	for b.Loop() {
		if _, err := r.Refresh(b.Context()); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkSearch(b *testing.B) {
	r := openAt(b, evaldata.Dir(b, "adr"), Options{Folders: []string{"."}})
	b.ReportAllocs()
	for b.Loop() {
		if r.Search(Query{Words: "kill a child process together with everything it started"}).Total == 0 {
			b.Fatal("nothing")
		}
	}
}
