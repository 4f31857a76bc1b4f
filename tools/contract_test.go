package tools_test

import (
	"bytes"
	"encoding/json"
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/jsonschema-go/jsonschema"

	"github.com/kenlayer/ken"
	"github.com/kenlayer/ken/internal/harvest/finding"
	"github.com/kenlayer/ken/tools"
)

var update = flag.Bool("update", false, "rewrite testdata/tools.json")

// contract is a tool as clients know it.
type contract struct {
	Name        string          `json:"name"`
	Title       string          `json:"title"`
	Description string          `json:"description"`
	Effect      tools.Effect    `json:"effect"`
	Right       tools.Right     `json:"right"`
	Idempotent  bool            `json:"idempotent"`
	Example     json.RawMessage `json:"example"`
	Input       json.RawMessage `json:"input"`
	Output      json.RawMessage `json:"output"`
}

// Names, schemas and effects are a contract with every client and every prompt: a
// change of them is reviewed as one.
func TestContract(t *testing.T) {
	k := newKit(t)
	var all []contract
	for _, x := range k.registry.Tools(k.caller) {
		all = append(all, contract{x.Name, x.Title, x.Description, x.Effect, x.Right, x.Idempotent, json.RawMessage(x.Example), x.InputSchema(), x.OutputSchema()})
	}
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	enc.SetIndent("", "  ")
	if err := enc.Encode(all); err != nil {
		t.Fatal(err)
	}
	path := filepath.Join("testdata", "tools.json")
	if *update {
		if err := os.WriteFile(path, b.Bytes(), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatalf("%v; run go test ./tools -run Contract -update", err)
	}
	if diff := cmp.Diff(string(want), b.String()); diff != "" {
		t.Errorf("run go test ./tools -run Contract -update, and review the difference (-want +got):\n%s", diff)
	}
}

// What providers of models and clients of MCP are known to choke on.
func TestSchemasArePlain(t *testing.T) {
	k := newKit(t)
	for _, x := range k.registry.Tools(k.caller) {
		for name, raw := range map[string]json.RawMessage{"input": x.InputSchema(), "output": x.OutputSchema()} {
			var s jsonschema.Schema
			if err := json.Unmarshal(raw, &s); err != nil {
				t.Fatalf("%s %s: %v", x.Name, name, err)
			}
			if s.Type != "object" {
				t.Errorf("%s %s is no object", x.Name, name)
			}
			if _, err := s.Resolve(&jsonschema.ResolveOptions{ValidateDefaults: true}); err != nil {
				t.Errorf("%s %s: %v", x.Name, name, err)
			}
			for _, bad := range []string{`"null"`, `"$ref"`, `"anyOf"`, `"oneOf"`, `"$defs"`} {
				if strings.Contains(string(raw), bad) {
					t.Errorf("%s %s has %s", x.Name, name, bad)
				}
			}
		}
		if len(x.Description) > 1024 { // what OpenAI's API takes
			t.Errorf("%s: the description has %d bytes", x.Name, len(x.Description))
		}
	}
}

// Identity is the caller's, so no tool may ask a model for it.
func TestNoToolAsksWhoCalls(t *testing.T) {
	k := newKit(t)
	for _, x := range k.registry.Tools(k.caller) {
		var s jsonschema.Schema
		if err := json.Unmarshal(x.InputSchema(), &s); err != nil {
			t.Fatal(err)
		}
		for _, name := range []string{"owner", "project", "scope", "scopes", "agent", "actor", "trust", "tier", "key", "constraint", "rights"} {
			if s.Properties[name] != nil {
				t.Errorf("%s takes %s from the model", x.Name, name)
			}
		}
	}
}

// A harvest must not take the layer's own tools for an agent's file tools, under none
// of the names that clients give them.
func TestOwnToolsAreNoneOfTheAgents(t *testing.T) {
	k := newKit(t)
	known := finding.Defaults()
	for _, x := range k.registry.Tools(k.caller) {
		for _, prefix := range []string{"", "mcp__ken__", "ken_", "ken.", "mcp_ken_", "functions."} {
			if got, ok := known.Lookup(prefix + x.Name); ok {
				t.Errorf("%s%s is taken for %v", prefix, x.Name, got)
			}
		}
	}
}

func TestRightsDecideWhatIsThere(t *testing.T) {
	k := newKit(t)
	reader := k.as(func(c *tools.Caller) { c.Rights = []tools.Right{tools.Read} })
	for _, x := range k.registry.Tools(reader.caller) {
		if x.Effect != tools.Reads {
			t.Errorf("a reader is offered %s", x.Name)
		}
	}
	if n := len(k.registry.Tools(tools.Caller{})); n > 0 {
		t.Errorf("a caller without rights is offered %d tools", n)
	}
	for _, x := range k.registry.Tools(k.caller) {
		none := k.as(func(c *tools.Caller) { c.Rights = nil })
		if got := none.fails(ken.CodeRefused, x.Name, x.Example); !strings.Contains(got, string(x.Right)) {
			t.Errorf("%s: %q does not name the right", x.Name, got)
		}
	}
	if got := string(k.registry.OpenAI(reader.caller)); strings.Contains(got, "memory_ingest") || !strings.Contains(got, "memory_recall") {
		t.Errorf("a reader's functions: %s", got)
	}
}

func TestUnknownTool(t *testing.T) {
	k := newKit(t)
	if got := k.fails(ken.CodeNotFound, "memory_recal", `{}`); !strings.Contains(got, "did you mean memory_recall?") {
		t.Errorf("got %q", got)
	}
	k.fails(ken.CodeNotFound, "", `{}`)
}
