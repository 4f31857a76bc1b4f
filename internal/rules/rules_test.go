package rules

import (
	"os"
	"strings"
	"testing"
)

// rules maps names to rules. TestRepository applies them to the repository. TestRulesCanFail applies each to a tree
// that breaks it.
var rules = map[string]func(*tree) []string{
	"imports point down":              importsPointDown,
	"no cgo":                          noCgo,
	"short files":                     shortFiles,
	"functions branch little":         functionsBranchLittle,
	"names that say something":        namesSaySomething,
	"package comments":                packageComments,
	"exported names have a doc":       exportedNamesHaveDoc,
	"comments name their declaration": commentsNameTheirDeclaration,
	"tests do not sleep":              testsDoNotSleep,
	"starts are cheap":                startsAreCheap,
	"documents name what exists":      documentsNameWhatExists,
	"the README is short":             readmeIsShort,
}

func TestRepository(t *testing.T) {
	tr := load(t, os.DirFS("../.."))
	if len(tr.files) < 20 {
		t.Fatalf("only %d Go files: this is not the repository", len(tr.files))
	}
	for name, rule := range rules {
		t.Run(name, func(t *testing.T) {
			for _, fault := range rule(tr) {
				t.Error(fault)
			}
		})
	}
}

func TestRulesCanFail(t *testing.T) {
	const comment = "// Package x is here for a test.\n"
	for _, tt := range []struct {
		rule, want string
		files      []string
	}{
		{"imports point down", "claim.go: the root package imports breaker",
			[]string{"claim.go", "package ken\nimport _ \"" + module + "/breaker\"\n"}},
		{"imports point down", "store/a.go: store imports retriever, which stands above it",
			[]string{"store/a.go", "package store\nimport _ \"" + module + "/retriever\"\n"}},
		{"imports point down", "breaker/a.go: breaker is a leaf and imports guardrail",
			[]string{"breaker/a.go", "package breaker\nimport _ \"" + module + "/guardrail\"\n"}},
		{"imports point down", "tools/a.go: tools imports evals, which stands beside it",
			[]string{"tools/a.go", "package tools\nimport _ \"" + module + "/evals\"\n"}},
		{"imports point down", "novel/a.go: novel has no place in the layers",
			[]string{"novel/a.go", "package novel\n"}},
		{"no cgo", "x/a.go: imports C", []string{"x/a.go", "package x\nimport \"C\"\n"}},
		{"short files", "x/a.go: 601 lines", []string{"x/a.go", "package x\n" + strings.Repeat("\n", 600)}},
		{"functions branch little", "x/a.go: f has 31 branches", []string{"x/a.go", "package x\nfunc f(a bool) bool {\n\treturn a" + strings.Repeat(" && a", 30) + "\n}\n"}},
		{"names that say something", "x/common/a.go: package common", []string{"x/common/a.go", "package common\n"}},
		{"names that say something", "x/utils/a.go: package utils", []string{"x/utils/a.go", "package utils\n"}},
		{"package comments", "x: no package comment", []string{"x/a.go", "package x\n", "x/a_test.go", comment + "package x\n"}},
		{"package comments", "x: the package comment starts with", []string{"x/a.go", "// It is good.\npackage x\n"}},
		{"comments name their declaration", "the comment of f begins with g", []string{"x/a.go", comment + "package x\n// g adds.\nfunc f() {}\n"}},
		{"comments name their declaration", "the comment of maxTold begins with mostTold", []string{"x/a.go", comment + "package x\n// mostTold limits.\nconst maxTold = 1\n"}},
		{"exported names have a doc", "F has no comment", []string{"x/a.go", comment + "package x\nfunc F() {}\n"}},
		{"exported names have a doc", "T has no comment", []string{"x/a.go", comment + "package x\ntype T int\n"}},
		{"exported names have a doc", "M has no comment", []string{"x/a.go", comment + "package x\n// T is.\ntype T int\nfunc (T) M() {}\n"}},
		{"exported names have a doc", "V has no comment", []string{"x/a.go", comment + "package x\nvar V int\n"}},
		{"tests do not sleep", "x/a_test.go:3:12", []string{"x/a_test.go", "package x\nimport \"time\"\nfunc f() { time.Sleep(1) }\n"}},
		{"starts are cheap", "x/a.go:3:9", []string{"x/a.go", "package x\nimport \"regexp\"\nvar a = regexp.MustCompile(`a`)\n"}},
		{"starts are cheap", "x/a.go:3:29", []string{"x/a.go", "package x\nimport \"regexp\"\nvar a = func() any { return regexp.MustCompile(`a`) }()\n"}},
		{"documents name what exists", "README.md: `x.Gone`", []string{"x/a.go", "package x\n", "README.md", "Call `x.Gone` first.\n"}},
		{"documents name what exists", "README.md: `ken.Gone()`", []string{"a.go", "package ken\n", "README.md", "`ken.Gone()`\n"}},
		{"documents name what exists", "docs/a.md: `docs/gone.md`", []string{"docs/a.md", "See `docs/gone.md`.\n"}},
		{"documents name what exists", "docs/a.md: link to gone.md", []string{"docs/a.md", "See [this](gone.md#part).\n"}},
		{"documents name what exists", "README.md: `TestGone`", []string{"README.md", "`TestGone` proves it.\n"}},
		{"documents name what exists", "README.md: `retrieval.flor`", []string{"README.md", "Set `retrieval.flor`.\n"}},
		{"the README is short", "README.md: 1201 words", []string{"README.md", strings.Repeat("So. ", 1201)}},
		{"the README is short", "README.md: 17 words in 1 sentences", []string{"README.md", "# A title counts as no sentence.\n\n" + strings.Repeat("so ", 17) + "\n\n| a. | b. |\n\n```\nc. d.\n```\n"}},
	} {
		t.Run(tt.rule+"/"+tt.want, func(t *testing.T) {
			faults := rules[tt.rule](fixture(t, tt.files...))
			if len(faults) != 1 || !strings.Contains(faults[0], tt.want) {
				t.Errorf("got %q, want %q", faults, tt.want)
			}
		})
	}
}

