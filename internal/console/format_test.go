package console_test

import (
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"golang.org/x/net/html"

	"github.com/kenlayer/ken/internal/console"
)

func TestShown(t *testing.T) {
	for given, want := range map[string]string{
		"a < b & c":                  "<bdi>a &lt; b &amp; c</bdi>",
		`<script>x("'")</script>`:    "<bdi>&lt;script&gt;x(&#34;&#39;&#34;)&lt;/script&gt;</bdi>",
		"pay\u202egnp.exe":           `<bdi>pay<span class="concealed" title="a character that can’t be seen">U+202E</span>gnp.exe</bdi>`,
		"zero\u200bwidth":            `<bdi>zero<span class="concealed" title="a character that can’t be seen">U+200B</span>width</bdi>`,
		"a\x00b":                     `<bdi>a<span class="concealed" title="a character that can’t be seen">U+0000</span>b</bdi>`,
		"a\xffb":                     `<bdi>a<span class="concealed" title="a byte that is no text">FF</span>b</bdi>`,
		"👩\u200d💻 می\u200cخواهم":     "<bdi>👩\u200d💻 می\u200cخواهم</bdi>",
		"two\nlines":                 "<bdi>two\nlines</bdi>",
		"tag \U000e0041\U000e007f !": `<bdi>tag <span class="concealed" title="a character that can’t be seen">U+E0041</span><span class="concealed" title="a character that can’t be seen">U+E007F</span> !</bdi>`,
	} {
		if got := string(console.Shown(given, 100)); got != want {
			t.Errorf("%q is shown as\n%s, want\n%s", given, got, want)
		}
	}
	if got := string(console.Shown(strings.Repeat("ä", 30), 10)); got != "<bdi>"+strings.Repeat("ä", 10)+`</bdi><span class="cut-off" title="20 more characters">…</span>` {
		t.Errorf("cut: %s", got)
	}
	if got := string(console.OneLine("  two\n\tlines ", 100)); got != "<bdi>two lines</bdi>" {
		t.Errorf("one line: %s", got)
	}
}

// Whatever a text says, the markup around it is the page's own.
func FuzzShown(f *testing.F) {
	for _, s := range []string{"<img src=x onerror=1>", "\u202e\u2066</bdi>", "a\x80\x00", "&lt;", strings.Repeat("x", 300), "]]>--><!--"} {
		f.Add(s, 50)
	}
	f.Fuzz(func(t *testing.T, s string, most int) {
		most = max(1, most%1000)
		got := string(console.Shown(s, most))
		root, err := html.Parse(strings.NewReader(got))
		if err != nil || !utf8.ValidString(got) {
			t.Fatalf("%q is shown as %q", s, got)
		}
		for n := range root.Descendants() {
			switch {
			case n.Type == html.CommentNode:
				t.Fatalf("%q makes a comment: %q", s, got)
			case n.Type != html.ElementNode || slices.Contains([]string{"html", "head", "body", "bdi"}, n.Data):
			case n.Data != "span" || attr(n, "class") != "concealed" && attr(n, "class") != "cut-off" || len(n.Attr) != 2:
				t.Fatalf("%q makes an element %s: %q", s, n.Data, got)
			}
		}
		for _, r := range "\u202a\u202b\u202d\u202e\u2066\u2067\u2068\u2069\u200b" {
			if strings.ContainsRune(got, r) {
				t.Fatalf("%q is shown with a concealed U+%04X", s, r)
			}
		}
	})
}
