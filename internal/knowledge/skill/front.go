package skill

import (
	"fmt"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/goccy/go-yaml/ast"
	yamlparser "github.com/goccy/go-yaml/parser"

	"github.com/kenlayer/ken"
	"github.com/kenlayer/ken/internal/plainyaml"
)

// Bounds of front matter: a hundred times the usual size. The YAML parser's time
// grows with the square of the nesting.
const (
	maxFront = 64 << 10
	maxDepth = 64
)

// parser parses one file.
type parser struct {
	path  string
	lines map[string]int // line number of each key of the front matter
}

// split separates the front matter, if there is any, from the text after it. The
// returned front matter has an empty line in place of its opening line, so that
// line numbers are those of the file.
func (p *parser) split(text string) (front, body string, err error) {
	first, rest, ok := strings.Cut(text, "\n")
	if strings.TrimRight(first, " \t") != "---" {
		return "", text, nil
	}
	for at := 0; ok && at < len(rest); {
		line, _, more := strings.Cut(rest[at:], "\n")
		if end := strings.TrimRight(line, " \t"); end == "---" || end == "..." {
			return "\n" + rest[:at], strings.TrimPrefix(rest[at+len(line):], "\n"), nil
		}
		if at += len(line) + 1; !more {
			break
		}
	}
	return "", "", p.wrong(1, "", "the front matter that starts here has no end", "Close it with a line of three hyphens.")
}

// front parses the front matter into s.
func (p *parser) front(s *Skill, text string) error {
	p.lines = map[string]int{}
	if strings.TrimSpace(text) == "" {
		return nil
	}
	if len(text) > maxFront {
		return p.wrong(1, "", fmt.Sprintf("front matter of %d bytes; at most %d", len(text), maxFront), "Put the text below the front matter.")
	}
	if plainyaml.Deepest(text) > maxDepth {
		return p.wrong(1, "", fmt.Sprintf("front matter is nested more than %d deep", maxDepth), "Close what was opened.")
	}
	tree, err := yamlparser.ParseBytes([]byte(text), 0)
	if err != nil {
		return p.syntax(err)
	}
	for _, doc := range tree.Docs {
		if doc.Body == nil || doc.Body.Type() == ast.NullType {
			continue
		}
		fields, ok := doc.Body.(ast.MapNode)
		if !ok {
			return p.wrong(plainyaml.Line(doc.Body), "", "front matter is not a list of settings", "Write lines such as \"name: deploy\".")
		}
		if err := p.fields(s, fields); err != nil {
			return err
		}
	}
	return nil
}

// fields parses the top level.
func (p *parser) fields(s *Skill, fields ast.MapNode) error {
	useWhen := ""
	for it := fields.MapRange(); it.Next(); {
		key, ok := it.Key().(*ast.StringNode)
		if !ok {
			return p.wrong(plainyaml.Line(it.Key()), "", "a key that is not a plain word", "Write keys as plain words.")
		}
		name, v := key.Value, it.Value()
		p.lines[name] = plainyaml.Line(key)
		var err error
		switch strings.ReplaceAll(name, "-", "_") {
		case "name":
			s.Title, err = p.line(name, v)
		case "description":
			s.Description, err = p.paragraph(name, v)
		case "when_to_use":
			useWhen, err = p.paragraph(name, v)
		case "license":
			s.License, err = p.line(name, v)
		case "compatibility":
			s.Compatibility, err = p.paragraph(name, v)
		case "allowed_tools":
			s.AllowedTools, err = p.list(name, v, " ,")
		case "triggers", "tags", "keywords":
			err = p.triggers(s, name, v)
		case "metadata":
			err = p.metadata(s, v)
		}
		if err != nil {
			return err
		}
	}
	if n := utf8.RuneCountInString(s.Description); n > maxDescription {
		return p.wrong(p.lines["description"], "description", fmt.Sprintf("%d characters; at most %d", n, maxDescription),
			"Say what it does and when to use it, and leave the rest to the text.")
	}
	s.Description = strings.TrimSpace(s.Description + " " + useWhen)
	return nil
}

