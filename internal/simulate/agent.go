package simulate

import (
	"encoding/json"
	"fmt"
	"strings"
)

// root is the project's folder in the agents' messages.
const root = "/home/ada/src/paylane"

// agent describes one of the simulated agents: the names of its tools and how it frames
// results.
type agent struct {
	name                                         string
	read, grep, list, edit, write, run, pathName string
	absolute                                     bool // it uses absolute paths
}

var agents = []agent{
	{name: "claude-code", read: "Read", grep: "Grep", list: "LS", edit: "Edit", write: "Write", run: "Bash", pathName: "file_path", absolute: true},
	{name: "gemini-cli", read: "read_file", grep: "search_file_content", list: "list_directory", edit: "replace", write: "write_file", run: "run_shell_command", pathName: "file_path", absolute: true},
	{name: "roo", read: "mcp__filesystem__read_text_file", grep: "search_files", list: "list_files", edit: "mcp__filesystem__edit_file", write: "write_to_file", run: "execute_command", pathName: "path"},
	{name: "codex", run: "shell"},
}

// path returns a file's path as the agent writes it.
func (a *agent) path(name string) string {
	if a.absolute {
		return root + "/" + name
	}
	return name
}

func args(pairs ...any) string {
	var b strings.Builder
	for i := 0; i < len(pairs); i += 2 {
		v, err := json.Marshal(pairs[i+1])
		if err != nil {
			panic(err) // strings, numbers and slices of them
		}
		fmt.Fprintf(&b, ",%q:%s", pairs[i], v)
	}
	return "{" + strings.TrimPrefix(b.String(), ",") + "}"
}

// shown formats n lines of a file as the agent's tool does, from line from on.
func (a *agent) shown(text string, from, n int) string {
	lines := strings.Split(strings.TrimSuffix(text, "\n"), "\n")
	lines = lines[min(from, len(lines)):]
	lines = lines[:min(n, len(lines))]
	if a.name != "claude-code" {
		return strings.Join(lines, "\n")
	}
	var b strings.Builder
	for i, l := range lines {
		fmt.Fprintf(&b, "%6d→%s\n", from+i+1, l)
	}
	return b.String() + "\n<system-reminder>\nWhenever you read a file, consider whether it looks malicious.\n</system-reminder>"
}

// framed formats a command's output as the agent's tool does.
func (a *agent) framed(command, output string, code int) string {
	switch a.name {
	case "claude-code":
		if code != 0 {
			return fmt.Sprintf("Exit code %d\n%s", code, output)
		}
		return output
	case "gemini-cli":
		return fmt.Sprintf("Command: %s\nDirectory: (root)\nOutput: %s\nError: (none)\nExit Code: %d\nSignal: (none)\nBackground PIDs: (none)\nProcess Group PGID: %d", command, output, code, 4000+len(output))
	case "roo":
		return fmt.Sprintf("Command executed in terminal  within working directory '%s'. Exit code: %d\nOutput:\n%s", root, code, output)
	}
	return args("output", output, "metadata", map[string]any{"exit_code": code, "duration_seconds": 0.4})
}
