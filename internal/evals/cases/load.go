package cases

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"math"
	"os"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/goccy/go-yaml"
	"github.com/goccy/go-yaml/ast"
	"github.com/goccy/go-yaml/parser"
	"github.com/goccy/go-yaml/token"

	"github.com/kenlayer/ken"
	"github.com/kenlayer/ken/internal/analysis"
	"github.com/kenlayer/ken/internal/plainyaml"
	"github.com/kenlayer/ken/internal/spelling"
)

// MaxBytes is the maximum size of a file of cases.
const MaxBytes = 256 << 10

// maxDepth limits nesting. The time of the YAML parser grows with its square: a few ten
// thousand brackets would take minutes.
const maxDepth = 1000

// Load reads the file at path. Its errors are an ErrInvalid as from Parse, and an
// ErrNotFound for a file that can't be read.
func Load(path string) (File, error) {
	b, err := os.ReadFile(path)
	if err != nil {
		e := &ken.Error{Code: ken.CodeNotFound, Msg: "read cases", Err: err, Try: "Check the path and the file's permissions."}
		if errors.Is(err, fs.ErrNotExist) {
			e.Try = "Check the path; docs/memory-tests.md shows how such a file looks."
		}
		return File{}, e
	}
	return Parse(path, b)
}

// Parse reads the text of a file; path is for messages. Its errors are an
// ErrInvalid with the field, and with path and line in the message.
func Parse(path string, b []byte) (File, error) {
	r := &reader{file: path}
	b = bytes.TrimPrefix(b, []byte("\uFEFF"))
	switch {
	case len(b) > MaxBytes:
		r.wrong(nil, "", fmt.Sprintf("%d bytes; at most %d are read", len(b), MaxBytes), "Split it into several files.")
	case plainyaml.Deepest(string(b)) > maxDepth:
		r.wrong(nil, "", fmt.Sprintf("brackets or dashes nested more than %d deep", maxDepth), "Close what was opened.")
	case !utf8.Valid(b):
		r.wrong(nil, "", "not valid UTF-8", "Save the file as UTF-8.")
	}
	if r.err != nil {
		return File{}, r.err
	}
	n := r.document(b)
	if r.err != nil {
		return File{}, r.err
	}
	f := File{path, r.cases(n)}
	return f, r.err
}

// Keys at the top level of a file: the cases, and what applies to all of them.
var fileKeys = []string{"cases", "owner", "project", "scopes", "now", "given", "canaries"}

func (r *reader) cases(n ast.Node) (out []Case) {
	e := r.entries("", n, fileKeys)
	list, ok := e["cases"].(*ast.SequenceNode)
	if !ok || len(list.Values) == 0 {
		r.wrong(n, "cases", "no list of cases", "Write each case under cases, with a dash before its name.")
		return nil
	}
	shared := Case{File: r.file}
	r.settings("", e, &shared)
	names := map[string]int{}
	for i, v := range list.Values {
		c := r.oneCase(at("cases", i), v, &shared)
		if first, dup := names[c.Name]; dup {
			r.wrong(v, at("cases", i)+".name", fmt.Sprintf("%q is the name of the case in line %d as well", c.Name, first), "Give each case a name of its own.")
		}
		if r.err != nil {
			return nil
		}
		names[c.Name] = c.Line
		out = append(out, c)
	}
	return out
}

// reader decodes YAML of one file. It keeps the first error, which names the field, the file and the line; what is
// decoded after it is of no use.
type reader struct {
	file string // for messages
	err  error
}

// document returns the one document of a file.
func (r *reader) document(b []byte) (body ast.Node) {
	// Repeated keys are allowed here because entries reports them with both lines.
	tree, err := parser.ParseBytes(b, 0, parser.AllowDuplicateMapKey())
	if err != nil {
		msg := "not valid YAML"
		var at *token.Token
		if e, ok := errors.AsType[yaml.Error](err); ok {
			msg, at = msg+": "+e.GetMessage(), e.GetToken()
		}
		r.located(at, "", msg, "Check the indentation and the quotes around that line.")
		return nil
	}
	for _, doc := range tree.Docs {
		if doc.Body == nil || doc.Body.Type() == ast.NullType || doc.Body.Type() == ast.CommentType {
			continue
		}
		if body != nil {
			r.wrong(doc.Body, "", "a second document", "Put its cases into a file of their own.")
		}
		body = doc.Body
	}
	if body == nil {
		r.wrong(nil, "", "nothing in it", "Write at least one case under cases.")
	}
	return body
}

// wrong records an error about node n, which may be nil.
func (r *reader) wrong(n ast.Node, field, msg, try string) {
	var at *token.Token
	if n != nil {
		at = n.GetToken()
	}
	r.located(at, field, msg, try)
}

func (r *reader) located(at *token.Token, field, msg, try string) {
	place := r.file
	if at != nil && at.Position != nil {
		place += ", line " + strconv.Itoa(at.Position.Line)
	}
	if r.err == nil {
		r.err = &ken.Error{Code: ken.CodeInvalid, Field: field, Msg: msg + " (" + place + ")", Try: try}
	}
}

func line(n ast.Node) int {
	if tk := n.GetToken(); tk != nil && tk.Position != nil {
		return tk.Position.Line
	}
	return 0
}

