package codebase_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/kenlayer/ken/internal/code/codebase"
	"github.com/kenlayer/ken/internal/code/codegraph"
)

func TestMain(m *testing.M) {
	if root := os.Getenv("KEN_TEST_CODEBASE"); root != "" {
		os.Exit(otherProcess(root))
	}
	goleak.VerifyTestMain(m)
}

// later returns a time long after all files were written, so that a second Build can rely on modification times.
func later() time.Time { return time.Date(2100, 1, 1, 0, 0, 0, 0, time.UTC) }

// shop is a small project in two languages, with a decision.
func shop() map[string]string {
	return map[string]string{
		"go.mod":            "module example.com/shop\n\ngo 1.24\n",
		"cart/cart.go":      "// Package cart adds up.\npackage cart\n\nimport \"example.com/shop/money\"\n\n// Cart holds lines.\ntype Cart struct{ Lines []int }\n\n// Total adds up.\nfunc (c Cart) Total() money.Amount { return money.Sum(c.Lines) }\n",
		"money/money.go":    "package money\n\n// Amount is in cents.\ntype Amount int\n\n// Sum adds.\nfunc Sum(n []int) (a Amount) {\n\tfor _, x := range n {\n\t\ta += Amount(x)\n\t}\n\treturn a\n}\n",
		"web/app.ts":        "import { format } from \"./format\";\nimport { tax } from \"@lib/tax\";\n\nexport function render(n: number): string { return format(n + tax(n)); }\n",
		"web/format.ts":     "export function format(n: number): string { return String(n); }\n",
		"web/lib/tax.ts":    "export function tax(n: number): number { return n / 5; }\n",
		"web/tsconfig.json": "{\"compilerOptions\": {\"baseUrl\": \".\", \"paths\": {\"@lib/*\": [\"lib/*\"]}}}\n",
		"docs/adr/0001-cents.md": "---\nid: ADR-0001\nstatus: accepted\ndate: 2026-11-01\ngoverns: [money.Amount]\n---\n\n# Amounts are in cents\n\n## Context and Problem Statement\n\nFloats round.\n\n" +
			"## Decision Outcome\n\nAmounts are whole cents.\n",
	}
}

// project writes files into a new folder.
func project(t testing.TB, files map[string]string) string {
	t.Helper()
	root := t.TempDir()
	write(t, root, files)
	return root
}

func write(t testing.TB, root string, files map[string]string) {
	t.Helper()
	for name, text := range files {
		name = filepath.Join(root, filepath.FromSlash(name))
		if err := os.MkdirAll(filepath.Dir(name), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(name, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
}

// open opens a project with the clock later.
func open(t testing.TB, root string, change ...func(*codebase.Options)) *codebase.Codebase {
	t.Helper()
	o := codebase.Options{Root: root, Now: later}
	for _, f := range change {
		f(&o)
	}
	c, err := codebase.Open(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := c.Close(); err != nil {
			t.Errorf("close: %v", err)
		}
	})
	return c
}

func build(t testing.TB, c *codebase.Codebase) codegraph.Report {
	t.Helper()
	r, err := c.Build(t.Context())
	if err != nil {
		t.Fatalf("build: %v", err)
	}
	return r
}

func update(t testing.TB, c *codebase.Codebase, paths ...string) codegraph.Report {
	t.Helper()
	r, err := c.Update(t.Context(), paths...)
	if err != nil {
		t.Fatalf("update %q: %v", paths, err)
	}
	return r
}

// has fails unless there is an edge of a kind between the nodes with these names.
func has(t testing.TB, v *codegraph.View, from string, kind codegraph.EdgeKind, to string) {
	t.Helper()
	if !edge(t, v, from, kind, to) {
		t.Errorf("%s does not %s %s", from, kind, to)
	}
}

func hasNot(t testing.TB, v *codegraph.View, from string, kind codegraph.EdgeKind, to string) {
	t.Helper()
	if edge(t, v, from, kind, to) {
		t.Errorf("%s does %s %s", from, kind, to)
	}
}

func edge(t testing.TB, v *codegraph.View, from string, kind codegraph.EdgeKind, to string) bool {
	t.Helper()
	refs, err := v.Refs(to, []codegraph.EdgeKind{kind}, codegraph.Page{Limit: codegraph.MaxLimit})
	if err != nil {
		return false
	}
	for _, r := range refs.Refs {
		if r.From.ID == from || strings.HasSuffix(r.From.ID, from) {
			return true
		}
	}
	return false
}

// export returns the whole graph as JSON.
func export(t testing.TB, c *codebase.Codebase) string {
	t.Helper()
	var b strings.Builder
	if err := c.View().ExportJSON(&b); err != nil {
		t.Fatal(err)
	}
	return b.String()
}
