package repository

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// A chunk has the time of the last commit that changed its file. If the content is in no commit, it has the
// modification time.
func TestDatesAreThoseOfTheCommits(t *testing.T) {
	needGit(t)
	dir := gitRepo(t)
	commitOn := func(day string) {
		git(t, dir, "add", "-A")
		gitAt(t, dir, day+"T12:00:00Z", "commit", "-q", "-m", day)
	}
	for _, name := range []string{"old.md", "sub/changed.md", "dirty.md", "sub/moved.md", "\n1000000000"} {
		write(t, dir, name, "# "+filepath.Base(name)+"\n\nIt says something of some length, so that it is a piece.\n")
	}
	commitOn("2019-01-01")
	write(t, dir, "sub/changed.md", "# changed\n\nIt says something else of some length, so that it is a piece.\n")
	commitOn("2021-05-05")
	git(t, dir, "mv", "sub/moved.md", "moved.md")
	commitOn("2022-06-06")
	write(t, dir, "dirty.md", "# dirty\n\nNobody has committed this yet, and it is long enough.\n")
	write(t, dir, "new.md", "# new\n\nNobody has added this yet, and it is long enough.\n")
	write(t, dir, "crlf.md", "# crlf\n\nIt was committed with other ends of lines.\n")
	commitCRLF := func() {
		git(t, dir, "add", "crlf.md")
		gitAt(t, dir, "2023-07-07T12:00:00Z", "commit", "-q", "-m", "crlf", "--", "crlf.md")
		write(t, dir, "crlf.md", "# crlf\r\n\r\nIt was committed with other ends of lines.\r\n")
	}
	commitCRLF()
	own := time.Date(2025, 9, 9, 9, 0, 0, 0, time.UTC)
	err := filepath.WalkDir(dir, func(p string, d os.DirEntry, err error) error {
		if err != nil || d.IsDir() || strings.Contains(p, ".git") {
			return err
		}
		return os.Chtimes(p, own, own)
	})
	if err != nil {
		t.Fatal(err)
	}
	for _, tt := range []struct {
		name, root string
		o          Options
		want       map[string]string // by path; "" is the file's own time
	}{
		{"all", ".", Options{}, map[string]string{"old.md": "2019-01-01", "sub/changed.md": "2021-05-05", "moved.md": "2022-06-06", "crlf.md": "2023-07-07", "dirty.md": "", "new.md": ""}},
		{"a folder", "sub", Options{}, map[string]string{"changed.md": "2021-05-05"}},
		{"few commits", ".", Options{MaxCommits: 2}, map[string]string{"old.md": "2022-06-06", "moved.md": "2022-06-06", "crlf.md": "2023-07-07", "dirty.md": ""}},
		{"no history", ".", Options{NoHistory: true}, map[string]string{"old.md": "", "crlf.md": ""}},
	} {
		sink := newMemory(t)
		index(t, filepath.Join(dir, tt.root), sink, tt.o)
		for path, day := range tt.want {
			want := own
			if day != "" {
				want, _ = time.Parse(time.DateTime, day+" 12:00:00")
			}
			if c := sink.chunks[path]; len(c) == 0 || !c[0].CreatedAt.Equal(want) {
				t.Errorf("%s, %s: %v, want %v", tt.name, path, c, want)
			}
		}
	}
	// An edit dates the file by itself, a commit of it by the commit.
	sink := newMemory(t)
	index(t, dir, sink, Options{})
	write(t, dir, "old.md", "# old\n\nIt says something new of some length, so that it is a piece.\n")
	index(t, dir, sink, Options{})
	if at := sink.chunks["old.md"][0].CreatedAt; time.Since(at) > time.Hour {
		t.Errorf("an edited file is of %v", at)
	}
	if k := sink.known["old.md"]; !k.ModTime.After(own) {
		t.Errorf("what is known of the file has the commit's time: %+v", k)
	}
}

// Without dates from git, files have their modification times.
func TestDatesWithoutCommits(t *testing.T) {
	needGit(t)
	dir := gitRepo(t)
	write(t, dir, "a.md", "# a\n\nIt says something of some length, so that it is a piece.\n")
	for _, broken := range []bool{false, true} {
		if broken {
			write(t, dir, ".git/HEAD", "nonsense\n")
		}
		sink := newMemory(t)
		index(t, dir, sink, Options{})
		if c := sink.chunks["a.md"][0]; time.Since(c.CreatedAt) > time.Hour {
			t.Errorf("broken %v: %v", broken, c.CreatedAt)
		}
	}
}

// These are the names that git hash-object gives.
func TestBlobNames(t *testing.T) {
	for digits, want := range map[int]string{40: "257cc5642cb1a054f08cc83f2d943e56fd3ebe99", 64: "47d6aca82756ff2e61e53520bfdf1faa6c86d933be4854eb34840c57d12e0c85"} {
		if got := blobName([]byte("foo\n"), digits); got != want {
			t.Errorf("%d digits: %s", digits, got)
		}
	}
}

func FuzzParseDates(f *testing.F) {
	f.Add([]byte("\x001700000000\x00\na.go\x00b.go\x00\x001600000000\x00\na.go\x00c.go\x00"))
	f.Add([]byte("\x00-1\x00\na.go\x00\x0099999999999999\x00\nc.go"))
	f.Fuzz(func(t *testing.T, data []byte) {
		pending := map[string]bool{"a.go": true, "c.go": true}
		for path, at := range parseDates(bytes.NewReader(data), pending) {
			if path != "" && !pending[path] || at.Year() < 1 || at.Year() > 9999 {
				t.Errorf("%q: %v", path, at)
			}
		}
	})
}
