package tools

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"math"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/google/jsonschema-go/jsonschema"

	"github.com/kenlayer/ken/internal/analysis"
	"github.com/kenlayer/ken/internal/spelling"
)

// schemaFor infers the schema of a struct and narrows it by the struct's rule tags. A rule tag is a
// list of NAME=VALUE separated by semicolons:
//
//	enum=a|b       one of these strings
//	min=1, max=50  bounds of a number
//	chars=2000     maximum number of code points of a string
//	filled         the string must not be empty
//	items=20       maximum number of elements of an array
//	default=5      the value used if the field is left out; not within other structs
//
// For an array of strings, enum, chars and filled apply to each element.
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
	dropNull(root)
	if err := applyRules(root, t); err != nil {
		return nil, err
	}
	defaults := map[string]json.RawMessage{}
	for name, p := range root.Properties {
		if p.Default != nil {
			defaults[name] = p.Default
		}
	}
	s := &schema{root: root}
	if s.defaults, err = json.Marshal(defaults); err == nil {
		s.json, err = json.Marshal(withoutLengths(root))
	}
	return s, err
}

// withoutLengths returns a copy without limits of lengths. Lists of tools omit these, because they
// cost tokens in every request. If a call exceeds a limit, the error names it.
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

// addNote adds the field note, the first field of every JSON answer.
func (s *schema) addNote() (err error) {
	if s.root.Properties["note"] != nil {
		return fmt.Errorf("an answer already has a field note")
	}
	if s.root.Properties == nil {
		s.root.Properties = map[string]*jsonschema.Schema{}
	}
	s.root.Properties["note"] = &jsonschema.Schema{Type: "string"}
	s.root.Required = append(s.root.Required, "note")
	s.json, err = json.Marshal(withoutLengths(s.root))
	return err
}

// dropNull removes null from the types. Empty fields are left out of the JSON, and clients differ
// in how they treat a list of types.
func dropNull(s *jsonschema.Schema) {
	if s == nil {
		return
	}
	if i := slices.Index(s.Types, "null"); i >= 0 && len(s.Types) == 2 {
		s.Type, s.Types = s.Types[1-i], nil
	}
	for _, p := range s.Properties {
		dropNull(p)
	}
	dropNull(s.Items)
	if s.Type == "object" && s.Properties == nil {
		dropNull(s.AdditionalProperties)
	}
}

// applyRules applies the rule tags of a struct's fields.
func applyRules(s *jsonschema.Schema, t reflect.Type) error {
	for f := range fields(t) {
		name, _, _ := strings.Cut(f.Tag.Get("json"), ",")
		p := s.Properties[name]
		if p == nil {
			continue
		}
		if err := applyRule(p, f.Tag.Get("rule")); err != nil {
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
			if err := applyRules(at, inner); err != nil {
				return err
			}
		}
	}
	return nil
}

// fields yields a struct's exported fields. Those of an embedded struct come in its place.
func fields(t reflect.Type) func(yield func(reflect.StructField) bool) {
	return func(yield func(reflect.StructField) bool) {
		for _, f := range reflect.VisibleFields(t) {
			if f.IsExported() && !f.Anonymous && !yield(f) {
				return
			}
		}
	}
}