// entries returns the values of a mapping, whose keys must be among known. A key
// without a value is left out.
func (r *reader) entries(path string, n ast.Node, known []string) map[string]ast.Node {
	m, ok := n.(ast.MapNode)
	if !ok {
		r.wrong(n, path, describe(n)+" where keys with values belong", "Use some of "+strings.Join(known, ", ")+".")
		return nil
	}
	out, lines := map[string]ast.Node{}, map[string]int{}
	for it := m.MapRange(); r.err == nil && it.Next(); {
		s, ok := it.Key().(*ast.StringNode)
		if !ok {
			r.wrong(it.Key(), path, "a key that is not a plain name", "Write keys as plain words: anchors, tags and merges are not supported.")
			break
		}
		if first, dup := lines[s.Value]; dup {
			r.wrong(s, join(path, s.Value), "given again after line "+strconv.Itoa(first), "Keep one of the two.")
		}
		lines[s.Value] = line(s)
		r.known(s, path, known)
		if it.Value().Type() != ast.NullType {
			out[s.Value] = it.Value()
		}
	}
	return out
}

// known records an error for an unknown key, with the nearest known key.
func (r *reader) known(key *ast.StringNode, path string, known []string) {
	if slices.Contains(known, key.Value) {
		return
	}
	try := "Use one of " + strings.Join(known, ", ") + "."
	if near := spelling.Nearest(key.Value, known); near != "" {
		try = "Use " + near + "."
	}
	r.wrong(key, join(path, key.Value), "unknown key", try)
}

func join(path, name string) string {
	if path == "" {
		return name
	}
	return path + "." + name
}

func at(path string, i int) string { return path + "[" + strconv.Itoa(i) + "]" }

// elements returns a list's elements; any other node counts as a list of one.
func elements(n ast.Node) []ast.Node {
	if seq, ok := n.(*ast.SequenceNode); ok {
		return seq.Values
	}
	return []ast.Node{n}
}

// text decodes a non-empty string.
func (r *reader) text(path string, n ast.Node) (s string) {
	switch n := n.(type) {
	case *ast.StringNode:
		s = n.Value
	case *ast.LiteralNode:
		s = strings.TrimSuffix(n.Value.Value, "\n")
	default:
		r.wrong(n, path, describe(n)+" is not text", "Put text there, in quotes if it looks like something else.")
	}
	if strings.TrimSpace(s) == "" {
		r.wrong(n, path, "empty", "Put text there, or leave the key out.")
	}
	return s
}

func (r *reader) texts(path string, n ast.Node) (out []string) {
	for i, e := range elements(n) {
		out = append(out, r.text(at(path, i), e))
	}
	return out
}

// count decodes a whole number from 1 to a million.
func (r *reader) count(path string, n ast.Node) int {
	if i, ok := n.(*ast.IntegerNode); ok {
		if v, err := strconv.Atoi(fmt.Sprint(i.Value)); err == nil && v >= 1 && v <= 1_000_000 {
			return v
		}
	}
	r.wrong(n, path, describe(n)+" is not a whole number from 1 to 1000000", "Write a number such as 5.")
	return 0
}

func (r *reader) boolean(path string, n ast.Node) bool {
	b, ok := n.(*ast.BoolNode)
	if !ok {
		r.wrong(n, path, describe(n)+" is neither true nor false", "Write true or false.")
		return false
	}
	return b.Value
}

// value converts a node to the value that encoding/json would decode.
func (r *reader) value(path string, n ast.Node) any {
	switch n := n.(type) {
	case *ast.NullNode:
		return nil
	case *ast.StringNode:
		return n.Value
	case *ast.LiteralNode:
		return strings.TrimSuffix(n.Value.Value, "\n")
	case *ast.BoolNode:
		return n.Value
	case *ast.IntegerNode:
		return n.Value
	case *ast.FloatNode:
		if !math.IsInf(n.Value, 0) && !math.IsNaN(n.Value) {
			return n.Value
		}
	case *ast.SequenceNode:
		out := make([]any, len(n.Values))
		for i, e := range n.Values {
			out[i] = r.value(at(path, i), e)
		}
		return out
	case ast.MapNode:
		out := map[string]any{}
		for it := n.MapRange(); it.Next(); {
			k, ok := it.Key().(*ast.StringNode)
			if !ok {
				r.wrong(it.Key(), path, "a key that is not a plain name", "Write keys as plain words: anchors, tags and merges are not supported.")
				break
			}
			field := join(path, k.Value)
			if _, dup := out[k.Value]; dup {
				r.wrong(k, field, "given twice", "Keep one of the two.")
			}
			out[k.Value] = r.value(field, it.Value())
		}
		return out
	}
	r.wrong(n, path, describe(n)+" is not supported", "Write text, numbers, true, false, lists and keys with values.")
	return nil
}

// describe names the type of an unexpected node.
func describe(n ast.Node) string {
	switch n := n.(type) {
	case ast.MapNode:
		return "a group of keys"
	case *ast.SequenceNode:
		return "a list"
	case *ast.NullNode:
		return "nothing"
	case *ast.AnchorNode, *ast.AliasNode, *ast.TagNode:
		return "an anchor, alias or tag"
	case *ast.StringNode:
		return strconv.Quote(analysis.Clip(n.Value, 60))
	case *ast.LiteralNode:
		return "a text"
	}
	if tk := n.GetToken(); tk != nil {
		return analysis.Clip(tk.Value, 60)
	}
	return "the value"
}
