package pairs

import (
	"go/ast"
	"go/parser"
	"go/token"
	"slices"
	"strings"

	"github.com/kenlayer/ken/internal/lazyregexp"
)

// comment is a doc comment: its text in the source, and its first paragraph.
type comment struct{ raw, summary string }

// goComments returns the doc comments in a chunk of Go: of the package, of declarations, and of specifications in a
// group. A chunk consists of whole declarations or of a part of one, which the parser reads as far as it can.
func goComments(text string) []comment {
	src, from := text, 0
	if !packageClause.MatchString(text) {
		const clause = "package p\n"
		src, from = clause+text, len(clause)
	}
	fset := token.NewFileSet()
	file, err := parser.ParseFile(fset, "", src, parser.ParseComments|parser.SkipObjectResolution)
	if file == nil {
		return nil
	}
	var out []comment
	add := func(g *ast.CommentGroup) {
		if g == nil {
			return
		}
		at, end := fset.PositionFor(g.Pos(), false).Offset-from, fset.PositionFor(g.End(), false).Offset-from
		if at < 0 || end > len(text) || at >= end { // the parser does not count carriage returns
			return
		}
		if said := paragraph(g.Text()); said != "" {
			out = append(out, comment{text[at:end], said})
		}
	}
	if from == 0 {
		add(file.Doc)
	}
	for _, d := range file.Decls {
		switch d := d.(type) {
		case *ast.FuncDecl:
			add(d.Doc)
		case *ast.GenDecl:
			add(d.Doc)
			for _, s := range d.Specs {
				switch s := s.(type) {
				case *ast.TypeSpec:
					add(s.Doc)
				case *ast.ValueSpec:
					add(s.Doc)
				}
			}
		}
	}
	if err != nil && len(out) == 0 {
		return comments(text)
	}
	return out
}

var packageClause = lazyregexp.New(`(?m)^package \w+`)

// paragraph returns the first paragraph of a text on one line.
func paragraph(s string) string {
	s, _, _ = strings.Cut(strings.TrimSpace(s), "\n\n")
	return strings.Join(strings.Fields(s), " ")
}

// docString matches a triple-quoted string at the beginning of what it describes.
var docString = lazyregexp.New("(?s)^[^\"'`]{0,400}?:[ \t]*\r?\n[ \t]*[rRuU]?(\"\"\"(.+?)\"\"\"|'''(.+?)''')")

// comments returns the doc comments in a chunk of any other language: the comment at its beginning, and the doc string
// of the definition at its beginning.
func comments(text string) []comment {
	var out []comment
	if c := leadingComment(text); c.summary != "" {
		out = append(out, c)
		text = text[len(c.raw):]
	}
	if m := docString.FindStringSubmatch(text); m != nil {
		if said := paragraph(dedent(m[2] + m[3])); said != "" {
			out = append(out, comment{m[1], said})
		}
	}
	return out
}

// dedent removes the indentation of all lines.
func dedent(s string) string {
	var b strings.Builder
	for l := range strings.Lines(s) {
		b.WriteString(strings.TrimSpace(l))
		b.WriteByte('\n')
	}
	return b.String()
}

// leadingComment returns the comment at the beginning of a text: lines that begin with a comment mark, or a block
// comment.
func leadingComment(text string) comment {
	var body strings.Builder
	end, block := 0, ""
	for l := range strings.Lines(text) {
		t := strings.TrimSpace(l)
		if block == "" {
			body, closes, ok := opensComment(t)
			if !ok {
				break
			}
			block = closes
			t = body
		}
		end += len(l)
		if block != "" {
			if before, _, ok := strings.Cut(t, block); ok {
				t, block = before, ""
			}
			t = strings.TrimSpace(strings.TrimLeft(t, "*"))
		}
		if !directive(t) {
			body.WriteString(t + "\n")
		}
	}
	if block != "" { // it is not closed, so it is no comment
		return comment{}
	}
	return comment{text[:end], paragraph(body.String())}
}

// opensComment reports whether a line begins a comment. body is the text of the comment; closes is the mark that ends
// it, "" for the end of the line.
func opensComment(t string) (body, closes string, ok bool) {
	for _, mark := range []struct{ open, close string }{{"/*", "*/"}, {"<!--", "-->"}, {"{-", "-}"}, {"///", ""}, {"//!", ""}, {"//", ""}, {"#", ""},
		{"--", ""}, {";;;", ""}, {";;", ""}, {"%%", ""}} {
		if body, ok := strings.CutPrefix(t, mark.open); ok {
			if mark.open == "#" && (strings.HasPrefix(body, "!") || strings.HasPrefix(body, "[") || cDirective.MatchString(body)) {
				return "", "", false
			}
			return strings.TrimSpace(body), mark.close, true
		}
	}
	return "", "", false
}

var cDirective = lazyregexp.New(`^\s*(?:include|define|ifdef|ifndef|if|endif|else|pragma|undef)\b`)

// directive reports whether the text of a comment is meant for a tool.
func directive(s string) bool {
	return slices.ContainsFunc([]string{"go:", "nolint", "eslint", "noqa", "type:", "pylint", "-*-", "vim:", "Copyright", "SPDX-", "@ts-"}, func(p string) bool { return strings.HasPrefix(s, p) })
}
