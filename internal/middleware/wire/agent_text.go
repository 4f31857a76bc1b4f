package wire

import (
	"slices"
	"strings"

	"github.com/kenlayer/ken"
)

// agentTags lists the tags around texts that an agent writes into user messages: context files, the
// time, reminders. Read as the user's words, they would hide the question and be learned as
// statements.
var agentTags = []string{
	"system-reminder",     // Claude Code, Qwen Code
	"environment_context", // Codex
	"user_instructions",   // Codex
}

// isAgentText reports whether a text was written by an agent, from its first tag to its last.
func isAgentText(s string) bool {
	s = strings.TrimSpace(s)
	if !strings.HasPrefix(s, "<") || !strings.HasSuffix(s, ">") {
		return false
	}
	return slices.ContainsFunc(agentTags, func(f string) bool { return strings.HasPrefix(s[1:], f+">") && strings.HasSuffix(s, "</"+f+">") })
}

// dropAgentText removes an agent's texts from a user's message. It reports whether nothing else is
// in the message.
func dropAgentText(m *ken.Message) bool {
	if len(m.Parts) == 0 {
		return isAgentText(m.Text)
	}
	own := 0
	for i := range m.Parts {
		if p := &m.Parts[i]; p.Ref == "" && isAgentText(p.Text) {
			own++
		} else if own > 0 {
			m.Parts[i-own] = *p
		}
	}
	if own == 0 {
		return false
	}
	m.Parts = m.Parts[:len(m.Parts)-own]
	m.Text = joinTexts(m.Parts)
	return len(m.Parts) == 0
}

// aiderMarks lists messages, by their beginnings, with their answers. Every request of Aider has
// one of them, and no other program writes them.
//
// Aider sends no session name and writes many messages itself: each request begins with an example,
// summaries of the repository and the files that it works on. Each is a user message with an answer
// of the model. If they were kept, all conversations of a user would begin in the same way and
// count as one, a changed file would start another one, and the layer would learn from them as from
// the user's words.
var aiderMarks = []aiderPair{
	{aiderExample, "Ok."},
	{"Here are summaries of some files present in my git repo", "Ok, I won't try and edit those files without asking first."},
	{"I am working with you on code in a git repository.\nHere are summaries of some files", "Ok, I won't try and edit those files without asking first."},
	{"Here are some READ ONLY files, provided for your reference.", "Ok, I will use these files as references."},
	{"I have *added these files to the chat* so", "Ok, any changes I propose will be to those files."},
	{"I have *added these files to the chat* so", "Ok, I will use that as the true, current contents of the files."},
	{"These files have been *added these files to the chat* so", "Ok, I will use that as the true, current contents of the files."},
	{"These are some files we have been discussing that we may want to edit", "Ok, any changes I propose will be to those files."},
	{"Don't try and edit any existing code without asking me to add the files to the chat!", "Ok, based on your requests I will suggest which files need to be edited and then stop and wait for your approval."},
	{"I am not sharing any files", "Ok."},
	{"I am not sharing the full contents of any files with you yet.", "Ok."},
}

// aiderNotes lists further messages of Aider. A person might write such a message too.
var aiderNotes = []aiderPair{
	{"I committed the changes with git hash ", "Ok."},
	{"I updated the files.", "Ok."},
	{"I edited the files myself.", "Ok."},
	{"I ran this command:\n\n", "Ok."},
	{"Here is the content of http", "Ok."},
	{"I spoke to you previously about a number of things.\n", "Ok."},
}

type aiderPair struct{ user, model string }

// aiderExample is the last message of the example.
const aiderExample = "I switched to a new code base. Please don't consider the above files or try to edit them any longer."

// aiderReminders are the beginnings of texts that Aider appends to the user's last message, and
// removes again in the next request.
var aiderReminders = [...]string{
	"\n\n# *SEARCH/REPLACE block* Rules:\n",
	"\n\n# File editing rules:\n",
	"\n\n# V4A Diff Format Rules:\n",
	"\n\nTo suggest changes to a file you MUST return the entire content of the updated file.\n",
	"\n\nYou are diligent and tireless!\n",
	"\n\nPay careful attention to the scope of the user's request.\n",
	"\n\nReply in ", // followed only by the name of a language
}

// dropAiderMessages removes the messages that Aider itself wrote into a conversation.
func (r *Request) dropAiderMessages() {
	if !slices.ContainsFunc(r.Messages, func(m ken.Message) bool { return m.Role == "assistant" && strings.HasPrefix(m.Text, "Ok") }) {
		return
	}
	at := func(i int, pairs []aiderPair) bool {
		return i+1 < len(r.Messages) && aiderWrote(&r.Messages[i], &r.Messages[i+1], pairs)
	}
	first := 0
	for first < len(r.Messages) && !at(first, aiderMarks) {
		first++
	}
	if first == len(r.Messages) {
		return
	}
	kept := 0
	for i := 0; i < len(r.Messages); i++ {
		if at(i, aiderMarks) || at(i, aiderNotes) {
			if strings.HasPrefix(r.Messages[i].Text, aiderExample) {
				kept = r.keepInstructions(kept)
			}
			i++
			continue
		}
		r.Messages[kept], r.places[kept] = r.Messages[i], r.places[i]
		kept++
	}
	r.Messages, r.places = r.Messages[:kept], r.places[:kept]
	for i := kept - 1; i >= 0; i-- {
		if m := &r.Messages[i]; m.Role == "user" {
			dropReminder(m)
			return
		}
	}
}

// keepInstructions removes everything except instructions from the first n messages. It returns the
// number of instructions.
func (r *Request) keepInstructions(n int) (kept int) {
	for i := range n {
		if role := r.Messages[i].Role; role == "system" || role == "developer" {
			r.Messages[kept], r.places[kept] = r.Messages[i], r.places[i]
			kept++
		}
	}
	return kept
}

// aiderWrote reports whether Aider wrote both a user message and its answer.
func aiderWrote(m, answer *ken.Message, pairs []aiderPair) bool {
	if m.Role != "user" || answer.Role != "assistant" || len(answer.ToolCalls) > 0 {
		return false
	}
	return slices.ContainsFunc(pairs, func(p aiderPair) bool { return answer.Text == p.model && strings.HasPrefix(m.Text, p.user) })
}

// dropReminder removes a reminder of Aider after the user's words.
func dropReminder(m *ken.Message) {
	if len(m.Parts) > 1 {
		return
	}
	for _, mark := range aiderReminders {
		i := strings.Index(m.Text, mark)
		if i >= 0 && (strings.HasSuffix(mark, "\n") || strings.HasSuffix(m.Text, ".\n") && strings.Count(m.Text[i+2:], "\n") == 1) {
			m.Text = strings.TrimRight(m.Text[:i], "\n")
			if len(m.Parts) == 1 {
				m.Parts[0].Text = m.Text
			}
			return
		}
	}
}
