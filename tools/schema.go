package tools

import (
	"encoding/json"
	"fmt"
	"reflect"
	"slices"
	"strconv"
	"strings"

	"github.com/google/jsonschema-go/jsonschema"
)

// schemaFor infers the schema of a struct and narrows it as its rule tags say. A rule
// is a list of NAME=VALUE joined by semicolons:
//
//	enum=a|b       one of these strings
//	min=1, max=50  of a number
//	chars=2000     most code points of a string
//	filled         the string is not empty
//	items=20       most elements of an array
//	default=5      what is taken when the field is left out; for readers, nothing fills it in
//
// Of an array of strings, enum, chars and filled are about each element.
func schemaFor[T any]() (*schema, error) {
	root, err := jsonschema.For[T](nil)
	if err != nil {
		return nil, err
	}
	t := reflect.TypeFor[T]()
	if t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	if t.Kind() != reflect.Struct {
		return nil, fmt.Errorf("%v is no struct", t)
	}
	plain(root)
	if err := narrow(root, t); err != nil {
		return nil, err
	}
	b, err := json.Marshal(withoutLengths(root))
	return &schema{root: root, json: b}, err
}

// withoutLengths returns a copy without bounds of lengths: a list of tools leaves them out,
// because they cost tokens in every request. The error of a call names the one it breaks.
func withoutLengths(s *jsonschema.Schema) *jsonschema.Schema {
	s = s.CloneSchemas()
	dropLengths(s)
	return s
}

func dropLengths(s *jsonschema.Schema) {
	if s == nil {
		return
	}
	s.MinLength, s.MaxLength, s.MaxItems = nil, nil, nil
	for _, p := range s.Properties {
		dropLengths(p)
	}
	dropLengths(s.Items)
}

// addNote adds the field note, with which every JSON answer begins.
func (s *schema) addNote() (err error) {
	if s.root.Properties["note"] != nil {
		return fmt.Errorf("an answer has the field note already")
	}
	if s.root.Properties == nil {
		s.root.Properties = map[string]*jsonschema.Schema{}
	}
	s.root.Properties["note"] = &jsonschema.Schema{Type: "string"}
	s.root.Required = append(s.root.Required, "note")
	s.json, err = json.Marshal(withoutLengths(s.root))
	return err
}

// plain takes null out of the types: a field that is not there is left out, and
// clients differ in what they make of a list of types.
func plain(s *jsonschema.Schema) {
	if s == nil {
		return
	}
	if i := slices.Index(s.Types, "null"); i >= 0 && len(s.Types) == 2 {
		s.Type, s.Types = s.Types[1-i], nil
	}
	for _, p := range s.Properties {
		plain(p)
	}
	plain(s.Items)
	if s.Type == "object" && s.Properties == nil {
		plain(s.AdditionalProperties)
	}
}

// narrow applies the rule tags of a struct's fields.
func narrow(s *jsonschema.Schema, t reflect.Type) error {
	for f := range fields(t) {
		name, _, _ := strings.Cut(f.Tag.Get("json"), ",")
		p := s.Properties[name]
		if p == nil {
			continue
		}
		if err := rule(p, f.Tag.Get("rule")); err != nil {
			return fmt.Errorf("field %s: %w", name, err)
		}
		inner, at := f.Type, p
		for inner.Kind() == reflect.Slice || inner.Kind() == reflect.Pointer {
			if inner.Kind() == reflect.Slice {
				at = at.Items
			}
			inner = inner.Elem()
		}
		if inner.Kind() == reflect.Struct && at != nil && at.Properties != nil {
			if err := narrow(at, inner); err != nil {
				return err
			}
		}
	}
	return nil
}

// fields yields a struct's exported fields, those of embedded structs in their place.
func fields(t reflect.Type) func(yield func(reflect.StructField) bool) {
	return func(yield func(reflect.StructField) bool) {
		for _, f := range reflect.VisibleFields(t) {
			if f.IsExported() && !f.Anonymous && !yield(f) {
				return
			}
		}
	}
}

func rule(p *jsonschema.Schema, tag string) error {
	if tag == "" {
		return nil
	}
	each := p // of what a string is
	if p.Type == "array" && p.Items != nil {
		each = p.Items
	}
	for part := range strings.SplitSeq(tag, ";") {
		name, value, _ := strings.Cut(part, "=")
		n, err := strconv.ParseFloat(value, 64)
		number := err == nil
		whole := int(n)
		switch {
		case name == "enum":
			for v := range strings.SplitSeq(value, "|") {
				each.Enum = append(each.Enum, v)
			}
		case name == "min" && number:
			p.Minimum = &n
		case name == "max" && number:
			p.Maximum = &n
		case name == "chars" && number:
			each.MaxLength = &whole
		case name == "filled":
			one := 1
			each.MinLength = &one
		case name == "items" && number:
			p.MaxItems = &whole
		case name == "default":
			p.Default = json.RawMessage(value)
			if !json.Valid(p.Default) {
				p.Default, _ = json.Marshal(value)
			}
		default:
			return fmt.Errorf("bad rule %q", part)
		}
	}
	return nil
}
