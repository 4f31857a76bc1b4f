package connect

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// The backups of before stay until those that take their place are written.
func TestBackupsAreReplacedAtOnce(t *testing.T) {
	data := t.TempDir()
	t.Setenv("XDG_DATA_HOME", data)
	t.Setenv("HOME", data)
	backup := func(path string) string {
		t.Helper()
		r, err := readRecord("codex")
		if err != nil || r == nil {
			t.Fatalf("the record: %v, %v", r, err)
		}
		text, err := r.without(&r.Files[0], []byte("with ken"))
		if err != nil || r.Files[0].Path != path {
			t.Fatalf("%s: %v", r.Files[0].Path, err)
		}
		return string(text)
	}
	write := func(path, before string) error {
		r := record{Agent: "codex", Files: []recordedFile{{Path: path, After: sum([]byte("with ken"))}}}
		return r.write([][]byte{[]byte(before)})
	}
	if err := write("/a/hooks.json", "one"); err != nil {
		t.Fatal(err)
	}
	if err := write("/a/"+strings.Repeat("x", 300), "two"); err == nil {
		t.Fatal("a name that no file can have was taken")
	}
	if got := backup("/a/hooks.json"); got != "one" {
		t.Errorf("after a failure: %q", got)
	}
	if err := write("/a/hooks.json", "three"); err != nil {
		t.Fatal(err)
	}
	if got := backup("/a/hooks.json"); got != "three" {
		t.Errorf("replaced: %q", got)
	}
	dir, err := recordFolder("codex")
	if err != nil {
		t.Fatal(err)
	}
	var files []string
	for _, pattern := range []string{"*", "*/*"} {
		found, _ := filepath.Glob(filepath.Join(dir, pattern))
		files = append(files, found...)
	}
	if len(files) != 3 { // the record, a folder, and the backup in it
		t.Errorf("left: %v", files)
	}
	r, err := readRecord("codex")
	if err == nil {
		err = r.remove()
	}
	if _, gone := os.Stat(dir); err != nil || gone == nil {
		t.Errorf("removed: %v, %v", err, gone)
	}
}
