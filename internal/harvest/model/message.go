package model

import (
	"strings"

	"github.com/kenlayer/ken/internal/run/session"
	"github.com/kenlayer/ken/store"
)

// speaker is who a message's words are: that decides what they can prove.
type speaker uint8

const (
	tool speaker = iota // or anybody who is not known
	assistant
	user
)

func (s speaker) String() string { return [...]string{"tool", "assistant", "user"}[s] }

// message is an entry of the journal as far as the model sees it.
type message struct {
	seq     uint64
	who     speaker
	day     string // 2026-05-15; "" when the journal does not know
	tool    string // that a tool's message comes from; may be empty
	text    string // cleaned; what quotes are looked for in
	calls   []string
	folded  string // text as quotes are compared; "" until asked for
	consent int8   // whether the user's answer agreed to it: 0 until asked for, else yes or no
}

// messages returns what a transcript has to read. Messages of the program (system,
// developer) are left out: what the agent was told before the session is nothing
// that the session taught. So are empty ones.
//
// A journal keeps texts clean already; they are cleaned again because what is
// not must not be sent to an endpoint, and a second pass over clean text is cheap.
func messages(tr *session.Transcript) []message {
	var all []message
	tools := map[string]string{} // names by call
	for i := range tr.Entries {
		e := &tr.Entries[i]
		m := message{seq: e.Seq}
		if e.Message.Role == "user" { // who may name the tags of reasoning
			m.text = strings.TrimSpace(store.CleanSaid(e.Message.Text))
		} else {
			m.text = clean(e.Message.Text)
		}
		switch e.Message.Role {
		case "system", "developer":
			continue
		case "user":
			m.who = user
		case "assistant":
			m.who = assistant
		default:
			m.tool = label(tools[e.Message.ToolCallID])
			if m.tool == "" {
				m.tool = label(e.Message.Name)
			}
		}
		for _, call := range e.Message.ToolCalls {
			tools[call.ID] = call.Name
			m.calls = append(m.calls, label(call.Name)+" "+middle(clean(call.Arguments), callChars))
		}
		if m.text == "" && len(m.calls) == 0 {
			continue
		}
		if !e.At.IsZero() {
			m.day = e.At.Format("2006-01-02")
		}
		all = append(all, m)
	}
	return all
}

// clean is what every write goes through, in its order.
func clean(text string) string { return strings.TrimSpace(store.Clean(text)) }

// label makes a name fit for a header: one short word, or nothing.
func label(name string) string {
	for i, r := range name {
		letter := 'a' <= r && r <= 'z' || 'A' <= r && r <= 'Z' || '0' <= r && r <= '9'
		if !letter && !strings.ContainsRune("_.-/:", r) || i >= 64 {
			return ""
		}
	}
	return name
}
