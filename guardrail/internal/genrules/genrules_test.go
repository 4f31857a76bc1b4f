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
	want := config{Title: "x",
		Allowlist: allowlist{Paths: []string{`go\.sum`}, Regexes: []string{"^a", `b"c`}},
		Rules: []source{
			{ID: "one", Regex: `a'b"c`, Entropy: 3.5, Keywords: []string{"k1", "k2"},
				Allowlists: []allowlist{{Condition: "AND", RegexTarget: "line", Regexes: []string{"x"}, Stopwords: []string{"w"}}}},
			{ID: "two", Path: `\.go$`},
		}}
	if !reflect.DeepEqual(c, want) {
		t.Errorf("got %+v\nwant %+v", c, want)
	}
}

// A configuration that is not understood to the last key is refused: a rule read
// half would find half.
func TestParseRefuses(t *testing.T) {
	for _, tt := range []struct{ in, want string }{
		{"title = 'x'\ncolour = 3", "unknown key colour"},
		{"[[rules]]\nid = 'a'\nverify = 'x'", "unknown key rules.verify"},
		{"[extend]", "unknown key extend"},
		{"[[rules.allowlists]]", "\"rules\""},
		{"[[rules]]\nid = 3", "line 2"},
		{"[[rules]]\nid = true", "line 2"},
		{"[[rules]]\nkeywords = [3]", "line 2"},
		{"[[rules]]\nid = 'a", "line 2"},
		{"[[rules]]\nkeywords = ['a'", "line 2"},
		{"[[rules]]\nid = \"\\q\"", "line 2"},
		{"[rules", "line 1"},
		{"nothing", "line 1"},
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
		{"by its look", source{ID: "x", Regex: `\b(dop_v1_[a-f0-9]{64})` + suffix, Entropy: 3},
			[]rule{{id: "x", kind: "x", anchors: []anchor{{0, []string{"d", "o", "p", "_", "v", "1", "_"}}}, pattern: `(dop_v1_[a-f0-9]{64})`,
				starts: true, ends: true, max: 71, min: 71, entropy: 3}}},
		{"by a name", source{ID: "x", Regex: named1 + `asana|message[_-]?bird)` + tail + `[a-z0-9]{32})` + suffix},
			[]rule{{id: "x", kind: "x", names: []string{"asana", "message-bird", "message_bird", "messagebird"}, pattern: `(?i)[a-z0-9]{32}`, ends: true, max: 32, min: 32}}},
		{"by a name in three spellings", source{ID: "x", Regex: named2 + `(?-i:[Oo]kta|OKTA))` + strings.Replace(tail, `{0,3}`, `{0,3})`, 1) + `00[\w=\-]{40})` + suffix},
			[]rule{{id: "x", kind: "x", names: []string{"okta"}, pattern: `00[\w=\-]{40}`, ends: true, max: 42, min: 42}}},
		{"anchor behind the start", source{ID: "x", Regex: `[a-z0-9]{14}\.atlasv1\.[a-z]+`},
			[]rule{{id: "x", kind: "x", anchors: []anchor{{14, []string{".", "a", "t", "l", "a", "s", "v", "1", "."}}}, pattern: `[a-z0-9]{14}\.atlasv1\.[a-z]+`, min: 24}}},
		{"kind of ours", source{ID: "npm-access-token", Regex: `npm_[0-9]{6}`, Allowlists: []allowlist{{Regexes: []string{"^a"}}, {RegexTarget: "line", Regexes: []string{"b"}}}},
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
	c := config{Rules: []source{
		{ID: "look-ahead", Regex: `a(?=b)`}, {ID: "file", Path: `\.p12$`}, {ID: "no-anchor", Regex: `[a-z0-9]{40}`},
		{ID: "names", Regex: named1 + `a+)` + tail + `x)` + suffix}, {ID: "built-otherwise", Regex: named1 + `a)=(x)`},
		{ID: "generic-api-key", Regex: `x`}, {ID: "good", Regex: `good-[0-9]{8}`},
		{ID: "two", Regex: named1 + `jira)` + tail + `[a-z0-9]{24})` + suffix + `|\b(ATATT3[A-Z]{20})` + suffix},
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
		if r := convertAll(c); len(c.Rules) != r.total {
			t.Errorf("%d rules, %d counted", len(c.Rules), r.total)
		}
	})
}