func applyRule(p *jsonschema.Schema, tag string) error {
	if tag == "" {
		return nil
	}
	each := p // the schema to which rules for strings apply
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

// maxArguments is the maximum size in bytes of a call's arguments. It is far above any claim that
// an agent should write, and small enough to parse at no cost.
const maxArguments = 256 << 10

// maxFaults is the maximum number of faults of one call that are reported.
const maxFaults = 8

// argumentFault is one error in the arguments of a call.
type argumentFault struct {
	field string // for example evidence[0].kind; "" means the whole arguments
	msg   string
}

func (f argumentFault) String() string {
	if f.field == "" {
		return f.msg
	}
	return f.field + ": " + f.msg
}

// decode decodes arguments and validates them against the schema. The result can be decoded into
// the struct that the schema describes. Empty args count as an empty object.
func (s *schema) decode(args json.RawMessage) (json.RawMessage, []argumentFault) {
	if len(args) > maxArguments {
		return nil, []argumentFault{{"", fmt.Sprintf("the arguments are %d bytes long, and %d is the most", len(args), maxArguments)}}
	}
	args = bytes.TrimSpace(args)
	if len(args) == 0 || string(args) == "null" {
		args = json.RawMessage("{}")
	}
	dec := json.NewDecoder(bytes.NewReader(args))
	dec.UseNumber()
	var v any
	err := dec.Decode(&v)
	if err == nil {
		if _, more := dec.Token(); more != io.EOF {
			err = fmt.Errorf("something follows the object")
		}
	}
	if err != nil {
		return nil, []argumentFault{{"", "the arguments are not JSON: " + err.Error()}}
	}
	c := checker{valid: utf8.Valid(args)}
	c.check(s.root, "", v)
	if !c.valid && len(c.faults) == 0 {
		c.add("", "the arguments are not valid UTF-8")
	}
	return args, c.faults
}

// checker collects all faults of a value, so that a model can correct a call in one step. It
// supports the keywords that schemaFor writes.
type checker struct {
	faults []argumentFault
	valid  bool // the arguments are valid UTF-8
}

func (c *checker) add(field, format string, args ...any) {
	if len(c.faults) < maxFaults {
		c.faults = append(c.faults, argumentFault{field, fmt.Sprintf(format, args...)})
	}
}

func (c *checker) check(s *jsonschema.Schema, field string, v any) {
	switch s.Type {
	case "object":
		m, ok := v.(map[string]any)
		if !ok {
			c.add(field, "is %s, expected an object", quoteValue(v))
			return
		}
		c.object(s, field, m)
	case "array":
		list, ok := v.([]any)
		if !ok {
			c.add(field, "is %s, expected %s", quoteValue(v), expected(s))
			return
		}
		if s.MaxItems != nil && len(list) > *s.MaxItems {
			c.add(field, "has %d elements, expected at most %d", len(list), *s.MaxItems)
			return
		}
		for i, x := range list {
			c.check(s.Items, field+"["+strconv.Itoa(i)+"]", x)
		}
	case "string":
		text, ok := v.(string)
		n := utf8.RuneCountInString(text)
		switch {
		case !ok:
			c.add(field, "is %s, expected %s", quoteValue(v), expected(s))
		case !c.valid && strings.ContainsRune(text, utf8.RuneError): // the decoder puts it where a text is not UTF-8
			c.add(field, "is not valid UTF-8")
		case s.Enum != nil && !slices.Contains(s.Enum, any(text)):
			c.add(field, "is %s, expected %s%s", quoteValue(v), expected(s), suggest(text, enumNames(s.Enum)))
		case s.MinLength != nil && n < *s.MinLength:
			c.add(field, "is empty")
		case s.MaxLength != nil && n > *s.MaxLength:
			c.add(field, "has %d characters, expected at most %d", n, *s.MaxLength)
		}
	case "boolean":
		if _, ok := v.(bool); !ok {
			c.add(field, "is %s, expected true or false", quoteValue(v))
		}
	case "integer", "number":
		if !fits(s, v) {
			c.add(field, "is %s, expected %s", quoteValue(v), expected(s))
		}
	}
}

func (c *checker) object(s *jsonschema.Schema, field string, m map[string]any) {
	at := func(name string) string { return strings.TrimPrefix(field+"."+name, ".") }
	for _, name := range s.Required {
		if _, ok := m[name]; !ok {
			c.add(at(name), "is missing, expected %s", expected(s.Properties[name]))
		}
	}
	for _, name := range sortedKeys(m) {
		p := s.Properties[name]
		if p == nil {
			names := sortedKeys(s.Properties)
			hint := suggest(name, names)
			if hint == "" {
				hint = "; there are " + strings.Join(names, ", ")
			}
			c.add(at(clip(name)), "there is no such field%s", hint)
			continue
		}
		c.check(p, at(name), m[name])
	}
}

// fits reports whether a number is within the schema's bounds.
func fits(s *jsonschema.Schema, v any) bool {
	n, ok := v.(json.Number)
	if !ok {
		return false
	}
	f, err := n.Float64()
	if err != nil || math.IsInf(f, 0) {
		return false
	}
	if s.Type == "integer" {
		if _, err := strconv.ParseInt(n.String(), 10, 64); err != nil { // 5.0 is an integer in JSON but can't be decoded into a Go integer
			return false
		}
	}
	return (s.Minimum == nil || f >= *s.Minimum) && (s.Maximum == nil || f <= *s.Maximum)
}

// expected describes the values that a schema allows.
func expected(s *jsonschema.Schema) string {
	switch s.Type {
	case "string":
		if s.Enum != nil {
			return "one of " + strings.Join(enumNames(s.Enum), ", ")
		}
		return "a string"
	case "integer", "number":
		kind := map[string]string{"integer": "a whole number", "number": "a number"}[s.Type]
		switch {
		case s.Minimum != nil && s.Maximum != nil:
			return fmt.Sprintf("%s from %g to %g", kind, *s.Minimum, *s.Maximum)
		case s.Minimum != nil:
			return fmt.Sprintf("%s from %g on", kind, *s.Minimum)
		}
		return kind
	case "array":
		return "a list, each " + expected(s.Items)
	case "boolean":
		return "true or false"
	}
	return "an object"
}

// suggest returns a hint with the most similar name; "" if none is similar.
func suggest(got string, names []string) string {
	if best := spelling.Nearest(got, names); best != "" {
		return "; did you mean " + best + "?"
	}
	return ""
}

func enumNames(enum []any) []string {
	out := make([]string, len(enum))
	for i, v := range enum {
		out[i] = fmt.Sprint(v)
	}
	return out
}

// quoteValue returns a shortened value for an error message.
func quoteValue(v any) string {
	switch v := v.(type) {
	case nil:
		return "null"
	case map[string]any:
		return "an object"
	case []any:
		return "a list"
	case string:
		return strconv.Quote(clip(v))
	}
	return clip(fmt.Sprint(v))
}

func clip(s string) string { return analysis.Clip(s, 60) }
