package telemetry_test

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/kenlayer/ken/internal/run/telemetry"
)

func open(t *testing.T) (*telemetry.Log, string) {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "logs", "events")
	l := telemetry.Open(dir)
	t.Cleanup(func() {
		if err := l.Close(); err != nil {
			t.Error(err)
		}
	})
	return l, dir
}

// lines decodes a file; every line must be complete.
func lines(t *testing.T, path string) (out []telemetry.ContextAssembly) {
	t.Helper()
	f, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	in := bufio.NewScanner(f)
	in.Buffer(nil, 1<<20)
	for in.Scan() {
		var ev telemetry.ContextAssembly
		if err := json.Unmarshal(in.Bytes(), &ev); err != nil {
			t.Fatalf("%s: line %q: %v", path, in.Text(), err)
		}
		out = append(out, ev)
	}
	if err := in.Err(); err != nil {
		t.Fatal(err)
	}
	return out
}

func files(t *testing.T, dir string) (names []string) {
	t.Helper()
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range entries {
		names = append(names, e.Name())
	}
	return names
}

func TestNothingIsCreatedBeforeTheFirstEvent(t *testing.T) {
	_, dir := open(t)
	if _, err := os.Stat(dir); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("the folder is there: %v", err)
	}
}

func TestOneFilePerSession(t *testing.T) {
	l, dir := open(t)
	for _, session := range []string{"a", "b", "a", ""} {
		if err := l.Write("", session, telemetry.ContextAssembly{SessionID: session, Timestamp: time.Unix(9, 0).UTC()}); err != nil {
			t.Fatal(err)
		}
	}
	for name, n := range map[string]int{"a": 2, "b": 1, "default": 1} {
		path := filepath.Join(dir, name+".jsonl")
		if got := lines(t, path); len(got) != n {
			t.Errorf("%s: %d events, want %d", name, len(got), n)
		}
		if info, err := os.Stat(path); err != nil || info.Mode().Perm()&0o077 != 0 {
			t.Errorf("%s can be read by others: %v, %v", name, info.Mode(), err)
		}
	}
	again := telemetry.Open(dir) // another process, later
	if err := again.Write("", "a", telemetry.ContextAssembly{}); err != nil {
		t.Fatal(err)
	}
	if err := again.Close(); err != nil {
		t.Fatal(err)
	}
	if got := lines(t, filepath.Join(dir, "a.jsonl")); len(got) != 3 {
		t.Errorf("%d events after reopening, want 3", len(got))
	}
}

// A session's name comes from a request header. None leaves the folder, and no
// two sessions share a file.
func TestHostileSessionNames(t *testing.T) {
	long := strings.Repeat("x", 10_000)
	names := []string{"../../etc/passwd", "..", ".", "/", "/abs", `..\..\win`, "C:evil", "a/b", "a%2Fb", "nul\x00byte", "line\nbreak", "\xff\xfe",
		".hidden", "%2Ehidden", " ", "日本", strings.Repeat("日", 100), long, long + "1", long + "2", long[:200], long[:201], strings.Repeat("/", 300)}
	l, dir := open(t)
	taken := map[string]string{}
	for _, name := range names {
		if err := l.Write("", name, telemetry.ContextAssembly{SessionID: name}); err != nil {
			t.Errorf("%.40q: %v", name, err)
		}
		file := telemetry.FileName(name)
		if other, ok := taken[file]; ok {
			t.Errorf("%.40q and %.40q share %s", name, other, file)
		}
		taken[file] = name
		if filepath.Base(file) != file || strings.HasPrefix(file, ".") || strings.ContainsAny(file, `/\:`+"\x00") || len(file) > 255 {
			t.Errorf("%.40q has the file %q", name, file)
		}
	}
	if got := files(t, dir); len(got) != len(names) {
		t.Errorf("%d files for %d sessions: %q", len(got), len(names), got)
	}
	if got := files(t, filepath.Dir(dir)); len(got) != 1 {
		t.Errorf("beside the folder: %q", got)
	}
}

// A long name that ends in what another's file is called must not reach it.
func TestHashedNamesCannotBeForged(t *testing.T) {
	victim := telemetry.FileName(strings.Repeat("x", 300))
	if forged := telemetry.FileName(strings.TrimSuffix(victim, ".jsonl")); forged == victim {
		t.Errorf("a session called like a file gets that file: %s", forged)
	}
}

