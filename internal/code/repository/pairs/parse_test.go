package pairs

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestGoComments(t *testing.T) {
	for name, tt := range map[string]struct {
		text string
		want []string
	}{
		"function":    {"// F does it.\n// Well.\n//\n// More.\nfunc F() {}", []string{"F does it. Well."}},
		"package":     {"// Package p is here.\npackage p", []string{"Package p is here."}},
		"group":       {"const (\n\t// A is one.\n\tA = 1\n\tB = 2 // behind\n)", []string{"A is one."}},
		"types":       {"// T is.\ntype T struct {\n\t// F is inside.\n\tF int\n}", []string{"T is."}},
		"two":         {"// A is.\nvar A int\n\n// B is.\nvar B int", []string{"A is.", "B is."}},
		"cut off":     {"// F does it.\nfunc F() {\n\tif x {", []string{"F does it."}},
		"block":       {"/* F does it. */\nfunc F() {}", []string{"F does it."}},
		"loose":       {"// Nobody's.\n\nfunc F() {}", nil},
		"directive":   {"//go:noinline\nfunc F() {}", nil},
		"no go":       {"this is } not {", nil},
		"nothing":     {"", nil},
		"only inside": {"func F() {\n\t// why\n}", nil},
	} {
		t.Run(name, func(t *testing.T) {
			var got []string
			for _, c := range goComments(tt.text) {
				got = append(got, c.summary)
				if !strings.Contains(tt.text, c.raw) {
					t.Errorf("%q is not in the text", c.raw)
				}
			}
			if diff := cmp.Diff(tt.want, got); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestComments(t *testing.T) {
	for name, tt := range map[string]struct {
		text string
		want []string
	}{
		"lines":      {"# Does it.\n# Well.\n\ndo_it()", []string{"Does it. Well."}},
		"block":      {"/**\n * Does it.\n *\n * @return more\n */\nint f() {}", []string{"Does it."}},
		"one line":   {"/* Does it. */ int f() {}", []string{"Does it."}},
		"rust":       {"/// Does it.\nfn f() {}", []string{"Does it."}},
		"sql":        {"-- Does it.\nselect 1", []string{"Does it."}},
		"doc string": {"def f():\n    '''Does it.\n\n    More.'''\n    return 1", []string{"Does it."}},
		"both":       {"# Above.\ndef f():\n    \"\"\"Inside.\"\"\"\n", []string{"Above.", "Inside."}},
		"include":    {"#include <stdio.h>\nint f() {}", nil},
		"shebang":    {"#!/bin/sh\nls", nil},
		"unclosed":   {"/* never", nil},
		"none":       {"int f() {}", nil},
	} {
		t.Run(name, func(t *testing.T) {
			var got []string
			for _, c := range comments(tt.text) {
				got = append(got, c.summary)
				if !strings.Contains(tt.text, c.raw) {
					t.Errorf("%q is not in the text", c.raw)
				}
			}
			if diff := cmp.Diff(tt.want, got); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestPathWords(t *testing.T) {
	for path, want := range map[string]string{"store/bolt/openDB.go": "bolt open db", "README.md": "readme", "a/a.go": "a", "x-y/z_w.test.js": "x y z w test", ".env": ""} {
		if got := pathWords(path); got != want {
			t.Errorf("%s: %q, want %q", path, got, want)
		}
	}
}

func TestSubject(t *testing.T) {
	for in, want := range map[string]string{"store: hold it": "hold it", "cmd/ken, store: hold it": "hold it", "feat(api)!: hold it": "hold it",
		"Hold it": "Hold it", "see https://example.org: no": "see https://example.org: no"} {
		if got := plainSubject(in); got != want {
			t.Errorf("%q: %q, want %q", in, got, want)
		}
	}
}

const log = "\x01aaa\x00store: hold it\x00\n" +
	"diff --git a/a.go b/a.go\nindex 1..2 100644\n--- a/a.go\n+++ b/a.go\n@@ -1 +1,2 @@ func\n-old\n+hold(lease)\n++++ b/evil\n\\ No newline at end of file\n" +
	"diff --git a/b.go b/b.go\n--- a/b.go\n+++ b/b.go\n@@ -0,0 +1 @@\n+release(lease)\n" +
	"diff --git a/no.bin b/no.bin\nBinary files a/no.bin and b/no.bin differ\n" +
	"\x01bbb\x00second\x00\n"

func TestParsePatches(t *testing.T) {
	var got []change
	if err := parsePatches(strings.NewReader(log), map[string]bool{"a.go": true, "evil": true}, func(c change) { got = append(got, c) }); err != nil {
		t.Fatal(err)
	}
	want := []change{{sha: "aaa", subject: "store: hold it", files: []string{"a.go"}, added: "hold(lease)\n+++ b/evil\n"}, {sha: "bbb", subject: "second"}}
	if diff := cmp.Diff(want, got, cmp.AllowUnexported(change{})); diff != "" {
		t.Error(diff)
	}
	for _, broken := range []string{"\x01aaa\n", "\x01a\x00b\x00\n@@ -1 +1\n", "\x01a\x00b\x00\n@@ -x +1 @@\n", "\x01a\x00b\x00\n@@ -1 +1 @@\nwhat\n", "\x01a\x00b\x00\n@@ -1 +1 @@\n-x\n", "\x01a\x00b\x00\n@@ -1,-1 +1 @@\n"} {
		if err := parsePatches(strings.NewReader(broken), nil, func(change) {}); err == nil {
			t.Errorf("%q is read without an error", broken)
		}
	}
}

func FuzzParsePatches(f *testing.F) {
	f.Add(log)
	f.Add("\x01a\x00b\x00\n@@ -1 +1 @@\n-x\n+y\n")
	f.Add("+++ b/a.go\n@@")
	f.Fuzz(func(t *testing.T, s string) {
		_ = parsePatches(strings.NewReader(s), map[string]bool{"a.go": true}, func(c change) {
			if len(c.added) > maxAdded+maxDiffLine*4 {
				t.Errorf("%d bytes", len(c.added))
			}
			for _, file := range c.files {
				if file != "a.go" {
					t.Errorf("%q is not known", file)
				}
			}
		})
	})
}

func FuzzComments(f *testing.F) {
	f.Add("// F does it.\nfunc F() {}")
	f.Add("/* a */ b\r\n")
	f.Add("def f():\n  \"\"\"Do.\"\"\"")
	f.Add("package p\r\n// A is.\r\nvar A int")
	f.Fuzz(func(t *testing.T, text string) {
		for _, c := range append(goComments(text), comments(text)...) {
			if !strings.Contains(text, c.raw) || c.raw == "" || c.summary == "" {
				t.Errorf("%+v", c)
			}
		}
	})
}
