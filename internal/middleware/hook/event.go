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
	"slices"
	"strings"

	"github.com/kenlayer/ken"
	"github.com/kenlayer/ken/config"
	"github.com/kenlayer/ken/internal/middleware/wire"
	"github.com/kenlayer/ken/internal/store/bolt"
	"github.com/kenlayer/ken/internal/store/shared"
)

// moment is the kind of an event, independent of the agent's name for it.
type moment string

const (
	started   moment = "start"   // a conversation started or was resumed
	asked     moment = "prompt"  // the user sent a message
	used      moment = "tool"    // a tool call ended
	answered  moment = "answer"  // the agent answered
	compacted moment = "compact" // the agent is about to replace the conversation with a summary
	ended     moment = "end"     // the conversation has ended
)

// moments maps the agents' names of events.
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

// Event is what an agent writes to a hook's standard input. Agents use different names for some
// fields, and each event has only some of the fields.
type Event struct {
	Program string `json:"-"` // the agent's name

	Name    string `json:"hook_event_name"`
	Session string `json:"session_id"`
	Dir     string `json:"cwd"`
	Source  string `json:"source"`   // why the session starts: startup, resume, clear or compact
	Model   string `json:"model"`    // may be missing
	Agent   string `json:"agent_id"` // id of a sub-agent

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

// Parse parses an event of an agent. It returns ken.ErrInvalid for invalid input.
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

// moment returns the kind of the event; "" if Ken ignores it. It ignores events of sub-agents,
// because the parent agent gets a sub-agent's result as that of a tool. Of started conversations it
// ignores those that get no block: a block is added only after the agent has compacted the
// conversation, and for agents that allow no other moment.
func (e *Event) moment() moment {
	m := moments[e.Name]
	if e.Agent != "" || e.Session == "" || m == started && e.Program != Cursor && e.Source != "compact" {
		return ""
	}
	return m
}

// Matters reports whether Answer would do anything.
func (e *Event) Matters() bool { return e.moment() != "" }

// Settles reports whether sessions may have ended with the event, so that a harvest is due.
func (e *Event) Settles() bool {
	m := moments[e.Name]
	return e.Agent == "" && (m == started || m == compacted || m == ended)
}

// messages returns the messages of a tool call: the call and its result. It returns none for Ken's
// own tools, because their answers contain only known claims.
func (e *Event) messages(ctx context.Context) []ken.Message {
	if e.Tool == "" || strings.HasPrefix(e.Tool, "mcp__ken__") || strings.HasPrefix(e.Tool, "mcp_ken_") {
		return nil
	}
	call := ken.ToolCall{ID: e.Call, Name: e.Tool, Arguments: string(e.Input)}
	return []ken.Message{{Role: "assistant", ToolCalls: []ken.ToolCall{call}}, {Role: "tool", ToolCallID: e.Call, Text: e.result(ctx)}}
}

// result returns what a tool printed, or why it failed.
func (e *Event) result(ctx context.Context) string {
	return cmp.Or(resultText(ctx, e.Error, maxDepth), e.Failure, resultText(ctx, e.Response, maxDepth), resultText(ctx, e.Output, maxDepth))
}

// maxDepth is the maximum nesting at which a tool's result is read, because each level is parsed
// again. Agents send six levels.
const maxDepth = 8

// outputs lists the fields of a tool's result that hold its text, in the order in which they are
// read.
var outputs = []string{"error", "stdout", "stderr", "output", "llmContent", "content", "file", "result", "text"}

// empty lists values without text. A field that has one may stand beside another that has the result.
var empty = []string{"null", `""`, "[]", "{}"}

// media lists the types of a tool's result whose content is no text.
var media = []string{"image", "audio", "video", "pdf", "document"}

// resultText returns the text of a tool's result, which may be a string, a list of parts or an object.
// Parts with reasoning are left out. The type stands for a part that is no text. An object without
// text is returned as JSON, as are values nested deeper than depth and all values after ctx has ended.
func resultText(ctx context.Context, raw json.RawMessage, depth int) string {
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
				return resultText(ctx, json.RawMessage(nested), depth-1)
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
		var kind string
		if json.Unmarshal(fields["type"], &kind) == nil {
			switch {
			case wire.IsReasoning(kind):
				return ""
			case slices.Contains(media, kind):
				return "[" + kind + "]"
			}
		}
		var parts []json.RawMessage
		for _, name := range outputs {
			if f := fields[name]; f != nil && !slices.Contains(empty, string(f)) {
				parts = append(parts, f)
			}
		}
		if len(parts) > 0 {
			return joined(ctx, parts, depth-1)
		}
	}
	return string(raw)
}

func joined(ctx context.Context, parts []json.RawMessage, depth int) string {
	var lines []string
	for _, p := range parts {
		if s := resultText(ctx, p, depth); s != "" {
			lines = append(lines, s)
		}
	}
	return strings.Join(lines, "\n")
}

// maxTail is how much of the end of a transcript is read, in bytes.
const maxTail = 1 << 20

// lastAnswer returns the last text of the assistant in a transcript file, which has one JSON object
// per line. It is for agents whose events don't contain the answer. Reasoning is left out.
func lastAnswer(path string) (answer string, err error) {
	defer func() {
		if err != nil {
			err = fmt.Errorf("read the transcript: %w", err)
		}
	}()
	info, err := os.Stat(path)
	if err == nil && !info.Mode().IsRegular() { // opening a pipe would wait for its writer
		err = &ken.Error{Code: ken.CodeInvalid, Field: "transcript_path", Msg: "is no file", Try: "Name the file of the transcript."}
	}
	if err != nil {
		return "", err
	}
	f, err := os.Open(path)
	if err != nil {
		return "", err
	}
	defer f.Close()
	if info.Size() > maxTail {
		if _, err := f.Seek(-maxTail, io.SeekEnd); err != nil {
			return "", err
		}
	}
	b, err := io.ReadAll(io.LimitReader(f, maxTail)) // the file may grow
	return answerIn(b), err
}

// answerIn returns the last text of an assistant in the lines of a transcript.
func answerIn(b []byte) string {
	for _, line := range slices.Backward(bytes.Split(b, []byte{'\n'})) {
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
		if json.Unmarshal(line, &row) != nil || row.IsSidechain {
			continue
		}
		if role := cmp.Or(row.Message.Role, row.Role, row.Type); role != "assistant" && role != "gemini" {
			continue
		}
		content := row.Message.Content
		if content == nil {
			content = row.Content
		}
		if s := messageText(content); s != "" {
			return s
		}
	}
	return ""
}

// messageText returns the texts of a message's content, without reasoning and tool calls.
func messageText(content json.RawMessage) string {
	var s string
	if json.Unmarshal(content, &s) == nil {
		return s
	}
	var parts []struct {
		Type string `json:"type"`
		Text string `json:"text"`
	}
	_ = json.Unmarshal(content, &parts) // anything but a list of parts has no text
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
