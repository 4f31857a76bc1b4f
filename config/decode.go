package config

import (
	"bytes"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/goccy/go-yaml/ast"
	"github.com/goccy/go-yaml/parser"

	"github.com/kenlayer/ken"
	"github.com/kenlayer/ken/internal/caught"
	"github.com/kenlayer/ken/internal/plainyaml"
)

// Bounds of the file. The documented example has a tenth of them. Nesting costs the
// parser time and memory with its square: 64 KiB of brackets would take it seconds.
const (
	maxBytes = 64 << 10
	maxDepth = 64
)

// decoder fills a Config from one file.
type decoder struct {
	file     string // for messages; may be empty
	sections []section
	lines    map[string]int // where each dotted key stands, and each part of a list, such as gateway.keys[0].name
	set      map[string]bool
}

// decode overlays c with the settings in b, and returns the dotted keys that b sets.
func decode(c *Config, file string, b []byte) (set map[string]bool, err error) {
	d := &decoder{file: file, sections: c.sections(), lines: map[string]int{}, set: map[string]bool{}}
	return d.set, d.decode(c, b)
}

func (d *decoder) decode(c *Config, b []byte) error {
	b = bytes.TrimPrefix(b, []byte("\uFEFF"))
	switch {
	case len(b) > maxBytes:
		return d.located(0, wrong("", fmt.Sprintf("%d bytes; a configuration has at most %d", len(b), maxBytes),
			"Check that this is the right file."))
	case plainyaml.Deepest(string(b)) > maxDepth:
		return d.located(0, wrong("", fmt.Sprintf("brackets or dashes are nested more than %d deep", maxDepth), "Close what was opened."))
	case !utf8.Valid(b):
		return d.located(0, wrong("", "not valid UTF-8", "Save the file as UTF-8."))
	}
	// Repeated keys are allowed here because entry reports them with both places.
	var tree *ast.File
	err := caught.Run(func() (err error) { // the parser is not ours, and a server reads its file again while it serves
		tree, err = parser.ParseBytes(b, 0, parser.AllowDuplicateMapKey())
		return err
	})
	if err != nil {
		return d.syntax(err)
	}
	var seen bool
	for _, doc := range tree.Docs {
		if doc.Body == nil || doc.Body.Type() == ast.NullType {
			continue
		}
		if seen {
			return d.located(line(doc.Body), wrong("", "a second document", "Keep the settings above the line --- and delete the rest."))
		}
		seen = true
		if err := d.section("", doc.Body); err != nil {
			return err
		}
	}
	return d.locate(c.Validate())
}

// section reads one mapping; prefix is its dotted name, "" for the whole file.
func (d *decoder) section(prefix string, n ast.Node) error {
	if n.Type() == ast.NullType { // every key of the section is commented out
		return nil
	}
	entries, ok := n.(ast.MapNode)
	if !ok {
		field, try := prefix, "Put the section's keys on lines of their own below it, indented."
		if prefix == "" {
			try = "Write sections with keys, such as those of config.example.yaml."
		}
		return d.located(line(n), wrong(field, describe(n)+" is not a section", try))
	}
	for it := entries.MapRange(); it.Next(); {
		if err := d.entry(prefix, it.Key(), it.Value()); err != nil {
			return err
		}
	}
	return nil
}

// entry reads one line "name: value".
func (d *decoder) entry(prefix string, name ast.MapKeyNode, value ast.Node) error {
	at := line(name)
	s, ok := name.(*ast.StringNode)
	if !ok {
		return d.located(at, wrong(prefix, "a key that is not a plain name", "Write keys as plain words: anchors, tags and merges are not supported."))
	}
	path := s.Value
	if prefix != "" {
		path = prefix + "." + path
	}
	k, isSection := d.find(path, s.Value)
	if !isSection && k == nil {
		return d.located(at, unknown(path, d.sections))
	}
	if first, dup := d.lines[path]; dup {
		return d.located(at, wrong(path, "set again after line "+strconv.Itoa(first), "Keep one of the two."))
	}
	d.lines[path] = at
	if isSection {
		return d.section(path, value)
	}
	if prefix == "" && value.Type() == ast.NullType { // a list whose every element is commented out
		return nil
	}
	if k.list {
		d.mark(path, value, listDepth)
	}
	d.set[path] = true
	words, err := k.words(value)
	if err == nil {
		err = k.set(words)
	}
	return d.locate(k.at(err))
}

