package main

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/kenlayer/ken/internal/cli"
	"github.com/kenlayer/ken/internal/code/codegraph"
)

// graphRun runs a command in a project, which must end with this status.
func graphRun(t *testing.T, status int, in []byte, args ...string) (out, told string) {
	t.Helper()
	var o, e bytes.Buffer
	if got := run(t.Context(), args, cli.Streams{In: bytes.NewReader(in), Out: &o, Err: &e}); got != status {
		t.Fatalf("ken %s: status %d: %s", strings.Join(args, " "), got, e.String())
	}
	return o.String(), e.String()
}

// An index that a compiler's indexer made is taken where its sources are, and stays
// for the next command.
func TestGraphImport(t *testing.T) {
	zoo := filepath.Join("..", "..", "internal", "code", "codegraph", "scip", "testdata", "zoo")
	root := t.TempDir()
	for _, name := range []string{"animal.ts", "keeper.ts"} {
		b, err := os.ReadFile(filepath.Join(zoo, name))
		if err != nil {
			t.Fatal(err)
		}
		for _, folder := range []string{".ken", "pets"} {
			if err := os.MkdirAll(filepath.Join(root, folder), 0o755); err != nil {
				t.Fatal(err)
			}
		}
		if err := os.WriteFile(filepath.Join(root, "pets", name), b, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	index := filepath.Join(zoo, "ts.scip")
	counts := func() (c codegraph.Counts) {
		out, _ := graphRun(t, cli.ExitOK, nil, "-C", root, "graph", "status", "--json", "--stale")
		s := struct{ Counts *codegraph.Counts }{&c}
		if err := json.Unmarshal([]byte(out), &s); err != nil {
			t.Fatal(err)
		}
		return c
	}
	graphRun(t, cli.ExitOK, nil, "-C", root, "graph", "build", "--no-types")
	before := counts()

	// The paths of the index start elsewhere.
	if _, told := graphRun(t, cli.ExitFailed, nil, "-C", root, "graph", "import", index, "--any-time"); !strings.Contains(told, "--folder") {
		t.Errorf("told %s", told)
	}
	out, _ := graphRun(t, cli.ExitOK, nil, "-C", root, "graph", "import", index, "--any-time", "--folder", "pets")
	if !strings.Contains(out, "scip-typescript 0.4.0: 2 files of 2 taken") {
		t.Errorf("said %s", out)
	}
	after := counts()
	if after.Guesses >= before.Guesses {
		t.Errorf("before %+v, after %+v", before, after)
	}
	b, err := os.ReadFile(index)
	if err != nil {
		t.Fatal(err)
	}
	out, _ = graphRun(t, cli.ExitOK, b, "-C", root, "graph", "import", "-", "--folder", "./pets/", "--json")
	var got struct {
		Taken int
		Tool  string
	}
	if err := json.Unmarshal([]byte(out), &got); err != nil || got.Taken != 2 {
		t.Errorf("from standard input: %s, %v", out, err)
	}
	if _, told := graphRun(t, cli.ExitFailed, nil, "-C", root, "graph", "import", filepath.Join(root, "none.scip")); !strings.Contains(told, "Try:") {
		t.Errorf("told %s", told)
	}
	if _, told := graphRun(t, cli.ExitFailed, []byte("no index"), "-C", root, "graph", "import", "-"); !strings.Contains(told, "Try:") {
		t.Errorf("told %s", told)
	}
	if now := counts(); now != after {
		t.Errorf("what failed has changed the graph: %+v", now)
	}
}

// Without a go command types are not checked, and that is all; whoever insists is told.
func TestGraphBuildWithoutToolchain(t *testing.T) {
	root := t.TempDir()
	for name, text := range map[string]string{"go.mod": "module example.com/x\n", "a.go": "package x\n\nfunc A() {}\n", ".ken/config.yaml": ""} {
		if err := os.MkdirAll(filepath.Dir(filepath.Join(root, name)), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(root, name), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	t.Setenv("PATH", t.TempDir())
	if out, _ := graphRun(t, cli.ExitOK, nil, "-C", root, "graph", "build"); !strings.Contains(out, "types were not checked: no Go toolchain in PATH") {
		t.Errorf("said %s", out)
	}
	if _, told := graphRun(t, cli.ExitFailed, nil, "-C", root, "graph", "build", "--types"); !strings.Contains(told, "Try: Install Go") {
		t.Errorf("told %s", told)
	}
}
