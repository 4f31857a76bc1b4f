package alive

import (
	"bufio"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/kenlayer/ken"
)

// TestMain is also the child that announces itself and waits to be killed.
func TestMain(m *testing.M) {
	if dir := os.Getenv("KEN_TEST_DIR"); dir != "" {
		a, err := Announce(dir, "child")
		if copies := os.Getenv("KEN_TEST_COPIES"); err == nil && copies != "" {
			var path string
			if path, _, err = Folder(copies); err == nil {
				err = os.WriteFile(filepath.Join(path, "copy"), nil, 0o600)
			}
		}
		fmt.Println("announced", err)
		if a != nil {
			select {}
		}
		os.Exit(1)
	}
	os.Exit(m.Run())
}

// child starts a process that has announced itself.
func child(t *testing.T, dir string) *exec.Cmd {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), os.Args[0])
	cmd.Env = append(os.Environ(), "KEN_TEST_DIR="+dir)
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = cmd.Process.Kill(); _ = cmd.Wait() })
	line, err := bufio.NewReader(out).ReadString('\n')
	if err != nil || line != "announced <nil>\n" {
		t.Fatalf("the child said %q, %v", line, err)
	}
	return cmd
}

func TestAProcessThatIsKilledIsGone(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "processes")
	if Is(dir, "child") {
		t.Fatal("it lives before it was born")
	}
	cmd := child(t, dir)
	if !Is(dir, "child") {
		t.Fatal("it does not live")
	}
	if _, err := Announce(dir, "child"); !errors.Is(err, ken.ErrExists) {
		t.Errorf("announced twice: %v", err)
	}
	if n, err := Sweep(dir, time.Now().Add(time.Hour)); n != 0 || err != nil {
		t.Errorf("swept %d of the living, %v", n, err)
	}
	if err := cmd.Process.Kill(); err != nil { // -9
		t.Fatal(err)
	}
	_ = cmd.Wait()
	if Is(dir, "child") {
		t.Error("it lives on")
	}
	if n, err := Sweep(dir, time.Now()); n != 0 || err != nil {
		t.Errorf("swept %d young files, %v", n, err)
	}
	if n, err := Sweep(dir, time.Now().Add(time.Hour)); n != 1 || err != nil {
		t.Errorf("swept %d, %v", n, err)
	}
	if entries, err := os.ReadDir(dir); len(entries) != 0 || err != nil {
		t.Errorf("left: %v, %v", entries, err)
	}
}

func TestAnnounceAndClose(t *testing.T) {
	dir := t.TempDir()
	for _, id := range []string{"a", "..", "a/b", "../x", strings.Repeat("é", 40)} {
		a, err := Announce(dir, id)
		if err != nil {
			t.Fatalf("%q: %v", id, err)
		}
		if !Is(dir, id) {
			t.Errorf("%q: this process does not live", id)
		}
		if err := a.Close(); err != nil {
			t.Errorf("%q: %v", id, err)
		}
		if Is(dir, id) {
			t.Errorf("%q lives on", id)
		}
		if entries, err := os.ReadDir(dir); len(entries) != 0 || err != nil {
			t.Errorf("%q left %v, %v", id, entries, err)
		}
	}
	for _, id := range []string{"", strings.Repeat("x", 81)} {
		if _, err := Announce(dir, id); !errors.Is(err, ken.ErrInvalid) || ken.Hint(err) == "" {
			t.Errorf("%q: %v", id, err)
		}
		if Is(dir, id) {
			t.Errorf("%q lives", id)
		}
	}
}

// Those who look must neither make a file nor take each other for its owner.
func TestLookingIsHarmless(t *testing.T) {
	dir := t.TempDir()
	if Is(dir, "nobody") || Is(filepath.Join(dir, "nowhere"), "nobody") {
		t.Error("nobody lives")
	}
	if err := os.WriteFile(file(dir, "dead"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, "ken.db"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	var wg sync.WaitGroup
	for range 16 {
		wg.Go(func() {
			for range 50 {
				if Is(dir, "dead") {
					t.Error("the dead live while others look")
				}
			}
		})
	}
	wg.Wait()
	if n, err := Sweep(dir, time.Now().Add(time.Hour)); n != 1 || err != nil {
		t.Errorf("swept %d, %v", n, err)
	}
	if entries, _ := os.ReadDir(dir); len(entries) != 1 || entries[0].Name() != "ken.db" {
		t.Errorf("left: %v", entries)
	}
	if n, err := Sweep(filepath.Join(dir, "nowhere"), time.Now()); n != 0 || err != nil {
		t.Errorf("nowhere: %d, %v", n, err)
	}
}

// Whoever may not read the file can't tell, and leaves its owner alone.
func TestWhatCannotBeFoundOutLives(t *testing.T) {
	dir := t.TempDir()
	if err := os.Mkdir(file(dir, "odd"), 0o700); err != nil { // can't be opened for writing
		t.Fatal(err)
	}
	if !Is(dir, "odd") {
		t.Error("it was taken for dead")
	}
}

// What a killed process has left goes with the next one, and what a living one has stays.
func TestFolder(t *testing.T) {
	copies := filepath.Join(t.TempDir(), "copies")
	t.Setenv("KEN_TEST_COPIES", copies)
	killed, living := child(t, t.TempDir()), ""
	left, err := os.ReadDir(copies)
	if err != nil || len(left) != 2 { // the folder, and its announcement
		t.Fatal(left, err)
	}
	if err := errors.Join(killed.Process.Kill(), killed.Wait()); err == nil {
		t.Fatal("it was not killed")
	}
	living, remove, err := Folder(copies)
	if err != nil {
		t.Fatal(err)
	}
	if err := RemoveLeft(copies, time.Now().Add(time.Hour)); err != nil {
		t.Fatal(err)
	}
	entries, err := os.ReadDir(copies)
	if err != nil || len(entries) != 2 || entries[0].Name() != filepath.Base(living) {
		t.Errorf("left: %v, %v", entries, err)
	}
	if err := remove(); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(copies); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("the folder stays: %v", err)
	}
	if err := RemoveLeft(copies, time.Now()); err != nil {
		t.Error(err)
	}
}