// Writers in one process and in another log on the same folder write at the
// same time. Every line is complete and none is lost, even with more sessions
// than the log keeps open.
func TestConcurrentWriters(t *testing.T) {
	const writers, sessions, each = 8, 150, 3
	l, dir := open(t)
	other := telemetry.Open(dir)
	defer other.Close()
	var wg sync.WaitGroup
	for w := range writers {
		log := []*telemetry.Log{l, other}[w%2]
		wg.Go(func() {
			for i := range each * sessions {
				name := fmt.Sprint("session ", i%sessions)
				if err := log.Write("", name, telemetry.ContextAssembly{SessionID: name, Cause: strings.Repeat("long ", 2000)}); err != nil {
					t.Error(err)
					return
				}
			}
		})
	}
	wg.Wait()
	if got := files(t, dir); len(got) != sessions {
		t.Errorf("%d files", len(got))
	}
	for i := range sessions {
		name := fmt.Sprint("session ", i)
		got := lines(t, filepath.Join(dir, telemetry.FileName(name)))
		if len(got) != writers*each {
			t.Errorf("%s: %d events, want %d", name, len(got), writers*each)
		}
		for _, ev := range got {
			if ev.SessionID != name {
				t.Fatalf("%s holds an event of %s", name, ev.SessionID)
			}
		}
	}
}

// A turn that is under way while the layer closes must not open files again.
func TestWriteAfterClose(t *testing.T) {
	l, dir := open(t)
	if err := l.Write("", "a", 1); err != nil {
		t.Fatal(err)
	}
	for range 2 {
		if err := l.Close(); err != nil {
			t.Fatal(err)
		}
	}
	for _, session := range []string{"a", "b"} {
		if err := l.Write("", session, 1); !errors.Is(err, telemetry.ErrClosed) {
			t.Errorf("write to %s: %v", session, err)
		}
	}
	if got := files(t, dir); len(got) != 1 {
		t.Errorf("files %q", got)
	}
}

func TestWriteTellsWhatItCouldNot(t *testing.T) {
	l, dir := open(t)
	if err := l.Write("", "a", func() {}); err == nil || !strings.Contains(err.Error(), "encode event") {
		t.Errorf("an event that JSON can't hold: %v", err)
	}
	if err := os.MkdirAll(filepath.Dir(dir), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(dir, nil, 0o600); err != nil { // where the folder should be
		t.Fatal(err)
	}
	if err := l.Write("", "a", 1); err == nil || !strings.Contains(err.Error(), "open event file") {
		t.Errorf("a folder that can't be: %v", err)
	}
}

func ExampleLog() {
	dir, err := os.MkdirTemp("", "events")
	if err != nil {
		panic(err)
	}
	defer os.RemoveAll(dir)
	l := telemetry.Open(dir)
	defer l.Close()
	if err := l.Write("", "monday/standup", telemetry.ContextAssembly{Event: "context_assembly", Turn: "1", Mode: "hybrid"}); err != nil {
		panic(err)
	}
	b, err := os.ReadFile(filepath.Join(dir, telemetry.FileName("monday/standup")))
	if err != nil {
		panic(err)
	}
	fmt.Println(telemetry.FileName("monday/standup"), strings.Count(string(b), "\n"))
	// Output: monday%2Fstandup.jsonl 1
}

// Sessions of equal names of two owners have separate files.
func TestOwnersShareNoFile(t *testing.T) {
	l, dir := open(t)
	for _, owner := range []string{"", "ana", "../bob"} {
		if err := l.Write(owner, "standup", telemetry.ContextAssembly{Turn: "of " + owner}); err != nil {
			t.Fatal(err)
		}
	}
	for owner, at := range map[string]string{"": dir, "ana": filepath.Join(dir, "owners", "ana"), "../bob": filepath.Join(dir, "owners", "%2E.%2Fbob")} {
		if telemetry.Dir(dir, owner) != at {
			t.Errorf("%q: %s", owner, telemetry.Dir(dir, owner))
		}
		if got := lines(t, filepath.Join(at, "standup.jsonl")); len(got) != 1 || got[0].Turn != "of "+owner {
			t.Errorf("%q: %+v", owner, got)
		}
	}
}
