package session

import (
	"strings"

	"github.com/kenlayer/ken"
	"github.com/kenlayer/ken/guardrail"
	"github.com/kenlayer/ken/store"
)

// clean returns a message as the journal may keep it, whole, and false for one
// that it does not keep: the system's, a block, or nothing but reasoning.
func clean(m *ken.Message) (ken.Message, bool) {
	out := ken.Message{Role: store.Clean(m.Role), Name: store.Clean(m.Name), ToolCallID: store.Clean(m.ToolCallID)}
	if m.Role == "system" || m.Role == "developer" || m.Role == "" {
		return out, false
	}
	clean := cleanText
	if m.Role == "user" {
		clean = cleanSaid
	}
	out.Text = clean(textOf(m))
	for _, p := range m.Parts {
		if p.Type != "text" && p.Ref != "" {
			// What a reference holds is not looked into; a hash of it tells two apart.
			out.Parts = append(out.Parts, ken.Part{Type: store.Clean(p.Type), Ref: hexOf(p.Ref)})
		}
	}
	for _, c := range m.ToolCalls {
		out.ToolCalls = append(out.ToolCalls, ken.ToolCall{ID: store.Clean(c.ID), Name: store.Clean(c.Name), Arguments: cleanArguments(c.Arguments)})
	}
	// A tool that printed nothing succeeded at something.
	return out, out.Text != "" || len(out.Parts) > 0 || len(out.ToolCalls) > 0 || out.ToolCallID != ""
}

// textOf is a message's text, from its parts where an adapter set only those.
func textOf(m *ken.Message) string {
	if m.Text != "" || len(m.Parts) == 0 {
		return m.Text
	}
	var texts []string
	for _, p := range m.Parts {
		if p.Text != "" {
			texts = append(texts, p.Text)
		}
	}
	return strings.Join(texts, "\n")
}

func cleanText(s string) string { return cleanedWith(store.Clean, s) }

// cleanSaid is cleanText for what a person wrote.
func cleanSaid(s string) string { return cleanedWith(store.CleanSaid, s) }

func cleanedWith(clean func(string) string, s string) string {
	s = clean(s)
	if bare := withoutBlocks(s); bare != s {
		s = clean(bare) // what stood around a block stands side by side now
	}
	return strings.TrimSpace(s)
}

// withoutBlocks takes out every whole block that the layer injected, wherever a
// client put it: alone, at the head of a message, or quoted in a summary. What is
// in a block can't hold its end, so the first one is it.
func withoutBlocks(s string) string {
	const open, end = guardrail.FrameOpen + "\n", "\n" + guardrail.FrameClose
	var b strings.Builder
	done := 0 // s[:done] is in b, or was left out
	for at := 0; ; {
		i := strings.Index(s[at:], open)
		if i < 0 {
			break
		}
		start := at + i
		at = start + len(open)
		if start > done && s[start-1] != '\n' { // mentioned in a line
			continue
		}
		n := strings.Index(s[at-1:], end)
		if n < 0 {
			break
		}
		b.WriteString(s[done:start])
		at += n - 1 + len(end)
		done = at
	}
	if done == 0 {
		return s
	}
	b.WriteString(s[done:])
	return b.String()
}
