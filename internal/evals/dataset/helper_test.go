package dataset

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// folder writes files, given as pairs of path and content, and returns their folder.
func folder(t *testing.T, pairs ...string) string {
	t.Helper()
	dir := t.TempDir()
	for i := 0; i < len(pairs); i += 2 {
		path := filepath.Join(dir, pairs[i])
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(pairs[i+1]), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

func open1(t *testing.T, path string, o Options) *Set {
	t.Helper()
	s, err := Open(t.Context(), path, o)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func records(t *testing.T, s *Set) []Record {
	t.Helper()
	var out []Record
	for r, err := range s.Records(t.Context()) {
		if err != nil {
			t.Fatal(err)
		}
		out = append(out, r)
	}
	return out
}

// lines joins lines of JSON.
func jsonLines(lines ...string) string { return strings.Join(lines, "\n") + "\n" }

// brief is a record in a few words.
func brief(r *Record) string {
	parts := []string{r.ID, r.Conv, r.Session, r.Role + r.Speaker, r.Text}
	if !r.At.IsZero() {
		parts = append(parts, r.At.Format("2006-01-02 15:04"))
	}
	return strings.Join(parts, "|")
}
