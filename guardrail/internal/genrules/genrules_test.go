package main

import (
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
)

const tail = `(?:[ \t\w.-]{0,20})[\s'"]{0,3}` + operator

func TestParse(t *testing.T) {
	c, err := parse(`# a comment
title = "x"

[allowlist]
paths = ['''go\.sum''', ]
regexes = ['''^a''', "b\"c"]

[[rules]]
id = "one"   # behind it
regex = '''a'b"c'''
entropy = 3.5
keywords = [
    "k1",
    'k2', # the second
]
[[rules.allowlists]]
condition = "AND"
regexTarget = "line"
regexes = ['''x''']
stopwords = ["w"]

[[rules]]
id = "two"
path = '''\.go$'''
`)
	if err != nil {
		t.Fatal(err)
	}
	want := config{
		allow: allowlist{paths: []string{`go\.sum`}, regexes: []string{"^a", `b"c`}},
		rules: []source{
			{id: "one", regex: `a'b"c`, entropy: 3.5, keywords: []string{"k1", "k2"},
				allow: []allowlist{{condition: "AND", target: "line", regexes: []string{"x"}, stopwords: []string{"w"}}}},
			{id: "two", path: `\.go$`},
		}}
	if !reflect.DeepEqual(c, want) {
		t.Errorf("got %+v\nwant %+v", c, want)
	}
}

// A configuration that is not understood to the last key is refused: a rule read
// half would find half.
func TestParseRefuses(t *testing.T) {
	for _, tt := range []struct{ in, want string }{
		{"title = 'x'\ncolour = 3", "line 2: unknown key colour"},
		{"[[rules]]\nid = 'a'\nverify = 'x'", "line 3: unknown key verify"},
		{"[extend]", "line 1: unknown table [extend]"},
		{"[[rules.allowlists]]", "before the first rule"},
		{"[[rules]]\nid = 3", "wrong type"},
		{"[[rules]]\nid = 'a", "incomplete"},
		{"[[rules]]\nkeywords = ['a'", "incomplete"},
		{"[[rules]]\nkeywords = [3]", "a list of something else"},
		{"[[rules]]\nid = true", "neither text nor a number"},
		{"[[rules]]\nid = \"\"\"x\"\"\"", `text in """`},
		{"[[rules]]\nid = \"\\q\"", "read"},
		{"[rules", "is no table"},
		{"nothing", "is no key"},
	} {
		if _, err := parse(tt.in); err == nil || !strings.Contains(err.Error(), tt.want) {
			t.Errorf("%q: %v, want %q", tt.in, err, tt.want)
		}
	}
}

func TestConvert(t *testing.T) {
	for _, tt := range []struct {
		name string
		in   source
		want []rule
	}{
		{"by its look", source{id: "x", regex: `\b(dop_v1_[a-f0-9]{64})` + suffix, entropy: 3},
			[]rule{{id: "x", kind: "x", anchors: []anchor{{0, []string{"d", "o", "p", "_", "v", "1", "_"}}}, pattern: `(dop_v1_[a-f0-9]{64})`,
				starts: true, ends: true, max: 71, min: 71, entropy: 3}}},
		{"by a name", source{id: "x", regex: named1 + `asana|message[_-]?bird)` + tail + `[a-z0-9]{32})` + suffix},
			[]rule{{id: "x", kind: "x", names: []string{"asana", "message-bird", "message_bird", "messagebird"}, pattern: `(?i)[a-z0-9]{32}`, ends: true, max: 32, min: 32}}},
		{"by a name in three spellings", source{id: "x", regex: named2 + `(?-i:[Oo]kta|OKTA))` + strings.Replace(tail, `{0,3}`, `{0,3})`, 1) + `00[\w=\-]{40})` + suffix},
			[]rule{{id: "x", kind: "x", names: []string{"okta"}, pattern: `00[\w=\-]{40}`, ends: true, max: 42, min: 42}}},
		{"anchor behind the start", source{id: "x", regex: `[a-z0-9]{14}\.atlasv1\.[a-z]+`},
			[]rule{{id: "x", kind: "x", anchors: []anchor{{14, []string{".", "a", "t", "l", "a", "s", "v", "1", "."}}}, pattern: `[a-z0-9]{14}\.atlasv1\.[a-z]+`, min: 24}}},
		{"kind of ours", source{id: "npm-access-token", regex: `npm_[0-9]{6}`, allow: []allowlist{{regexes: []string{"^a"}}, {target: "line", regexes: []string{"b"}}}},
			[]rule{{id: "npm-access-token", kind: "npm-token", anchors: []anchor{{0, []string{"n", "p", "m", "_"}}}, pattern: `npm_[0-9]{6}`, max: 10, min: 10, allow: []string{"^a"}}}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			got, err := convert(tt.in)
			if err != nil || !reflect.DeepEqual(got, tt.want) {
				t.Errorf("got %+v, %v\nwant %+v", got, err, tt.want)
			}
		})
	}
}

