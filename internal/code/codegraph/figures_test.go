//go:build unix

package codegraph_test

import (
	"bytes"
	"errors"
	"io/fs"
	"math/rand/v2"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/kenlayer/ken"
	"github.com/kenlayer/ken/internal/code/codegraph"
	"github.com/kenlayer/ken/internal/code/codegraph/golang"
	"github.com/kenlayer/ken/internal/code/codegraph/lexed"
	"github.com/kenlayer/ken/internal/code/codegraph/typed"
)

// TestFigures logs the size of the graphs of the folders in KEN_TREES (separated as in PATH), and the cost to build
// them by syntax, with types and after an edit, of memory, and of queries. It copies the folders first. Processor times
// are logged next to clock times. KEN_TYPES=no leaves types out.
func TestFigures(t *testing.T) {
	trees := filepath.SplitList(os.Getenv("KEN_TREES"))
	if len(trees) == 0 {
		t.Skip("KEN_TREES names no folders")
	}
	for _, tree := range trees {
		t.Run(filepath.Base(tree), func(t *testing.T) {
			dir := filepath.Join(t.TempDir(), "tree")
			if err := os.CopyFS(dir, sources{os.DirFS(tree)}); err != nil {
				t.Fatal(err)
			}
			figures(t, dir)
		})
	}
}

// sources is a tree without links, git folders and large files.
type sources struct{ fs.FS }

// ReadDir leaves these out.
func (s sources) ReadDir(name string) ([]fs.DirEntry, error) {
	list, err := fs.ReadDir(s.FS, name)
	return slices.DeleteFunc(list, func(e fs.DirEntry) bool {
		info, err := e.Info()
		return err != nil || e.Name() == ".git" || !e.IsDir() && (!e.Type().IsRegular() || info.Size() > 4<<20)
	}), err
}

