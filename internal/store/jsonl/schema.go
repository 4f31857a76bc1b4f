package jsonl

import (
	"bytes"
	"encoding/json"
	"reflect"
	"slices"
	"time"

	"github.com/google/jsonschema-go/jsonschema"

	"github.com/kenlayer/ken"
)

// Schema returns the JSON schema of a line, which docs/claim.schema.json contains. Only text
// is required. Lines may have more fields, which are kept in the claim's body.
func Schema() ([]byte, error) {
	oneOf := func(values ...string) *jsonschema.Schema {
		s := &jsonschema.Schema{Type: "string"}
		for _, v := range values {
			s.Enum = append(s.Enum, v)
		}
		return s
	}
	known := map[reflect.Type]*jsonschema.Schema{
		reflect.TypeFor[time.Time](): {Description: timeForms, AnyOf: []*jsonschema.Schema{
			{Type: "string", Format: "date-time"}, {Type: "string", Format: "date"}, {Type: "number", Minimum: new(0.0)}}},
		reflect.TypeFor[json.RawMessage]():  {Description: "any JSON value"},
		reflect.TypeFor[ken.Trust]():        oneOf("unknown", "external", "agent", "operator"),
		reflect.TypeFor[ken.Status]():       oneOf(words(ken.Statuses())...),
		reflect.TypeFor[ken.EvidenceKind](): oneOf(words(ken.EvidenceKinds())...),
		reflect.TypeFor[ken.Assigner]():     oneOf("rules", "model", "operator"),
		reflect.TypeFor[ken.Kind]():         {Type: "string", Pattern: "^[a-z][a-z0-9_]*$"},
	}
	s, err := jsonschema.For[line](&jsonschema.ForOptions{TypeSchemas: known})
	if err != nil {
		return nil, err
	}
	s.Schema, s.Title, s.Required = "https://json-schema.org/draft/2020-12/schema", "Claim", []string{"text"}
	s.Description = "One line of a file that ken import reads: a claim. Only text is required."
	s.AdditionalProperties = nil
	for name, about := range fieldTexts {
		s.Properties[name].Description = about
	}
	loosen(s)
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	enc.SetIndent("", "  ")
	err = enc.Encode(s)
	return b.Bytes(), err
}

func words[T ~string](list []T) []string {
	out := make([]string, len(list))
	for i, v := range list {
		out[i] = string(v)
	}
	return out
}

// loosen makes nested fields with a default optional, and allows null for any missing field.
func loosen(s *jsonschema.Schema) {
	for name, p := range s.Properties {
		p.Required = nil
		switch {
		case slices.Contains(s.Required, name):
		case p.AnyOf != nil:
			p.AnyOf = append(p.AnyOf, &jsonschema.Schema{Type: "null"})
		case p.Type != "":
			p.Types, p.Type = []string{"null", p.Type}, ""
		}
		if p.Enum != nil && p.Types != nil {
			p.Enum = append(p.Enum, nil)
		}
		loosen(p)
		if p.Items != nil {
			if p.Items.Properties["kind"] != nil {
				p.Items.Required = []string{"kind"}
			} else {
				p.Items.Required = nil
			}
			loosen(p.Items)
		}
	}
}

// fieldTexts describes the fields of a line.
var fieldTexts = map[string]string{
	"id":             "a UUID; left out, one is made",
	"key":            "a name of the source's own: the same key again is a new version, and no change when nothing differs",
	"owner":          "whose it was; it becomes the importing owner's",
	"kind":           "fact unless something else is said",
	"heading":        "a line above the text",
	"text":           "what is claimed, in one statement",
	"body":           "the fields of the kind's own",
	"evidence":       "what backs it; left out, the line itself",
	"status":         "observed unless something else is said",
	"confidence":     "how sure it is, 0 to 1; 1 unless something else is said",
	"importance":     "how important it is, 0 to 1; 0.5 unless something else is said",
	"scope":          "what it applies to; left out, everything",
	"session_id":     "the session that it came from",
	"actor":          "who wrote it",
	"entities":       "what it is about, the main thing first; left out, the text is read",
	"aspect":         "the side of the main thing that it is about",
	"constraint":     "a rule; it counts as one only with a person's word as evidence",
	"source":         "where it came from, for people",
	"expires_at":     "when it ends; left out, never",
	"history":        "what happened to it in the store that wrote it",
	"rule_candidate": "it reads like a rule, and waits for a person's word",
}
