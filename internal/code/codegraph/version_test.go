package codegraph_test

import (
	"crypto/sha256"
	"encoding/json"
	"flag"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/kenlayer/ken/internal/code/codegraph"
	"github.com/kenlayer/ken/internal/code/codegraph/golang"
	"github.com/kenlayer/ken/internal/code/codegraph/lexed"
	"github.com/kenlayer/ken/internal/code/codegraph/scip"
	"github.com/kenlayer/ken/internal/code/codegraph/typed"
)

// TestVersions fails if a package returns something new for the same files and its version is unchanged. Saved graphs
// would keep the old results. After raising the version, run it with -update.
func TestVersions(t *testing.T) {
	const name = "testdata/version/said.txt"
	had := map[string]string{}
	text, err := os.ReadFile(name)
	if err != nil && !os.IsNotExist(err) {
		t.Fatal(err)
	}
	for l := range strings.Lines(string(text)) {
		if of, rest, ok := strings.Cut(strings.TrimSpace(l), " "); ok {
			had[of] = rest
		}
	}
	for of, said := range map[string]func(*testing.T) any{
		"codegraph": resolvedShop, "codegraph/golang": saidByGolang, "codegraph/lexed": saidByLexed, "codegraph/scip": saidBySCIP, "codegraph/typed": saidByTyped,
	} {
		t.Run(of, func(t *testing.T) {
			data, err := json.Marshal(said(t))
			if err != nil {
				t.Fatal(err)
			}
			version := fmt.Sprint(codegraph.Versions()[of])
			now := fmt.Sprintf("%s %x", version, sha256.Sum256(data))
			was, _, _ := strings.Cut(had[of], " ")
			switch {
			case now == had[of]:
			case was == version:
				t.Errorf("%s says something else of the same files: raise its version in file.go, then run this with -update", of)
			case flag.Lookup("update").Value.String() == "true":
				had[of] = now
			default:
				t.Errorf("%s has version %s, and %s is for %q: run this with -update", of, version, name, was)
			}
		})
	}
	if flag.Lookup("update").Value.String() == "true" && !t.Failed() {
		var b strings.Builder
		for _, of := range slices.Sorted(maps.Keys(had)) {
			fmt.Fprintf(&b, "%s %s\n", of, had[of])
		}
		if err := os.WriteFile(name, []byte(b.String()), 0o600); err != nil {
			t.Fatal(err)
		}
	}
}

// resolvedShop returns the graph of the files of TestShop.
func resolvedShop(t *testing.T) any { return read(t, "testdata/shop.json") }

func saidByGolang(t *testing.T) any {
	extract := golang.New(map[string]string{".": "example.com/sample"})
	var out []codegraph.File
	for _, name := range []string{"sample.go", "sample_test.go", "broken.go"} {
		out = append(out, extract(name, []byte(read(t, "testdata/version/"+name+".txt"))))
	}
	return out
}

func saidByLexed(t *testing.T) any {
	paths, err := filepath.Glob("lexed/testdata/golden/*")
	if err != nil {
		t.Fatal(err)
	}
	paths = slices.DeleteFunc(paths, func(p string) bool { return lexed.Language(p) == "" })
	if len(paths) < 10 {
		t.Fatalf("only %v", paths)
	}
	var names []string
	for _, p := range paths {
		names = append(names, filepath.Base(p))
	}
	set := lexed.New(lexed.Options{Files: names})
	var out []codegraph.File
	for i, p := range paths {
		out = append(out, set.Extract(names[i], []byte(read(t, p))))
	}
	return out
}

func saidBySCIP(t *testing.T) (out any) {
	var all []codegraph.Refinement
	for _, name := range []string{"py.scip", "ts.scip"} {
		ref, _, err := scip.Read(strings.NewReader(read(t, "scip/testdata/zoo/"+name)), "scip/testdata/zoo", scip.Options{Made: time.Date(2100, 1, 1, 0, 0, 0, 0, time.UTC)})
		if err != nil || len(ref.Files) == 0 {
			t.Fatalf("%s: %d files, %v", name, len(ref.Files), err)
		}
		all = append(all, ref)
	}
	return all
}

func saidByTyped(t *testing.T) any {
	if _, err := exec.LookPath("go"); err != nil {
		t.Skip("no Go toolchain in PATH")
	}
	ref, report, err := typed.Check(t.Context(), "typed/testdata/shop", typed.Options{})
	if err != nil || len(report.Problems) > 0 {
		t.Fatalf("%+v, %v", report.Problems, err)
	}
	return ref
}

func read(t *testing.T, path string) string {
	t.Helper()
	b, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}
