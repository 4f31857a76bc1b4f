package golang_test

import (
	"os"
	"testing"
	"testing/fstest"

	"github.com/google/go-cmp/cmp"

	"github.com/kenlayer/ken/internal/code/codegraph/golang"
)

func TestFindModules(t *testing.T) {
	file := func(s string) *fstest.MapFile { return &fstest.MapFile{Data: []byte(s)} }
	got := golang.FindModules(fstest.MapFS{
		"go.mod":                    file("// the shop\nmodule example.com/shop // v1\n\ngo 1.26\n"),
		"tools/go.mod":              file("module \"example.com/tools\"\r\n"),
		"broken/go.mod":             file("modul x\n"),
		"empty/go.mod":              file(""),
		"vendor/example.com/go.mod": file("module example.com/vendored\n"),
		"a/testdata/go.mod":         file("module x\n"),
		"node_modules/a/go.mod":     file("module x\n"),
		".cache/go.mod":             file("module x\n"),
		"_old/go.mod":               file("module x\n"),
		"b/go.mod/x":                file("module x\n"),
		"c/go.mod":                  {Data: []byte("../go.mod"), Mode: os.ModeSymlink},
	})
	if diff := cmp.Diff(map[string]string{".": "example.com/shop", "tools": "example.com/tools"}, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestModulePath(t *testing.T) {
	for text, want := range map[string]string{
		"module x/y": "x/y", "\uFEFFmodule x": "x", "module `x`": "x", "module\tx": "x", "go 1.26\nmodule x\n": "x",
		"modules x": "", "module": "", "module x y": "", "module (\n\tx\n)": "", "// module x": "", "": "",
	} {
		if got := golang.ModulePath([]byte(text)); got != want {
			t.Errorf("%q: %q, want %q", text, got, want)
		}
	}
}
