package repository

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/kenlayer/ken"
)

func paths(t *Tree) (out []string) {
	for _, f := range t.Files {
		if f.Skip != "" {
			out = append(out, f.Path+" ("+string(f.Skip)+")")
		} else {
			out = append(out, f.Path)
		}
	}
	return out
}

func files(t *testing.T, root string, o Options, only ...string) *Tree {
	t.Helper()
	tr, err := Files(context.Background(), root, o, only...)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { tr.Close() })
	return tr
}

var mixed = map[string]string{
	".gitignore": "*.tmp\n", "a.go": "package a\n", "a.tmp": "x", "b/c.go": "package c\n", "b/.gitignore": "gone.go\n", "b/gone.go": "x",
	"b/api.pb.go": "package c\n", "b/big.go": strings.Repeat("x", 300), "logo.png": "x", ".env": "A=b", "node_modules/x/i.js": "x", "b/d/e.py": "x = 1\n",
}

func TestFilesAreThoseOfIndexAndWhatItSkipsByNameAndSize(t *testing.T) {
	dir := tree(t, mixed)
	for link, to := range map[string]string{"loop": ".", "b/up": "..", "out": os.TempDir(), "b/link.go": "c.go"} {
		if err := os.Symlink(to, filepath.Join(dir, link)); err != nil {
			t.Fatal(err)
		}
	}
	tr := files(t, dir, Options{MaxFileBytes: 200})
	equal(t, "files", paths(tr), []string{".gitignore", "a.go", "b/.gitignore", "b/api.pb.go (generated)", "b/big.go (too large)", "b/c.go", "b/d/e.py"})
	sink := newMemory(t)
	r := index(t, dir, sink, Options{MaxFileBytes: 200})
	equal(t, "skipped", tr.Skipped, r.Skipped)
	equal(t, "withheld", tr.Withheld, []Withheld{{Path: ".env", What: "file name"}})
	for _, p := range sink.paths() {
		if !slices.Contains(paths(tr), p) {
			t.Errorf("Index has %s and Files has not", p)
		}
	}
}

func TestFilesOfSomePaths(t *testing.T) {
	dir := tree(t, mixed)
	for _, c := range []struct {
		asked, want []string
	}{
		{[]string{"a.go"}, []string{"a.go"}},
		{[]string{"b/d"}, []string{"b/d/e.py"}},
		{[]string{"b/gone.go", "a.tmp", ".env", "none.go", "../a.go", "/etc/passwd", "node_modules/x/i.js", "logo.png"}, nil},
		{[]string{"b/", "b/c.go"}, []string{"b/.gitignore", "b/api.pb.go (generated)", "b/big.go", "b/c.go", "b/d/e.py"}},
		{[]string{"."}, []string{".gitignore", "a.go", "b/.gitignore", "b/api.pb.go (generated)", "b/big.go", "b/c.go", "b/d/e.py"}},
	} {
		equal(t, strings.Join(c.asked, " "), paths(files(t, dir, Options{}, c.asked...)), c.want)
	}
}

func TestReadKeepsTheHeadAndHashesAll(t *testing.T) {
	dir := tree(t, mixed)
	tr := files(t, dir, Options{})
	whole, err := tr.Read("b/big.go", 1<<20)
	if err != nil {
		t.Fatal(err)
	}
	head, err := tr.Read("b/big.go", 10)
	if err != nil {
		t.Fatal(err)
	}
	if len(head.Bytes) != 10 || head.Size != 300 || len(whole.Bytes) != 300 || head.Hash != whole.Hash || whole.Hash != contentHash(whole.Bytes) {
		t.Errorf("head %d of %d bytes, whole %d; %s, %s", len(head.Bytes), head.Size, len(whole.Bytes), head.Hash, whole.Hash)
	}
	for _, p := range []string{"../x", "b", "none.go"} {
		if _, err := tr.Read(p, 10); err == nil {
			t.Errorf("%s was read", p)
		}
	}
}

func TestFilesEndsWithItsContextAndNeedsAFolder(t *testing.T) {
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	if _, err := Files(ctx, tree(t, mixed), Options{}); !errors.Is(err, context.Canceled) {
		t.Errorf("cancelled: %v", err)
	}
	if _, err := Files(context.Background(), filepath.Join(t.TempDir(), "none"), Options{}); !errors.Is(err, ken.ErrInvalid) {
		t.Errorf("no folder: %v", err)
	}
}
