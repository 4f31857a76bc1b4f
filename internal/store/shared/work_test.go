package shared_test

import (
	"bufio"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/kenlayer/ken/internal/store/shared"
)

// TestAKilledMoveLeavesNoCopies checks that a move that is killed leaves copies of the store only in
// WorkDir, and that the next process that opens the folder removes them.
func TestAKilledMoveLeavesNoCopies(t *testing.T) {
	folder := folderSite(t)
	w := folder.open(t)
	e, release, err := w.Get(t.Context(), "ada")
	must(t, err)
	write(t, e, claim(t, "the port is 8080"))
	release()
	must(t, w.Close())
	mover := child(t, "mover", folder.dir)
	mover.Env = append(mover.Env, "TMPDIR="+filepath.Join(t.TempDir(), "nowhere"), "XDG_RUNTIME_DIR="+t.TempDir())
	out, err := mover.StdoutPipe()
	must(t, err)
	must(t, mover.Start())
	if line, err := bufio.NewReader(out).ReadString('\n'); err != nil || line != "ready\n" {
		t.Fatalf("it said %q, %v", line, err)
	}
	_ = mover.Process.Kill()
	_ = mover.Wait()
	if n := len(copies(t, folder.dir)); n < 2 {
		t.Errorf("there are %d copies: the test shows nothing", n)
	}
	must(t, folder.open(t).Close())
	if left := copies(t, folder.dir); len(left) > 0 {
		t.Errorf("left: %v", left)
	}
	to := folderSite(t)
	if got := folder.texts(t, "ada"); len(got) != 1 {
		t.Errorf("it finds %q", got)
	}
	engine := engineSite(t, "nats://a:4222")
	if _, err := folder.open(t).Move(t.Context(), "ada", folder.name, engine.place(), false); err != nil {
		t.Fatal(err)
	}
	if _, err := engine.open(t).Move(t.Context(), "ada", engine.name, to.place(), false); err != nil {
		t.Fatal(err)
	}
	for _, dir := range []string{folder.dir, to.dir} {
		if _, err := os.Stat(shared.WorkDir(dir)); !errors.Is(err, os.ErrNotExist) {
			t.Errorf("left in %s: %v", dir, err)
		}
	}
}

// copies returns the files of store copies in WorkDir.
func copies(t *testing.T, dir string) (files []string) {
	t.Helper()
	must(t, filepath.WalkDir(dir, func(path string, _ os.DirEntry, err error) error {
		if rel, _ := filepath.Rel(dir, path); strings.HasPrefix(rel, ".work") && strings.HasPrefix(filepath.Base(path), "ken.db") {
			files = append(files, path)
		}
		return err
	}))
	return files
}
