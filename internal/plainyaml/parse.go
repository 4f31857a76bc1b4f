package plainyaml

import (
	"cmp"
	"errors"
	"fmt"
	"strings"

	"github.com/goccy/go-yaml"
	"github.com/goccy/go-yaml/ast"
	"github.com/goccy/go-yaml/parser"
	"github.com/goccy/go-yaml/token"
)

// maxDepth limits nesting, because the YAML parser's time grows with the square of
// the depth.
const maxDepth = 64

// Parse reads a text of at most limit bytes as one mapping. The node is always a Map.
func Parse(text string, limit int) (Node, []Fault) {
	empty := Node{Kind: Map, Line: 1}
	if len(text) > limit {
		return empty, []Fault{{1, fmt.Sprintf("%d bytes of YAML; at most %d are read", len(text), limit), "Put long texts below the front matter, or into a file of their own."}}
	}
	if strings.TrimSpace(text) == "" {
		return empty, nil
	}
	if Deepest(text) > maxDepth {
		n := readLines(text)
		return n, []Fault{{1, fmt.Sprintf("brackets or dashes are nested more than %d deep", maxDepth), "Close all brackets, and use fewer levels."}}
	}
	body, err := parse(text)
	if err != nil {
		return readLines(text), []Fault{syntax(err)}
	}
	if body == nil || body.Type() == ast.NullType || body.Type() == ast.CommentType {
		return empty, nil
	}
	r := reader{}
	n, ok := r.node(body)
	if ok && n.Kind != Map {
		return empty, append(r.faults, Fault{n.Line, "not a list of settings", `Write lines such as "status: accepted".`})
	}
	if !ok {
		n = empty
	}
	return n, r.faults
}

// parse calls the YAML parser and turns its panics into errors.
func parse(text string) (body ast.Node, err error) {
	defer func() {
		if p := recover(); p != nil {
			body, err = nil, fmt.Errorf("the YAML parser failed: %v", p)
		}
	}()
	tree, err := parser.ParseBytes([]byte(text), 0)
	if err != nil {
		return nil, err
	}
	for _, doc := range tree.Docs {
		if doc.Body != nil {
			return doc.Body, nil
		}
	}
	return nil, nil
}

// syntax converts the YAML parser's error to a Fault without its text, because that
// quotes the file.
func syntax(err error) Fault {
	text, line := Syntax(err)
	f := Fault{max(1, line), text, "Put a value with a colon in it into quotes, and check the indentation."}
	if strings.ContainsRune(f.Text, '\t') {
		f.Text = strings.NewReplacer("character '\t'", "a tab", "'\t'", "a tab").Replace(f.Text)
		f.Try = "Indent with spaces: YAML has no tabs."
	}
	return f
}

// reader converts the parser's nodes to Nodes.
type reader struct{ faults []Fault }

func (r *reader) fault(n ast.Node, text, try string) (Node, bool) {
	r.faults = append(r.faults, Fault{line(n), text, try})
	return Node{}, false
}

func (r *reader) node(n ast.Node) (Node, bool) {
	switch v := n.(type) {
	case nil:
		return Node{}, true
	case *ast.NullNode:
		return Node{Line: line(n)}, true
	case *ast.StringNode:
		return Node{Kind: Scalar, Line: line(n), Text: v.Value}, true
	case *ast.LiteralNode:
		return Node{Kind: Scalar, Line: line(n), Text: v.Value.Value, Block: true}, true
	case *ast.IntegerNode, *ast.FloatNode, *ast.BoolNode, *ast.InfinityNode, *ast.NanNode:
		return Node{Kind: Scalar, Line: line(n), Text: n.GetToken().Value}, true
	case *ast.SequenceNode:
		out := Node{Kind: List, Line: line(n), Flow: v.IsFlowStyle}
		for _, i := range v.Values {
			if item, ok := r.node(i); ok {
				out.Items = append(out.Items, item)
			}
		}
		return out, true
	case ast.MapNode:
		return r.fields(n, v), true
	case *ast.AnchorNode, *ast.AliasNode:
		return r.fault(n, "an anchor or alias", "Write the value out: anchors and aliases are not followed.")
	case *ast.TagNode:
		return r.fault(n, "a tag", "Leave the tag out: tags are not followed.")
	}
	return r.fault(n, "not a plain value", "Put the value on the line of its key, in quotes.")
}

