package patch

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestParse(t *testing.T) {
	for _, tt := range []struct {
		name, text string
		want       []File
	}{
		{"apply_patch", "*** Begin Patch\n*** Update File: store/log.go\n@@ func Open() error {\n-\treturn nil\n+\treturn open()\n \tx\n*** Add File: a.txt\n+one\n+two\n*** Delete File: b.txt\n*** Update File: c.go\n*** Move to: d.go\n@@\n-c\n+d\n*** End Patch",
			[]File{
				{Path: "store/log.go", Op: Update, Old: "\treturn nil\n", New: "\treturn open()\n", Context: []string{"func Open() error {"}},
				{Path: "a.txt", Op: Add, New: "one\ntwo\n"},
				{Path: "b.txt", Op: Delete},
				{Path: "c.go", To: "d.go", Op: Update, Old: "c\n", New: "d\n"},
			}},
		{"unified", "--- a/x.go\n+++ b/x.go\n@@ -1,3 +1,3 @@ func A() {\n a\n-b\n--- c\n+d\n@@ -9 +9 @@\n+e\n",
			[]File{{Path: "x.go", Op: Update, Old: "b\n-- c\n", New: "d\ne\n", Context: []string{"func A() {"}}}},
		{"git", "diff --git a/x b/x\nindex 1..2 100644\n--- a/x\n+++ b/x\n@@ -1 +1 @@\n-1\n+2\ndiff --git a/y b/y\nnew file mode 100644\n--- /dev/null\n+++ b/y\n@@ -0,0 +1 @@\n+new\ndiff --git a/z b/z\n--- a/z\n+++ /dev/null\n@@ -1 +0,0 @@\n-old\n",
			[]File{{Path: "x", Op: Update, Old: "1\n", New: "2\n"}, {Path: "y", Op: Add, New: "new\n"}, {Path: "z", Op: Delete, Old: "old\n"}}},
		{"only a hunk", "@@ -1 +1 @@\n-a\n+b", []File{{Op: Update, Old: "a\n", New: "b\n"}}},
		{"time stamps", "--- x.go\t2026-01-01\n+++ x.go\t2026-01-02\n@@ -1 +1 @@\n+b", []File{{Path: "x.go", Op: Update, New: "b\n"}}},
		{"blocks", "<<<<<<< SEARCH\na\n=======\nb\n>>>>>>> REPLACE\n\n<<<<<<< SEARCH\nc\n=======\n>>>>>>> REPLACE", []File{{Op: Update, Old: "a\nc\n", New: "b\n"}}},
		{"blocks with lines", "<<<<<<< SEARCH\n:start_line:10\n-------\na\n=======\nb\n>>>>>>> REPLACE", []File{{Op: Update, Old: "a\n", New: "b\n"}}},
		{"blocks of the other form", "------- SEARCH\na\n=======\nb\n+++++++ REPLACE", []File{{Op: Update, Old: "a\n", New: "b\n"}}},
		{"windows line ends", "*** Begin Patch\r\n*** Add File: a\r\n+x\r\n*** End Patch\r\n", []File{{Path: "a", Op: Add, New: "x\n"}}},
		{"cut short", "*** Begin Patch\n*** Update File: a.go\n@@\n-x\n+", []File{{Path: "a.go", Op: Update, Old: "x\n", New: "\n"}}},
		{"no patch", "package a\n\n// ======= SEARCH", nil},
		{"empty", "", nil},
	} {
		t.Run(tt.name, func(t *testing.T) {
			if diff := cmp.Diff(tt.want, Parse(tt.text)); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

func FuzzParse(f *testing.F) {
	for _, s := range []string{"*** Begin Patch\n*** Update File: a\n@@ x @@\n-a\n+b", "--- a/x\n+++ b/x\n@@ -1 +1 @@\n", "<<<<<<< SEARCH\n=======\n>>>>>>> REPLACE", "*** Add File: \n+", "+++ \n@@ -1 +1", "rename to x\n+++ b"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		for _, file := range Parse(s) {
			if file.Op == "" || len(file.Old)+len(file.New) > len(s)+1 || strings.Contains(file.Path, "\n") {
				t.Errorf("%+v", file)
			}
		}
	})
}
