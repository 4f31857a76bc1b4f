package repository

import (
	"strings"
	"testing"
)

// cutWith cuts a file of Python that has declarations.
func cutWith(t *testing.T, text string, lim limits, decls ...Declaration) []chunk {
	t.Helper()
	s := source{path: "x.py", text: text, hash: "sha256:0", declared: decls}
	return s.chunks(lim)
}

func TestAFunctionIsOneChunkWithItsComment(t *testing.T) {
	text := "import os\n\n# Total adds up.\n# All of it.\n@cached\ndef total(items):\n    a = 1\n\n    return a\n\ndef other():\n    return 2\n"
	got := cutWith(t, text, newLimits(200, 1), Declaration{"total", 6, 9, true, false}, Declaration{"other", 11, 12, true, false})
	if len(got) != 3 {
		t.Fatalf("%s", show(got))
	}
	if c := got[1]; c.Heading != "x.py › total" || c.first != 3 || c.last != 9 || !strings.HasPrefix(c.Text, "# Total adds up.") || c.Entities[0] != "total" {
		t.Errorf("%s", show(got[1:2]))
	}
}

func TestALongFunctionIsOneChunk(t *testing.T) {
	text := "def f():\n" + strings.Repeat("    call_something(with_arguments)\n\n", 40)
	if got := cutWith(t, text, newLimits(200, 1), Declaration{"f", 1, 80, true, false}); len(got) != 1 {
		t.Errorf("%d chunks of %d characters", len(got), len(text))
	}
	text = "def f():\n" + strings.Repeat("    call_something(with_arguments)\n\n", 200)
	got := cutWith(t, text, newLimits(200, 1), Declaration{"f", 1, 400, true, false})
	if len(got) < 3 {
		t.Fatalf("%d chunks of %d characters", len(got), len(text))
	}
	for _, c := range got {
		if !strings.HasPrefix(c.Text, "def f():") || c.Heading != "x.py › f" {
			t.Errorf("%s", show([]chunk{c}))
		}
	}
}

// A long class is cut into its head and its methods; a short one is one chunk.
func TestAClassIsCutIntoItsMethodsIfItIsLong(t *testing.T) {
	method := func(name string) string {
		return "    def " + name + "(self):\n        return self.cart.lines.first.price\n\n"
	}
	text := "class Cart:\n    \"\"\"What a customer wants.\"\"\"\n    limit = 3\n\n" + method("total") + method("count") + method("clear") + method("drop")
	decls := []Declaration{{"Cart", 1, 15, false, true}, {"Cart.total", 5, 6, true, false}, {"Cart.count", 8, 9, true, false},
		{"Cart.clear", 11, 12, true, false}, {"Cart.drop", 14, 15, true, false}}
	var headings []string
	for _, c := range cutWith(t, text, newLimits(250, 1), decls...) {
		headings = append(headings, strings.TrimPrefix(c.Heading, "x.py › "))
	}
	if got := strings.Join(headings, " "); got != "Cart Cart.total Cart.count Cart.clear Cart.drop" {
		t.Errorf("long: %s", got)
	}
	if got := cutWith(t, text, newLimits(2000, 1), decls...); len(got) != 1 {
		t.Errorf("short: %s", show(got))
	}
}

// A block comment stays with the declaration after it, even with a blank line in between.
func TestABlockCommentStaysWithWhatItIsAbout(t *testing.T) {
	text := "'use strict';\n\n/**\n * Sends it.\n */\n\nres.send = function send() {\n  end();\n}\n\n/**\n * The host.\n */\n\ndefine('host', function () {\n  return 1;\n});\n"
	s := source{path: "x.js", text: text, hash: "sha256:0", declared: []Declaration{{"res.send", 7, 9, true, false}}}
	got := s.chunks(newLimits(200, 1))
	if len(got) != 3 || !strings.HasPrefix(got[1].Text, "/**\n * Sends it.") || !strings.HasPrefix(got[2].Text, "/**\n * The host.") || !strings.Contains(got[2].Text, "return 1") {
		t.Errorf("%s", show(got))
	}
}

// With any declarations, every line is in a chunk.
func FuzzDeclarations(f *testing.F) {
	f.Add("a\nb\n\nc\n", 1, 2, 2, 9)
	f.Add("# x\ndef f():\n  y\n", 2, 3, 1, 3)
	f.Fuzz(func(t *testing.T, text string, a, b, c, d int) {
		if strings.Contains(text, "\x00") || strings.ToValidUTF8(text, "") != text {
			return
		}
		s := source{path: "x.py", text: text, hash: "sha256:0", declared: []Declaration{{"f", a, b, true, false}, {"C", c, d, false, true}, {"C.g", c + 1, d - 1, true, false}}}
		var all strings.Builder
		for _, ch := range s.chunks(newLimits(200, 20)) {
			all.WriteString(ch.Text + "\n")
		}
		lim := newLimits(200, 20)
		for _, l := range splitLines(text) {
			if want := l.trimmed(); want != "" && l.chars <= lim.line() && !strings.Contains(all.String(), want) {
				t.Fatalf("%q is in no chunk of %q", want, text)
			}
		}
	})
}
