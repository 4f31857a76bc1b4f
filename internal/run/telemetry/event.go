// Package telemetry reports what the layer did in each turn: it writes context_assembly
// events as JSON lines, one file a session.
package telemetry

import "time"

// ContextAssembly says what one turn's context is made of. The field names are a
// contract with dashboards; new ones may come, none will go.
type ContextAssembly struct {
	Event     string    `json:"event"` // "context_assembly"
	Timestamp time.Time `json:"timestamp"`
	SessionID string    `json:"session_id"`
	Turn      string    `json:"turn"`

	KnowledgeRetrieved int `json:"knowledge_retrieved"` // items before trimming
	KnowledgeIncluded  int `json:"knowledge_included"`  // items in the block
	MemoryLoaded       int `json:"memory_loaded"`       // pinned entries
	MemoryIncluded     int `json:"memory_included"`     // of these, in the block
	Artifacts          int `json:"artifacts"`           // parts that the layer added

	ContextChars      int       `json:"context_chars"` // code points of all messages, the layer's included
	SystemPromptChars int       `json:"system_prompt_chars"`
	AssemblyMS        float64   `json:"assembly_ms"`
	Breakdown         Breakdown `json:"context_chars_breakdown"`

	ToolCount           int `json:"tool_count"`
	ToolSchemaEstTokens int `json:"tool_schema_est_tokens"` // ToolTokens for each tool

	Mode  string `json:"mode"`
	Cause string `json:"cause"`
}

// Breakdown is ContextChars by where the characters come from.
type Breakdown struct {
	SystemPrompt   int `json:"system_prompt"`
	Memory         int `json:"memory"`
	SessionContext int `json:"session_context"`
	Knowledge      int `json:"knowledge"`
	History        int `json:"history"`
}

// ToolTokens is the estimate for one tool schema, which travels beside the
// messages and is in no character count.
const ToolTokens = 450
