package tools

import (
	"encoding/json"
	"fmt"
)

// function is a tool as a chat completions request names it.
type function struct {
	Type     string `json:"type"`
	Function struct {
		Name        string          `json:"name"`
		Description string          `json:"description"`
		Parameters  json.RawMessage `json:"parameters"`
	} `json:"function"`
}

// OpenAI is the value of tools in a chat completions request: what the caller may
// use, for function calling. Package openaitools has it in go-openai's types.
func (r *Registry) OpenAI(c Caller) json.RawMessage {
	list := []function{}
	for _, t := range r.Tools(c) {
		f := function{Type: "function"}
		f.Function.Name, f.Function.Description, f.Function.Parameters = t.Name, t.Description, t.in.json
		list = append(list, f)
	}
	b, err := json.Marshal(list)
	if err != nil { // schemas are JSON
		panic(fmt.Sprintf("tools: write the tools: %v", err))
	}
	return b
}
