package wire

import (
	"strings"

	"github.com/kenlayer/ken"
)

// frames are the tags in which agents put what they themselves tell the model in
// the user's name: context files, the time, reminders. To take it for what
// somebody asked would drown the question, and teach the layer a file's text as a
// user's words.
var frames = []string{
	"system-reminder",     // Claude Code, Qwen Code
	"environment_context", // Codex
	"user_instructions",   // Codex
}

// framed reports a text that is an agent's own, from its first tag to its last.
func framed(s string) bool {
	s = strings.TrimSpace(s)
	if !strings.HasPrefix(s, "<") || !strings.HasSuffix(s, ">") {
		return false
	}
	for _, f := range frames {
		if strings.HasPrefix(s[1:], f+">") && strings.HasSuffix(s, "</"+f+">") {
			return true
		}
	}
	return false
}

// scaffold leaves an agent's own texts out of a user's message, and reports
// whether nothing else is in it.
func scaffold(m *ken.Message) bool {
	if len(m.Parts) == 0 {
		return framed(m.Text)
	}
	own := 0
	for i := range m.Parts {
		if p := &m.Parts[i]; p.Ref == "" && framed(p.Text) {
			own++
		} else if own > 0 {
			m.Parts[i-own] = *p
		}
	}
	if own == 0 {
		return false
	}
	m.Parts = m.Parts[:len(m.Parts)-own]
	m.Text = joined(m.Parts)
	return len(m.Parts) == 0
}
