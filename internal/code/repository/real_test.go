package repository

import (
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/kenlayer/ken/internal/evaldata"
	"github.com/kenlayer/ken/internal/race"
)

// checkFolder checks every text file of a real folder, at the default sizes and
// at small ones; with the race detector, every third.
func checkFolder(t *testing.T, dir string) {
	t.Helper()
	files, chunks, read := 0, 0, 0
	err := filepath.WalkDir(dir, func(name string, e fs.DirEntry, err error) error {
		if err != nil || !e.Type().IsRegular() {
			return err
		}
		text, err := os.ReadFile(name)
		if err != nil || !utf8.Valid(text) || strings.Contains(string(text), "\x00") {
			return err
		}
		rel, err := filepath.Rel(dir, name)
		if err != nil {
			return err
		}
		if read++; read%race.Pick(1, 3) != 0 {
			return nil
		}
		files++
		chunks += len(checkChunks(t, filepath.ToSlash(rel), string(text), newLimits(defaultMaxChunk, defaultMinChunk)))
		checkChunks(t, filepath.ToSlash(rel), string(text), newLimits(300, 60))
		return nil
	})
	if err != nil || files == 0 || chunks < files/2 {
		t.Errorf("%d files, %d chunks, %v", files, chunks, err)
	}
}

func TestDecisionRecords(t *testing.T) {
	dir := evaldata.Dir(t, "adr")
	checkFolder(t, dir)
	sink := newMemory(t)
	index(t, dir, sink, Options{NoHistory: true})
	for path, want := range map[string]string{
		"0024-spawn-cli-coding-agents-acp.md": "Status: Superseded by ADR 0025", "0034-plugin-ui-first-class-react.md": "Status: Superseded by ADR 0038",
	} {
		for _, h := range sink.headings(path) {
			if !strings.Contains(h, want) {
				t.Errorf("%q does not say %q", h, want)
			}
		}
	}
	for _, h := range sink.headings("0007-directory-aware-operator-agent.md") {
		if strings.Contains(h, "Status:") {
			t.Errorf("%q marks a record that is in force", h)
		}
	}
}

func TestGoModule(t *testing.T) {
	const module = "go.etcd.io/bbolt"
	out, err := exec.CommandContext(t.Context(), "go", "list", "-m", "-f", "{{.Dir}}", module).Output()
	dir := strings.TrimSpace(string(out))
	if err != nil || dir == "" {
		t.Skipf("the source of %s is not in the module cache", module)
	}
	checkFolder(t, dir)
}
