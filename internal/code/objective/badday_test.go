package objective

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/kenlayer/ken"
)

// A link that leads out of the root is neither read nor written through.
func TestLinksAreNotFollowed(t *testing.T) {
	outside := t.TempDir()
	at := filepath.Join(outside, "OBJ-0001.yaml")
	if err := os.WriteFile(at, []byte("title: Outside\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	for name, link := range map[string][2]string{"file": {DefaultFolder + "/OBJ-0001.yaml", at}, "folder": {DefaultFolder, outside}, "folder above": {".ken/knowledge", outside}} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			from := filepath.Join(dir, link[0])
			if err := os.MkdirAll(filepath.Dir(from), 0o755); err != nil {
				t.Fatal(err)
			}
			if err := os.Symlink(link[1], from); err != nil {
				t.Skip(err)
			}
			s := open(t, dir)
			list, problems, err := s.List(t.Context())
			if len(list) > 0 || name == "file" && len(problems) != 1 || name != "file" && !errors.Is(err, ken.ErrRefused) {
				t.Error(list, problems, err)
			}
			if _, err := s.Link(t.Context(), "1", Link{Task: "a"}); err == nil {
				t.Error("written through the link")
			}
			o, err := s.Create(t.Context(), Draft{Title: "Mine"})
			if name == "file" && (err != nil || o.ID != "OBJ-0002") || name != "file" && !errors.Is(err, ken.ErrRefused) {
				t.Error(o.ID, err)
			}
			if b, err := os.ReadFile(at); err != nil || string(b) != "title: Outside\n" {
				t.Errorf("%q, %v", b, err)
			}
			if files, err := os.ReadDir(outside); err != nil || len(files) != 1 {
				t.Error(files, err)
			}
		})
	}
}

// A file that is not UTF-8 is not changed. A byte order mark and the line ends of another system are kept.
func TestEncodings(t *testing.T) {
	utf16 := "\xff\xfe"
	for _, c := range "title: Ship\n" {
		utf16 += string([]byte{byte(c), 0})
	}
	s, dir := project(t, map[string]string{"OBJ-0001.yaml": utf16, "OBJ-0002.yaml": "\ufefftitle: Ship # it\r\ntasks:\r\n  - a\r\n"})
	if _, err := s.Link(t.Context(), "1", Link{Task: "a"}); !errors.Is(err, ken.ErrRefused) || ken.Hint(err) != "Save it as UTF-8." {
		t.Error(err)
	}
	if get(t, dir, "OBJ-0001.yaml") != utf16 {
		t.Error("it was written")
	}
	if _, err := s.Update(t.Context(), "2", Update{Title: new("Sail")}); err != nil {
		t.Error(err)
	}
	want := "\ufefftitle: Sail # it\r\nupdated: 2026-11-22T12:00:00Z\r\ntasks:\r\n  - a\r\n"
	if diff := cmp.Diff(want, get(t, dir, "OBJ-0002.yaml")); diff != "" {
		t.Error(diff)
	}
}

// Open tasks can be replaced without the done ones.
func TestRemaining(t *testing.T) {
	s, dir := project(t, map[string]string{"OBJ-0001.yaml": "title: Ship\nupdated: 2026-01-01\ntasks:\n  - text: Design\n    done: true\n  - text: Test\n    claim: c-1\n  - Rest # a lot\n"})
	o, err := s.Update(t.Context(), "1", Update{Remaining: []string{"Build", "test", ""}})
	if err != nil {
		t.Fatal(err)
	}
	got := ""
	for _, task := range o.Tasks {
		got += task.Text + " " + task.Claim + ";"
	}
	if got != "Design ;Build ;Test c-1;" || o.Progress().Done != 1 {
		t.Error(got)
	}
	if o, err = s.Update(t.Context(), "1", Update{Remaining: []string{}}); err != nil || len(o.Tasks) != 1 {
		t.Error(o.Tasks, err)
	}
	if text := get(t, dir, "OBJ-0001.yaml"); !strings.HasSuffix(text, "tasks:\n  - text: Design\n    done: true\n") {
		t.Error(text)
	}
}
