package tools

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/google/jsonschema-go/jsonschema"

	"github.com/kenlayer/ken"
	"github.com/kenlayer/ken/internal/harvest/finding"
	"github.com/kenlayer/ken/internal/locks"
	"github.com/kenlayer/ken/middleware"
	"github.com/kenlayer/ken/store"
)

// Effect is what a call does to what is known.
type Effect string

// Effects.
const (
	Reads  Effect = "read"  // nothing
	Writes Effect = "write" // adds claims or evidence, or moves a claim
	Marks  Effect = "mark"  // asks a person for something; changes no claim
)

// Spec says what a tool is, in words for a model and for people.
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

// Output is what a tool returns. Its JSON must fit the tool's output schema.
type Output interface {
	// Write writes the answer for a model: what is most important first, because what
	// does not fit on the page is left out.
	Write(p *Page)
}

// Define makes a tool of a function. In and Out are structs; their JSON names, types
// and jsonschema tags (descriptions) make the schemas, and a rule tag narrows a field:
// see schema.go. do gets arguments that fit. It panics over a Spec or types that no
// tool can have, which the first test shows.
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
		if _, faults := t.in.read(json.RawMessage(s.Example)); len(faults) > 0 {
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

// toolName reports a name that every protocol and model takes.
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

// Options configures a registry; the zero value works.
type Options struct {
	Log *slog.Logger     // hears of faults that a model is not told; default slog.Default()
	Now func() time.Time // default time.Now
}

// Registry holds the tools of a layer. It is safe for concurrent use, once every
// tool was added.
type Registry struct {
	layer  *middleware.Layer
	o      Options
	tools  []Tool   // in the order in which they are listed
	offer  []string // tools that are listed to a caller without an Offer
	known  finding.Tools
	memory *shownMemory
	// writing lets one call at a time learn for an owner: two that say the same at once
	// would each find the other missing.
	writing locks.Locks
	look    codeRefresh
}

// New returns the tools of a layer, which stays the caller's to close. change sets
// options.
func New(l *middleware.Layer, change ...func(*Options)) *Registry {
	o := Options{}
	for _, f := range change {
		f(&o)
	}
	if o.Log == nil {
		o.Log = slog.Default()
	}
	if o.Now == nil {
		o.Now = time.Now
	}
	r := &Registry{layer: l, o: o, memory: newShownMemory()}
	var err error
	if r.known, err = finding.Parse(l.Config().Harvest.Tools); err != nil {
		r.known = finding.Defaults() // Open refuses such a configuration
	}
	if r.offer, err = Select("tools.profile", l.Config().Tools.Profile); err != nil {
		o.Log.Warn("tools.profile is not valid, profile "+DefaultProfile+" is listed", "cause", err, "try", ken.Hint(err))
		r.offer = core
	}
	r.Add(builtin()...)
	return r
}

// Add adds tools behind those that are there. It panics over a name that is taken.
// Not to be called while the registry is in use.
func (r *Registry) Add(tools ...Tool) {
	for _, t := range tools {
		if _, err := r.Lookup(t.Name); err == nil {
			panic("tools: there is a tool " + t.Name + " already")
		}
		r.tools = append(r.tools, t)
	}
}

// Layer is whose tools they are.
func (r *Registry) Layer() *middleware.Layer { return r.layer }

// Tools lists the tools that are offered to a caller and that it may use, always in the
// same order. Tools that a program added are always offered. The caller owns the slice.
func (r *Registry) Tools(c Caller) []Tool {
	offer := r.offer
	if c.Offer != nil {
		offer = expand(c.Offer)
	}
	builtin := validNames()
	return slices.DeleteFunc(slices.Clone(r.tools), func(t Tool) bool {
		return !c.Can(t.Right) || slices.Contains(builtin, t.Name) && !slices.Contains(offer, t.Name)
	})
}

// Lookup finds a tool by its name. Errors: ErrNotFound, which names the nearest.
func (r *Registry) Lookup(name string) (Tool, error) {
	names := make([]string, len(r.tools))
	for i, t := range r.tools {
		if names[i] = t.Name; t.Name == name {
			return t, nil
		}
	}
	return Tool{}, &ken.Error{Code: ken.CodeNotFound, Field: "name", Msg: "there is no tool " + shown(name) + meant(name, names),
		Try: "Use one of " + strings.Join(names, ", ") + "."}
}

// Result is the answer of a tool.
type Result struct {
	JSON json.RawMessage // fits the tool's output schema; its first field is note
	Text string          // the same for a model, at most MaxText code points
	// Changed are the ids of the claims that the call wrote, moved or marked.
	Changed []string
}

// Call runs a tool for a caller. Errors: ErrNotFound for an unknown tool, or a claim,
// turn or session that the caller has not; ErrRefused for a right that is missing and
// for what a rule forbids; ErrInvalid for arguments that don't fit, with how to mend
// them; ctx's; and faults of the store. Explain makes a text of them for the model.
func (r *Registry) Call(ctx context.Context, c Caller, name string, args json.RawMessage) (Result, error) {
	t, err := r.Lookup(name)
	if err != nil {
		return Result{}, err
	}
	if !c.Can(t.Right) {
		return Result{}, refused("", "this caller lacks the right "+string(t.Right)+" for "+t.Name,
			"Go on without it, or ask the operator for the right.")
	}
	args, faults := t.in.read(args)
	if len(faults) > 0 {
		return Result{}, unfit(&t, faults)
	}
	if err := ctx.Err(); err != nil {
		return Result{}, err
	}
	if c.Owner == "" {
		c.Owner = r.layer.Config().Knowledge.Owner
	}
	if c.Scopes == nil {
		c.Scopes = r.layer.Config().Retrieval.Scopes
	}
	s, release, err := r.layer.Store(ctx, c.Owner)
	if err != nil {
		return Result{}, err
	}
	defer release()
	call := &Call{Caller: c, Store: s, r: r}
	out, err := call.run(ctx, &t, args)
	if err != nil {
		if ctx.Err() == nil && internal(err) {
			r.o.Log.Error("a tool failed", "tool", t.Name, "owner", c.Owner, "cause", err)
		}
		return Result{}, err
	}
	return call.result(out)
}

// Call is a call of a tool under way. It belongs to one goroutine, and its store is
// not to be used after the tool has returned.
type Call struct {
	Caller
	Store store.Engine // the caller's owner's

	r       *Registry
	changed []string
	shows   []claimView // that the answer shows, for the echo guard
}

// Layer is the layer that the call works on.
func (c *Call) Layer() *middleware.Layer { return c.r.layer }

// Now is the time.
func (c *Call) Now() time.Time { return c.r.o.Now().Round(0).UTC() }

// Touch notes that the call changed claims.
func (c *Call) Touch(ids ...string) {
	for _, id := range ids {
		if id != "" && !slices.Contains(c.changed, id) {
			c.changed = append(c.changed, id)
		}
	}
}

// run runs the tool. Its panic must not cost the process, which may serve others.
func (c *Call) run(ctx context.Context, t *Tool, args json.RawMessage) (out Output, err error) {
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("panic: %v", p)
		}
	}()
	if out, err = t.do(ctx, c, args); err == nil && len(c.shows) > 0 {
		c.r.showed(ctx, c)
	}
	return out, err
}

func (c *Call) result(out Output) (Result, error) {
	b, err := json.Marshal(out)
	if err != nil {
		return Result{}, fmt.Errorf("write the answer: %w", err)
	}
	if b = append(slices.Clone(noteJSON), bytes.TrimPrefix(b, []byte("{"))...); string(b) == string(noteJSON)+"}" {
		b = append(bytes.TrimSuffix(noteJSON, []byte(",")), '}')
	}
	p := &Page{}
	out.Write(p)
	text := p.text()
	if n := utf8.RuneCountInString(text); n > MaxText {
		return Result{}, fmt.Errorf("the answer has %d characters", n)
	}
	return Result{JSON: b, Text: text, Changed: c.changed}, nil
}
