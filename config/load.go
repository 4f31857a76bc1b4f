package config

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/goccy/go-yaml/ast"
	"github.com/goccy/go-yaml/parser"
	"github.com/goccy/go-yaml/token"

	"github.com/kenlayer/ken"
	"github.com/kenlayer/ken/internal/caught"
	"github.com/kenlayer/ken/internal/lazyregexp"
	"github.com/kenlayer/ken/internal/plainyaml"
	"github.com/kenlayer/ken/internal/spelling"
)

// Load reads the file at path as one that the user chose: every key applies, and no other
// file is read. Errors: an ErrInvalid as from Parse, with the path in the message; an
// ErrNotFound for a file that can't be read. See Resolve for a project's configuration.
func Load(path string) (Config, error) {
	b, err := readFile(path)
	if err != nil {
		return Config{}, err
	}
	return parse(path, b)
}

// readFile reads a regular file, up to one byte more than maxBytes.
func readFile(path string) ([]byte, error) {
	b, err := readRegular(path)
	if err == nil {
		return b, nil
	}
	e := &ken.Error{Code: ken.CodeNotFound, Msg: "read configuration", Err: err,
		Try: "Check the path and the file's permissions."}
	if errors.Is(err, fs.ErrNotExist) {
		e.Try = "Create the file, which may be empty, or unset KEN_CONFIG if it names the wrong one."
	}
	return nil, e
}

func readRegular(path string) ([]byte, error) {
	info, err := os.Stat(path)
	if err != nil {
		return nil, err
	}
	if !info.Mode().IsRegular() { // a device or a pipe may have no end
		return nil, fmt.Errorf("%s is no regular file", path)
	}
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close() // nothing was written
	return io.ReadAll(io.LimitReader(f, maxBytes+1))
}

// Parse reads a configuration: the defaults, overridden by the settings in b, and
// validated. Its errors are an ErrInvalid with the dotted key as Field and the line in the
// message.
func Parse(b []byte) (Config, error) { return parse("", b) }

func parse(file string, b []byte) (Config, error) {
	c := Default()
	if _, err := decode(&c, file, b); err != nil {
		return Config{}, err
	}
	return c, nil
}

// Find returns the configuration file of the project in root, and false when it has none.
// KEN_CONFIG comes first, even if the file does not exist, so that a misspelled path is
// noticed; then .ken/config.yaml; then ken.yaml. Both may end in .yml.
func Find(root string) (path string, ok bool) {
	if p := os.Getenv("KEN_CONFIG"); p != "" {
		return p, true
	}
	for _, name := range []string{filepath.Join(".ken", "config.yaml"), filepath.Join(".ken", "config.yml"), "ken.yaml", "ken.yml"} {
		p := filepath.Join(root, name)
		if info, err := os.Stat(p); err == nil && !info.IsDir() {
			return p, true
		}
	}
	return "", false
}

// Limits of the file. The documented example has a tenth of them. The parser's time and
// memory grow with the square of the nesting: 64 KiB of brackets would take seconds.
const (
	maxBytes = 64 << 10
	maxDepth = 64
)

// obsoleteKeys lists keys of earlier versions that have no effect. Files may still contain
// them.
var obsoleteKeys = []string{"structure.dependency_facts"}

// decoder fills a Config from one file.
type decoder struct {
	file     string // for messages; may be empty
	sections []section
	lines    map[string]int // line of each dotted key, and of each part of a list, such as gateway.keys[0].name
	set      map[string]bool
}

// decode overrides c with the settings in b, and returns the dotted keys that b sets.
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
	// Repeated keys are allowed here because entry reports them with both lines.
	var tree *ast.File
	err := caught.Run(func() (err error) { // a panic of the parser must not end a server that reloads its file
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
			return d.located(plainyaml.Line(doc.Body), wrong("", "a second document", "Keep the settings above the line --- and delete the rest."))
		}
		seen = true
		if err := d.section("", doc.Body); err != nil {
			return err
		}
	}
	return d.locate(c.Validate())
}

// section decodes one mapping; prefix is its dotted name, "" for the whole file.
func (d *decoder) section(prefix string, n ast.Node) error {
	if n.Type() == ast.NullType { // every key of the section is commented out
		return nil
	}
	entries, ok := n.(ast.MapNode)
	if !ok {
		field, try := prefix, "Put the section's keys on lines of their own below it, indented."
		switch s, _ := n.(*ast.StringNode); {
		case s != nil && withoutSpace.MatchString(s.Value):
			try = "Put a space after the colon."
		case prefix == "":
			try = "Write sections with keys, such as those of config.example.yaml."
		}
		return d.located(plainyaml.Line(n), wrong(field, describe(n)+" is not a section", try))
	}
	for it := entries.MapRange(); it.Next(); {
		if err := d.entry(prefix, it.Key(), it.Value()); err != nil {
			return err
		}
	}
	return nil
}

