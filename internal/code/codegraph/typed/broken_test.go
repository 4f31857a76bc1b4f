package typed_test

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/kenlayer/ken"
	"github.com/kenlayer/ken/internal/code/codegraph"
	"github.com/kenlayer/ken/internal/code/codegraph/typed"
)

// Missing modules are not downloaded.
func TestMissingModules(t *testing.T) {
	needGo(t)
	dir := writeTree(t, "-- go.mod --\nmodule example.com/shop\n\ngo 1.26\n\nrequire example.com/never/there v1.2.3\n-- a.go --\npackage a\n\nimport \"example.com/never/there\"\n\nfunc F() { there.X(); G() }\n\nfunc G() {}\n")
	ref, report, err := typed.Check(t.Context(), dir, typed.Options{})
	if err != nil || report.Broken != 1 || !strings.Contains(report.Problems[0].Text, "not downloaded") {
		t.Errorf("%v, %+v", err, report)
	}
	same(t, edges(ref), "function:shop.F calls function:shop.G")
}

// The go command names the file of an import as the file of the missing package: it must not be read as that.
func TestMissingModulesCauseNoOtherErrors(t *testing.T) {
	needGo(t)
	dir := writeTree(t, `-- go.mod --
module example.com/shop

go 1.26

require example.com/zero/diffs v1.2.3
-- diff/diff.go --
package diff

import zero "example.com/zero/diffs"

func Do() zero.Diff { return zero.Diff{} }
-- between/between.go --
package between

import "example.com/shop/diff"

func Do() { diff.Do() }
-- shop.go --
package shop

import (
	"example.com/shop/between"
	"example.com/shop/diff"
	"example.com/zero/diffs"
)

func F() { between.Do(); diffs.X(diff.Do()) }
-- far/far.go --
package far

import "example.com/shop/diff"

func H() { diff.Do().Gone() }
-- own/own.go --
package own

func H() { gone() }
`)
	_, report, err := typed.Check(t.Context(), dir, typed.Options{})
	if err != nil || !slices.Equal(report.Missing, []string{"example.com/zero/diffs"}) {
		t.Fatalf("%v, %+v", err, report)
	}
	for _, p := range report.Problems {
		if p.Follows != (p.Package != "example.com/shop/own") || strings.Contains(p.Text, "declar") {
			t.Errorf("%+v", p)
		}
	}
	if len(report.Problems) != 3 {
		t.Errorf("%+v", report.Problems)
	}
}

// An error affects only what depends on it.
func TestBrokenPackages(t *testing.T) {
	needGo(t)
	dir := writeTree(t, gomod+`
-- good/good.go --
package good

func F() int { return G() }

func G() int { return 1 }
-- types/types.go --
package types

import "example.com/shop/good"

func A() int { return good.F() }

func B() int { return good.Gone() + A() }

func C() Missing { return nil }
-- syntax/syntax.go --
package syntax

func A() int { return B() }

func B() int { return ) }
-- absent/absent.go --
package absent

import (
	"example.com/elsewhere"
	"example.com/shop/syntax"
)

func A() int { elsewhere.F(); return syntax.A() + b() }

func b() int { return 1 }
-- two/a.go --
package one

func F() {}
-- two/b.go --
package two

func F() {}
`)
	ref, report, err := typed.Check(t.Context(), dir, typed.Options{})
	if err != nil {
		t.Fatal(err)
	}
	got := strings.Join(edges(ref), "\n")
	for _, want := range []string{
		"function:shop/good.F calls function:shop/good.G",
		"function:shop/types.A calls function:shop/good.F",
		"function:shop/types.B calls function:shop/types.A",
		"function:shop/syntax.A calls function:shop/syntax.B",
		"function:shop/absent.A calls function:shop/syntax.A",
		"function:shop/absent.A calls function:shop/absent.b",
	} {
		if !strings.Contains(got, want) {
			t.Errorf("no %q in\n%s", want, got)
		}
	}
	broken := map[string]bool{}
	for _, p := range report.Problems {
		broken[p.Package] = true
		if p.Text == "" {
			t.Errorf("%+v", p)
		}
	}
	for _, p := range []string{"types", "syntax", "absent"} {
		if !broken["example.com/shop/"+p] {
			t.Errorf("nothing of %s in %+v", p, report.Problems)
		}
	}
	if broken["example.com/shop/good"] || report.Broken < 3 {
		t.Errorf("%+v", report)
	}
}