// What can't be converted is listed with the reason.
func TestConvertAllLosesNothing(t *testing.T) {
	c := config{rules: []source{
		{id: "look-ahead", regex: `a(?=b)`}, {id: "file", path: `\.p12$`}, {id: "no-anchor", regex: `[a-z0-9]{40}`},
		{id: "names", regex: named1 + `a+)` + tail + `x)` + suffix}, {id: "built-otherwise", regex: named1 + `a)=(x)`},
		{id: "generic-api-key", regex: `x`}, {id: "good", regex: `good-[0-9]{8}`},
		{id: "two", regex: named1 + `jira)` + tail + `[a-z0-9]{24})` + suffix + `|\b(ATATT3[A-Z]{20})` + suffix},
	}}
	r := convertAll(c)
	var ids []string
	for _, x := range r.rules {
		ids = append(ids, x.id)
	}
	if strings.Join(ids, " ") != "good two two" || len(r.skipped) != 6 || r.total != 8 {
		t.Errorf("converted %v, skipped %+v of %d", ids, r.skipped, r.total)
	}
	for _, s := range r.skipped {
		if s.why == "" {
			t.Errorf("%s is left out without a reason", s.id)
		}
	}
	if !strings.Contains(r.skipped[0].why, "RE2") {
		t.Errorf("look-ahead: %s", r.skipped[0].why)
	}
}

func TestRunWritesGo(t *testing.T) {
	dir := t.TempDir()
	in, out := filepath.Join(dir, "in.toml"), filepath.Join(dir, "out.go")
	if err := os.WriteFile(in, []byte("[[rules]]\nid = \"a\"\nregex = '''abcd-[0-9a-z]{8}\\x60'''\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := run("v9", out, []string{in}); err != nil {
		t.Fatal(err)
	}
	b, err := os.ReadFile(out)
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"// Code generated by genrules from gitleaks v9; DO NOT EDIT.", `anchors: []anchor{{0, "abcd-"}}`, "gitleaksTotal = 1"} {
		if !strings.Contains(string(b), want) {
			t.Errorf("no %q in\n%s", want, b)
		}
	}
	if err := run("", out, []string{in}); err == nil {
		t.Error("no version, and no error")
	}
	if err := run("v9", out, []string{filepath.Join(dir, "none")}); err == nil {
		t.Error("no file, and no error")
	}
}

func FuzzParse(f *testing.F) {
	f.Add("[[rules]]\nid = \"a\"\nregex = '''b'''\nkeywords = [\"c\",]\nentropy = 3\n")
	f.Add("[allowlist]\nregexes = ['a'")
	f.Add("# x\n= 'a'")
	f.Fuzz(func(t *testing.T, text string) {
		c, err := parse(text)
		if err != nil {
			return
		}
		if r := convertAll(c); len(c.rules) != r.total {
			t.Errorf("%d rules, %d counted", len(c.rules), r.total)
		}
	})
}
