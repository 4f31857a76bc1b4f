// Package telemetry reports what the layer did in each turn: it writes context_assembly
// events as JSON lines, one file a session.
package telemetry

import (
	"strings"
	"time"
)

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

// TurnEnd is the event of a turn whose answer has come: it is about what the model did, and has
// none of its words.
type TurnEnd struct {
	Event     string    `json:"event"` // "turn_end"
	Timestamp time.Time `json:"timestamp"`
	SessionID string    `json:"session_id"`
	Turn      string    `json:"turn"`

	AnswerChars  int    `json:"answer_chars"` // code points of what was said, without reasoning
	ToolCalls    int    `json:"tool_calls"`
	Finish       string `json:"finish"` // why the model stopped, in the provider's word; empty where it does not say
	Failed       bool   `json:"failed"` // there was no answer, or an error in it
	InputTokens  int    `json:"input_tokens"`
	CachedTokens int    `json:"cached_tokens"` // of these, from the provider's cache
	OutputTokens int    `json:"output_tokens"` // reasoning included
}

// Reasoning is the event of an answer that came with reasoning. The text is never read into it.
type Reasoning struct {
	Event     string    `json:"event"` // "reasoning"
	Timestamp time.Time `json:"timestamp"`
	SessionID string    `json:"session_id"`
	Turn      string    `json:"turn"`

	ReasoningChars  int `json:"reasoning_chars"`  // code points that came; providers may hide them
	ReasoningTokens int `json:"reasoning_tokens"` // as the provider counts; 0 where it does not say
}

// causes tells the kinds of a receipt's cause apart, the first that fits. Receipts
// say the cause in words for people, with names and numbers in it; metrics and
// traces need one of a few.
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
	{"breaker", strings.Contains, "stopped after"},
	{"deadline", strings.Contains, "not there within"},
	{"cancelled", strings.Contains, "the turn ended first"},
	{"coverage", strings.Contains, "have a vector of this model yet"},
	{"vector", strings.HasPrefix, "vector:"},
	{"keyword", strings.HasPrefix, "keyword:"},
}

// CauseClass is the kind of a receipt's cause: one of a dozen words, "none" for no
// cause, "other" for one that is not known.
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

// Taint says that a tool call of an answer repeats what an external claim said. The
// field names are a contract, like those of ContextAssembly. It does not quote.
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
