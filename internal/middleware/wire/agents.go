package wire

import (
	"net/http"
	"strings"
)

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
