package tools

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"

	"github.com/google/jsonschema-go/jsonschema"
)

// Effect says how a call affects the knowledge.
type Effect string

// Effects.
const (
	Reads  Effect = "read"  // changes nothing
	Writes Effect = "write" // adds claims or evidence, or changes a claim's status
	Marks  Effect = "mark"  // asks a person for a decision; changes no claim
)

// Spec describes a tool, to models and to people.
type Spec struct {
	Name        string // lower case with underscores
	Title       string // a few words, for people
	Description string // for the model: what the tool does, when to use it, what it returns
	Effect      Effect
	Right       Right // the right that a caller needs
	// Idempotent means that repeating a call with the same arguments changes nothing more.
	Idempotent bool
	// Example is a valid example of the arguments, as JSON. Errors show it.
	Example string
}

// Tool is one entry of a registry. Use Define to create one. It is immutable and safe for
// concurrent use.
type Tool struct {
	Spec
	in, out *schema
	do      func(ctx context.Context, c *Call, args json.RawMessage) (Output, error)
}

// Output is the answer of a tool. Its JSON must match the tool's output schema.
type Output interface {
	// Write writes the answer for a model. It writes the most important content first, because
	// content that does not fit on the page is left out.
	Write(p *Page)
}

// Define creates a tool from a function. In and Out are structs. Their JSON names, types and
// jsonschema tags (descriptions) determine the schemas, and a rule tag narrows a field. It is a list
// such as rule:"enum=a|b;chars=2000". Its parts are enum, min and max of a number, chars (the most code
// points of a string), filled (not empty), items (the most elements of an array) and default. do gets
// validated arguments. Define panics for an invalid Spec, and for types without a schema.
func Define[In any, Out Output](s Spec, do func(ctx context.Context, c *Call, in In) (Out, error)) Tool {
	t := Tool{Spec: s}
	var err error
	if t.in, err = schemaFor[In](); err == nil {
		t.out, err = schemaFor[Out]()
	}
	if err == nil {
		err = t.out.addNote()
	}
	switch {
	case err != nil:
	case !toolName(s.Name):
		err = fmt.Errorf("bad name")
	case s.Description == "" || s.Title == "":
		err = fmt.Errorf("no description or title")
	case s.Effect != Reads && s.Effect != Writes && s.Effect != Marks:
		err = fmt.Errorf("unknown effect %q", s.Effect)
	case !slices.Contains(Rights(), s.Right):
		err = fmt.Errorf("unknown right %q", s.Right)
	default:
		if _, faults := t.in.decode(json.RawMessage(s.Example)); len(faults) > 0 {
			err = fmt.Errorf("the example does not fit: %s", faults[0])
		}
	}
	if err != nil {
		panic("tools: define " + s.Name + ": " + err.Error())
	}
	t.do = func(ctx context.Context, c *Call, args json.RawMessage) (Output, error) {
		var in In
		if err := errors.Join(json.Unmarshal(t.in.defaults, &in), json.Unmarshal(args, &in)); err != nil { // the schema accepts nothing that this refuses
			return nil, fmt.Errorf("read arguments: %w", err)
		}
		return do(ctx, c, in)
	}
	return t
}

// InputSchema returns the JSON schema of the arguments, an object, in the form that clients list.
// It omits limits of lengths, which calls are still checked against. The caller owns the result.
func (t Tool) InputSchema() json.RawMessage { return slices.Clone(t.in.json) }

// OutputSchema returns the JSON schema of the structured answer, an object. The caller owns the
// result.
func (t Tool) OutputSchema() json.RawMessage { return slices.Clone(t.out.json) }

// toolName reports whether all protocols and models accept a name.
func toolName(s string) bool {
	for i, r := range s {
		if (r < 'a' || r > 'z') && (i == 0 || r != '_' && (r < '0' || r > '9')) {
			return false
		}
	}
	return s != "" && len(s) <= 64
}

// schema is a JSON schema in its parsed and its encoded form.
type schema struct {
	root     *jsonschema.Schema
	json     json.RawMessage
	defaults json.RawMessage // an object with the fields that have a default
}
