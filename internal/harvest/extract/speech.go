package extract

import (
	"strings"

	"github.com/kenlayer/ken/internal/run/session"
)

// speech is one message of somebody, as far as it is read.
type speech struct {
	entry *session.Entry
	name  string // who speaks; "" for a user without a name
	// person says that the words are a source: a user's, or those of one side of a
	// chat between people.
	person bool
	text   string // the message, without a label such as "User: " at its start
	parts  []sentence
	before *speech // the message before, once it was read
}

// userName is who an unnamed user is called.
const userName = "User"

// speeches reads the messages of users and assistants, in their order.
func speeches(tr *session.Transcript) []speech {
	people := twoPeople(tr)
	out := make([]speech, 0, len(tr.Entries))
	for i := range tr.Entries {
		e := &tr.Entries[i]
		role := e.Message.Role
		if role != "user" && role != "assistant" {
			continue
		}
		s := speech{entry: e, person: role == "user" || people, text: unlabelled(body(e), role)}
		if s.person {
			s.name = squeeze(e.Message.Name)
			if characters(s.name) > maxName {
				s.name = ""
			}
		}
		out = append(out, s)
	}
	return out
}

// maxName bounds a speaker's name, in characters.
const maxName = 40

// twoPeople reports a transcript in which the assistant's side is a person too: both
// sides have names of their own, and nobody calls tools.
func twoPeople(tr *session.Transcript) bool {
	var user, assistant string
	for i := range tr.Entries {
		m := &tr.Entries[i].Message
		switch {
		case m.Role == "tool", len(m.ToolCalls) > 0:
			return false
		case m.Role == "user" && m.Name != "":
			user = m.Name
		case m.Role == "assistant":
			if m.Name == "" {
				return false
			}
			assistant = m.Name
		}
	}
	return user != "" && assistant != "" && !strings.EqualFold(user, assistant) && !strings.EqualFold(assistant, "assistant")
}

// body is a message's text, from its parts where only those are set.
func body(e *session.Entry) string {
	if e.Message.Text != "" || len(e.Message.Parts) == 0 {
		return e.Message.Text
	}
	var b strings.Builder
	for _, p := range e.Message.Parts {
		if p.Text != "" {
			b.WriteString(p.Text)
			b.WriteByte('\n')
		}
	}
	return b.String()
}

// unlabelled takes the label off that some clients put before a message.
func unlabelled(text, role string) string {
	labels := [...]string{"User: ", "Human: "}
	if role == "assistant" {
		labels = [...]string{"Assistant: ", "AI: "}
	}
	for _, label := range labels {
		if rest, ok := strings.CutPrefix(text, label); ok {
			return rest
		}
	}
	return text
}
