// Package telemetry reports what the layer did in each turn: it writes events as JSON lines,
// one file for each session.
package telemetry

import (
	"strings"
	"time"
)

// ContextAssembly is the event that describes the composition of one turn's context. The field
// names are a contract with dashboards; fields may be added, but none is removed.
type ContextAssembly struct {
	Event     string    `json:"event"` // "context_assembly"
	Timestamp time.Time `json:"timestamp"`
	SessionID string    `json:"session_id"`
	Turn      string    `json:"turn"`

	KnowledgeRetrieved int `json:"knowledge_retrieved"` // items before trimming
	KnowledgeIncluded  int `json:"knowledge_included"`  // items in the block
	MemoryLoaded       int `json:"memory_loaded"`       // pinned entries
	MemoryIncluded     int `json:"memory_included"`     // pinned entries in the block
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

// Breakdown splits ContextChars by source.
type Breakdown struct {
	SystemPrompt   int `json:"system_prompt"`
	Memory         int `json:"memory"`
	SessionContext int `json:"session_context"`
	Knowledge      int `json:"knowledge"`
	History        int `json:"history"`
}

// ToolTokens is the estimated size of one tool schema, in tokens. Schemas are sent beside the
// messages and are part of no character count.
const ToolTokens = 450

// TurnEnd is the event of a turn whose answer has arrived. It describes the answer and quotes
// none of it.
type TurnEnd struct {
	Event     string    `json:"event"` // "turn_end"
	Timestamp time.Time `json:"timestamp"`
	SessionID string    `json:"session_id"`
	Turn      string    `json:"turn"`

	AnswerChars  int    `json:"answer_chars"` // code points of the answer, without reasoning
	ToolCalls    int    `json:"tool_calls"`
	Finish       string `json:"finish"` // why the model stopped, in the provider's word; empty if unknown
	Failed       bool   `json:"failed"` // no answer, or an error in it
	InputTokens  int    `json:"input_tokens"`
	CachedTokens int    `json:"cached_tokens"` // input tokens from the provider's cache
	OutputTokens int    `json:"output_tokens"` // includes reasoning
}

// Reasoning is the event of an answer with reasoning. It never contains the reasoning's text.
type Reasoning struct {
	Event     string    `json:"event"` // "reasoning"
	Timestamp time.Time `json:"timestamp"`
	SessionID string    `json:"session_id"`
	Turn      string    `json:"turn"`

	ReasoningChars  int `json:"reasoning_chars"`  // code points received; providers may hide some
	ReasoningTokens int `json:"reasoning_tokens"` // as counted by the provider; 0 if unknown
}

// causes maps texts of a receipt's cause to a class; the first match counts. Receipts give the
// cause as a sentence for people, with names and numbers. Metrics and traces need one of a few
// words.
var causes = []struct {
	class string
	is    func(s, part string) bool
	part  string
}{
	{"switched_off", strings.HasPrefix, "switched off"},
	{"asks_nothing", strings.HasPrefix, "the message asks for nothing"},
	{"weight", strings.HasPrefix, "the agent's weight"},
	{"no_question", strings.HasPrefix, "there is no user message"},
	{"store", strings.HasPrefix, "store:"},
	{"busy", strings.HasPrefix, "turn: too many are composed at once"},
	{"breaker", strings.Contains, "stopped after"},
	{"deadline", strings.Contains, "not there within"},
	{"cancelled", strings.Contains, "the turn ended first"},
	{"coverage", strings.Contains, "have a vector of this model yet"},
	{"vector", strings.HasPrefix, "vector:"},
	{"keyword", strings.HasPrefix, "keyword:"},
}

// CauseClass returns the class of a receipt's cause: one of a dozen words, "none" for no cause,
// "other" for an unknown one.
func CauseClass(cause string) string {
	if cause == "" {
		return "none"
	}
	for _, c := range causes {
		if c.is(cause, c.part) {
			return c.class
		}
	}
	return "other"
}

// Taint is the event of a tool call that repeats the text of an external claim. It does not
// quote the text. The field names are a contract, like those of ContextAssembly.
type Taint struct {
	Event     string    `json:"event"` // "taint"
	Timestamp time.Time `json:"timestamp"`
	SessionID string    `json:"session_id"`
	Turn      string    `json:"turn"`

	Tool   string `json:"tool"`
	Call   string `json:"call"` // the tool call's id
	Claim  string `json:"claim"`
	Chars  int    `json:"chars"`  // code points of the longest span repeated
	Action string `json:"action"` // flag or block
}
