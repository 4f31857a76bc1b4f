package projectfile

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/kenlayer/ken"
)

func open(t *testing.T) (*Folder, string) {
	t.Helper()
	dir := t.TempDir()
	f, err := Open(dir)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = f.Close() })
	return f, dir
}

func put(t *testing.T, dir, name, text string) {
	t.Helper()
	at := filepath.Join(dir, name)
	if err := os.MkdirAll(filepath.Dir(at), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(at, []byte(text), 0o640); err != nil {
		t.Fatal(err)
	}
}

// all is every file below dir with its content.
func all(t *testing.T, dir string) map[string]string {
	t.Helper()
	out := map[string]string{}
	err := filepath.WalkDir(dir, func(name string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() || name == filepath.Join(dir, "folder") {
			return err
		}
		b, err := os.ReadFile(name)
		rel, _ := filepath.Rel(dir, name)
		out[filepath.ToSlash(rel)] = string(b)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return out
}

func want(t *testing.T, dir string, files map[string]string) {
	t.Helper()
	got := all(t, dir)
	for name, text := range files {
		if got[name] != text {
			t.Errorf("%s is %q, want %q", name, got[name], text)
		}
	}
	for name := range got {
		if _, ok := files[name]; !ok {
			t.Errorf("%s was left behind", name)
		}
	}
}

func TestCommit(t *testing.T) {
	f, dir := open(t)
	put(t, dir, "a/one.md", "1")
	put(t, dir, "a/two.md", "2")
	if err := f.Commit(Change{"a/one.md", []byte("1"), []byte("one")}, Change{"b/c/new.md", nil, []byte("n")}, Change{"a/two.md", []byte("2"), nil}); err != nil {
		t.Fatal(err)
	}
	want(t, dir, map[string]string{"a/one.md": "one", "b/c/new.md": "n"})
	info, err := os.Stat(filepath.Join(dir, "a/one.md"))
	if err != nil || info.Mode().Perm() != 0o640 {
		t.Error("the permissions did not stay:", info.Mode(), err)
	}
}

func TestCommitRefuses(t *testing.T) {
	for name, tt := range map[string]struct {
		change Change
		is     error
	}{
		"changed":       {Change{"a.md", []byte("0"), []byte("x")}, ken.ErrUnavailable},
		"longer":        {Change{"a.md", []byte(""), []byte("x")}, ken.ErrUnavailable},
		"gone":          {Change{"gone.md", []byte("1"), []byte("x")}, ken.ErrUnavailable},
		"there":         {Change{"a.md", nil, []byte("x")}, ken.ErrExists},
		"link":          {Change{"link.md", []byte("1"), []byte("x")}, ken.ErrRefused},
		"linked folder": {Change{"folder/a.md", []byte("1"), []byte("x")}, ken.ErrRefused},
		"new in link":   {Change{"folder/new.md", nil, []byte("x")}, ken.ErrRefused},
		"below a file":  {Change{"a.md/x/new.md", nil, []byte("x")}, nil},
		"outside":       {Change{"../a.md", nil, []byte("x")}, ken.ErrRefused},
	} {
		t.Run(name, func(t *testing.T) {
			f, dir := open(t)
			put(t, dir, "a.md", "1")
			put(t, dir, "first.md", "1")
			for from, to := range map[string]string{"link.md": "a.md", "folder": "."} {
				if err := os.Symlink(to, filepath.Join(dir, from)); err != nil {
					t.Skip(err)
				}
			}
			err := f.Commit(Change{"first.md", []byte("1"), []byte("2")}, tt.change)
			if err == nil || tt.is != nil && !errors.Is(err, tt.is) {
				t.Errorf("got %v, want %v", err, tt.is)
			}
			if tt.is != nil && ken.Hint(err) == "" {
				t.Error("no advice")
			}
			want(t, dir, map[string]string{"a.md": "1", "first.md": "1", "link.md": "1"})
		})
	}
}

func TestCommitUndoes(t *testing.T) {
	f, dir := open(t)
	put(t, dir, "a.md", "1")
	put(t, dir, "b.md", "2")
	put(t, dir, "c.md", "3")
	broken := errors.New("disk full")
	f.rename = func(from, to string) error {
		if to == "b.md" {
			return broken
		}
		return f.root.Rename(from, to)
	}
	err := f.Commit(Change{"a.md", []byte("1"), []byte("x")}, Change{"new.md", nil, []byte("x")}, Change{"c.md", []byte("3"), nil}, Change{"b.md", []byte("2"), []byte("x")})
	if !errors.Is(err, broken) {
		t.Fatal(err)
	}
	want(t, dir, map[string]string{"a.md": "1", "b.md": "2", "c.md": "3"})
	writes := 0
	f.rename = func(from, to string) error {
		if writes++; writes > 1 {
			return broken
		}
		return f.root.Rename(from, to)
	}
	err = f.Commit(Change{"a.md", []byte("1"), []byte("x")}, Change{"b.md", []byte("2"), []byte("x")})
	var e *ken.Error
	if !errors.As(err, &e) || e.Code != ken.CodeInternal || e.Field != "a.md" {
		t.Error("a change that stuck is not named:", err)
	}
	want(t, dir, map[string]string{"a.md": "x", "b.md": "2", "c.md": "3"})
}

func TestReadAndList(t *testing.T) {
	f, dir := open(t)
	put(t, dir, "d/a.md", "text")
	put(t, dir, "d/"+staged+"1-1", "half")
	if err := os.Symlink("a.md", filepath.Join(dir, "d/link.md")); err != nil {
		t.Skip(err)
	}
	r, err := f.Read("d/a.md", 4)
	if err != nil || string(r.Bytes) != "text" || r.Hash != Hash([]byte("text")) || r.ModTime.IsZero() {
		t.Error(r, err)
	}
	if _, err := f.Read("d/a.md", 3); !errors.Is(err, ErrTooLarge) {
		t.Error(err)
	}
	if _, err := f.Read("d/link.md", 10); !errors.Is(err, ken.ErrRefused) {
		t.Error(err)
	}
	if _, err := f.Read("d", 10); !errors.Is(err, ken.ErrRefused) {
		t.Error(err)
	}
	if _, err := f.Read("d/b.md", 10); !errors.Is(err, fs.ErrNotExist) {
		t.Error(err)
	}
	list, err := f.List("d")
	if err != nil || len(list) != 2 || list[0].Name != "a.md" || list[0].Size != 4 || list[1] != (Entry{Name: "link.md", Link: true}) {
		t.Error(list, err)
	}
	if list, err := f.List("none"); err != nil || len(list) != 0 {
		t.Error(list, err)
	}
}

func TestLock(t *testing.T) {
	f, dir := open(t)
	other, err := Open(dir)
	if err != nil {
		t.Fatal(err)
	}
	defer other.Close()
	release, err := f.Lock(t.Context(), ".ken/state/.x.lock")
	if err != nil {
		t.Fatal(err)
	}
	if b, err := os.ReadFile(filepath.Join(dir, ".ken/state/.gitignore")); err != nil || string(b) != "*\n" {
		t.Error("git sees the lock:", err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Millisecond)
	defer cancel()
	if _, err := other.Lock(ctx, ".ken/state/.x.lock"); !errors.Is(err, ken.ErrHeld) {
		t.Error("two have the lock:", err)
	}
	if err := release(); err != nil {
		t.Error(err)
	}
	var wg sync.WaitGroup
	var inside, n atomic.Int32
	for i := range 20 {
		wg.Go(func() {
			release, err := []*Folder{f, other}[i%2].Lock(t.Context(), ".ken/state/.x.lock")
			if err != nil {
				t.Error(err)
				return
			}
			if inside.Add(1) != 1 {
				t.Error("two have the lock")
			}
			n.Add(1)
			inside.Add(-1)
			if err := release(); err != nil {
				t.Error(err)
			}
		})
	}
	wg.Wait()
	if n.Load() != 20 {
		t.Error(n.Load())
	}
}

func TestLockRefusesLinks(t *testing.T) {
	f, dir := open(t)
	if err := os.Symlink(t.TempDir(), filepath.Join(dir, ".ken")); err != nil {
		t.Skip(err)
	}
	if _, err := f.Lock(t.Context(), ".ken/state/.x.lock"); !errors.Is(err, ken.ErrRefused) || !strings.Contains(err.Error(), ".ken") {
		t.Error(err)
	}
}

// What a project has under a name may be a device or a pipe: neither is read, nor more than
// the limit.
func TestReadFileIsBounded(t *testing.T) {
	dir := t.TempDir()
	at := filepath.Join(dir, "a.md")
	if err := os.WriteFile(at, []byte("1234"), 0o644); err != nil {
		t.Fatal(err)
	}
	if b, err := ReadFile(at, 4); err != nil || string(b) != "1234" {
		t.Errorf("%q, %v", b, err)
	}
	if _, err := ReadFile(at, 3); !errors.Is(err, ErrTooLarge) {
		t.Errorf("a longer one: %v", err)
	}
	for _, to := range []string{os.DevNull, dir} {
		link := filepath.Join(dir, "link"+filepath.Base(to))
		if err := os.Symlink(to, link); err != nil {
			t.Skip(err)
		}
		if _, err := ReadFile(link, 4); !errors.Is(err, ken.ErrRefused) {
			t.Errorf("%s: %v", to, err)
		}
	}
}
