package hook

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"

	"github.com/kenlayer/ken"
	"github.com/kenlayer/ken/config"
	"github.com/kenlayer/ken/internal/store/bolt"
	"github.com/kenlayer/ken/internal/store/shared"
)

// moment is what happened in an agent, whichever name the agent has for it.
type moment string

const (
	started   moment = "start"   // a conversation began or came back
	asked     moment = "prompt"  // the user sent a message
	used      moment = "tool"    // a tool call ended
	answered  moment = "answer"  // the agent answered
	compacted moment = "compact" // the agent is about to replace the conversation by a summary
	ended     moment = "end"     // the conversation is over
)

// moments maps the names of events, in the agents' own words.
var moments = map[string]moment{
	// Claude Code, Codex, Qwen Code, Continue
	"SessionStart": started, "UserPromptSubmit": asked, "PostToolUse": used, "PostToolUseFailure": used,
	"Stop": answered, "PreCompact": compacted, "SessionEnd": ended,
	// Gemini CLI
	"BeforeAgent": asked, "AfterTool": used, "AfterAgent": answered, "PreCompress": compacted,
	// Cursor
	"sessionStart": started, "beforeSubmitPrompt": asked, "postToolUse": used, "postToolUseFailure": used,
	"afterAgentResponse": answered, "preCompact": compacted, "sessionEnd": ended,
}

// Event is what an agent writes to a hook's standard input. Agents name some fields
// differently; each event has a few of them.
type Event struct {
	Program string `json:"-"` // the agent's name

	Name    string `json:"hook_event_name"`
	Session string `json:"session_id"`
	Dir     string `json:"cwd"`
	Source  string `json:"source"`   // why a session starts: startup, resume, clear, compact
	Model   string `json:"model"`    // may be missing
	Agent   string `json:"agent_id"` // a sub-agent's

	Prompt string `json:"prompt"`

	Tool     string          `json:"tool_name"`
	Call     string          `json:"tool_use_id"`
	Input    json.RawMessage `json:"tool_input"`
	Response json.RawMessage `json:"tool_response"`
	Output   json.RawMessage `json:"tool_output"` // Cursor
	Error    json.RawMessage `json:"error"`
	Failure  string          `json:"error_message"` // Cursor

	Last       string `json:"last_assistant_message"`
	LastGemini string `json:"prompt_response"`
	LastCursor string `json:"text"`
	Transcript string `json:"transcript_path"`

	Conversation string   `json:"conversation_id"` // Cursor
	Roots        []string `json:"workspace_roots"` // Cursor
}

// Parse reads an event of an agent. Errors: ken.ErrInvalid.
func Parse(agent string, body []byte) (*Event, error) {
	e := Event{Program: agent}
	if err := json.Unmarshal(body, &e); err != nil {
		return nil, &ken.Error{Code: ken.CodeInvalid, Msg: "the event is not JSON", Err: err, Try: "Have an agent run this: ken connect."}
	}
	e.Session = cmp.Or(e.Session, e.Conversation)
	e.Last = cmp.Or(e.Last, e.LastGemini, e.LastCursor)
	if e.Dir == "" && len(e.Roots) > 0 {
		e.Dir = e.Roots[0]
	}
	return &e, nil
}

// moment returns what happened; "" for an event that means nothing to Ken. A sub-agent's
// events do not: the agent that started it is given its result as that of a tool. Of
// conversations that start, those matter that are given a block then: where the agent has just
// replaced the conversation by a summary, and where there is no other moment for it.
func (e *Event) moment() moment {
	m := moments[e.Name]
	if e.Agent != "" || e.Session == "" || m == started && e.Program != Cursor && e.Source != "compact" {
		return ""
	}
	return m
}

// Matters reports whether Answer would do anything.
func (e *Event) Matters() bool { return e.moment() != "" }

// Settles reports whether sessions may be over behind the event, so that a harvest is due.
func (e *Event) Settles() bool {
	m := moments[e.Name]
	return e.Agent == "" && (m == started || m == compacted || m == ended)
}

// messages returns the messages of a tool call: the call and its result. Those of Ken's own
// tools are left out, because they say what is known.
func (e *Event) messages(ctx context.Context) []ken.Message {
	if e.Tool == "" || strings.HasPrefix(e.Tool, "mcp__ken__") || strings.HasPrefix(e.Tool, "mcp_ken_") {
		return nil
	}
	call := ken.ToolCall{ID: e.Call, Name: e.Tool, Arguments: string(e.Input)}
	return []ken.Message{{Role: "assistant", ToolCalls: []ken.ToolCall{call}}, {Role: "tool", ToolCallID: e.Call, Text: e.result(ctx)}}
}

// result returns what a tool printed, or why it failed.
func (e *Event) result(ctx context.Context) string {
	return cmp.Or(plain(ctx, e.Error, maxDepth), e.Failure, plain(ctx, e.Response, maxDepth), plain(ctx, e.Output, maxDepth))
}

// maxDepth bounds how deep a tool's result is read, because each level is parsed anew. Agents
// send six.
const maxDepth = 8

