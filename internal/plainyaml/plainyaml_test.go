package plainyaml

import (
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"
)

func TestParse(t *testing.T) {
	n, faults := Parse("id: ADR-1 # the first\nversion: 1.0\nempty:\ntags: [a, 'b c']\npeople:\n  - Ann\n  - Bob\ntext: |\n  one\n  two\nnested:\n  on: yes\n", 1<<10)
	want := Node{Kind: Map, Line: 1, Fields: []Field{
		{"id", 1, Node{Kind: Scalar, Line: 1, Text: "ADR-1"}},
		{"version", 2, Node{Kind: Scalar, Line: 2, Text: "1.0"}},
		{"empty", 3, Node{Line: 3}},
		{"tags", 4, Node{Kind: List, Line: 4, Flow: true, Items: []Node{{Kind: Scalar, Line: 4, Text: "a"}, {Kind: Scalar, Line: 4, Text: "b c"}}}},
		{"people", 5, Node{Kind: List, Line: 6, Items: []Node{{Kind: Scalar, Line: 6, Text: "Ann"}, {Kind: Scalar, Line: 7, Text: "Bob"}}}},
		{"text", 8, Node{Kind: Scalar, Line: 8, Text: "one\ntwo\n", Block: true}},
		{"nested", 11, Node{Kind: Map, Line: 12, Fields: []Field{{"on", 12, Node{Kind: Scalar, Line: 12, Text: "yes"}}}}},
	}}
	if diff := cmp.Diff(want, n); diff != "" || len(faults) > 0 {
		t.Error(faults, diff)
	}
}

func TestParseKeepsTheRest(t *testing.T) {
	for name, tt := range map[string]struct {
		text string
		line int
		says string
	}{
		"tabs":      {"status: accepted\ntags:\n\t- a\n", 3, "YAML"},
		"anchor":    {"status: accepted\nx: &a [1]\ny: *a\n", 2, "anchor"},
		"bomb":      {"status: accepted\na: &a [x,x]\nb: &b [*a,*a]\nc: &c [*b,*b]\n", 2, "anchor"},
		"merge":     {"status: accepted\n<<: *x\n", 2, ""},
		"tag":       {"status: accepted\nx: !!binary aGVsbG8=\n", 2, "tag"},
		"colon":     {"status: accepted\ntitle: a: b\n", 2, "YAML"},
		"unclosed":  {"status: accepted\nx: [1, 2\n", 2, "YAML"},
		"twice":     {"status: accepted\nx: 1\nx: 2\n", 3, "already"},
		"deep":      {"status: accepted\nx: " + strings.Repeat("[", 1000) + "\n", 1, "nested"},
		"odd key":   {"status: accepted\n[a]: b\n", 2, "key"},
		"bad quote": {"status: accepted\nx: \"a\n", 2, ""},
	} {
		t.Run(name, func(t *testing.T) {
			n, faults := Parse(tt.text, 1<<16)
			if len(n.Fields) == 0 || n.Fields[0].Value.Text != "accepted" {
				t.Error("the good line is lost:", n)
			}
			if len(faults) == 0 || faults[0].Line != tt.line || !strings.Contains(faults[0].Text, tt.says) || faults[0].Try == "" {
				t.Error(faults)
			}
		})
	}
	if n, faults := Parse("- a\n- b\n", 100); len(n.Fields) > 0 || len(faults) != 1 {
		t.Error(n, faults)
	}
	if n, faults := Parse(strings.Repeat("a", 101), 100); len(n.Fields) > 0 || len(faults) != 1 {
		t.Error(n, faults)
	}
}

func TestWords(t *testing.T) {
	n := Node{Kind: Scalar, Line: 3, Text: "Ann (lead, web), Bob; , Eve"}
	var got []string
	for _, w := range n.Words(",;") {
		if got = append(got, w.Text); w.Line != 3 {
			t.Error(w)
		}
	}
	if diff := cmp.Diff([]string{"Ann (lead, web)", "Bob", "Eve"}, got); diff != "" {
		t.Error(diff)
	}
}

func FuzzParse(f *testing.F) {
	for _, s := range []string{"a: b\n", "a:\n  - b\n", "a: [b, c]\n", "? a\n: b\n", "a: |\n  b\n", "&a b: *a\n", "<<: *a\n", "a: \"\\u12\"\n", "---\n...\n", "a: !!x\n", "\t"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, text string) {
		n, faults := Parse(text, 1<<12)
		if n.Kind != Map {
			t.Error("no map")
		}
		most := strings.Count(text, "\n") + strings.Count(text, "\r") + 1
		for _, field := range n.Fields {
			if field.Line < 1 || field.Line > most {
				t.Errorf("key %q is on line %d of %d", field.Key, field.Line, most)
			}
		}
		for _, fault := range faults {
			if fault.Line < 1 || fault.Line > most || fault.Text == "" || fault.Try == "" {
				t.Errorf("%+v of %d lines", fault, most)
			}
		}
		for _, field := range readLines(text).Fields {
			if field.Key == "" || field.Line > most {
				t.Error(field)
			}
		}
	})
}

func TestValueAt(t *testing.T) {
	for line, want := range map[string]string{"a: b # c": "b", "a: \"b # c\" # d": "\"b # c\"", "a:": "", "a: # b": "", "'a: x': b": "b", "a: it's # so": "it's", "  - a: b ": "b", "a": ""} {
		from, to := ValueAt(line)
		if got := line[from:to]; got != want {
			t.Errorf("%q: %q, want %q", line, got, want)
		}
	}
}

func FuzzQuote(f *testing.F) {
	for _, s := range []string{"", "a", "a: b", "a #b", "no", "1.0", "- x", "a, b", "\"", "'", "\t\n", "ü", "\u2028", "=", "a:", " a", "\x00", "~", "2024-01-01", "\\", "\ufeff"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		if !utf8.ValidString(s) {
			return
		}
		for _, form := range []string{"k: " + Quote(s) + "\n", "k: [" + Quote(s) + "]\n", "k:\n  - " + Quote(s) + "\n", "k:\n  - k: " + Quote(s) + "\n"} {
			n, faults := Parse(form, 1<<20)
			if len(faults) > 0 || len(n.Fields) != 1 {
				t.Fatalf("%q is written as %q: %v", s, form, faults)
			}
			v := n.Fields[0].Value
			if len(v.Items) == 1 {
				v = v.Items[0]
			}
			if len(v.Fields) == 1 {
				v = v.Fields[0].Value
			}
			if v.Kind != Scalar || v.Text != s {
				t.Fatalf("%q is written as %q and read as %q", s, form, v.Text)
			}
		}
	})
}
