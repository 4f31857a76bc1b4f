package config

import (
	"errors"
	"slices"
	"strconv"

	"github.com/goccy/go-yaml/ast"

	"github.com/kenlayer/ken"
)

// key is one setting: everything that is said about it, bound to the field that
// it fills. Values pass through as words, one for a plain setting and any number
// for a list, in the spelling of the file without its quotes.
type key struct {
	path string // dotted, such as retrieval.legs.keyword
	doc  string
	rule
	list bool
	def  []string

	judge *judgement // nil: as its kind is judged; see key.judgement

	example string // lines of YAML below the key, for a list that nobody could guess; may be empty

	// element reads an element of a list that is not a scalar; nil for scalars.
	element func(ast.Node) (string, error)

	get func() []string
	set func(words []string) error // changes nothing when it fails
}

// rule is what a value must look like.
type rule struct {
	want   string         // in words: "a whole number from 1 to 1000"
	brief  string         // the same as a short note, such as 1..1000; may be empty
	try    string         // how to write it, a sentence; may be empty
	secret bool           // a wrong value may be a secret, so messages don't repeat it
	types  []ast.NodeType // of the YAML value, or of each element of a list
	reach  string         // what a value decides outside of the project, such as where text goes; empty for most
}

// kind is a rule with its two directions. parse also checks the range, and must
// accept whatever format makes of an allowed value.
type kind[T any] struct {
	rule
	parse  func(string) (T, bool)
	format func(T) string
}

// bind declares a plain setting. The path is relative to its section.
func bind[T any](path string, field *T, def T, k kind[T], doc string) key {
	return key{path: path, doc: doc, rule: k.rule, def: []string{k.format(def)},
		get: func() []string { return []string{k.format(*field)} },
		set: func(words []string) error {
			if len(words) != 1 {
				return k.refuse("a list")
			}
			v, ok := k.parse(words[0])
			if !ok {
				return k.refuse(quote(words[0]))
			}
			*field = v
			return nil
		},
	}
}

// bindList declares a setting that is a list, by default an empty one.
func bindList[T any](path string, field *[]T, k kind[T], doc string) key {
	return key{path: path, doc: doc, rule: k.rule, list: true,
		get: func() []string {
			var words []string
			for _, v := range *field {
				words = append(words, k.format(v))
			}
			return words
		},
		set: func(words []string) error {
			var vs []T
			for i, w := range words {
				v, ok := k.parse(w)
				if !ok {
					return numbered(i, k.refuse(quote(w)))
				}
				vs = append(vs, v)
			}
			*field = vs
			return nil
		},
	}
}

// reset sets the default, which is always allowed.
func (k *key) reset() {
	if err := k.set(k.def); err != nil {
		panic("config: the default of " + k.path + " is not allowed: " + err.Error())
	}
}

// check reports a current value that is not allowed.
func (k *key) check() error { return k.at(k.set(k.get())) }

// at names the key in an error, before the part of its value that the error names.
func (k *key) at(err error) error {
	if e := (*ken.Error)(nil); errors.As(err, &e) {
		e.Field = k.path + e.Field
	}
	return err
}

// text reports whether values are strings in YAML, which may need quotes.
func (r *rule) text() bool { return slices.Contains(r.types, ast.StringType) }

// refuse says that got is not what the rule wants.
func (r *rule) refuse(got string) error {
	if r.secret {
		got = "the value"
	}
	try := r.try
	if try == "" {
		try = "Give " + r.want + ", or leave the key out for its default."
	}
	return &ken.Error{Code: ken.CodeInvalid, Msg: got + " is not " + r.want, Try: try}
}

// quote shows a value in a message, shortened.
func quote(s string) string {
	const limit = 60
	if r := []rune(s); len(r) > limit {
		s = string(r[:limit]) + "…"
	}
	return strconv.Quote(s)
}