// outputs are the fields of a tool's result that hold its text, in the order in which they
// are read.
var outputs = []string{"error", "stdout", "stderr", "output", "llmContent", "content", "file", "result", "text"}

// plain returns the text of a tool's result, which may be a string, a list of parts or an
// object of the tool's own form. What lies deeper than depth is returned as it is, and so is
// everything once ctx is done.
func plain(ctx context.Context, raw json.RawMessage, depth int) string {
	raw = bytes.TrimSpace(raw)
	if len(raw) == 0 || string(raw) == "null" {
		return ""
	}
	if depth == 0 || ctx.Err() != nil {
		return string(raw)
	}
	switch raw[0] {
	case '"':
		var s string
		if json.Unmarshal(raw, &s) == nil {
			if nested := strings.TrimSpace(s); strings.HasPrefix(nested, "{") && json.Valid([]byte(nested)) {
				return plain(ctx, json.RawMessage(nested), depth-1)
			}
			return s
		}
	case '[':
		var parts []json.RawMessage
		if json.Unmarshal(raw, &parts) == nil {
			return joined(ctx, parts, depth-1)
		}
	case '{':
		var fields map[string]json.RawMessage
		if json.Unmarshal(raw, &fields) != nil {
			break
		}
		var parts []json.RawMessage
		for _, name := range outputs {
			if f := fields[name]; f != nil {
				parts = append(parts, f)
			}
		}
		if s := joined(ctx, parts, depth-1); s != "" {
			return s
		}
	}
	return string(raw)
}

func joined(ctx context.Context, parts []json.RawMessage, depth int) string {
	var lines []string
	for _, p := range parts {
		if s := plain(ctx, p, depth); s != "" {
			lines = append(lines, s)
		}
	}
	return strings.Join(lines, "\n")
}

// maxTail bounds what is read of a transcript's end, in bytes.
const maxTail = 1 << 20

// lastAnswer returns the last thing that the assistant said in a transcript, which has a JSON
// object a line: for agents whose events do not have it. Reasoning is left out.
func lastAnswer(path string) (string, error) {
	info, err := os.Stat(path)
	if err == nil && !info.Mode().IsRegular() { // opening a pipe waits for its writer
		err = &ken.Error{Code: ken.CodeInvalid, Field: "transcript_path", Msg: "is no file", Try: "Name the file of the transcript."}
	}
	if err != nil {
		return "", fmt.Errorf("read the transcript: %w", err)
	}
	f, err := os.Open(path)
	if err != nil {
		return "", fmt.Errorf("read the transcript: %w", err)
	}
	defer f.Close()
	if info.Size() > maxTail {
		if _, err := f.Seek(-maxTail, io.SeekEnd); err != nil {
			return "", fmt.Errorf("read the transcript: %w", err)
		}
	}
	b, err := io.ReadAll(io.LimitReader(f, maxTail)) // it may grow
	if err != nil {
		return "", fmt.Errorf("read the transcript: %w", err)
	}
	return answerIn(b), nil
}

// answerIn returns the last text of an assistant among the lines of a transcript.
func answerIn(b []byte) string {
	lines := bytes.Split(b, []byte{'\n'})
	for i := len(lines) - 1; i >= 0; i-- {
		var row struct {
			Type        string          `json:"type"`
			Role        string          `json:"role"`
			Content     json.RawMessage `json:"content"`
			IsSidechain bool            `json:"isSidechain"`
			Message     struct {
				Role    string          `json:"role"`
				Content json.RawMessage `json:"content"`
			} `json:"message"`
		}
		if json.Unmarshal(lines[i], &row) != nil || row.IsSidechain {
			continue
		}
		if role := cmp.Or(row.Message.Role, row.Role, row.Type); role != "assistant" && role != "gemini" {
			continue
		}
		content := row.Message.Content
		if content == nil {
			content = row.Content
		}
		if s := said(content); s != "" {
			return s
		}
	}
	return ""
}

// said returns the texts of a message's content, without its reasoning and tool calls.
func said(content json.RawMessage) string {
	var s string
	if json.Unmarshal(content, &s) == nil {
		return s
	}
	var parts []struct {
		Type string `json:"type"`
		Text string `json:"text"`
	}
	_ = json.Unmarshal(content, &parts) // what is no list of parts says nothing
	var texts []string
	for _, p := range parts {
		if (p.Type == "text" || p.Type == "output_text") && p.Text != "" {
			texts = append(texts, p.Text)
		}
	}
	return strings.Join(texts, "\n")
}

// Send has the process that holds an owner's store in the project in root answer an event,
// if its layer has middleware.Options.OnEvent. Nothing is opened here, so it takes a few milliseconds. taken
// is false if no process answers; then nothing was done. c is the project's configuration, and
// an empty owner means the configured one.
func Send(ctx context.Context, root string, c config.Config, owner string, body []byte) (answer []byte, taken bool, err error) {
	owner = cmp.Or(owner, c.Knowledge.Owner)
	return shared.SendEvent(ctx, filepath.Join(c.State(root), bolt.FolderName(owner)), owner, body)
}
