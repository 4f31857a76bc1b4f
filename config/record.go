package config

import (
	"errors"
	"slices"
	"strconv"
	"strings"

	"github.com/goccy/go-yaml/ast"
	"github.com/goccy/go-yaml/parser"

	"github.com/kenlayer/ken"
)

// bindRecords declares a setting that is a list of mappings, empty by default. fields
// binds an element's keys to its fields; the keys in need are required. As a word, an
// element is a mapping in braces, without the keys that are not set.
func bindRecords[T any](path string, field *[]T, fields func(*T) []key, need []string, doc string) key {
	r := records[T]{fields, need}
	var zero T
	first := fields(&zero)[0].path
	k := key{path: path, doc: doc, list: true, rule: rule{want: "a mapping with " + r.names(),
		try: "Write it as in [{" + first + ": …}], or as lines below the key that start with a dash.", types: mappings,
		secret: true}} // an element's field may be a secret
	k.element = func(n ast.Node) (string, error) {
		v, err := r.read(n)
		return r.format(v), err
	}
	k.get = func() []string {
		var words []string
		for _, v := range *field {
			words = append(words, r.format(v))
		}
		return words
	}
	k.set = func(words []string) error {
		var vs []T
		for i, w := range words {
			v, err := r.parse(w)
			if err != nil {
				return numbered(i, err)
			}
			vs = append(vs, v)
		}
		*field = vs
		return nil
	}
	return k
}

var mappings = []ast.NodeType{ast.MappingType, ast.MappingValueType}

// records reads and writes the elements of a list of mappings.
type records[T any] struct {
	fields func(*T) []key
	need   []string
}

func (r records[T]) names() string {
	var v T
	var all []string
	for _, k := range r.fields(&v) {
		all = append(all, k.path)
	}
	last := len(all) - 1
	return strings.Join(all[:last], ", ") + " and " + all[last]
}

// read decodes an element from a mapping.
func (r records[T]) read(n ast.Node) (v T, err error) {
	entries, ok := n.(ast.MapNode)
	if !ok {
		return v, refused("", "the value is not a mapping", "Give "+r.names()+".")
	}
	fields := r.fields(&v)
	seen := map[string]bool{}
	for it := entries.MapRange(); it.Next(); {
		s, ok := it.Key().(*ast.StringNode)
		if !ok {
			return v, refused("", "a key that is not a plain name", "Give "+r.names()+".")
		}
		i := slices.IndexFunc(fields, func(k key) bool { return k.path == s.Value })
		switch {
		case i < 0:
			return v, refused(s.Value, "unknown key", "Give "+r.names()+".")
		case seen[s.Value]:
			return v, refused(s.Value, "set twice", "Keep one of the two.")
		}
		seen[s.Value] = true
		words, err := fields[i].words(it.Value())
		if err == nil && len(words) == 0 { // an empty list would mean all, or the default
			return v, refused(s.Value, "the list is empty", "Give a value, or leave "+s.Value+" out.")
		}
		if err == nil {
			err = fields[i].set(words)
		}
		if err != nil {
			return v, inField(s.Value, err)
		}
	}
	for _, name := range r.need {
		if !seen[name] {
			return v, refused(name, "missing", "Give "+strings.Join(r.need, ", ")+".")
		}
	}
	return v, nil
}

// parse decodes what format returned.
func (r records[T]) parse(word string) (v T, err error) {
	tree, err := parser.ParseBytes([]byte(word), 0, parser.AllowDuplicateMapKey())
	if err != nil || len(tree.Docs) != 1 || tree.Docs[0].Body == nil {
		return v, refused("", "the value is not a mapping", "Give "+r.names()+".")
	}
	return r.read(tree.Docs[0].Body)
}

// format encodes an element as a mapping in braces, without the fields that are not
// set.
func (r records[T]) format(v T) string {
	var zero T
	unset := r.fields(&zero)
	var parts []string
	for i, k := range r.fields(&v) {
		if words := k.get(); !slices.Equal(words, unset[i].get()) {
			parts = append(parts, k.path+": "+k.value(words))
		}
	}
	return "{" + strings.Join(parts, ", ") + "}"
}

func refused(name, msg, try string) error {
	err := &ken.Error{Code: ken.CodeInvalid, Msg: msg, Try: try}
	if name == "" {
		return err
	}
	return inField(name, err)
}

// inField prefixes an error's Field with the field of an element, and numbered with the
// index of a list element, from 0. Callers add the parts before it; key.at adds the
// key.
func inField(name string, err error) error { return within("."+name, err) }

func numbered(i int, err error) error { return within("["+strconv.Itoa(i)+"]", err) }

func within(part string, err error) error {
	if e, ok := errors.AsType[*ken.Error](err); ok {
		e.Field = part + e.Field
	}
	return err
}