// entry decodes one line "name: value".
func (d *decoder) entry(prefix string, name ast.MapKeyNode, value ast.Node) error {
	at := plainyaml.Line(name)
	s, ok := name.(*ast.StringNode)
	if !ok {
		return d.located(at, wrong(prefix, "a key that is not a plain name", "Write keys as plain words: anchors, tags and merges are not supported."))
	}
	path := s.Value
	if prefix != "" {
		path = prefix + "." + path
	}
	k, isSection := d.find(path, s.Value)
	if !isSection && slices.Contains(obsoleteKeys, path) {
		return nil
	}
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

// listDepth is the maximum depth of lists: a list of mappings that hold lists.
const listDepth = 3

// mark records the lines of the parts of a list.
func (d *decoder) mark(path string, n ast.Node, depth int) {
	if depth == 0 {
		return
	}
	part := func(name string, at, value ast.Node) {
		d.lines[name] = plainyaml.Line(at)
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

// find returns the key at path, or reports that path is a section. A name with a dot is
// neither, even if the resulting path exists.
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

// words decodes a value of the right YAML type.
func (k *key) words(n ast.Node) ([]string, error) {
	if n.Type() == ast.NullType {
		return nil, &ken.Error{Code: ken.CodeInvalid, Msg: "has no value", Try: "Give " + k.want + ", or delete the line for the default."}
	}
	elements := []ast.Node{n}
	if k.list {
		seq, ok := n.(*ast.SequenceNode)
		if !ok {
			try := "Put it into brackets, as in [first, second]."
			if k.element != nil {
				try = "Begin each element with a dash, as in config.example.yaml."
			}
			return nil, &ken.Error{Code: ken.CodeInvalid, Msg: k.shown(n) + " is not a list", Try: try}
		}
		elements = seq.Values
	}
	var words []string
	for i, e := range elements {
		if !slices.Contains(k.types, e.Type()) {
			err := k.refuse(k.shown(e))
			if quotesPlain(e) {
				err = &ken.Error{Code: ken.CodeInvalid, Msg: k.shown(e) + " is in quotes, and so a text", Try: "Remove the quotes."}
			}
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

// shown formats a value for a message.
func (k *key) shown(n ast.Node) string {
	if _, scalar := n.(ast.ScalarNode); scalar && k.secret {
		return "the value"
	}
	return describe(n)
}

// withoutSpace matches a key and its value, without the space that YAML needs between them.
var withoutSpace = lazyregexp.New(`^[a-z_]+:\S`)

// quotesPlain reports whether n is a number or a truth value in quotes.
func quotesPlain(n ast.Node) bool {
	s, ok := n.(*ast.StringNode)
	if !ok || s.Token.Type != token.SingleQuoteType && s.Token.Type != token.DoubleQuoteType {
		return false
	}
	_, err := strconv.ParseFloat(s.Value, 64)
	return err == nil || s.Value == "true" || s.Value == "false"
}

// word returns the text of a scalar, numbers in decimal.
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

// describe names the type of an unexpected node.
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

// unknown returns the error for a key that does not exist, with the nearest existing key.
func unknown(path string, sections []section) error {
	e := &ken.Error{Code: ken.CodeInvalid, Field: path, Msg: "unknown key"}
	parent, leaf := split(path)
	var known []string // keys of the same section
	var all []string
	for _, s := range sections {
		if up, name := split(s.name); up == parent {
			known = append(known, name)
		}
		if !s.isList() {
			all = append(all, s.name)
		}
		for _, k := range s.keys {
			if s.name == parent {
				known = append(known, strings.TrimPrefix(k.path, s.name+"."))
			}
			all = append(all, k.path)
		}
	}
	switch near := nearest(path, all); {
	case looksSecret(leaf):
		e.Msg = "unknown key, and secrets don't belong into the file"
		e.Try = "Put the secret into an environment variable, and name the variable in upstream.api_key_env or knowledge.embed_api_key_env."
	case len(near) == 1 && near[0] == path: // in a file, as one name with a dot
		e.Try = "Write " + leaf + " on a line of its own under " + parent + ", indented."
	case len(near) == 1:
		e.Try = "Use " + near[0] + "."
		if up, name := split(near[0]); up == "" {
			e.Try = "Use " + name + ", without indentation."
		} else if up != parent {
			e.Try = "Use " + near[0] + " (" + name + " under " + up + ")."
		}
	case len(near) > 1:
		e.Try = "Use " + strings.Join(near, " or ") + "."
	case parent == "":
		e.Try = "Use one of " + strings.Join(known, ", ") + "."
	default:
		e.Try = "Use one of the keys of " + parent + ": " + strings.Join(known, ", ") + "."
	}
	return e
}

// looksSecret reports whether a key's name is one that people use for credentials.
func looksSecret(name string) bool {
	name = strings.ToLower(name)
	return slices.ContainsFunc([]string{"api_key", "apikey", "api-key", "token", "secret", "password"}, func(s string) bool { return strings.HasSuffix(name, s) })
}

// nearest returns the paths that were most likely meant: usually one, or several with the
// same distance. Names are compared first, in any section, then whole paths. Two thirds of
// the letters must agree.
func nearest(path string, all []string) []string {
	if slices.Contains(all, path) {
		return []string{path}
	}
	// A wrong section costs half a letter when the right one is inside it, and one letter
	// otherwise, so all costs are doubled.
	const letter, inside, elsewhere = 2, 1, 2
	parent, leaf := split(path)
	var best []string
	lowest := math.MaxInt
	for _, candidate := range all {
		up, name := split(candidate)
		d := spelling.Distance(leaf, name)
		cost := letter * d
		switch {
		case 3*d > len(leaf):
			if d = spelling.Distance(path, candidate); 3*d > len(path) {
				continue
			}
			cost = letter * d
		case up == parent:
		case strings.HasPrefix(up, parent+"."):
			cost += inside
		default:
			cost += elsewhere
		}
		if cost < lowest {
			best, lowest = nil, cost
		}
		if cost == lowest {
			best = append(best, candidate)
		}
	}
	return best
}

// split splits a dotted path before its last name.
func split(path string) (parent, name string) {
	if i := strings.LastIndexByte(path, '.'); i >= 0 {
		return path[:i], path[i+1:]
	}
	return "", path
}
