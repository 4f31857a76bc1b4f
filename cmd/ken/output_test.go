package main

import (
	"bytes"
	"context"
	"errors"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

func TestPlainLines(t *testing.T) {
	long := strings.Repeat("日本語", 100_000)
	r := newPlainLines(strings.NewReader("one\r\n\n" + long + "\nno end"))
	for _, want := range []string{"one", "", long, "no end"} {
		got, err := r.read(t.Context())
		if err != nil || got != want {
			t.Fatalf("%.40q, %v; want %.40q", got, err, want)
		}
	}
	if _, err := r.read(t.Context()); err != io.EOF {
		t.Errorf("at the end: %v", err)
	}
}

// A program that waits for input that never comes must still end when it is
// told to.
func TestReadingEndsWithItsContext(t *testing.T) {
	in, out := io.Pipe()
	defer out.Close()
	r := newPlainLines(in)
	ctx, cancel := context.WithCancel(t.Context())
	go cancel()
	if _, err := r.read(ctx); !errors.Is(err, context.Canceled) {
		t.Errorf("got %v", err)
	}
}

func TestReadingTellsErrors(t *testing.T) {
	in, out := io.Pipe()
	out.CloseWithError(errors.New("the cable came off"))
	if _, err := newPlainLines(in).read(t.Context()); err == nil || !strings.Contains(err.Error(), "the cable came off") {
		t.Errorf("got %v", err)
	}
}

func TestHistory(t *testing.T) {
	path := filepath.Join(t.TempDir(), "state", "chat_history")
	h, err := loadHistory(path)
	if err != nil {
		t.Fatal(err)
	}
	if err := h.save(); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(path); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("nothing was typed, and a file was written: %v", err)
	}

	const token = "ghp_16C7e42F292c6912E7710c838347Ae178B4a"
	key := "-----BEGIN PRIVATE KEY-----␤MIIEvgIBADANBgkqhkiG9w0BAQEFAASCBKgwggSkAgEAAoIBAQC7␤-----END PRIVATE KEY-----"
	for _, line := range []string{"one", "one", "", " ", "日本語␤second line", token, key, "one"} {
		h.Add(line)
	}
	// What was typed comes back as it was, as long as the chat lasts.
	if h.Len() != 5 || h.At(0) != "one" || h.At(2) != token {
		t.Errorf("%d entries: %q", h.Len(), h.entries)
	}
	if err := h.save(); err != nil {
		t.Fatal(err)
	}
	again, err := loadHistory(path)
	if err != nil {
		t.Fatal(err)
	}
	want := []string{"one", "日本語␤second line", "[redacted:github-token]", "[redacted:private-key]", "one"}
	if diff := cmp.Diff(want, again.entries); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestHistoryKeepsTheNewest(t *testing.T) {
	h := &history{}
	for i := range historyLimit + 3 {
		h.Add(strings.Repeat("x", i+1))
	}
	if h.Len() != historyLimit || len(h.At(0)) != historyLimit+3 {
		t.Errorf("%d entries, the newest of %d letters", h.Len(), len(h.At(0)))
	}
}

// An older file may be open to others, or not be readable at all.
func TestHistoryFile(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("no permission bits on windows")
	}
	path := filepath.Join(t.TempDir(), "chat_history")
	if err := os.WriteFile(path, []byte("old\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	h, err := loadHistory(path)
	if err != nil {
		t.Fatal(err)
	}
	h.Add("new")
	if err := h.save(); err != nil {
		t.Fatal(err)
	}
	fi, err := os.Stat(path)
	if err != nil || fi.Mode().Perm() != 0o600 {
		t.Errorf("mode %v, %v", fi.Mode(), err)
	}
	left, err := os.ReadDir(filepath.Dir(path))
	if err != nil || len(left) != 1 {
		t.Errorf("beside the file: %v, %v", left, err)
	}

	folder := t.TempDir()
	h, err = loadHistory(folder)
	if err == nil {
		t.Error("a folder was read as a history")
	}
	h.Add("typed")
	if err := h.save(); err != nil || h.At(0) != "typed" {
		t.Errorf("what can't be read is written over: %v", err)
	}
}

func TestProgressIntoAFile(t *testing.T) {
	var out bytes.Buffer
	p := &progress{w: &out, now: time.Now}
	p.update("nothing", 3, 3)
	p.update("none", 0, 0)
	p.update("files", 0, 10)
	p.update("embed", 1, 4) // another goroutine's
	for i := range 10 {
		p.update("files", i+1, 10)
	}
	p.update("files", 10, 10)
	p.update("claims", 5, 0)
	p.update("claims", 9, 0)
	p.done()
	p.done()
	p.update("files", 1, 2) // work of its own
	p.done()
	want := `files …
embed …
files: 10 of 10
claims …
embed: 1 of 4
claims: 9
files …
files: 1 of 2
`
	if diff := cmp.Diff(want, out.String()); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestProgressRewritesItsLine(t *testing.T) {
	var out bytes.Buffer
	now := time.Unix(0, 0)
	p := &progress{w: &out, tty: true, now: func() time.Time { return now }}
	p.update("nothing", 3, 3)
	p.update("files", 0, 10)
	p.update("files", 1, 10) // too soon
	now = now.Add(redrawEvery)
	p.update("files", 2, 10)
	p.update("embed", 1, 0)
	p.done()
	p.done()
	const home = "\r\x1b[K"
	if want := home + "files 0 of 10" + home + "files 2 of 10" + home + "embed 1" + home; out.String() != want {
		t.Errorf("got %q, want %q", out.String(), want)
	}
}

func TestQuiet(t *testing.T) {
	var out bytes.Buffer
	p := (&app{streams: streams{err: &out}, quiet: true}).progress()
	p.update("files", 0, 10)
	p.done()
	if out.Len() > 0 {
		t.Errorf("printed %q", out.String())
	}
}

func TestAlign(t *testing.T) {
	got := align([]string{"ID", "WHO", "TEXT"}, [][]string{
		{"1", "kim", "short"},
		{"22", "東京", "日本語のとても長い文章はここで切られる"},
		{"333", "e\u0301", "a text that is longer than the line has room for"},
	}, 32)
	want := []string{
		"ID   WHO   TEXT",
		"1    kim   short",
		"22   東京  日本語のとても長い文…",
		"333  e\u0301     a text that is longe…",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	for _, line := range got {
		if n := columns(line); n > 32 {
			t.Errorf("%d columns: %s", n, line)
		}
	}
}

func TestCellsHoldNothingThatATerminalObeys(t *testing.T) {
	if got := cell("one\n\ttwo\x1b[31m three\x07\r\n"); got != "one two [31m three" {
		t.Errorf("got %q", got)
	}
}

func FuzzFit(f *testing.F) {
	f.Add("plain", 3)
	f.Add("日本語", 4)
	f.Add("e\u0301e\u0301", 1)
	f.Add("שלום 👩‍👩‍👧", 6)
	f.Fuzz(func(t *testing.T, s string, n int) {
		if n < 1 || n > 1000 {
			return
		}
		got := fit(s, n)
		if columns(got) > n || got != s && !strings.HasSuffix(got, "…") {
			t.Errorf("fit(%q, %d) = %q of %d columns", s, n, got, columns(got))
		}
	})
}
