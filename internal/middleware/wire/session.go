package wire

import (
	"crypto/sha256"
	"encoding/hex"
	"io"
	"net/http"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/kenlayer/ken"
)

// SessionOf says which session a request belongs to: what the client named in a
// header; else the first of prompt_cache_key, metadata.session_id, conversation,
// previous_response_id and metadata.user_id; else the beginning of the
// conversation. It is "" for a request without any of them. It depends on nothing
// but its arguments, and never on the model.
//
// Some fields name less than a conversation. user names somebody, and so does
// metadata.user_id, but for Claude Code's, which holds a session and counts as
// that; prompt_cache_key is often one for a whole program, so it counts alone only
// when it looks like an id (16 letters and digits or more in a row, or a UUID). What
// names somebody or some program is taken together with the beginning of the
// conversation, so that two conversations do not become one.
//
// The beginning of a conversation is its first user message. Its instructions do not
// count: clients write the time, the branch or the open files into them. Two
// conversations that begin with the same words are one to SessionOf; see Guessed.
// One whose client replaced its beginning by a summary is another one.
//
// What comes from outside is not trusted: a name with control characters counts as
// not given, and one that is longer than 128 bytes is replaced by its hash. It never
// leads to another owner's session, because an owner is part of a session's name
// wherever one is looked up; hashes are salted with the owner as well, so that equal
// beginnings of two owners do not look equal.
func SessionOf(owner, header string, r *Request) string {
	h := &r.Hints
	if s := NameOf(owner, header); s != "" {
		return s
	}
	program := NameOf(owner, h.PromptCacheKey)
	if unique(program) {
		return program
	}
	for _, s := range []string{h.Session, h.Conversation, r.Previous, sessionIn(h.MetadataUser)} {
		if s = NameOf(owner, s); s != "" {
			return s
		}
	}
	for _, s := range []string{program, h.MetadataUser, h.User} {
		if s = NameOf(owner, s); s != "" {
			return beginning(owner, s, r)
		}
	}
	return beginning(owner, "", r)
}

const (
	maxName = 128 // bytes; a journal takes 256
	guess   = "auto-"
)

// Guessed reports a session that SessionOf made of a conversation's beginning. Two
// conversations may have the same, so whoever sees one begin again had better tell
// them apart.
func Guessed(session string) bool {
	hash, ok := strings.CutPrefix(session, guess)
	return ok && len(hash) == 32 && strings.Trim(hash, "0123456789abcdef") == ""
}

// NameOf is a name from outside as that of a session, "" for one that can't be; see
// SessionOf.
func NameOf(owner, s string) string {
	s = strings.TrimSpace(s)
	if s == "" || !utf8.ValidString(s) || strings.ContainsFunc(s, func(r rune) bool { return unicode.IsControl(r) || unicode.Is(unicode.Cf, r) }) {
		return ""
	}
	if len(s) > maxName || strings.ContainsAny(s, "<>") { // a journal takes no markup
		sum := sha256.Sum256([]byte(owner + "\x00" + s))
		return "sha256-" + hex.EncodeToString(sum[:16])
	}
	return strings.Clone(s)
}

// unique reports a name that is hardly one for many conversations.
func unique(s string) bool {
	run, digits := 0, 0
	plain := strings.ReplaceAll(s, "-", "")
	if len(s)-len(plain) < 4 { // a UUID has four
		plain = s
	}
	for i := range len(plain) {
		switch c := plain[i]; {
		case c >= '0' && c <= '9':
			run++
			digits++
		case c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z':
			run++
		default:
			run, digits = 0, 0
		}
		if run >= 16 && digits >= 2 {
			return true
		}
	}
	return false
}

// sessionIn finds the session that Claude Code writes behind the user and the
// account, or beside them in an object.
func sessionIn(user string) string {
	if i := strings.LastIndex(user, "_session_"); i >= 0 {
		return user[i+len("_session_"):]
	}
	if strings.HasPrefix(user, "{") && len(user) <= 4096 && valid([]byte(user)) {
		return document(user).get("session_id").text()
	}
	return ""
}

// beginning names a conversation by how it begins, "" for one without a user
// message.
func beginning(owner, salt string, r *Request) string {
	h := sha256.New()
	field := func(s string) {
		_, _ = io.WriteString(h, s)
		_, _ = h.Write([]byte{0xff}) // in no UTF-8, so that no two lists of fields are alike
	}
	field(owner)
	field(salt)
	for i := range r.Messages {
		m := &r.Messages[i]
		if m.Role == "user" {
			said(field, m)
			return guess + hex.EncodeToString(h.Sum(nil)[:16])
		}
	}
	return ""
}

func said(field func(string), m *ken.Message) {
	field(m.Text)
	for _, p := range m.Parts {
		if p.Ref != "" {
			field(p.Ref)
		}
	}
}

// Names are what an agent says in a request's headers about its conversation. All of it
// comes from outside and is not trusted; see SessionOf for how a name becomes a session's.
type Names struct {
	Session string // the conversation; of a sub-agent, its own
	Parent  string // the conversation that started it, for a sub-agent's
	Agent   string // the program, such as "claude-code"; "" for an unknown one
}

// NamesIn reads the headers that agents send by themselves: those of Claude Code, Codex
// and opencode, and X-Session-Id of anybody.
func NamesIn(h http.Header) Names {
	n := Names{Agent: programOf(h.Get("User-Agent"))}
	switch session, thread := h.Get("X-Claude-Code-Session-Id"), h.Get("Thread-Id"); {
	case session != "":
		// Sub-agents share the session and have an id each; the main agent has none.
		n.Session = session
		if id := h.Get("X-Claude-Code-Agent-Id"); id != "" {
			n.Session, n.Parent = session+childMark+id, session
			if above := h.Get("X-Claude-Code-Parent-Agent-Id"); above != "" && above != id {
				n.Parent = session + childMark + above
			}
		}
	case thread != "":
		n.Session = thread
		// The session is the thread that the user began; a sub-agent may be another one's.
		if n.Parent = h.Get("X-Codex-Parent-Thread-Id"); n.Parent == "" && h.Get("Session-Id") != thread {
			n.Parent = h.Get("Session-Id")
		}
	default:
		n.Session = h.Get("Session-Id")
		if n.Session == "" {
			n.Session = h.Get("X-Session-Id")
		}
		n.Parent = h.Get("X-Parent-Session-Id")
	}
	if n.Session == "" || n.Parent == n.Session {
		n.Parent = ""
	}
	return n
}

// childMark stands between a session and the sub-agent in it.
const childMark = "~"

// programs are agents, by how their User-Agent begins.
var programs = [...]struct{ prefix, name string }{
	{"claude-cli/", "claude-code"}, {"codex", "codex"}, {"opencode/", "opencode"}, {"qwencode/", "qwen-code"},
	{"geminicli/", "gemini-cli"}, {"cline/", "cline"}, {"roocode/", "roo-code"}, {"aider/", "aider"}, {"continue/", "continue"},
}

func programOf(agent string) string {
	agent = strings.ToLower(agent)
	for _, p := range programs {
		if strings.HasPrefix(agent, p.prefix) {
			return p.name
		}
	}
	return ""
}

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
