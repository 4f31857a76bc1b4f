package jsonl_test

import (
	"bytes"
	"encoding/json"
	"os"
	"testing"

	"github.com/google/jsonschema-go/jsonschema"

	"github.com/kenlayer/ken/internal/store/jsonl"
)

func TestSchemaIsTheGoldenCopy(t *testing.T) {
	b, err := jsonl.Schema()
	if err != nil {
		t.Fatal(err)
	}
	golden(t, "../../../docs/claim.schema.json", string(b))
}

// What the reader takes, the schema takes, and what the schema refuses, the reader does.
func TestSchemaSaysWhatIsRead(t *testing.T) {
	b, err := jsonl.Schema()
	if err != nil {
		t.Fatal(err)
	}
	var s jsonschema.Schema
	if err := json.Unmarshal(b, &s); err != nil {
		t.Fatal(err)
	}
	r, err := s.Resolve(nil)
	if err != nil {
		t.Fatal(err)
	}
	lines, err := os.ReadFile("testdata/import.jsonl")
	if err != nil {
		t.Fatal(err)
	}
	n := 0
	for l := range jsonl.Read(bytes.NewReader(lines), "import.jsonl") {
		var v any
		if l.Err != nil || json.Unmarshal(l.Raw, &v) != nil {
			continue
		}
		n++
		if err := r.Validate(v); err != nil {
			t.Errorf("line %d is read, and the schema says %v: %s", l.N, err, l.Raw)
		}
	}
	if n == 0 {
		t.Error("no line is read")
	}
	for _, line := range []string{`{}`, `{"text":7}`, `{"text":"x","confidence":"much"}`, `{"text":"x","evidence":[{"path":"a"}]}`,
		`{"text":"x","evidence":[{"kind":"hearsay"}]}`, `{"text":"x","scope":{"types":"run"}}`, `{"text":"x","tags":"a"}`, `{"text":"x","created_at":[]}`} {
		var v any
		if err := json.Unmarshal([]byte(line), &v); err != nil {
			t.Fatal(err)
		}
		if r.Validate(v) == nil || jsonl.Parse([]byte(line), "f", 1).Err == nil {
			t.Errorf("%s is taken", line)
		}
	}
}
