package typed_test

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/kenlayer/ken/internal/code/codegraph"
	"github.com/kenlayer/ken/internal/code/codegraph/typed"
)

const two = `
-- a/go.mod --
module example.com/shop/a

go 1.26
-- a/a.go --
package a

func A() {}
-- b/b.go --
package b

import "example.com/shop/a"

func B() { a.A() }
`

// Modules within the root that know one another, by replace or by a workspace.
func TestModulesWithinTheRoot(t *testing.T) {
	want := "function:shop/b.B calls function:shop/a.A"
	bmod := "-- b/go.mod --\nmodule example.com/shop/b\n\ngo 1.26\n\nrequire example.com/shop/a v0.0.0\n"
	same(t, edges(check(t, writeTree(t, two+bmod+"\nreplace example.com/shop/a => ../a\n"), typed.Options{})), want)
	same(t, edges(check(t, writeTree(t, two+bmod+"-- go.work --\ngo 1.26\n\nuse (\n\t./a\n\t./b\n)\n"), typed.Options{})), want)
	// One that the workspace leaves out.
	same(t, edges(check(t, writeTree(t, two+bmod+"\nreplace example.com/shop/a => ../a\n-- go.work --\ngo 1.26\n\nuse ./a\n"), typed.Options{})), want)
}

// A workspace above the root is ignored, because it may not belong to the user.
func TestAWorkspaceAboveIsNotSeen(t *testing.T) {
	dir := writeTree(t, gomod+"\nnonsense\n-- go.work --\nnonsense\n-- in/go.mod --\nmodule example.com/shop\n\ngo 1.26\n-- in/a.go --\npackage a\n\nfunc F() { G() }\n\nfunc G() {}\n")
	t.Setenv("GOWORK", filepath.Join(dir, "go.work"))
	same(t, edges(check(t, filepath.Join(dir, "in"), typed.Options{})), "function:shop.F calls function:shop.G")
}

func TestVendor(t *testing.T) {
	dir := writeTree(t, `
-- go.mod --
module example.com/shop

go 1.26

require example.com/v v1.0.0
-- vendor/modules.txt --
# example.com/v v1.0.0
## explicit; go 1.26
example.com/v
-- vendor/example.com/v/v.go --
package v

func V() {}
-- a.go --
package a

import "example.com/v"

func F() { v.V(); G() }

func G() {}
`)
	same(t, edges(check(t, dir, typed.Options{})), "function:shop.F calls function:shop.G")
}

// Import "C" needs no C compiler.
func TestCgo(t *testing.T) {
	dir := writeTree(t, gomod+"-- a.go --\npackage a\n\n// int n;\nimport \"C\"\n\nfunc F() int { return G(int(C.n)) }\n\nfunc G(n int) int { return n }\n")
	t.Setenv("CGO_ENABLED", "1")
	t.Setenv("CC", "/nonexistent/cc")
	same(t, edges(check(t, dir, typed.Options{}), codegraph.Calls), "function:shop.F calls function:shop.G")
}

// Links are not followed. If the root is a link, its target is used.
func TestLinks(t *testing.T) {
	dir := writeTree(t, gomod+"-- a.go --\npackage a\n\nfunc F() { G() }\n\nfunc G() {}\n")
	outside := writeTree(t, "-- b.go --\npackage a\n\nfunc H() { G() }\n")
	if err := os.Symlink(filepath.Join(outside, "b.go"), filepath.Join(dir, "b.go")); err != nil {
		t.Skip(err)
	}
	if err := os.Symlink(dir, filepath.Join(dir, "loop")); err != nil {
		t.Skip(err)
	}
	link := filepath.Join(t.TempDir(), "link")
	if err := os.Symlink(dir, link); err != nil {
		t.Skip(err)
	}
	needGo(t)
	for _, root := range []string{dir, link} {
		ref, report, err := typed.Check(t.Context(), root, typed.Options{})
		if err != nil || len(report.Problems) != 1 || report.Problems[0].Path != "b.go" {
			t.Errorf("%v, %+v", err, report)
		}
		same(t, edges(ref), "function:shop.F calls function:shop.G")
	}
}
