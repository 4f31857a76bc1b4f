package wire

import (
	"crypto/sha256"
	"encoding/hex"
	"io"
	"net/http"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/kenlayer/ken"
)

// SessionOf returns the session that a request belongs to. It depends only on its arguments,
// and never on the model. The first of these counts:
//   - the name in the client's header
//   - prompt_cache_key, if it looks like an id (16 letters and digits or more in a row, or a
//     UUID)
//   - metadata.session_id, conversation, previous_response_id, and the session that Claude Code
//     puts into metadata.user_id
//   - the beginning of the conversation, together with any other prompt_cache_key,
//     metadata.user_id or user
//
// A request without any of them has the session "". The fields in the last line name a user or
// a program rather than a conversation, so the beginning keeps two conversations apart.
//
// The beginning of a conversation is its first user message. Instructions do not count: clients
// write the time, the branch or the open files into them. SessionOf can't tell two
// conversations apart that begin with the same words: see Guessed. A conversation whose client
// replaced its beginning by a summary is another one.
//
// Names from outside are not trusted. A name with control characters counts as not given, and
// one that is longer than 128 bytes is replaced by its hash. It never leads to another owner's
// session, because an owner is part of a session's name wherever one is looked up. Hashes are
// salted with the owner, so that equal beginnings of two owners do not look equal.
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

// Guessed reports whether SessionOf made a session of a conversation's beginning. Two
// conversations may then have the same session, so a caller that sees one begin again should
// tell them apart.
func Guessed(session string) bool {
	hash, ok := strings.CutPrefix(session, guess)
	return ok && len(hash) == 32 && strings.Trim(hash, "0123456789abcdef") == ""
}

// NameOf turns a name from outside into a session's name; "" if that can't be done. See
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

// unique reports whether a name is hardly used for many conversations.
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

// sessionIn finds the session that Claude Code writes after the user and the account, or beside
// them in an object.
func sessionIn(user string) string {
	if i := strings.LastIndex(user, "_session_"); i >= 0 {
		return user[i+len("_session_"):]
	}
	if strings.HasPrefix(user, "{") && len(user) <= 4096 && valid([]byte(user)) {
		return document(user).get("session_id").text()
	}
	return ""
}

// beginning names a conversation by its first user message; "" if there is none.
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

// Names are what an agent's request headers say about its conversation. They come from outside
// and are not trusted; see SessionOf for how a name becomes a session's.
type Names struct {
	Session string // the conversation; for a sub-agent, its own
	Parent  string // the conversation that started a sub-agent
	Agent   string // the program, such as "claude-code"; "" if unknown
}

// NamesIn reads the headers that Claude Code, Codex and opencode send, and X-Session-Id of any
// client.
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

// childMark stands between a session and its sub-agent.
const childMark = "~"

// programs are agents, by the beginning of their User-Agent.
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
