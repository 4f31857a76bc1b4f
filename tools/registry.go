package tools

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/kenlayer/ken"
	"github.com/kenlayer/ken/internal/harvest/finding"
	"github.com/kenlayer/ken/internal/locks"
	"github.com/kenlayer/ken/middleware"
	"github.com/kenlayer/ken/store"
)

// Options configures a registry. The zero value works.
type Options struct {
	Log *slog.Logger     // receives errors that the model does not get; nil means slog.Default()
	Now func() time.Time // nil means time.Now
}

// Registry holds the tools of a layer. It is safe for concurrent use after the last call of Add.
type Registry struct {
	layer        *middleware.Layer
	o            Options
	tools        []Tool   // in the order in which they are listed
	offer        []string // tools that are listed to callers whose Offer is nil
	findingTools finding.Tools
	shown        shownHistory
	// writeLocks has one lock per owner for learning: two calls that learn the same at once would
	// each not see the other's claim.
	writeLocks locks.Locks
	refresh    codeRefresh
}

// New returns the tools of a layer. The caller still has to close the layer. change sets options.
func New(l *middleware.Layer, change ...func(*Options)) *Registry {
	o := Options{}
	for _, f := range change {
		f(&o)
	}
	o.Log = cmp.Or(o.Log, slog.Default())
	if o.Now == nil {
		o.Now = time.Now
	}
	r := &Registry{layer: l, o: o}
	var err error
	if r.findingTools, err = finding.Parse(l.Config().Harvest.Tools); err != nil {
		r.findingTools = finding.Defaults() // Open has rejected such a configuration
	}
	if r.offer, err = Select("tools.profile", l.Config().Tools.Profile); err != nil {
		o.Log.Warn("tools.profile is not valid, profile "+DefaultProfile+" is listed", "cause", err, "try", ken.Hint(err))
		r.offer = core
	}
	r.Add(builtin()...)
	return r
}

// Add adds tools after the existing ones. It panics if a name is in use. Do not call it while the
// registry is in use.
func (r *Registry) Add(tools ...Tool) {
	for _, t := range tools {
		if _, err := r.Lookup(t.Name); err == nil {
			panic("tools: there is a tool " + t.Name + " already")
		}
		r.tools = append(r.tools, t)
	}
}

// Tools lists the tools that are offered to a caller and that it may use, always in the same order.
// Tools that a program added are always offered. The caller owns the slice.
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

// Lookup finds a tool by its name. It returns ErrNotFound, with the most similar name.
func (r *Registry) Lookup(name string) (Tool, error) {
	names := make([]string, len(r.tools))
	for i, t := range r.tools {
		if names[i] = t.Name; t.Name == name {
			return t, nil
		}
	}
	return Tool{}, &ken.Error{Code: ken.CodeNotFound, Field: "name", Msg: "there is no tool " + quoteValue(name) + suggest(name, names),
		Try: "Use one of " + strings.Join(names, ", ") + "."}
}

// Result is the answer of a tool.
type Result struct {
	JSON json.RawMessage // matches the tool's output schema; its first field is note
	Text string          // the same content for a model, at most MaxText code points
	// Changed are the ids of the claims that the call wrote, changed or marked.
	Changed []string
}

// Call runs a tool for a caller. It returns ErrNotFound for an unknown tool, and for a claim, turn
// or session that the caller does not have; ErrRefused for a missing right, and for what a rule
// forbids; ErrInvalid for arguments that do not match the schema, with a correction; ctx's error;
// and errors of the store. Explain converts these errors to text for the model.
func (r *Registry) Call(ctx context.Context, c Caller, name string, args json.RawMessage) (Result, error) {
	t, err := r.Lookup(name)
	if err != nil {
		return Result{}, err
	}
	if !c.Can(t.Right) {
		return Result{}, refused("", "this caller lacks the right "+string(t.Right)+" for "+t.Name,
			"Go on without it, or ask the operator for the right.")
	}
	args, faults := t.in.decode(args)
	if len(faults) > 0 {
		return Result{}, argumentError(&t, faults)
	}
	if err := ctx.Err(); err != nil {
		return Result{}, err
	}
	if err := r.setOwner(ctx, &c); err != nil {
		return Result{}, err
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
		if ctx.Err() == nil && isInternal(err) {
			r.o.Log.Error("a tool failed", "tool", t.Name, "owner", c.Owner, "cause", err)
		}
		return Result{}, err
	}
	return call.result(out)
}

