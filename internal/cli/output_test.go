package cli

import (
	"bytes"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/kenlayer/ken/internal/knowledge/structure/draw"
)

func TestAlign(t *testing.T) {
	got := Align([]string{"ID", "WHO", "TEXT"}, [][]string{
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
		if n := draw.Columns(line); n > 32 {
			t.Errorf("%d columns: %s", n, line)
		}
	}
}

func TestCellsHoldNothingThatATerminalObeys(t *testing.T) {
	if got := Cell("one\n\ttwo\x1b[31m three\x07\r\n"); got != "one two [31m three" {
		t.Errorf("got %q", got)
	}
}

func TestPathsKeepTheirEnds(t *testing.T) {
	for s, want := range map[string]string{
		"plumbing/format/packfile.go:217": "…ckfile.go:217",
		"a/b.go:1":                        "a/b.go:1",
		"and/or, with more words":         "and/or, with…",
		"日本語/日本語日本語":                      "…/日本語日本語",
	} {
		if got := truncateCell(s, 14); got != want {
			t.Errorf("%q: got %q, want %q", s, got, want)
		}
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
		if got := truncateCell("a/"+s, n); draw.Columns(got) > n {
			t.Errorf("truncateCell(%q, %d) = %q of %d columns", "a/"+s, n, got, draw.Columns(got))
		}
		got := Truncate(s, n)
		if draw.Columns(got) > n || got != s && !strings.HasSuffix(got, "…") {
			t.Errorf("fit(%q, %d) = %q of %d columns", s, n, got, draw.Columns(got))
		}
	})
}

// A beginning that two share would name neither.
func TestBeginningsNameOneEach(t *testing.T) {
	got := UniquePrefixes([]string{"0123456789ab", "01234567xx", "s1", "abcdefghij", "0123456789"})
	want := []string{"0123456789a", "01234567x", "s1", "abcdefgh", "0123456789"}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	if got := UniquePrefixes(nil); len(got) != 0 {
		t.Errorf("%q", got)
	}
}

func TestProgressIntoAFile(t *testing.T) {
	var out bytes.Buffer
	p := &Progress{w: &out, now: time.Now}
	p.Update("nothing", 3, 3)
	p.Update("none", 0, 0)
	p.Update("files", 0, 10)
	p.Update("embed", 1, 4) // another goroutine's
	for i := range 10 {
		p.Update("files", i+1, 10)
	}
	p.Update("files", 10, 10)
	p.Update("claims", 5, 0)
	p.Update("claims", 9, 0)
	p.Done()
	p.Done()
	p.Update("files", 1, 2) // work of its own
	p.Done()
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
	p := &Progress{w: &out, tty: true, now: func() time.Time { return now }}
	p.Update("nothing", 3, 3)
	p.Update("files", 0, 10)
	p.Update("files", 1, 10) // too soon
	now = now.Add(redrawEvery)
	p.Update("files", 2, 10)
	p.Update("embed", 1, 0)
	p.Done()
	p.Done()
	const home = "\r\x1b[K"
	if want := home + "files 0 of 10" + home + "files 2 of 10" + home + "embed 1" + home; out.String() != want {
		t.Errorf("got %q, want %q", out.String(), want)
	}
}

func TestQuiet(t *testing.T) {
	var out bytes.Buffer
	p := (&App{Streams: Streams{Err: &out}, Quiet: true}).Progress()
	p.Update("files", 0, 10)
	p.Done()
	if out.Len() > 0 {
		t.Errorf("printed %q", out.String())
	}
}
