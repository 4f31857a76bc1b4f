package tools

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"

	"github.com/google/jsonschema-go/jsonschema"
)

// Effect is the effect of a call on the knowledge.
type Effect string

// Effects.
const (
	Reads  Effect = "read"  // nothing
	Writes Effect = "write" // adds claims or evidence, or moves a claim
	Marks  Effect = "mark"  // asks a person for something; changes no claim
)

// Spec describes a tool to a model and to people.
type Spec struct {
	Name        string // lower case with underscores
	Title       string // for people, a few words
	Description string // for the model: what it does, when to use it, what comes back
	Effect      Effect
	Right       Right // that a caller needs
	// Idempotent says that calling it again with the same arguments changes nothing more.
	Idempotent bool
	// Example are arguments that are right, as JSON; errors show them.
	Example string
}

// Tool is one entry of a registry. Make it with Define. It is not changed once made,
// and safe for concurrent use.
type Tool struct {
	Spec
	in, out *schema
	do      func(ctx context.Context, c *Call, args json.RawMessage) (Output, error)
}

// Output is the answer of a tool. Its JSON must fit the tool's output schema.
type Output interface {
	// Write writes the answer for a model: what is most important first, because what
	// does not fit on the page is left out.
	Write(p *Page)
}

// Define makes a tool from a function. In and Out are structs; their JSON names, types and
// jsonschema tags (descriptions) make the schemas, and a rule tag narrows a field: see
// schema.go. do gets checked arguments. Define panics for an invalid Spec or types that have
// no schema.
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
		if err := json.Unmarshal(args, &in); err != nil { // the schema lets nothing through that this refuses
			return nil, fmt.Errorf("read arguments: %w", err)
		}
		return do(ctx, c, in)
	}
	return t
}

// InputSchema is the JSON schema of the arguments, an object, as a client lists it. A
// call is checked against bounds of lengths that it does not show. The caller owns it.
func (t Tool) InputSchema() json.RawMessage { return slices.Clone(t.in.json) }

// OutputSchema is the JSON schema of the structured answer, an object. The caller
// owns it.
func (t Tool) OutputSchema() json.RawMessage { return slices.Clone(t.out.json) }

// toolName reports whether every protocol and model accepts a name.
func toolName(s string) bool {
	for i, r := range s {
		if (r < 'a' || r > 'z') && (i == 0 || r != '_' && (r < '0' || r > '9')) {
			return false
		}
	}
	return s != "" && len(s) <= 64
}

// schema is a JSON schema in the forms that are needed.
type schema struct {
	root *jsonschema.Schema
	json json.RawMessage
}
