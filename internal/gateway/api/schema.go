package api

import (
	"encoding/json"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"time"

	"github.com/google/jsonschema-go/jsonschema"

	"github.com/kenlayer/ken"
	"github.com/kenlayer/ken/internal/knowledge/attention"
	"github.com/kenlayer/ken/internal/knowledge/structure/entity"
	"github.com/kenlayer/ken/internal/knowledge/structure/task"
	"github.com/kenlayer/ken/internal/middleware/inspect"
	"github.com/kenlayer/ken/internal/run/jobs"
	"github.com/kenlayer/ken/internal/run/receipt"
	"github.com/kenlayer/ken/internal/run/session"
)

// namedTypes are types that get a schema with a name. The bodies and answers of routes are added to
// them.
var namedTypes = map[reflect.Type]string{
	reflect.TypeFor[ken.Evidence]():       "Evidence",
	reflect.TypeFor[ken.Scope]():          "Scope",
	reflect.TypeFor[ken.Actor]():          "Actor",
	reflect.TypeFor[ken.ClaimEvent]():     "ClaimEvent",
	reflect.TypeFor[ken.LegScore]():       "LegScore",
	reflect.TypeFor[ken.Signals]():        "Signals",
	reflect.TypeFor[ken.Item]():           "Item",
	reflect.TypeFor[ken.Cut]():            "Cut",
	reflect.TypeFor[ken.Taint]():          "Taint",
	reflect.TypeFor[inspect.Claim]():      "Claim",
	reflect.TypeFor[inspect.Turn]():       "Turn",
	reflect.TypeFor[inspect.Item]():       "TurnItem",
	reflect.TypeFor[receipt.Record]():     "Receipt",
	reflect.TypeFor[session.Info]():       "Session",
	reflect.TypeFor[session.Outcome]():    "Outcome",
	reflect.TypeFor[session.Checkpoint](): "Checkpoint",
	reflect.TypeFor[attention.Item]():     "AttentionItem",
	reflect.TypeFor[jobs.Job]():           "Job",
	reflect.TypeFor[jobs.Progress]():      "Progress",
	reflect.TypeFor[Problem]():            "Problem",
	reflect.TypeFor[Found]():              "SearchResult",
	reflect.TypeFor[EvidenceView]():       "EvidenceView",
	reflect.TypeFor[Message]():            "Message",
	reflect.TypeFor[ToolCall]():           "ToolCall",
	reflect.TypeFor[entity.Hit]():         "EntityHit",
	reflect.TypeFor[entity.View]():        "Entity",
	reflect.TypeFor[entity.Claim]():       "EntityClaim",
	reflect.TypeFor[entity.Constraint]():  "EntityConstraint",
	reflect.TypeFor[entity.Aspect]():      "EntityAspect",
	reflect.TypeFor[entity.Dependency]():  "EntityDependency",
	reflect.TypeFor[entity.Graph]():       "EntityGraph",
	reflect.TypeFor[task.Task]():          "Task",
	reflect.TypeFor[struct{}]():           "Nothing",
}

// scalarSchemas returns the schemas of types that are encoded as a single value.
func scalarSchemas() map[reflect.Type]*jsonschema.Schema {
	return map[reflect.Type]*jsonschema.Schema{
		reflect.TypeFor[time.Time]():        {Type: "string", Format: "date-time"},
		reflect.TypeFor[json.RawMessage]():  {Description: "any JSON value"},
		reflect.TypeFor[ken.Tier]():         oneOf("Guessed", "Assumed", "Inferred", "Verified"),
		reflect.TypeFor[ken.Trust]():        oneOf("unknown", "external", "agent", "operator"),
		reflect.TypeFor[ken.Weight]():       oneOf("default", "none", "low", "high"),
		reflect.TypeFor[ken.Status]():       oneOf(stringsOf(ken.Statuses())...),
		reflect.TypeFor[ken.Kind]():         {Type: "string", Pattern: "^([a-z][a-z0-9_]*)?$"},
		reflect.TypeFor[ken.EvidenceKind](): oneOf(stringsOf(ken.EvidenceKinds())...),
		reflect.TypeFor[ken.ScopeType]():    oneOf(stringsOf([]ken.ScopeType{ken.ScopeProject, ken.ScopeRepo, ken.ScopeAgent, ken.ScopeRun})...),
		reflect.TypeFor[ken.Mode]():         oneOf(stringsOf([]ken.Mode{ken.ModeHybrid, ken.ModeKeyword, ken.ModeVector, ken.ModeLate, ken.ModeNone})...),
		reflect.TypeFor[ken.CutReason](): oneOf(stringsOf([]ken.CutReason{ken.CutScope, ken.CutStatus, ken.CutTier, ken.CutTrust, ken.CutExpired,
			ken.CutFloor, ken.CutDuplicate, ken.CutBudget, ken.CutPool, ken.CutLate})...),
		reflect.TypeFor[attention.Severity](): oneOf(stringsOf([]attention.Severity{attention.Neutral, attention.Info, attention.Warning})...),
		reflect.TypeFor[session.State]():      oneOf(stringsOf([]session.State{session.Open, session.Ended, session.Harvested, session.Failed})...),
		reflect.TypeFor[task.Status]():        oneOf(stringsOf(task.Statuses())...),
		reflect.TypeFor[jobs.State]():         oneOf(stringsOf([]jobs.State{jobs.Queued, jobs.Running, jobs.Done, jobs.Dead})...),
		reflect.TypeFor[inspect.State](): oneOf(stringsOf([]inspect.State{inspect.Same, inspect.Changed,
			inspect.Forgotten, inspect.Made})...),
		reflect.TypeFor[inspect.Verdict](): oneOf(stringsOf([]inspect.Verdict{inspect.Injected, inspect.Cut,
			inspect.Unseen, inspect.Unknown, inspect.Silent})...),
	}
}