// metadata parses a mapping of single values.
func (p *parser) metadata(s *Skill, v ast.Node) error {
	if v.Type() == ast.NullType {
		return nil
	}
	fields, ok := v.(ast.MapNode)
	if !ok {
		return p.wrong(plainyaml.Line(v), "metadata", "not a list of settings", "Indent lines such as \"version: 1.0\" below it.")
	}
	s.Metadata = map[string]string{}
	for it := fields.MapRange(); it.Next(); {
		key, ok := it.Key().(*ast.StringNode)
		if !ok {
			return p.wrong(plainyaml.Line(it.Key()), "metadata", "a key that is not a plain word", "Write keys as plain words.")
		}
		field := "metadata." + key.Value
		switch key.Value {
		case "triggers", "tags", "keywords":
			if err := p.triggers(s, field, it.Value()); err != nil {
				return err
			}
		}
		words, err := p.list(field, it.Value(), "")
		if err != nil {
			return err
		}
		s.Metadata[key.Value] = strings.Join(words, ", ")
	}
	return nil
}

func (p *parser) triggers(s *Skill, field string, v ast.Node) error {
	words, err := p.list(field, v, ",")
	s.Triggers = append(s.Triggers, words...)
	return err
}

// line returns a value that must be on one line.
func (p *parser) line(field string, v ast.Node) (string, error) {
	s, err := p.scalar(field, v)
	if err == nil && strings.Contains(s, "\n") {
		err = p.wrong(plainyaml.Line(v), field, "several lines", "Put it on one line.")
	}
	return s, err
}

// paragraph returns a value that may have several lines, as one line.
func (p *parser) paragraph(field string, v ast.Node) (string, error) {
	s, err := p.scalar(field, v)
	return strings.Join(strings.Fields(s), " "), err
}

// list returns the values of a list, or the parts of a value between separators.
func (p *parser) list(field string, v ast.Node, separators string) (out []string, err error) {
	if seq, ok := v.(*ast.SequenceNode); ok {
		for _, e := range seq.Values {
			s, err := p.scalar(field, e)
			if err != nil {
				return nil, err
			}
			if s != "" {
				out = append(out, s)
			}
		}
		return out, nil
	}
	s, err := p.scalar(field, v)
	for _, w := range parts(s, separators) {
		if w = strings.TrimSpace(w); w != "" {
			out = append(out, w)
		}
	}
	return out, err
}

// parts splits s at separators outside of parentheses: Bash(git log:*) is one
// tool.
func parts(s, separators string) (out []string) {
	from, depth := 0, 0
	for i, r := range s {
		switch {
		case r == '(':
			depth++
		case r == ')':
			depth = max(0, depth-1)
		case depth == 0 && strings.ContainsRune(separators, r):
			out = append(out, s[from:i])
			from = i + 1
		}
	}
	return append(out, s[from:])
}

// scalar returns a single value as text.
func (p *parser) scalar(field string, v ast.Node) (string, error) {
	switch n := v.(type) {
	case *ast.NullNode:
		return "", nil
	case *ast.StringNode:
		return strings.TrimSpace(n.Value), nil
	case *ast.LiteralNode:
		return strings.TrimSpace(n.Value.Value), nil
	case *ast.IntegerNode, *ast.FloatNode, *ast.BoolNode:
		return n.GetToken().Value, nil // as written: 1.0 is a version
	}
	return "", p.wrong(plainyaml.Line(v), field, "not a plain value", "Put the value on the line of its key, in quotes.")
}

// syntax translates the YAML parser's error, whose own text contains lines of the
// file.
func (p *parser) syntax(err error) error {
	msg, at := plainyaml.Syntax(err)
	return p.wrong(max(1, at), "", "front matter is "+msg, "Put a value with a colon in it into quotes, and check the indentation.")
}

// wrong returns an error with its position; line 0 means the whole file.
func (p *parser) wrong(line int, field, msg, try string) error {
	place := p.path
	if line > 0 {
		place += ":" + strconv.Itoa(line)
	}
	return &ken.Error{Code: ken.CodeInvalid, Field: field, Msg: msg + " (" + place + ")", Try: try}
}
