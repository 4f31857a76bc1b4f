package tools

import (
	"bytes"
	"encoding/json"
	"io"
	"strings"
	"testing"

	"github.com/google/jsonschema-go/jsonschema"
)

// sample has every rule.
type sample struct {
	Name  string   `json:"name" rule:"filled;chars=5"`
	Kind  string   `json:"kind,omitempty" rule:"enum=red|green"`
	Count int      `json:"count,omitempty" rule:"min=1;max=9"`
	Share *float64 `json:"share,omitempty" rule:"min=0;max=1"`
	On    bool     `json:"on,omitempty"`
	Tags  []string `json:"tags,omitempty" rule:"items=2;chars=3"`
	Parts []part   `json:"parts,omitempty" rule:"items=2"`
}

type part struct {
	At int `json:"at" rule:"min=0"`
}

func TestSchemaFor(t *testing.T) {
	s, err := schemaFor[sample]()
	if err != nil {
		t.Fatal(err)
	}
	if name := s.root.Properties["name"]; *name.MinLength != 1 || *name.MaxLength != 5 || *s.root.Properties["parts"].MaxItems != 2 || *s.root.Properties["tags"].Items.MaxLength != 3 {
		t.Errorf("lengths are not checked: %+v", s.root)
	}
	want := `{"type":"object","properties":{"name":{"type":"string"},"kind":{"type":"string","enum":["red","green"]},` +
		`"count":{"type":"integer","minimum":1,"maximum":9},"share":{"type":"number","minimum":0,"maximum":1},"on":{"type":"boolean"},` +
		`"tags":{"type":"array","items":{"type":"string"}},` +
		`"parts":{"type":"array","items":{"type":"object","properties":{"at":{"type":"integer","minimum":0}},"required":["at"],"additionalProperties":false}}},` +
		`"required":["name"],"additionalProperties":false}`
	var a, b any
	if err := json.Unmarshal(s.json, &a); err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal([]byte(want), &b); err != nil {
		t.Fatal(err)
	}
	x, _ := json.Marshal(a)
	y, _ := json.Marshal(b)
	if !bytes.Equal(x, y) {
		t.Errorf("got  %s\nwant %s", x, y)
	}
}

func TestSchemaForRefusesBadRules(t *testing.T) {
	type bad struct {
		A string `json:"a" rule:"length=3"`
	}
	if _, err := schemaFor[bad](); err == nil || !strings.Contains(err.Error(), "length=3") {
		t.Errorf("got %v", err)
	}
	if _, err := schemaFor[map[string]int](); err == nil {
		t.Error("a map was taken for a struct")
	}
}

// FuzzRead compares the checks with those of the library whose schemas these are, and
// makes sure that what passes decodes. The checks may be stricter in two ways: numbers
// that no Go type holds, and what follows the value.
func FuzzRead(f *testing.F) {
	for _, seed := range []string{``, `null`, `{}`, `{"name":"a"}`, `{"name":""}`, `{"name":"abcdef"}`, `{"name":"日本語"}`, `{"name":"a","kind":"blue"}`,
		`{"name":"a","count":0}`, `{"name":"a","count":1.0}`, `{"name":"a","count":1e2}`, `{"name":"a","share":0.5}`, `{"name":"a","share":1e999}`,
		`{"name":"a","tags":["x","yyyy"]}`, `{"name":"a","tags":["x","y","z"]}`, `{"name":"a","parts":[{"at":-1}]}`, `{"name":"a","parts":[{}]}`,
		`{"name":"a","parts":[{"at":1,"b":2}]}`, `{"Name":"a"}`, `{"name":"a","name":1}`, `{"name":null}`, `[1]`, `{"name":"a"}{`, `{"name":"\ud800"}`, `{"on":"true","name":"a"}`} {
		f.Add([]byte(seed))
	}
	s, err := schemaFor[sample]()
	if err != nil {
		f.Fatal(err)
	}
	resolved, err := s.root.Resolve(&jsonschema.ResolveOptions{})
	if err != nil {
		f.Fatal(err)
	}
	f.Fuzz(func(t *testing.T, args []byte) {
		clean, faults := s.decode(args)
		var in sample
		if len(faults) == 0 {
			if err := json.Unmarshal(clean, &in); err != nil {
				t.Fatalf("%q passed and does not decode: %v", args, err)
			}
			if in.Name == "" || in.Count < 0 || in.Count > 9 || len(in.Tags) > 2 || len(in.Parts) > 2 {
				t.Fatalf("%q passed as %+v", args, in)
			}
		}
		if len(faults) > maxFaults {
			t.Fatalf("%d faults", len(faults))
		}
		trimmed := bytes.TrimSpace(args)
		if len(trimmed) == 0 || string(trimmed) == "null" {
			trimmed = []byte("{}")
		}
		var v any
		dec := json.NewDecoder(bytes.NewReader(trimmed))
		if dec.Decode(&v) != nil {
			if len(faults) == 0 {
				t.Fatalf("%q passed", args)
			}
			return
		}
		if _, err := dec.Token(); err != io.EOF {
			return
		}
		if err := resolved.Validate(v); err != nil && len(faults) == 0 {
			t.Fatalf("%q passed, and the library says: %v", args, err)
		} else if err == nil && len(faults) > 0 && !strings.Contains(faults[0].msg, "whole number") && !strings.Contains(faults[0].msg, "not valid UTF-8") {
			t.Fatalf("%q is right for the library, and not for us: %v", args, faults)
		}
	})
}
