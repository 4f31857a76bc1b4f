package cli

import (
	"errors"
	"io"
	"os"
	"path/filepath"
	"testing"
	"time"
)

func TestReplaceFileIsAllOrNothing(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "out")
	if err := os.WriteFile(path, []byte("old"), 0o600); err != nil {
		t.Fatal(err)
	}
	broken := errors.New("broken")
	err := ReplaceFile(path, func(w io.Writer) error {
		_, _ = io.WriteString(w, "half")
		return broken
	})
	if b, _ := os.ReadFile(path); !errors.Is(err, broken) || string(b) != "old" {
		t.Errorf("%v; the file is %q", err, b)
	}
	err = ReplaceFile(path, func(w io.Writer) error {
		_, err := io.WriteString(w, "new")
		return err
	})
	if b, _ := os.ReadFile(path); err != nil || string(b) != "new" {
		t.Errorf("%v; the file is %q", err, b)
	}
	if left, _ := os.ReadDir(dir); len(left) != 1 {
		t.Errorf("left behind: %v", left)
	}
}

var noon = time.Date(2026, 5, 1, 12, 0, 0, 0, time.UTC)

func TestParseExpiry(t *testing.T) {
	for in, want := range map[string]string{
		"12h":                       "2026-05-02T00:00:00Z",
		"90m":                       "2026-05-01T13:30:00Z",
		"30d":                       "2026-05-31T12:00:00Z",
		"2w":                        "2026-05-15T12:00:00Z",
		"2031-05-01":                "2031-05-01T00:00:00Z",
		"2026-05-01T15:00:00+02:00": "2026-05-01T13:00:00Z",
	} {
		at, err := ParseExpiry(in, noon)
		if got := at.Format(time.RFC3339); err != nil || got != want {
			t.Errorf("%s: %s, %v; want %s", in, got, err, want)
		}
	}
	for _, in := range []string{"", "soon", "d", "-3d", "1.5d", "0h", "-1h", "2026-05-01", "2026-05-01T13:00:00+02:00", "99999999w", "2031-13-01"} {
		if at, err := ParseExpiry(in, noon); err == nil {
			t.Errorf("%q: got %s, want an error", in, at)
		}
	}
}

func FuzzParseExpiry(f *testing.F) {
	for _, s := range []string{"12h", "30d", "2w", "2031-05-01", "2031-05-01T00:00:00Z", "9999999999h"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		if at, err := ParseExpiry(s, noon); err == nil && !at.After(noon) {
			t.Errorf("%q ends at %s, before it starts", s, at)
		}
	})
}
