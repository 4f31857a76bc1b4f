package middleware_test

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/kenlayer/ken"
	"github.com/kenlayer/ken/embed/embedtest"
	"github.com/kenlayer/ken/middleware"
)

// What ken eval generate has made of a claim goes with it, the rest stays, and a file of the
// person's own is named and left alone. A later look at every byte finds nothing, and finds
// what is put back, wherever that is.
func TestForgettingReachesFilesBesideTheStore(t *testing.T) {
	root := t.TempDir()
	l := within(t, root, func(o *middleware.Options) { o.Embedder = embedtest.Bag{} })
	const words = "The on-call phone of Priya at night is the number of the red phone."
	ids := learn(t, l, fact(t, words), fact(t, "%s", portFact))
	file := func(name, text string) string {
		t.Helper()
		path := filepath.Join(root, ".ken", filepath.FromSlash(name))
		must(t, os.MkdirAll(filepath.Dir(path), 0o755))
		must(t, os.WriteFile(path, []byte(text), 0o644))
		return path
	}
	corpus := file("eval/corpus.jsonl", `{"id":"a","text":"`+words+`"}`+"\n"+`{"id":"b","text":"`+portFact+`"}`+"\n")
	queries := file("eval/queries.jsonl", `{"text":"Whose phone is red?","relevant":["`+ids[0]+`"]}`+"\n")
	sweep := file("eval/sweep/report.json", "{\n\"missed\":\n\""+words+"\"\n}")
	file("knowledge/notes.md", "# Notes\n\n- "+words+"\n")
	out, err := l.Forget(t.Context(), "", ids[0], "", ken.Actor{})
	if err != nil || len(out.Files) != 1 || out.Files[0] != ".ken/knowledge/notes.md" {
		t.Errorf("%+v, %v", out, err)
	}
	if b, err := os.ReadFile(corpus); err != nil || strings.Contains(string(b), "Priya") || !strings.Contains(string(b), portFact) || strings.Count(string(b), "\n") != 1 {
		t.Errorf("%q, %v", b, err)
	}
	if b, err := os.ReadFile(queries); err != nil || len(b) != 0 {
		t.Errorf("%q, %v", b, err)
	}
	if _, err := os.Stat(sweep); !os.IsNotExist(err) {
		t.Errorf("the report is there: %v", err)
	}
	check := func(dirty ...string) {
		t.Helper()
		checks, err := l.CheckAllForgotten(t.Context(), "")
		must(t, err)
		var found []string
		for _, c := range checks {
			if !c.Clean {
				found = append(found, c.Name+": "+c.Detail)
			}
		}
		if len(found) != len(dirty) {
			t.Fatalf("found %q, want %q", found, dirty)
		}
		for i := range dirty {
			if !strings.HasPrefix(found[i], dirty[i]) {
				t.Errorf("found %q, want %q", found, dirty)
			}
		}
	}
	check("files: found in .ken/knowledge/notes.md (" + ids[0] + ")")
	must(t, os.Remove(filepath.Join(root, ".ken", "knowledge", "notes.md")))
	check()
	// In the middle of a large file, over the border of what is read at once, and in capitals.
	pad := bytes.Repeat([]byte{0xfe, 0}, 2<<20-15)
	path := file("state/default/copy.db", string(pad)+strings.ToUpper(words)+string(pad))
	check("files: found in .ken/state/default/copy.db")
	must(t, os.Remove(path))
	again := learn(t, l, fact(t, "%s", words))
	check("claims: said again since by "+again[0], "files: ")
}