func oneOf(values ...string) *jsonschema.Schema {
	s := &jsonschema.Schema{Type: "string"}
	for _, v := range values {
		s.Enum = append(s.Enum, v)
	}
	return s
}

// schemas holds the named schemas of a description.
type schemas struct {
	names        map[reflect.Type]string
	all          map[string]*jsonschema.Schema
	requestTypes map[reflect.Type]bool // types of request bodies
}

const schemaPrefix = "#/components/schemas/"

func (s *schemas) ref(t reflect.Type) *jsonschema.Schema {
	return &jsonschema.Schema{Ref: schemaPrefix + s.names[t]}
}

// newSchemas creates a schema for every type of the routes' bodies and answers.
func newSchemas(routes []*route) (*schemas, error) {
	s := &schemas{names: map[reflect.Type]string{}, all: map[string]*jsonschema.Schema{}}
	maps.Copy(s.names, namedTypes)
	sent := map[reflect.Type]bool{}
	for _, r := range routes {
		for _, t := range []reflect.Type{r.body, r.answer} {
			if t != nil && s.names[t] == "" {
				s.names[t] = t.Name()
			}
		}
		if r.body != nil {
			sent[r.body] = true
		}
	}
	for t, name := range s.names {
		if s.all[name] != nil {
			return nil, fmt.Errorf("two types are called %s", name)
		}
		known := scalarSchemas()
		for other, n := range s.names {
			if other != t && !embeds(t, other) {
				known[other] = &jsonschema.Schema{Ref: schemaPrefix + n}
			}
		}
		made, err := jsonschema.ForType(t, &jsonschema.ForOptions{TypeSchemas: known})
		if err != nil {
			return nil, fmt.Errorf("schema of %s: %w", name, err)
		}
		s.all[name] = made
		fixNullable(made)
	}
	s.requestTypes = sent
	return s, nil
}

// embeds reports whether a struct embeds another one.
func embeds(t, other reflect.Type) bool {
	if t.Kind() != reflect.Struct {
		return false
	}
	for f := range t.Fields() {
		if f.Anonymous && (f.Type == other || embeds(f.Type, other)) {
			return true
		}
	}
	return false
}

// fixNullable corrects nullability that Go types don't express: a reference is never null, because
// an empty field is left out, and a nil map is null.
func fixNullable(s *jsonschema.Schema) {
	if s == nil {
		return
	}
	if s.Ref != "" {
		s.Types, s.Type = nil, ""
	}
	if s.Type == "object" && s.Properties == nil && s.AdditionalProperties != nil && !isFalse(s.AdditionalProperties) {
		s.Types, s.Type = []string{"null", "object"}, ""
	}
	for _, p := range s.Properties {
		fixNullable(p)
	}
	fixNullable(s.Items)
	fixNullable(s.AdditionalProperties)
}

// allowNewFields allows additional fields in the objects of answers, because later versions may add
// some. It does not in objects of requests, where an unknown field would be lost.
func (s *schemas) allowNewFields() {
	closed := map[string]bool{}
	var visit func(*jsonschema.Schema)
	visit = func(sc *jsonschema.Schema) {
		if sc == nil {
			return
		}
		if name, ok := cutRef(sc.Ref); ok && !closed[name] {
			closed[name] = true
			visit(s.all[name])
		}
		for _, p := range sc.Properties {
			visit(p)
		}
		visit(sc.Items)
		visit(sc.AdditionalProperties)
	}
	for t := range s.requestTypes {
		closed[s.names[t]] = true
		visit(s.all[s.names[t]])
	}
	for name, sc := range s.all {
		if !closed[name] && isFalse(sc.AdditionalProperties) {
			sc.AdditionalProperties = nil
		}
	}
}

func cutRef(ref string) (string, bool) {
	if len(ref) <= len(schemaPrefix) || ref[:len(schemaPrefix)] != schemaPrefix {
		return "", false
	}
	return ref[len(schemaPrefix):], true
}

// isFalse reports whether s is the schema that no value matches.
func isFalse(s *jsonschema.Schema) bool {
	return s != nil && s.Not != nil && slices.Equal(s.Types, nil) && s.Type == ""
}
