package rules

import (
	"encoding/json"
	"os"
	"testing"

	"github.com/goccy/go-yaml"
)

// schema is the part of a JSON schema that names properties.
type schema struct {
	Properties           map[string]*schema `json:"properties"`
	AdditionalProperties *bool              `json:"additionalProperties"`
}

// The schema of the Helm chart's values knows every value that values.yaml has, and refuses others.
func TestChartSchema(t *testing.T) {
	read := func(name string, into any, decode func([]byte, any) error) {
		b, err := os.ReadFile("../../packaging/deploy/helm/" + name)
		if err == nil {
			err = decode(b, into)
		}
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
	}
	var s schema
	var values map[string]any
	read("values.schema.json", &s, json.Unmarshal)
	read("values.yaml", &values, func(b []byte, into any) error { return yaml.Unmarshal(b, into) })
	if s.AdditionalProperties == nil || *s.AdditionalProperties {
		t.Error("the schema allows any name")
	}
	for name, v := range values {
		p := s.Properties[name]
		if p == nil {
			t.Errorf("the schema does not know %s", name)
			continue
		}
		inner, _ := v.(map[string]any)
		for key := range inner {
			if p.AdditionalProperties != nil && p.Properties[key] == nil {
				t.Errorf("the schema does not know %s.%s", name, key)
			}
		}
	}
}
