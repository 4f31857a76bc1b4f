package drift_test

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/rogpeppe/go-internal/txtar"

	"github.com/kenlayer/ken"
	"github.com/kenlayer/ken/internal/code/drift"
)

func TestRead(t *testing.T) {
	root := t.TempDir()
	outside := filepath.Join(t.TempDir(), "m.yaml")
	write(t, outside, "layers: []\n")
	write(t, filepath.Join(root, "large.yaml"), strings.Repeat("# x\n", drift.MaxManifest/4+1))
	write(t, filepath.Join(root, "broken.yaml"), "layers: [\n")
	if err := os.Symlink(outside, filepath.Join(root, "link.yaml")); err != nil {
		t.Skip(err)
	}
	for path, want := range map[string]error{
		"gone.yaml": ken.ErrNotFound, "link.yaml": ken.ErrRefused, "../m.yaml": ken.ErrRefused, outside: ken.ErrRefused, ".": ken.ErrRefused,
		"large.yaml": ken.ErrInvalid, "broken.yaml": ken.ErrInvalid,
	} {
		if m, err := drift.Read(root, path); !errors.Is(err, want) || m != nil || ken.Hint(err) == "" {
			t.Errorf("%s: %v", path, err)
		}
		if path == "large.yaml" || path == "broken.yaml" {
			continue
		}
		if b, err := drift.ReadBaseline(root, path); !errors.Is(err, want) || b != nil || ken.Hint(err) == "" {
			t.Errorf("%s: %v", path, err)
		}
	}
	if _, err := drift.Read(filepath.Join(root, "gone"), "m.yaml"); err == nil {
		t.Error("a root that is not there")
	}
}

func TestWriteBaseline(t *testing.T) {
	root := t.TempDir()
	b := drift.NewBaseline(&drift.Report{Violations: []drift.Violation{
		{Fingerprint: "b", Rule: drift.RuleDependency, File: "b.go", Import: "package:a<b>"}, {Fingerprint: "c", Rule: drift.RuleUnassigned, File: "c.go"},
		{Fingerprint: "a", Rule: drift.RuleDependency, File: "b.go", Import: "package:a"}}})
	changes := func(want bool) {
		t.Helper()
		if changed, err := drift.WriteBaseline(root, "some/where/b.json", b); err != nil || changed != want {
			t.Fatal(changed, err)
		}
	}
	changes(true)
	changes(false)
	const want = `{
  "version": 1,
  "violations": [
    {"fingerprint":"a","rule":"layer-dependency","file":"b.go","import":"package:a"},
    {"fingerprint":"b","rule":"layer-dependency","file":"b.go","import":"package:a<b>"},
    {"fingerprint":"c","rule":"file-in-no-layer","file":"c.go"}
  ]
}
`
	if got, err := read(root, "some/where/b.json"); err != nil || got != want {
		t.Errorf("%v\n%s", err, got)
	}
	b = drift.NewBaseline(&drift.Report{})
	changes(true)
	changes(false)
	if got, err := read(root, "some/where/b.json"); err != nil || got != "{\n  \"version\": 1,\n  \"violations\": []\n}\n" {
		t.Errorf("%v\n%s", err, got)
	}

	// A file that is no baseline is not changed, also behind a link.
	for name, text := range map[string]string{"mine.txt": "notes\n", "empty.json": ""} {
		write(t, filepath.Join(root, name), text)
		if _, err := drift.WriteBaseline(root, name, b); !errors.Is(err, ken.ErrInvalid) {
			t.Errorf("%s: %v", name, err)
		}
		if got, err := read(root, name); err != nil || got != text {
			t.Errorf("%s: %v, %q", name, err, got)
		}
	}
	if err := os.Symlink("mine.txt", filepath.Join(root, "link.json")); err == nil {
		if _, err := drift.WriteBaseline(root, "link.json", b); !errors.Is(err, ken.ErrRefused) {
			t.Error(err)
		}
	}
	if _, err := drift.WriteBaseline(root, "../b.json", b); !errors.Is(err, ken.ErrRefused) {
		t.Error(err)
	}
}

// TestBadDays checks a tree without git, with cyclic links, unreadable files and broken files.
func TestBadDays(t *testing.T) {
	root := project(t, txtar.Parse([]byte(`
-- core/broken.py --
import web.page
def f(:
  "
-- core/latin.py --
from web import page  # caf`+"\xe9"+`
-- core/wide.py --
-- core/closed.py --
import web.page
-- web/__init__.py --
-- web/page.py --
-- m.yaml --
layers: [{name: core, paths: [core]}, {name: web, paths: [web, link]}]
`)))
	write(t, filepath.Join(root, "core/wide.py"), "\xff\xfei\x00m\x00p\x00o\x00r\x00t\x00 \x00w\x00e\x00b\x00\n\x00")
	if err := os.Symlink(root, filepath.Join(root, "core", "loop")); err != nil {
		t.Skip(err)
	}
	if err := os.Symlink("../link", filepath.Join(root, "web", "link")); err != nil {
		t.Fatal(err)
	}
	if err := os.Chmod(filepath.Join(root, "core/closed.py"), 0); err != nil {
		t.Fatal(err)
	}
	m, err := drift.Read(root, "m.yaml")
	if err != nil {
		t.Fatal(err)
	}
	r := drift.Check(graph(t, root), m, drift.Options{})
	want := []string{"core/broken.py:1 web.page", "core/latin.py:1 web.page", "core/wide.py:1 web"}
	if os.Getuid() == 0 { // a user who may read everything
		want = []string{"core/broken.py:1 web.page", "core/closed.py:1 web.page", "core/latin.py:1 web.page", "core/wide.py:1 web"}
	}
	if got := places(r.Violations); strings.Join(got, "\n") != strings.Join(want, "\n") {
		t.Errorf("%q", got)
	}
}
