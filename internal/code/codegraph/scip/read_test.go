package scip_test

import (
	"bytes"
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/iotest"
	"time"

	"google.golang.org/protobuf/encoding/protowire"

	"github.com/kenlayer/ken"
	"github.com/kenlayer/ken/internal/code/codegraph"
	"github.com/kenlayer/ken/internal/code/codegraph/scip"
)

const (
	goF = "scip-go gomod example.com/x v1 `example.com/x`/F()."
	goG = "scip-go gomod example.com/x v1 `example.com/x`/G()."
	src = "package x\n\nfunc F() {}\n\nfunc G() {\n\tF()\n}\n"
)

func goDoc(path, text string) []byte {
	return doc(path, text, occ{goF, 1, []uint64{2, 5, 6}}, occ{goG, 1, []uint64{4, 5, 6}}, occ{goF, 0, []uint64{5, 1, 2}})
}

const call = "function:example.com/x.G calls function:example.com/x.F 6"

// Documents that have changed since they were indexed are left out and counted.
func TestWhetherAnIndexStillFits(t *testing.T) {
	modified := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	for _, tt := range []struct {
		name, file, text string
		made             time.Time
		stale, missing   int
		reason           string
	}{
		{"the text that was indexed", src, src, modified.Add(-time.Hour), 0, 0, ""},
		{"another text", src + "\n", src, modified.Add(time.Hour), 1, 0, "text"},
		{"no text, and older", src, "", modified.Add(time.Hour), 0, 0, ""},
		{"no text, and of the same moment", src, "", modified, 0, 0, ""},
		{"no text, and newer", src, "", modified.Add(-time.Hour), 1, 0, "modified"},
		{"no text, and nothing known", src, "", time.Time{}, 0, 0, ""},
		{"names in another place", "package x\n\n\n" + src[11:], "", always, 1, 0, "are in another place"},
		{"a shorter file", "package x\n", "", always, 1, 0, "are in another place"},
		{"no file", "", "", always, 0, 1, "no such file"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			dir := t.TempDir()
			if tt.file != "" {
				dir = writeFiles(t, "x.go", tt.file)
				if err := os.Chtimes(filepath.Join(dir, "x.go"), modified, modified); err != nil {
					t.Fatal(err)
				}
			}
			ref, report, err := scip.Read(bytes.NewReader(index(goDoc("x.go", tt.text))), dir, scip.Options{Made: tt.made})
			if err != nil {
				t.Fatal(err)
			}
			if report.Documents != 1 || report.Stale != tt.stale || report.Missing != tt.missing {
				t.Errorf("%+v", report)
			}
			if tt.reason == "" {
				same(t, edges(ref), call)
			} else if len(ref.Files) > 0 || len(report.Left) != 1 || !strings.Contains(report.Left[0].Reason, tt.reason) {
				t.Errorf("%+v, %+v", ref, report)
			}
		})
	}
}

// By default, the time of an index is that of its file.
func TestTimeOfTheIndexFile(t *testing.T) {
	dir := writeFiles(t, "x.go", src, "index.scip", string(index(goDoc("x.go", ""))))
	for _, tt := range []struct {
		index time.Duration
		want  int
	}{{time.Hour, 1}, {-time.Hour, 0}} {
		at := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
		_ = os.Chtimes(filepath.Join(dir, "x.go"), at, at)
		_ = os.Chtimes(filepath.Join(dir, "index.scip"), at.Add(tt.index), at.Add(tt.index))
		f, err := os.Open(filepath.Join(dir, "index.scip"))
		if err != nil {
			t.Fatal(err)
		}
		ref, _, err := scip.Read(f, dir, scip.Options{})
		f.Close()
		if err != nil || len(ref.Files) != tt.want {
			t.Errorf("%v: %d files, %v", tt.index, len(ref.Files), err)
		}
	}
}

func TestPathsThatLeadOut(t *testing.T) {
	dir := writeFiles(t, "x.go", src)
	outside := writeFiles(t, "secret.go", src)
	if err := os.Symlink(filepath.Join(outside, "secret.go"), filepath.Join(dir, "link.go")); err != nil {
		t.Skip(err)
	}
	if err := os.Symlink(outside, filepath.Join(dir, "folder")); err != nil {
		t.Skip(err)
	}
	paths := []string{"../" + filepath.Base(outside) + "/secret.go", outside + "/secret.go", "link.go", "folder/secret.go", "", ".", "a\x00b", "x.go/../../x"}
	var docs [][]byte
	for _, p := range paths {
		docs = append(docs, goDoc(p, src))
	}
	ref, report, err := scip.Read(bytes.NewReader(index(docs...)), dir, scip.Options{Made: always})
	if err != nil || len(ref.Files) != 0 || report.Missing != len(paths) {
		t.Errorf("%+v, %+v, %v", ref, report, err)
	}
}

func TestFolders(t *testing.T) {
	dir := t.TempDir()
	if err := os.MkdirAll(filepath.Join(dir, "web", "app"), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, "web", "app", "x.go"), []byte(src), 0o644); err != nil {
		t.Fatal(err)
	}
	project := func(root string) []byte {
		return append(bytesField(nil, 1, bytesField(nil, 3, []byte(root))), bytesField(nil, 2, goDoc("x.go", src))...)
	}
	for _, tt := range []struct{ root, folder string }{{"file://" + filepath.ToSlash(dir) + "/web/app", ""}, {"file:///elsewhere", "web/app"}, {"nonsense", "web/app/"}} {
		ref, report, err := scip.Read(bytes.NewReader(project(tt.root)), dir, scip.Options{Folder: tt.folder})
		if err != nil || len(ref.Files) != 1 || ref.Files[0].Path != "web/app/x.go" {
			t.Errorf("%+v: %+v, %v", tt, report, err)
		}
	}
}