// setOwner completes a caller without an owner from the turn in ctx, and then from the configuration.
func (r *Registry) setOwner(ctx context.Context, c *Caller) error {
	if t, ok := ken.TurnFrom(ctx); ok && c.Owner == "" {
		c.Owner, c.Project, c.Session = t.Owner, cmp.Or(c.Project, t.Project), cmp.Or(c.Session, t.Session)
		c.Branch, c.Agent = cmp.Or(c.Branch, t.Branch), cmp.Or(c.Agent, t.Agent)
		if c.Scopes == nil {
			c.Scopes = t.Scopes
		}
	}
	err := r.layer.Operator().CheckOwner(c.Owner)
	c.Owner = cmp.Or(c.Owner, r.layer.Config().Knowledge.Owner)
	return err
}

// Call is the state of one call of a tool. It belongs to one goroutine. Do not use its store after
// the tool has returned.
type Call struct {
	Caller
	Store store.Engine // the store of the caller's owner

	r       *Registry
	changed []string
	shown   []claimView // the claims in the answer, for rememberShown
}

// Now returns the time of the registry's clock.
func (c *Call) Now() time.Time { return c.r.o.Now().Round(0).UTC() }

// Touch records that the call changed these claims.
func (c *Call) Touch(ids ...string) {
	for _, id := range ids {
		if id != "" && !slices.Contains(c.changed, id) {
			c.changed = append(c.changed, id)
		}
	}
}

// run runs the tool and converts a panic to an error.
func (c *Call) run(ctx context.Context, t *Tool, args json.RawMessage) (out Output, err error) {
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("panic: %v", p)
		}
	}()
	if out, err = t.do(ctx, c, args); err == nil && len(c.shown) > 0 {
		c.r.rememberShown(ctx, c)
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

// builtin returns the tools of every registry, in the order in which they are listed.
func builtin() []Tool {
	return []Tool{
		memoryRecall(),
		memoryIngest(),
		memoryList(),
		memoryStats(),
		recallSession(),
		forgetMemory(),
		knowledgeLearn(),
		knowledgeRecall(),
		knowledgeVerify(),
		knowledgeDispute(),
		knowledgeHistory(),
		knowledgeExplain(),
		entitySearch(),
		entityShow(),
		constraintAdd(),
		dependencyAdd(),
		taskCreate(),
		taskUpdate(),
		taskList(),
		decisionSearch(),
		decisionRead(),
		decisionCreate(),
		decisionSupersede(),
		graphSearch(),
		graphRefs(),
		graphDependents(),
		objectiveCreate(),
		objectiveRead(),
		objectiveUpdate(),
		objectiveList(),
		objectiveLinkTask(),
	}
}

// Progress receives the progress of a call. total is 0 if it is unknown.
type Progress func(stage string, done, total int)

type progressKey struct{}

// WithProgress returns a context whose calls report to p, in their own goroutine.
func WithProgress(ctx context.Context, p Progress) context.Context {
	return context.WithValue(ctx, progressKey{}, p)
}

func progress(ctx context.Context, stage string, done, total int) {
	if p, ok := ctx.Value(progressKey{}).(Progress); ok {
		p(stage, done, total)
	}
}

// function is a tool in the form of a chat completions request.
type function struct {
	Type     string `json:"type"`
	Function struct {
		Name        string          `json:"name"`
		Description string          `json:"description"`
		Parameters  json.RawMessage `json:"parameters"`
	} `json:"function"`
}

// OpenAI returns the field tools of a chat completions request, with the tools that the caller may
// use. Package openaitools returns them in go-openai's types.
func (r *Registry) OpenAI(c Caller) json.RawMessage {
	list := []function{}
	for _, t := range r.Tools(c) {
		f := function{Type: "function"}
		f.Function.Name, f.Function.Description, f.Function.Parameters = t.Name, t.Description, t.in.json
		list = append(list, f)
	}
	b, err := json.Marshal(list)
	if err != nil { // schemas are valid JSON
		panic(fmt.Sprintf("tools: write the tools: %v", err))
	}
	return b
}