func TestErrors(t *testing.T) {
	needGo(t)
	for _, tt := range []struct {
		name, tree string
		code       ken.Code
		msg, try   string
	}{
		{"no module", "-- a.go --\npackage a\n", ken.CodeNotFound, "no go.mod", "module"},
		{"a go.mod that can't be read", gomod + "nonsense here\n-- a.go --\npackage a\n", ken.CodeUnavailable, "nonsense", "go list"},
		{"no packages", gomod, ken.CodeUnavailable, "", ""},
	} {
		t.Run(tt.name, func(t *testing.T) {
			_, report, err := typed.Check(t.Context(), writeTree(t, tt.tree), typed.Options{})
			var e *ken.Error
			if !errors.As(err, &e) || e.Code != tt.code || !strings.Contains(err.Error(), tt.msg) || !strings.Contains(ken.Hint(err), tt.try) {
				t.Errorf("%v, %+v", err, report)
			}
		})
	}
	if _, _, err := typed.Check(t.Context(), filepath.Join(t.TempDir(), "none"), typed.Options{}); !errors.Is(err, ken.ErrNotFound) {
		t.Error(err)
	}
	if _, _, err := typed.Check(t.Context(), t.TempDir(), typed.Options{Workers: -1}); !errors.Is(err, ken.ErrInvalid) {
		t.Error(err)
	}
}

func TestNoToolchain(t *testing.T) {
	dir := writeTree(t, gomod+"-- a.go --\npackage a\n")
	t.Setenv("PATH", t.TempDir())
	_, _, err := typed.Check(t.Context(), dir, typed.Options{})
	if !errors.Is(err, ken.ErrUnavailable) || !strings.Contains(err.Error(), "toolchain") {
		t.Error(err)
	}
}

// If the go command does not end, Check returns when the context ends.
func TestToolchainThatHangs(t *testing.T) {
	dir := writeTree(t, gomod+"-- a.go --\npackage a\n")
	bin := t.TempDir()
	if err := os.WriteFile(filepath.Join(bin, "go"), []byte("#!/bin/sh\nexec sleep 600\n"), 0o755); err != nil {
		t.Fatal(err)
	}
	t.Setenv("PATH", bin+string(os.PathListSeparator)+os.Getenv("PATH"))
	ctx, cancel := context.WithTimeout(t.Context(), 300*time.Millisecond)
	defer cancel()
	_, _, err := typed.Check(ctx, dir, typed.Options{})
	if !errors.Is(err, ken.ErrUnavailable) || !errors.Is(err, context.DeadlineExceeded) {
		t.Error(err)
	}
}

// The go command would change go.mod and go.sum, but must not.
func TestNothingIsWritten(t *testing.T) {
	t.Setenv("GOFLAGS", "-mod=mod")
	t.Setenv("GOWORK", "")
	dir := writeTree(t, "-- go.mod --\nmodule example.com/shop\n-- a.go --\npackage a\n\nfunc F() { G() }\n\nfunc G() {}\n-- b/b.go --\npackage b\n\nimport _ \"example.com/other\"\n")
	before, _ := os.ReadFile(filepath.Join(dir, "go.mod"))
	needGo(t)
	ref, _, err := typed.Check(t.Context(), dir, typed.Options{})
	if err != nil {
		t.Fatal(err)
	}
	same(t, edges(ref, codegraph.Calls), "function:shop.F calls function:shop.G")
	after, _ := os.ReadFile(filepath.Join(dir, "go.mod"))
	if string(before) != string(after) {
		t.Errorf("go.mod is now %q", after)
	}
	entries, err := os.ReadDir(dir)
	if err != nil || len(entries) != 3 {
		t.Errorf("%v, %v", entries, err)
	}
}
