package wire

import (
	"slices"
	"strings"

	"github.com/kenlayer/ken"
)

// Aider names no conversation, and writes much of it itself: each request begins with an
// example, summaries of the repository and the files that it works on, each as a message
// in the user's name with an answer in the model's. They would make all of somebody's
// conversations one, since all begin alike, and another one when a file changes; and the
// layer would learn from them as from the user's words.
//
// aiderMarks are those messages of which every request has one, by how they begin, and
// their answers. No other program writes them.
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

// aiderNotes are others, which somebody might write, too.
var aiderNotes = []aiderPair{
	{"I committed the changes with git hash ", "Ok."},
	{"I updated the files.", "Ok."},
	{"I edited the files myself.", "Ok."},
	{"I ran this command:\n\n", "Ok."},
	{"Here is the content of http", "Ok."},
	{"I spoke to you previously about a number of things.\n", "Ok."},
}

type aiderPair struct{ user, model string }

// aiderExample ends the example.
const aiderExample = "I switched to a new code base. Please don't consider the above files or try to edit them any longer."

// aiderReminders begin what Aider puts behind the user's last message, and takes out again
// with the next one.
var aiderReminders = [...]string{
	"\n\n# *SEARCH/REPLACE block* Rules:\n",
	"\n\n# File editing rules:\n",
	"\n\n# V4A Diff Format Rules:\n",
	"\n\nTo suggest changes to a file you MUST return the entire content of the updated file.\n",
	"\n\nYou are diligent and tireless!\n",
	"\n\nPay careful attention to the scope of the user's request.\n",
	"\n\nReply in ", // a language, and nothing behind it
}

// withoutAider leaves out what Aider itself wrote into a conversation.
func (r *Request) withoutAider() {
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
				kept = r.instructed(kept)
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
			unremind(m)
			return
		}
	}
}

// instructed keeps the instructions among the first n messages, and returns how many
// there are.
func (r *Request) instructed(n int) (kept int) {
	for i := range n {
		if role := r.Messages[i].Role; role == "system" || role == "developer" {
			r.Messages[kept], r.places[kept] = r.Messages[i], r.places[i]
			kept++
		}
	}
	return kept
}

// aiderWrote reports a message in the user's name and its answer that Aider wrote both.
func aiderWrote(m, answer *ken.Message, pairs []aiderPair) bool {
	if m.Role != "user" || answer.Role != "assistant" || len(answer.ToolCalls) > 0 {
		return false
	}
	return slices.ContainsFunc(pairs, func(p aiderPair) bool { return answer.Text == p.model && strings.HasPrefix(m.Text, p.user) })
}

// unremind takes a reminder from behind what a user said.
func unremind(m *ken.Message) {
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
