package cli

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
	"testing/iotest"

	"github.com/google/go-cmp/cmp"
)

func TestPlainLines(t *testing.T) {
	long := strings.Repeat("日本語", 100_000)
	r := newPlainLines(strings.NewReader("one\r\n\n" + long + "\nno end"))
	for _, want := range []string{"one", "", long, "no end"} {
		got, err := r.Read(t.Context())
		if err != nil || got != want {
			t.Fatalf("%.40q, %v; want %.40q", got, err, want)
		}
	}
	if _, err := r.Read(t.Context()); err != io.EOF {
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
	if _, err := r.Read(ctx); !errors.Is(err, context.Canceled) {
		t.Errorf("got %v", err)
	}
}

func TestReadingTellsErrors(t *testing.T) {
	in, out := io.Pipe()
	out.CloseWithError(errors.New("the cable came off"))
	if _, err := newPlainLines(in).Read(t.Context()); err == nil || !strings.Contains(err.Error(), "the cable came off") {
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

func TestKeys(t *testing.T) {
	for _, tt := range []struct{ name, typed, want string }{
		{"letters", "hello\r", "hello\r"},
		{"letters of several bytes", "Käße 日本 🐦\r", "Käße 日本 🐦\r"},
		{"arrow keys", "\x1b[A\x1b[1;3D", "\x1b[A\x1b[1;3D"},
		{"control keys stay", "a\x04\x15\t", "a\x04\x15\t"},
		{"Ctrl-C", "ab\x03c", "ab" + killLine + "c"},
		{"Ctrl-C after Escape", "\x1b\x03", "\x1b" + killLine},
		{"Ctrl-C in an arrow key", "\x1b[\x03", "\x1b[" + killLine},
		{"what is not UTF-8", "caf\xe9\r", "caf\r"},
		{"half a letter and Ctrl-C", "\xe6\x97\x03", killLine},
		{"a paste", "\x1b[200~a\rb\nc\r\nd\x1b[201~\r", "\x1b[200~a␤b␤c␤d\x1b[201~\r"},
		{"a paste that ends with a line", "\x1b[200~a\r\x1b[201~", "\x1b[200~a␤\x1b[201~"},
		{"tabs in a paste", "\x1b[200~\tx\x1b[201~\t", "\x1b[200~    x\x1b[201~\t"},
		{"a paste can't press keys", "\x1b[200~a\x03\x04\x15\x1b[31mb\u009b\x1b[201~", "\x1b[200~a[31mb\x1b[201~"},
		{"a paste in a paste", "\x1b[200~a\x1b[200~b\x1b[201~c", "\x1b[200~a[200~b\x1b[201~c"},
		{"not quite a paste", "\x1b[20~\x1b[2", "\x1b[20~"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			for name, r := range map[string]io.Reader{"at once": strings.NewReader(tt.typed), "byte by byte": iotest.OneByteReader(strings.NewReader(tt.typed))} {
				got, err := io.ReadAll(&keys{in: r})
				if err != nil || string(got) != tt.want {
					t.Errorf("%s: %q, %v; want %q", name, got, err, tt.want)
				}
			}
		})
	}
}

// However the terminal's bytes are cut, the editor gets the same keys.
func FuzzKeys(f *testing.F) {
	f.Add([]byte("a\x03\x1b[A\r"), uint8(1))
	f.Add([]byte("\x1b[200~a\r\n\xe6\x97\xa5\x1b[201~\x1b"), uint8(3))
	f.Add([]byte("\x1b[200~\x1b[20\r\x1b[201~\xff"), uint8(2))
	f.Fuzz(func(t *testing.T, typed []byte, cut uint8) {
		want, err := io.ReadAll(&keys{in: bytes.NewReader(typed)})
		if err != nil {
			t.Fatal(err)
		}
		n := min(int(cut), len(typed))
		parts := io.MultiReader(bytes.NewReader(typed[:n]), iotest.OneByteReader(bytes.NewReader(typed[n:])))
		got, err := io.ReadAll(&keys{in: parts})
		if err != nil || !bytes.Equal(got, want) {
			t.Errorf("cut at %d: %q, %v; want %q", n, got, err, want)
		}
		if bytes.IndexByte(got, 3) >= 0 {
			t.Errorf("%q: Ctrl-C reached the editor", got)
		}
	})
}
