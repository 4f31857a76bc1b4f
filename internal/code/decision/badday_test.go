package decision

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/kenlayer/ken"
)

// Links that lead out of the root are not followed, neither for a record nor for a folder above it. Nothing is written
// through them.
func TestLinksAreNotFollowed(t *testing.T) {
	const text = "# 1. Outside\n\nStatus: accepted\n"
	outside := t.TempDir()
	put(t, outside, "adr/0001-outside.md", text)
	for name, links := range map[string]map[string]string{
		"record":       {"docs/adr/0001-outside.md": "adr/0001-outside.md"},
		"folder":       {"docs/adr": "adr"},
		"folder above": {"docs": "."},
	} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			put(t, dir, "doc/adr/0002-inside.md", "# 2. Inside\n\nStatus: accepted\n")
			for from, to := range links {
				at := filepath.Join(dir, from)
				if err := os.MkdirAll(filepath.Dir(at), 0o755); err != nil {
					t.Fatal(err)
				}
				if err := os.Symlink(filepath.Join(outside, to), at); err != nil {
					t.Skip(err)
				}
			}
			r := openAt(t, dir, Options{})
			if list := r.List(); len(list) != 1 || list[0].Number != 2 {
				t.Error("read through the link:", list)
			}
			if problems := r.Problems(); len(problems) == 0 || !strings.Contains(problems[0].Text, "symbolic link") || problems[0].Try == "" {
				t.Error(problems)
			}
			if _, err := r.SetStatus(t.Context(), "1", Rejected); !errors.Is(err, ken.ErrNotFound) {
				t.Error(err)
			}
			_, err := r.Create(t.Context(), Draft{Title: "Outside", Decision: "x", Folder: "docs/adr"})
			if name != "record" && !errors.Is(err, ken.ErrRefused) {
				t.Error("written through the link:", err)
			}
			files, err := filepath.Glob(filepath.Join(outside, "adr", "*"))
			if err != nil || len(files) != 1 || get(t, outside, "adr/0001-outside.md") != text {
				t.Error("what is outside has changed:", files, err)
			}
		})
	}
}

// A byte order mark is reported and kept. The rest can be read and edited.
func TestByteOrderMark(t *testing.T) {
	const rest = "\r\nstatus: accepted\r\n---\r\n# 1. A\r\n\r\n## Decision\r\n\r\nb\r\n"
	r, dir := project(t, map[string]string{"docs/adr/0001-a.md": "\ufeff---" + rest})
	if p := r.Problems(); len(p) != 1 || p[0].Line != 1 || !strings.Contains(p[0].Text, "byte order mark") {
		t.Error(p)
	}
	if got, err := r.SetStatus(t.Context(), "1", Deprecated); err != nil || got.Status != Deprecated {
		t.Error(got.Status, err)
	}
	if got, want := get(t, dir, "docs/adr/0001-a.md"), "\ufeff---"+strings.Replace(rest, "accepted", "deprecated", 1); got != want {
		t.Errorf("%q, want %q", got, want)
	}
}

// A read-only project can be read. An attempt to change it returns an error.
func TestReadOnly(t *testing.T) {
	if os.Geteuid() == 0 {
		t.Skip("root may write everywhere")
	}
	r, dir := project(t, map[string]string{"docs/adr/0001-a.md": "# 1. A\n\nStatus: accepted\n"})
	for _, d := range []string{"docs/adr", "."} {
		if err := os.Chmod(filepath.Join(dir, d), 0o555); err != nil {
			t.Fatal(err)
		}
		defer func() { _ = os.Chmod(filepath.Join(dir, d), 0o755) }() // for the removal of the folder
	}
	if _, err := r.SetStatus(t.Context(), "1", Rejected); !errors.Is(err, ken.ErrRefused) || ken.Hint(err) == "" {
		t.Error(err)
	}
	if len(r.List()) != 1 {
		t.Error("it can't be read any more")
	}
}
