package bolt_test

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/kenlayer/ken"
	"github.com/kenlayer/ken/internal/store/bolt"
	"github.com/kenlayer/ken/store"
)

// filled is a folder with a few hundred claims in it.
func filled(t *testing.T) string {
	dir := t.TempDir()
	s, err := bolt.Open(context.Background(), dir, bolt.Options{})
	if err != nil {
		t.Fatal(err)
	}
	var in []store.Incoming
	for i := range 300 {
		in = append(in, store.Incoming{Claim: claim(t, fmt.Sprintf("the port of service%d is %d", i, 8000+i))})
	}
	for _, o := range s.Import(context.Background(), in) {
		if o.Err != nil {
			t.Fatal(o.Err)
		}
	}
	closeStore(t, s)
	return dir
}

// A bolt file that can't be read is an error that names it, and is left as it
// is: what could not be read must never be written over.
func TestUnreadableFileIsRefusedAndKept(t *testing.T) {
	cases := map[string]func([]byte) []byte{
		"text file":         func([]byte) []byte { return []byte(strings.Repeat("not a database\n", 1000)) },
		"short text file":   func([]byte) []byte { return []byte("hello") },
		"truncated to half": func(b []byte) []byte { return b[:len(b)/2] },
		"truncated to meta": func(b []byte) []byte { return b[:8192] },
		"truncated inside":  func(b []byte) []byte { return b[:12345] },
		"zeroed":            func(b []byte) []byte { return make([]byte, len(b)) },
		"zeroed meta": func(b []byte) []byte {
			clear(b[:8192])
			return b
		},
	}
	dir := filled(t)
	path := filepath.Join(dir, "ken.db")
	good, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	for name, breakIt := range cases {
		t.Run(name, func(t *testing.T) {
			bad := breakIt(append([]byte{}, good...))
			if err := os.WriteFile(path, bad, 0o600); err != nil {
				t.Fatal(err)
			}
			s, err := bolt.Open(context.Background(), dir, bolt.Options{})
			if err == nil {
				s.Close()
				t.Fatal("opened")
			}
			if !errors.Is(err, ken.ErrCorrupt) || !strings.Contains(err.Error(), path) || ken.Hint(err) == "" {
				t.Errorf("error %q (hint %q) does not say that %s is broken and what to do", err, ken.Hint(err), path)
			}
			if now, _ := os.ReadFile(path); string(now) != string(bad) {
				t.Error("the file was changed")
			}
		})
	}
}

func TestIndexIsRebuilt(t *testing.T) {
	cases := map[string]func(t *testing.T, index string){
		"deleted": func(t *testing.T, index string) { must(t, os.RemoveAll(index)) },
		"emptied": func(t *testing.T, index string) {
			must(t, os.RemoveAll(index))
			must(t, os.MkdirAll(index, 0o700))
		},
		"a file": func(t *testing.T, index string) {
			must(t, os.RemoveAll(index))
			must(t, os.WriteFile(index, []byte("x"), 0o600))
		},
		"every file overwritten": func(t *testing.T, index string) {
			must(t, filepath.WalkDir(index, func(path string, d os.DirEntry, err error) error {
				if err != nil || d.IsDir() {
					return err
				}
				return os.WriteFile(path, []byte("garbage garbage garbage"), 0o600)
			}))
		},
		"every file truncated": func(t *testing.T, index string) {
			must(t, filepath.WalkDir(index, func(path string, d os.DirEntry, err error) error {
				if err != nil || d.IsDir() {
					return err
				}
				return os.Truncate(path, 3)
			}))
		},
	}
	for name, breakIt := range cases {
		t.Run(name, func(t *testing.T) {
			dir := filled(t)
			breakIt(t, filepath.Join(dir, "index"))
			rebuilt := 0
			s := open(t, dir, bolt.Options{Progress: func(stage string, done, total int) {
				if stage == "index" {
					rebuilt = done
				}
			}})
			if got := texts(t, s, "service7 port"); len(got) == 0 || got[0] != "the port of service7 is 8007" {
				t.Errorf("found %q", got)
			}
			if rebuilt != 300 {
				t.Errorf("progress told of %d records, not of 300", rebuilt)
			}
		})
	}
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func childHolder() {
	s, err := bolt.Open(context.Background(), os.Getenv("KEN_TEST_DIR"), bolt.Options{})
	if err != nil {
		fmt.Println("error", err)
		os.Exit(1)
	}
	fmt.Println("ready")
	bufio.NewReader(os.Stdin).ReadString('\n') // until the parent closes it
	s.Close()
}

// A second process hears who holds the folder; nothing says "database is locked".
func TestHeldFolderNamesItsHolder(t *testing.T) {
	dir := t.TempDir()
	cmd := child(t, "holder", dir)
	in, err := cmd.StdinPipe()
	must(t, err)
	out, err := cmd.StdoutPipe()
	must(t, err)
	must(t, cmd.Start())
	if line, err := bufio.NewReader(out).ReadString('\n'); err != nil || line != "ready\n" {
		t.Fatalf("holder said %q, %v", line, err)
	}
	_, err = bolt.Open(context.Background(), dir, bolt.Options{LockTimeout: 20 * time.Millisecond})
	pid := fmt.Sprintf("process %d", cmd.Process.Pid)
	if !errors.Is(err, ken.ErrHeld) || !strings.Contains(err.Error(), pid) || !strings.Contains(ken.Hint(err), pid) {
		t.Errorf("error %q (hint %q) does not name %s", err, ken.Hint(err), pid)
	}
	must(t, in.Close())
	must(t, cmd.Wait())
	open(t, dir, bolt.Options{})
}
