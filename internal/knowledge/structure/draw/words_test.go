package draw

import (
	"bytes"
	"strings"
	"testing"

	"github.com/kenlayer/ken/internal/knowledge/structure/entity"
)

// What is counted has the words that it was given, in every format and as plain text.
func TestWords(t *testing.T) {
	g := entity.Graph{Root: "a", Nodes: []entity.Node{{Name: "a", Type: "method", Records: 3, Constraints: 2}}}
	said := func(w *Words) { w.Record, w.Constraint, w.Badge = "edge", "decision", `"<&badge` }
	for name, draw := range map[string]func(*bytes.Buffer) error{
		"svg":     func(b *bytes.Buffer) error { return SVG(b, g, said) },
		"mermaid": func(b *bytes.Buffer) error { return Mermaid(b, g, said) },
		"dot":     func(b *bytes.Buffer) error { return DOT(b, g, said) },
	} {
		var b bytes.Buffer
		if err := draw(&b); err != nil {
			t.Fatal(err)
		}
		s := b.String()
		if !strings.Contains(s, "3 edges") || !strings.Contains(s, "2 decisions") || strings.Contains(s, "record") || strings.Contains(s, "constraint") || strings.Contains(s, "<&") {
			t.Errorf("%s: %s", name, s)
		}
	}
}
