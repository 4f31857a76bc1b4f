package main

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

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
