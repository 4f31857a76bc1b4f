package telemetry_test

import (
	"encoding/json"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/kenlayer/ken/internal/run/telemetry"
)

// The names are a contract with dashboards: the envelope, the specified fields,
// and what became of retrieval. All are there in every line, zero or not.
func TestEventFieldNames(t *testing.T) {
	want := []string{
		"event", "timestamp", "session_id", "turn",
		"knowledge_retrieved", "knowledge_included", "memory_loaded", "memory_included", "artifacts",
		"context_chars", "system_prompt_chars", "assembly_ms", "context_chars_breakdown",
		"tool_count", "tool_schema_est_tokens",
		"mode", "cause",
	}
	b, err := json.Marshal(telemetry.ContextAssembly{})
	if err != nil {
		t.Fatal(err)
	}
	equalKeys(t, b, want)
	var ev struct {
		Breakdown json.RawMessage `json:"context_chars_breakdown"`
	}
	if err := json.Unmarshal(b, &ev); err != nil {
		t.Fatal(err)
	}
	equalKeys(t, ev.Breakdown, []string{"system_prompt", "memory", "session_context", "knowledge", "history"})
}

func equalKeys(t *testing.T, object []byte, want []string) {
	t.Helper()
	var m map[string]json.RawMessage
	if err := json.Unmarshal(object, &m); err != nil {
		t.Fatal(err)
	}
	var got []string
	for k := range m {
		got = append(got, k)
	}
	slices.Sort(got)
	slices.Sort(want)
	if d := cmp.Diff(want, got); d != "" {
		t.Errorf("fields (-want +got):\n%s", d)
	}
}

func TestToolTokens(t *testing.T) {
	if telemetry.ToolTokens != 450 {
		t.Errorf("%d tokens a tool, specified are 450", telemetry.ToolTokens)
	}
}
