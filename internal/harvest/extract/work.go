package extract

import (
	"encoding/json"
	"slices"
	"strings"

	"github.com/kenlayer/ken"
	"github.com/kenlayer/ken/internal/run/session"
)

// work is what was done with tools.
type work struct {
	files    []string // written, in the order in which they were first
	commands []command
	known    map[string]bool // files, as the journal names them
}

// command is one command that was run, by its last outcome.
type command struct {
	line   string
	failed bool
	seen   bool   // its result is in the transcript
	error  string // the last line that says what went wrong
}

// Bounds of what is kept of a session's work.
const (
	maxFiles    = 200
	maxCommands = 200
	maxCommand  = 100 // characters
	maxError    = 160
	maxArgument = 64 << 10 // bytes of a call's arguments that are parsed
)

// done reads the tool calls and their results.
func done(tr *session.Transcript) work {
	w := work{known: map[string]bool{}}
	for i := range tr.Entries {
		for path := range tr.Entries[i].Files {
			w.known[path] = true
		}
	}
	calls := map[string]int{} // id of a call to its command
	byLine := map[string]int{}
	for i := range tr.Entries {
		e := &tr.Entries[i]
		for k := range e.Message.ToolCalls {
			w.call(&e.Message.ToolCalls[k], calls, byLine)
		}
		if e.Message.Role != "tool" {
			continue
		}
		if at, ok := calls[e.Message.ToolCallID]; ok {
			c := &w.commands[at]
			c.seen = true
			if c.failed, c.error = failed(body(e)); !c.failed {
				c.error = ""
			}
		}
	}
	return w
}

// call notes what a tool call is about to write or to run.
func (w *work) call(c *ken.ToolCall, calls, byLine map[string]int) {
	if len(c.Arguments) > maxArgument {
		return
	}
	var args map[string]any
	if json.Unmarshal([]byte(c.Arguments), &args) != nil {
		return
	}
	name := strings.ToLower(c.Name)
	if path := argument(args, "file_path", "path", "filepath", "file", "filename", "target_file", "notebook_path", "relative_path"); path != "" {
		if path = w.relative(path); writes(name, args) && len(w.files) < maxFiles && !slices.Contains(w.files, path) {
			w.files = append(w.files, path)
		}
		return
	}
	line := commandLine(argument(args, "command", "cmd", "script", "commandline"))
	if line == "" || looks(line) {
		return
	}
	at, known := byLine[line]
	if !known {
		if len(w.commands) == maxCommands {
			return
		}
		at = len(w.commands)
		byLine[line] = at
		w.commands = append(w.commands, command{line: line})
	}
	calls[c.ID] = at
}

// writes reports a tool that changes the file that it is given.
func writes(name string, args map[string]any) bool {
	switch argument(args, "command") { // the editor tools of some agents
	case "create", "str_replace", "insert":
		return true
	case "view":
		return false
	}
	for _, verb := range [...]string{"write", "edit", "create", "replace", "patch", "insert", "append", "update"} {
		if strings.Contains(name, verb) {
			return true
		}
	}
	return false
}

// argument is the first of the arguments that is text. A list of words is one text.
func argument(args map[string]any, names ...string) string {
	for _, n := range names {
		switch v := args[n].(type) {
		case string:
			return v
		case []any:
			var words []string
			for _, x := range v {
				if s, ok := x.(string); ok {
					words = append(words, s)
				}
			}
			if len(words) > 2 && strings.HasSuffix(words[0], "sh") && strings.HasPrefix(words[1], "-") { // bash -lc "…"
				words = words[2:]
			}
			return strings.Join(words, " ")
		}
	}
	return ""
}

// relative is the path as the journal knows it, without the folder of the project.
func (w *work) relative(path string) string {
	path = squeeze(path)
	for i := 0; i < len(path); i++ {
		if (i == 0 || path[i-1] == '/') && w.known[path[i:]] {
			return path[i:]
		}
	}
	return path
}

// commandLine is a command as people would write it again: its first line, without
// the change of folder before it.
func commandLine(s string) string {
	s = strings.TrimSpace(s)
	if i := strings.IndexByte(s, '\n'); i >= 0 {
		if strings.Contains(s[:i], "<<") {
			return "" // a file or a script written in place
		}
		s = s[:i]
	}
	for strings.HasPrefix(s, "cd ") {
		_, rest, ok := strings.Cut(s, "&&")
		if !ok {
			return ""
		}
		s = strings.TrimSpace(rest)
	}
	s = squeeze(s)
	for _, tail := range [...]string{" 2>&1", " || true"} {
		s = strings.TrimSuffix(s, tail)
	}
	if i := strings.Index(s, " 2>&1 |"); i > 0 { // … | tail -5
		s = s[:i]
	}
	if characters(s) > maxCommand {
		return ""
	}
	return s
}

// looks reports commands that only look: what they say is no state of the project.
func looks(line string) bool {
	words := strings.Fields(line)
	for len(words) > 1 && (strings.Contains(words[0], "=") || words[0] == "sudo" || words[0] == "time" || words[0] == "timeout") {
		words = words[1:]
	}
	switch first := words[0]; {
	case first == "git" && len(words) > 1:
		return looking["git "+words[1]]
	default:
		return looking[first]
	}
}

var looking = func() map[string]bool {
	m := set("ls cat head tail grep rg find cd pwd echo printf which type whoami env printenv wc du df ps stat file tree less more sed awk diff jq sleep date true false test cut sort uniq xxd od history export source")
	for _, sub := range []string{"status", "diff", "log", "show", "branch", "blame", "remote", "rev-parse", "ls-files"} {
		m["git "+sub] = true
	}
	return m
}()
