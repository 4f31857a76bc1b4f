package wire

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"io"
	"net/http"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/kenlayer/ken"
	"github.com/kenlayer/ken/internal/store/clean"
)

// SessionOf returns the session of a request. It depends only on its arguments, and not on the
// model. The first of these that is present counts:
//   - the name in the client's header
//   - prompt_cache_key, if it looks like an id (16 letters and digits or more in a row, or a
//     UUID)
//   - metadata.session_id, conversation, previous_response_id, and the session that Claude Code
//     puts into metadata.user_id
//   - the beginning of the conversation, together with any other prompt_cache_key,
//     metadata.user_id or user
//
// Without any of them the session is "". The fields in the last line identify a user or a program
// rather than a conversation, so the beginning is added to distinguish conversations.
//
// The beginning of a conversation is its first user message. Instructions do not count, because
// clients write the time, the branch or the open files into them. SessionOf can't distinguish
// conversations that begin with the same words: see Guessed. A conversation whose client replaced
// its beginning with a summary gets another session.
//
// Names from outside are not trusted. A name with control characters is ignored, and one that is
// longer than 128 bytes or has markup or a secret is replaced by its hash. A name never leads to
// another owner's session, because sessions are always looked up by owner and name. Hashes are
// salted with the owner, so that equal beginnings of two owners have different hashes.
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
	maxName = 128 // bytes; journals accept 256
	guess   = "auto-"
)

// Guessed reports whether SessionOf derived a session from a conversation's beginning. Several
// conversations may then have the same session, so a caller should distinguish them when one begins
// again.
func Guessed(session string) bool {
	hash, ok := strings.CutPrefix(session, guess)
	return ok && len(hash) == 32 && strings.Trim(hash, "0123456789abcdef") == ""
}

// NameOf converts a name from outside to a session name; "" if the name is invalid. See SessionOf.
func NameOf(owner, s string) string {
	s = strings.TrimSpace(s)
	if s == "" || !utf8.ValidString(s) || strings.ContainsFunc(s, func(r rune) bool { return unicode.IsControl(r) || unicode.Is(unicode.Cf, r) }) {
		return ""
	}
	if len(s) > maxName || strings.ContainsAny(s, "<>") || clean.Text(s) != s { // journals refuse markup and secrets
		sum := sha256.Sum256([]byte(owner + "\x00" + s))
		return "sha256-" + hex.EncodeToString(sum[:16])
	}
	return strings.Clone(s)
}

// unique reports whether a name is unlikely to be used for several conversations.
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

// sessionIn returns the session that Claude Code writes after the user and the account, or into an
// object with them.
func sessionIn(user string) string {
	if i := strings.LastIndex(user, "_session_"); i >= 0 {
		return user[i+len("_session_"):]
	}
	if strings.HasPrefix(user, "{") && len(user) <= 4096 && valid([]byte(user)) {
		return document(user).get("session_id").text()
	}
	return ""
}

// beginning identifies a conversation by its first user message; "" if there is none.
func beginning(owner, salt string, r *Request) string {
	h := sha256.New()
	field := func(s string) {
		_, _ = io.WriteString(h, s)
		_, _ = h.Write([]byte{0xff}) // this byte does not occur in UTF-8, so different lists of fields are never equal
	}
	field(owner)
	field(salt)
	for i := range r.Messages {
		m := &r.Messages[i]
		if m.Role == "user" {
			writeMessage(field, m)
			return guess + hex.EncodeToString(h.Sum(nil)[:16])
		}
	}
	return ""
}

func writeMessage(field func(string), m *ken.Message) {
	field(m.Text)
	for _, p := range m.Parts {
		if p.Ref != "" {
			field(p.Ref)
		}
	}
}

// Names is what the headers of an agent's request say about its conversation. They come from
// outside and are not trusted; see SessionOf for how they become a session's name.
type Names struct {
	Session string // the conversation; for a sub-agent its own
	Parent  string // the conversation that started a sub-agent
	Agent   string // the program, such as "claude-code"; "" if unknown
}

// NamesIn reads the headers that Claude Code, Codex and opencode send, and X-Session-Id of any
// client.
func NamesIn(h http.Header) Names {
	n := Names{Agent: programOf(h.Get("User-Agent"))}
	switch session, thread := h.Get("X-Claude-Code-Session-Id"), h.Get("Thread-Id"); {
	case session != "":
		// Sub-agents have the same session and an id of their own; the main agent has no id.
		n.Session = session
		if id := h.Get("X-Claude-Code-Agent-Id"); id != "" {
			n.Session, n.Parent = session+childMark+id, session
			if above := h.Get("X-Claude-Code-Parent-Agent-Id"); above != "" && above != id {
				n.Parent = session + childMark + above
			}
		}
	case thread != "":
		n.Session = thread
		// The session is the thread that the user started; a sub-agent may belong to another one.
		if n.Parent = h.Get("X-Codex-Parent-Thread-Id"); n.Parent == "" && h.Get("Session-Id") != thread {
			n.Parent = h.Get("Session-Id")
		}
	default:
		n.Session = h.Get("Session-Id")
		n.Session = cmp.Or(n.Session, h.Get("X-Session-Id"))
		n.Parent = h.Get("X-Parent-Session-Id")
	}
	if n.Session == "" || n.Parent == n.Session {
		n.Parent = ""
	}
	return n
}

// childMark separates a session and the id of its sub-agent.
const childMark = "~"

// programs lists agents by the beginning of their User-Agent.
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