// listDepth is how deep lists go: a list of mappings that hold lists.
const listDepth = 3

// mark notes where the parts of a list stand.
func (d *decoder) mark(path string, n ast.Node, depth int) {
	if depth == 0 {
		return
	}
	part := func(name string, at, value ast.Node) {
		d.lines[name] = line(at)
		d.mark(name, value, depth-1)
	}
	if list, ok := n.(*ast.SequenceNode); ok {
		for i, e := range list.Values {
			part(path+"["+strconv.Itoa(i)+"]", e, e)
		}
	}
	if entries, ok := n.(ast.MapNode); ok {
		for it := entries.MapRange(); it.Next(); {
			if name, ok := it.Key().(*ast.StringNode); ok {
				part(path+"."+name.Value, name, it.Value())
			}
		}
	}
}

// find returns the key at path, or says that a section starts there. A name with
// a dot in it is neither, however right the path looks.
func (d *decoder) find(path, name string) (k *key, section bool) {
	if strings.Contains(name, ".") {
		return nil, false
	}
	for _, s := range d.sections {
		for i := range s.keys {
			if s.keys[i].path == path {
				return &s.keys[i], false
			}
		}
		if s.name == path {
			return nil, true
		}
	}
	return nil, false
}

// words reads a value of the right YAML type.
func (k *key) words(n ast.Node) ([]string, error) {
	if n.Type() == ast.NullType {
		return nil, &ken.Error{Code: ken.CodeInvalid, Msg: "has no value", Try: "Give " + k.want + ", or delete the line for the default."}
	}
	elements := []ast.Node{n}
	if k.list {
		seq, ok := n.(*ast.SequenceNode)
		if !ok {
			return nil, &ken.Error{Code: ken.CodeInvalid, Msg: k.shown(n) + " is not a list", Try: "Put it into brackets, as in [first, second]."}
		}
		elements = seq.Values
	}
	var words []string
	for i, e := range elements {
		if !slices.Contains(k.types, e.Type()) {
			err := k.refuse(k.shown(e))
			if k.list {
				err = numbered(i, err)
			}
			return nil, err
		}
		w := word(e)
		if k.element != nil {
			var err error
			if w, err = k.element(e); err != nil {
				return nil, numbered(i, err)
			}
		}
		words = append(words, w)
	}
	return words, nil
}

// shown is a value in a message.
func (k *key) shown(n ast.Node) string {
	if _, scalar := n.(ast.ScalarNode); scalar && k.secret {
		return "the value"
	}
	return describe(n)
}

// word is the text of a scalar, numbers in decimal.
func word(n ast.Node) string {
	switch n := n.(type) {
	case *ast.StringNode:
		return n.Value
	case *ast.LiteralNode:
		return strings.TrimSuffix(n.Value.Value, "\n")
	case *ast.FloatNode:
		return strconv.FormatFloat(n.Value, 'g', -1, 64)
	case ast.ScalarNode:
		return fmt.Sprint(n.GetValue())
	}
	return ""
}

// describe names what stands where something else belongs.
func describe(n ast.Node) string {
	switch n.(type) {
	case ast.MapNode:
		return "a section"
	case *ast.SequenceNode:
		return "a list"
	case *ast.NullNode:
		return "nothing"
	case *ast.AnchorNode, *ast.AliasNode, *ast.TagNode:
		return "an anchor, alias or tag"
	case *ast.StringNode, *ast.LiteralNode:
		return quote(word(n))
	}
	if tk := n.GetToken(); tk != nil {
		return tk.Value
	}
	return "the value"
}