func TestBrokenIndexes(t *testing.T) {
	whole := index(goDoc("x.go", src))
	dir := writeFiles(t, "x.go", src)
	huge := protowire.AppendVarint(protowire.AppendTag(nil, 2, protowire.BytesType), 1<<40)
	for name, in := range map[string][]byte{
		"cut short": whole[:len(whole)-3], "text": []byte("{\"documents\": []}"), "huge": huge, "a group": {0x0b}, "no field": {0x00, 0x01},
		"a document that is none": bytesField(nil, 2, []byte{0xff}), "promised and not there": append(protowire.AppendTag(nil, 2, protowire.BytesType), 0xff, 0xff, 0x7f),
	} {
		ref, _, err := scip.Read(bytes.NewReader(in), dir, scip.Options{})
		if !errors.Is(err, ken.ErrInvalid) || ken.Hint(err) == "" || len(ref.Files) > 0 {
			t.Errorf("%s: %v", name, err)
		}
	}
	if _, _, err := scip.Read(iotest.ErrReader(io.ErrClosedPipe), dir, scip.Options{}); !errors.Is(err, io.ErrClosedPipe) {
		t.Error(err)
	}
	if _, _, err := scip.Read(bytes.NewReader(whole), filepath.Join(dir, "none"), scip.Options{}); !errors.Is(err, ken.ErrNotFound) {
		t.Error(err)
	}
	ref, report, err := scip.Read(bytes.NewReader(nil), dir, scip.Options{})
	if err != nil || len(ref.Files) > 0 || report.Documents > 0 {
		t.Errorf("empty: %+v, %v", report, err)
	}
	for n := range whole { // byte by byte, and broken off anywhere
		_, _, _ = scip.Read(iotest.OneByteReader(bytes.NewReader(whole[:n])), dir, scip.Options{})
	}
}

// A document may come in two parts, as for a file shared by two projects.
func TestADocumentTwice(t *testing.T) {
	dir := writeFiles(t, "x.go", src)
	first := doc("x.go", src, occ{goF, 1, []uint64{2, 5, 6}}, occ{goG, 1, []uint64{4, 5, 6}})
	second := doc("x.go", src, occ{goF, 0, []uint64{5, 1, 5, 2}})
	ref, _, err := scip.Read(bytes.NewReader(index(first, second)), dir, scip.Options{})
	if err != nil || len(ref.Files) != 1 || len(ref.Files[0].Edges) != 1 || len(ref.Files[0].Decls) != 2 {
		t.Errorf("%+v, %v", ref, err)
	}
}

func FuzzRead(f *testing.F) {
	dir := writeFiles(f, "x.go", src)
	f.Add(index(goDoc("x.go", "")))
	f.Add(index(goDoc("x.go", src), goDoc("y.go", "")))
	for _, name := range []string{"testdata/zoo/py.scip", "testdata/zoo/ts.scip"} {
		b, err := os.ReadFile(name)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(bytes.ReplaceAll(b, []byte("farm.py"), []byte("x.go\x00\x00\x00")))
		f.Add(b)
	}
	f.Fuzz(func(t *testing.T, in []byte) {
		ref, report, err := scip.Read(bytes.NewReader(in), dir, scip.Options{Made: always})
		if err != nil {
			return
		}
		if report.Documents < report.Files+report.Stale+report.Missing {
			t.Errorf("%+v", report)
		}
		for _, file := range ref.Files {
			for _, e := range file.Edges {
				if e.Line < 1 || e.From == "" || e.To == "" {
					t.Errorf("%+v", e)
				}
			}
			for _, d := range file.Decls {
				if d.Line < 1 || d.End < d.Line || d.Name == "" {
					t.Errorf("%+v", d)
				}
			}
		}
	})
}

// TestInstalledPackage reads an index in which references name the installed package and definitions name the folder.
func TestInstalledPackage(t *testing.T) {
	const helpers, use = "def go():\n    pass\n", "from shop.helpers import go\ngo()\n"
	graph := map[string]codegraph.File{"helpers.py": {Language: "python", Decls: []codegraph.Decl{
		{Kind: codegraph.KindFunction, Name: "go", Qualified: "shop.helpers.go", Line: 1, End: 2},
	}}}
	root := writeFiles(t, "helpers.py", helpers, "use.py", use, "i.scip", string(index(
		doc("use.py", use, occ{"scip-python python Shop 3.1 `shop.helpers`/go().", 0, []uint64{1, 0, 2}}, occ{"scip-python python Shop 3.1 `shop.helpers`/gone().", 0, []uint64{1, 0, 2}}),
		doc("helpers.py", helpers, occ{"scip-python python shop 1 `src.shop.helpers`/go().", 1, []uint64{0, 4, 6}}),
	)))
	ref, _ := read(t, root, "i.scip", scip.Options{File: func(p string) (codegraph.File, bool) { f, ok := graph[p]; return f, ok }})
	same(t, edges(ref), "file:use.py calls function:shop.helpers.go 2")
	if !ref.Partly {
		t.Error("names are not looked for where the index has nothing")
	}
}