func figures(t *testing.T, dir string) {
	tree := os.DirFS(dir)
	var lines, bytesRead int
	var paths []string
	err := fs.WalkDir(tree, ".", func(p string, e fs.DirEntry, err error) error {
		if err != nil || e.IsDir() {
			return err
		}
		paths = append(paths, p)
		if data, err := fs.ReadFile(tree, p); err == nil && (strings.HasSuffix(p, ".go") || lexed.Language(p) != "") {
			lines, bytesRead = lines+bytes.Count(data, []byte("\n")), bytesRead+len(data)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	set := lexed.New(lexed.Options{Files: paths})
	o := codegraph.Options{Now: later, Extractors: map[string]codegraph.Extractor{".go": golang.New(golang.FindModules(tree))}}
	for _, ext := range []string{".ts", ".tsx", ".js", ".py", ".java", ".cs", ".rs", ".c", ".h", ".cc", ".cpp"} {
		o.Extractors[ext] = set.Extract
	}
	before := heapInUse()
	g := codegraph.New()
	var r codegraph.Report
	logTime(t, "build by syntax", func() { r, err = g.Build(t.Context(), dir, o) })
	if err != nil {
		t.Fatal(err)
	}
	t.Logf("%d files, %d lines and %d MB of code: %+v, %d problems, %d head only; heap %d MB", r.Files, lines, bytesRead>>20, r.Counts, r.ProblemsTotal, len(r.HeadOnly), (heapInUse()-before)>>20)
	logTime(t, "build again, nothing changed", func() { _, err = g.Build(t.Context(), dir, o) })
	if err != nil {
		t.Fatal(err)
	}
	if os.Getenv("KEN_TYPES") != "no" {
		withTypes(t, g, dir)
	}
	after := heapInUse()
	runtime.GC()
	t.Logf("serving: heap %d MB, resident %d MB at most so far", (after-before)>>20, resident()>>20)
	var saved bytes.Buffer
	logTime(t, "save", func() { err = g.View().Save(&saved) })
	if err != nil {
		t.Fatal(err)
	}
	size := saved.Len()
	logTime(t, "load", func() { _, err = codegraph.Load(&saved) })
	if err != nil {
		t.Fatal(err)
	}
	t.Logf("saved: %d MB", size>>20)
	edits(t, g, dir, paths, o)
	questions(t, g.View())
}

func withTypes(t *testing.T, g *codegraph.Graph, dir string) {
	for _, name := range []string{"check types, as they are", "check types, warm"} {
		var ref codegraph.Refinement
		var err error
		logTime(t, name, func() { ref, _, err = typed.Check(t.Context(), dir, typed.Options{}) })
		if errors.Is(err, ken.ErrUnavailable) || errors.Is(err, ken.ErrNotFound) {
			t.Logf("no types: %v", err)
			return
		}
		if err != nil {
			t.Fatal(err)
		}
		logTime(t, "refine", func() { g.Refine(ref) })
	}
	t.Logf("with types: %+v", g.View().Counts())
}

// edits writes to 20 files, one after another, and waits for the new symbol of each.
func edits(t *testing.T, g *codegraph.Graph, dir string, paths []string, o codegraph.Options) {
	paths = slices.DeleteFunc(slices.Clone(paths), func(p string) bool {
		s, err := g.View().Show("file:" + p)
		return !strings.HasSuffix(p, ".go") || err != nil || s.HeadOnly
	})
	r := rand.New(rand.NewPCG(3, 4))
	r.Shuffle(len(paths), func(i, k int) { paths[i], paths[k] = paths[k], paths[i] })
	var took []time.Duration
	cpu := processor(t)
	for i, p := range paths[:min(20, len(paths))] {
		path := filepath.Join(dir, filepath.FromSlash(p))
		src, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		name := "FreshlyMade" + string(rune('A'+i))
		if err := os.WriteFile(path, append(src, "\n\nfunc "+name+"() {}\n"...), 0o600); err != nil {
			t.Fatal(err)
		}
		start := time.Now()
		if _, err := g.Update(t.Context(), dir, []string{p}, o); err != nil {
			t.Fatal(err)
		}
		took = append(took, time.Since(start))
		if n, _ := g.View().Find(name, 1); len(n) != 1 {
			t.Errorf("%s: %s is not there", p, name)
		}
	}
	if len(took) > 0 {
		slices.Sort(took)
		t.Logf("update after one edit: p50 %v, most %v, %v of the processor each", took[len(took)/2], took[len(took)-1], (processor(t)-cpu)/time.Duration(len(took)))
	}
}

// questions queries 300 random nodes and words of their names.
func questions(t *testing.T, v *codegraph.View) {
	var doc bytes.Buffer
	if err := v.ExportJSON(&doc); err != nil {
		t.Fatal(err)
	}
	var ids []string
	for l := range bytes.Lines(doc.Bytes()) {
		if rest, ok := bytes.CutPrefix(l, []byte(`{"id":"`)); ok {
			id, _, _ := bytes.Cut(rest, []byte(`"`))
			ids = append(ids, string(id))
		}
	}
	r := rand.New(rand.NewPCG(1, 2))
	r.Shuffle(len(ids), func(i, k int) { ids[i], ids[k] = ids[k], ids[i] })
	ids = ids[:min(300, len(ids))]
	for _, q := range []struct {
		name string
		ask  func(id, name string) error
	}{
		{"search a name", func(_, name string) error { v.Search(name, nil, 20); return nil }},
		{"search a part", func(_, name string) error { v.Search(strings.ToLower(name[:min(4, len(name))]), nil, 20); return nil }},
		{"search two words", func(_, name string) error { v.Search(name+" test", nil, 20); return nil }},
		{"refs", func(id, _ string) error { _, err := v.Refs(id, nil, codegraph.Page{}); return err }},
		{"dependents", func(id, _ string) error { _, err := v.Dependents(id, 0, codegraph.Page{}); return err }},
		{"neighbours", func(id, _ string) error { _, _, err := v.Neighbours([]string{id}, 20); return err }},
		{"show", func(id, _ string) error { _, err := v.Show(id); return err }},
	} {
		var took []time.Duration
		cpu := processor(t)
		for _, id := range ids {
			name := id[strings.LastIndexAny(id, "./:")+1:]
			start := time.Now()
			if err := q.ask(id, name); err != nil {
				t.Fatal(err)
			}
			took = append(took, time.Since(start))
		}
		slices.Sort(took)
		t.Logf("%s: p50 %v, p95 %v, %v of the processor each", q.name, took[len(took)/2], took[len(took)*95/100], (processor(t)-cpu)/time.Duration(len(took)))
	}
}

// logTime logs the time that do takes.
func logTime(t *testing.T, what string, do func()) {
	t.Helper()
	start, cpu := time.Now(), processor(t)
	do()
	t.Logf("%s: %v, %v of the processor", what, time.Since(start).Round(time.Millisecond), (processor(t) - cpu).Round(time.Millisecond))
}

// processor returns the processor time of this process and of its children that have ended.
func processor(t *testing.T) time.Duration {
	t.Helper()
	var sum int64
	for _, who := range []int{syscall.RUSAGE_SELF, syscall.RUSAGE_CHILDREN} {
		var r syscall.Rusage
		if err := syscall.Getrusage(who, &r); err != nil {
			t.Fatal(err)
		}
		sum += r.Utime.Nano() + r.Stime.Nano()
	}
	return time.Duration(sum)
}

func heapInUse() uint64 {
	runtime.GC()
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return m.HeapAlloc
}

// resident returns the maximum resident memory of this process in bytes, on systems that count it in kilobytes, like
// Linux.
func resident() int64 {
	var r syscall.Rusage
	if syscall.Getrusage(syscall.RUSAGE_SELF, &r) != nil {
		return 0
	}
	return r.Maxrss << 10
}
