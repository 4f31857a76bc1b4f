package main

import (
	"context"
	"errors"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

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
