package openaitools

import (
	"github.com/sashabaranov/go-openai"

	"github.com/kenlayer/ken/tools"
)

// Tools are what a caller may use, as a chat completions request names them.
func Tools(r *tools.Registry, c tools.Caller) []openai.Tool {
	var out []openai.Tool
	for _, t := range r.Tools(c) {
		out = append(out, openai.Tool{Type: openai.ToolTypeFunction, Function: &openai.FunctionDefinition{
			Name: t.Name, Description: t.Description, Parameters: t.InputSchema()}})
	}
	return out
}
