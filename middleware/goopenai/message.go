package goopenai

import (
	"strings"

	"github.com/sashabaranov/go-openai"

	"github.com/kenlayer/ken"
	"github.com/kenlayer/ken/middleware"
)

// message reads what the layer uses of a message. An image is identified by its URL and detail.
func message(m *openai.ChatCompletionMessage) ken.Message {
	out := ken.Message{Role: m.Role, Name: m.Name, Text: m.Content, ToolCallID: m.ToolCallID}
	var texts []string
	for _, p := range m.MultiContent {
		part := ken.Part{Type: string(p.Type), Text: p.Text}
		if p.ImageURL != nil {
			part.Ref = string(p.ImageURL.Detail) + " " + p.ImageURL.URL
		}
		if p.Type == openai.ChatMessagePartTypeText {
			texts = append(texts, p.Text)
		}
		out.Parts = append(out.Parts, part)
	}
	if len(out.Parts) > 0 {
		out.Text = strings.Join(texts, "\n")
	}
	for _, c := range m.ToolCalls {
		out.ToolCalls = append(out.ToolCalls, ken.ToolCall{ID: c.ID, Name: c.Function.Name, Arguments: c.Function.Arguments})
	}
	if c := m.FunctionCall; c != nil { // the older form of a single tool call, without an id
		out.ToolCalls = append(out.ToolCalls, ken.ToolCall{Name: c.Name, Arguments: c.Arguments})
	}
	return out
}

// insert returns a new slice with the blocks in place. Insertions are ordered by Before.
func insert(msgs []openai.ChatCompletionMessage, ins []middleware.Insertion) []openai.ChatCompletionMessage {
	out := make([]openai.ChatCompletionMessage, 0, len(msgs)+len(ins))
	done := 0
	for _, in := range ins {
		out = append(out, msgs[done:in.Before]...)
		done = in.Before
		if in.Merge {
			out = append(out, merged(msgs[done], in.Text))
			done++
		} else {
			out = append(out, openai.ChatCompletionMessage{Role: openai.ChatMessageRoleUser, Content: in.Text})
		}
	}
	return append(out, msgs[done:]...)
}

// merged returns m with text at its beginning.
func merged(m openai.ChatCompletionMessage, text string) openai.ChatCompletionMessage {
	text += "\n\n"
	if len(m.MultiContent) == 0 {
		m.Content, m.MultiContent = text+m.Content, nil // go-openai refuses both, even when one is empty
		return m
	}
	parts := make([]openai.ChatMessagePart, 0, 1+len(m.MultiContent))
	parts = append(parts, openai.ChatMessagePart{Type: openai.ChatMessagePartTypeText, Text: text})
	m.MultiContent = append(parts, m.MultiContent...)
	return m
}