func (r *reader) fields(n ast.Node, m ast.MapNode) Node {
	out := Node{Kind: Map, Line: line(n)}
	if v, ok := n.(*ast.MappingNode); ok {
		out.Flow = v.IsFlowStyle
	}
	for it := m.MapRange(); it.Next(); {
		key, ok := name(it.Key())
		if !ok {
			r.fault(it.Key(), "a key that is not a plain word", "Write keys as plain words.")
			continue
		}
		f := Field{Key: key, Line: line(it.Key())}
		if f.Value, ok = r.node(it.Value()); ok {
			f.Value.Line = cmp.Or(f.Value.Line, f.Line)
			out.Fields = append(out.Fields, f)
		}
	}
	if len(out.Fields) > 0 {
		out.Line = out.Fields[0].Line
	}
	return out
}

func name(k ast.Node) (string, bool) {
	switch k := k.(type) {
	case *ast.StringNode:
		return k.Value, true
	case *ast.IntegerNode, *ast.FloatNode, *ast.BoolNode:
		return k.GetToken().Value, true
	}
	return "", false
}

func line(n ast.Node) int { return max(1, Line(n)) }

// Line returns the line of a node of the YAML parser, or 0 if it is unknown.
func Line(n ast.Node) int { return tokenLine(n.GetToken()) }

func tokenLine(tk *token.Token) int {
	if tk == nil || tk.Position == nil {
		return 0
	}
	return tk.Position.Line
}

// Syntax describes an error of the YAML parser without the lines of the file that its own
// text quotes. line is 0 if it is unknown.
func Syntax(err error) (text string, line int) {
	if e, ok := errors.AsType[yaml.Error](err); ok {
		return "not valid YAML: " + e.GetMessage(), tokenLine(e.GetToken())
	}
	return "not valid YAML", 0
}

// Deepest returns the greatest nesting depth of brackets and dashes, including
// those in strings. The YAML parser's time and memory grow with its square.
func Deepest(text string) (most int) {
	for l := range strings.SplitSeq(text, "\n") {
		dashes := 0
		for i := range len(l) {
			if (l[i] == '-' || l[i] == '?') && i+1 < len(l) && l[i+1] == ' ' {
				dashes++
			}
		}
		most = max(most, dashes)
	}
	open := 0
	for i := range len(text) {
		switch text[i] {
		case '[', '{':
			open++
		case ']', '}':
			open = max(0, open-1)
		}
		most = max(most, open)
	}
	return most
}

// readLines reads a text that is not YAML line by line: "key: value" where a line
// starts with a word, and "- item" below a key without a value. It skips other
// lines.
func readLines(text string) Node {
	out := Node{Kind: Map, Line: 1}
	n := 0
	for l := range strings.Lines(text) {
		n++
		l = strings.TrimRight(l, " \t\r\n")
		bare := strings.TrimLeft(l, " \t")
		last := len(out.Fields) - 1
		if item, ok := strings.CutPrefix(bare, "- "); ok && last >= 0 {
			if v := &out.Fields[last].Value; v.Kind != Scalar {
				v.Kind = List
				v.Items = append(v.Items, Node{Kind: Scalar, Line: n, Text: unquote(item)})
			}
			continue
		}
		key, value, ok := strings.Cut(l, ":")
		if !ok || key == "" || strings.ContainsAny(key, " \t#\"'[]{}&*!|>%@`") || value != "" && !strings.ContainsAny(value[:1], " \t") {
			continue
		}
		f := Field{Key: key, Line: n, Value: Node{Line: n}}
		switch value = strings.TrimSpace(value); {
		case value == "" || value == "|" || value == ">":
		case strings.ContainsAny(value[:1], "&*!"):
			continue
		case value[0] == '[' && strings.HasSuffix(value, "]"):
			f.Value = Node{Kind: List, Line: n, Flow: true}
			for _, part := range split(value[1:len(value)-1], ",") {
				if part = unquote(part); part != "" {
					f.Value.Items = append(f.Value.Items, Node{Kind: Scalar, Line: n, Text: part})
				}
			}
		default:
			f.Value = Node{Kind: Scalar, Line: n, Text: unquote(value)}
		}
		out.Fields = append(out.Fields, f)
	}
	return out
}

// unquote removes quotes and a comment from a value.
func unquote(s string) string {
	s = strings.TrimSpace(s)
	if s != "" && (s[0] == '"' || s[0] == '\'') {
		if end := strings.IndexByte(s[1:], s[0]); end >= 0 {
			return s[1 : 1+end]
		}
		return s[1:]
	}
	if at := strings.Index(s, " #"); at >= 0 {
		s = s[:at]
	}
	return strings.TrimSpace(s)
}