// TestRulesLetGoodThingsPass checks cases that look like faults but are allowed.
func TestRulesLetGoodThingsPass(t *testing.T) {
	tr := fixture(t,
		"claim.go", "// Package ken is here for a test.\npackage ken\n\n// A is.\ntype A struct{ F int }\n\n// B is.\nfunc (A) B() {}\n",
		"store/bolt/a.go", "// Package bolt is here for a test.\npackage bolt\nimport (\n_ \""+module+"\"\n_ \""+module+"/store\"\n_ \""+module+"/analysis\"\n)\n"+
			"// Colours.\nconst (\nRed = 1\n)\nconst (\nBlue = 2 // cold\n)\ntype t int\nfunc (t) Exported() {}\n",
		"store/a.go", "// Package store is here for a test.\npackage store\nimport \"regexp\"\n"+
			"var late = func() any { return regexp.MustCompile(`a`) }\nfunc f() { _ = regexp.MustCompile(`a`) }\n",
		"cmd/ken/main.go", "// Command ken is here for a test.\npackage main\nimport _ \""+module+"/store/bolt\"\nfunc Main() {}\n",
		"store/a_test.go", "package store\nimport (\n\"time\"\n\"testing\"\n\"testing/synctest\"\n)\n"+
			"func f(t *testing.T) { synctest.Test(t, func(*testing.T) { time.Sleep(1) }) }\n",
		"README.md", "`ken.A`, `ken.A.F`, `A.B`, `store/bolt`, `bolt.Red`, `go test ./...`, `retrieval.floor`, `retrieval.legs`. "+
			"[link](docs/a.md), [web](https://example.org), [part](#part)\n\n```go\nken.Gone()\n```\n",
		"docs/a.md", "[up](../README.md)\n")
	for name, rule := range rules {
		for _, fault := range rule(tr) {
			t.Errorf("%s: %s", name, fault)
		}
	}
}
