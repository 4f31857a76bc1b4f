package draw

import (
	"encoding/xml"
	"errors"
	"io"
	"regexp"
	"strings"
	"testing"
	"unicode/utf8"
)

// What a name says must not become an element, an attribute or a style.
func TestSVGIsXMLOfKnownElements(t *testing.T) {
	known := " svg title desc style defs marker path rect g text "
	for k, g := range graphs(t) {
		got := drawn(t, SVG, g)
		d := xml.NewDecoder(strings.NewReader(got))
		d.Strict = true
		texts := 0
		for {
			tok, err := d.Token()
			if errors.Is(err, io.EOF) {
				break
			}
			if err != nil {
				t.Fatalf("graph %d: %v\n%s", k, err, got)
			}
			switch e := tok.(type) {
			case xml.StartElement:
				if !strings.Contains(known, " "+e.Name.Local+" ") {
					t.Fatalf("graph %d: element %s", k, e.Name.Local)
				}
				for _, a := range e.Attr {
					if strings.HasPrefix(strings.ToLower(a.Name.Local), "on") || strings.Contains(a.Name.Local, "href") ||
						strings.ContainsAny(a.Value, `<>"'&`) {
						t.Fatalf("graph %d: attribute %s=%q of %s", k, a.Name.Local, a.Value, e.Name.Local)
					}
				}
				if e.Name.Local == "text" {
					texts++
				}
			case xml.ProcInst, xml.Directive, xml.Comment:
				t.Fatalf("graph %d: %T", k, tok)
			}
		}
		p := newPicture(g)
		want := 2*len(p.nodes) + len(p.lines) + min(p.left, 1)
		for i := range p.nodes {
			want += min(p.nodes[i].Constraints, 1)
		}
		if texts != want {
			t.Fatalf("graph %d: %d texts, want %d", k, texts, want)
		}
		checkShown(t, got)
	}
}

var mermaidLine = regexp.MustCompile(`^(flowchart LR` +
	`|    n\d+(\["L"\]|\(\["L"\]\))` +
	`|    n\d+ (-->|-\.->)\|"L"\| n\d+` +
	`|    linkStyle \d+ stroke-width:\d\.\dpx` +
	`|    rest\["L"\]|    style rest stroke-dasharray:4 4)$`)

var mermaidLabel = regexp.MustCompile(`"(?:[\pL\pN\pM \x{80}-\x{10ffff}]|#\d+;|<br/>)*"`)

func TestMermaidLabelsDoNotBreakOut(t *testing.T) {
	for k, g := range graphs(t) {
		got := drawn(t, Mermaid, g)
		for line := range strings.Lines(got) {
			bare := mermaidLabel.ReplaceAllString(strings.TrimSuffix(line, "\n"), `"L"`)
			if !mermaidLine.MatchString(bare) {
				t.Fatalf("graph %d: %q", k, line)
			}
		}
		if strings.Contains(got, "%%") {
			t.Fatalf("graph %d: a directive", k)
		}
		checkShown(t, got)
	}
}

var dotLine = regexp.MustCompile(`^(digraph ken \{|\}|\trankdir=LR;|\tnode \[shape=box, style=rounded, fontname=L\];|\tedge \[fontname=L, fontsize=11\];` +
	`|\tlabel=L;|\tn\d+ \[label=L(, penwidth=2\.5)?\];|\tn\d+ -> n\d+ \[label=L, penwidth=\d\.\d(, style=dashed)?\];)$`)

// dotBare replaces quoted strings by L as Graphviz reads them: a backslash keeps a
// quote from ending one.
func dotBare(t *testing.T, line string) string {
	var b strings.Builder
	for i := 0; i < len(line); i++ {
		if line[i] != '"' {
			b.WriteByte(line[i])
			continue
		}
		for i++; i < len(line) && line[i] != '"'; i++ {
			if line[i] == '\\' {
				if i++; !strings.ContainsRune(`n"\`, rune(line[i])) {
					t.Fatalf("escape sequence \\%c in %s", line[i], line)
				}
			}
		}
		b.WriteByte('L')
	}
	return b.String()
}

func TestDOTLabelsDoNotBreakOut(t *testing.T) {
	for k, g := range graphs(t) {
		got := drawn(t, DOT, g)
		for line := range strings.Lines(got) {
			if bare := dotBare(t, strings.TrimSuffix(line, "\n")); !dotLine.MatchString(bare) {
				t.Fatalf("graph %d: %q is %q", k, line, bare)
			}
		}
		for _, ref := range regexp.MustCompile(`&[^;]*;?`).FindAllString(got, -1) {
			if ref != "&amp;" {
				t.Fatalf("graph %d: character reference %q", k, ref)
			}
		}
		checkShown(t, got)
	}
}

// checkShown looks for signs that change how a line is shown.
func checkShown(t *testing.T, s string) {
	t.Helper()
	if !utf8.ValidString(s) {
		t.Fatal("it is no UTF-8")
	}
	for _, r := range s {
		if r < ' ' && r != '\n' && r != '\t' || r >= 0x202a && r <= 0x202e || r >= 0x2066 && r <= 0x2069 || r == 0x200e || r == 0x200f || r == 0xfeff || r == 0x200b ||
			r == 0x2028 || r == 0x2029 || r == 0x85 {
			t.Fatalf("it has %U in it", r)
		}
	}
}

func TestNamesAreShortened(t *testing.T) {
	for _, f := range formats {
		got := drawn(t, f.draw, hostile())
		for line := range strings.Lines(got) {
			if strings.HasPrefix(line, "<desc") {
				continue // of all nodes
			}
			if len(line) > 1200 {
				t.Errorf("%s: a line of %d bytes: %.200s", f.name, len(line), line)
			}
		}
	}
	for in, want := range map[string]string{
		"short":                              "short",
		strings.Repeat("a", 41):              strings.Repeat("a", 39) + "…",
		strings.Repeat("支", 21):              strings.Repeat("支", 19) + "…",
		strings.Repeat("a", 38) + "é" + "bb": strings.Repeat("a", 38) + "é…",
		strings.Repeat("a", 37) + "👩‍👩‍👧xx":  strings.Repeat("a", 37) + "…",
	} {
		if got := clipColumns(in, maxName); got != want {
			t.Errorf("fit(%q) = %q, want %q", in, got, want)
		}
	}
}

// In the dark, letters must be light, whatever draws the page around the picture.
func TestSVGFollowsTheReadersChoiceOfLight(t *testing.T) {
	got := drawn(t, SVG, payments())
	for _, want := range []string{"@media (prefers-color-scheme:dark)", "currentColor", `role="img"`, `aria-labelledby="ken-title ken-text"`,
		"<title id=\"ken-title\">Payments and what is around it</title>", "Payments requires ledger (0.90)", "Payments owned by Ada (0.80)", "Payments: system · 12 records, 2 constraints."} {
		if !strings.Contains(got, want) {
			t.Errorf("%q is not in it", want)
		}
	}
	for _, bad := range []string{"http://", "https://", "url(", "@import", "<script", "font-face"} {
		rest := strings.NewReplacer(`http://www.w3.org/2000/svg`, "", "url(#ken-head)", "").Replace(got)
		if strings.Contains(rest, bad) {
			t.Errorf("%q is in it: it is not self-contained", bad)
		}
	}
}
