package hook

import (
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/kenlayer/ken/middleware"
)

// Events as the agents send them, from their documentation and recorded.
func TestEvents(t *testing.T) {
	for _, c := range []struct {
		name, agent, event string
		moment             moment
		session, text      string // text is what is kept of it
	}{
		{"Claude Code asks", "claude-code", `{"session_id":"s","transcript_path":"/t","cwd":"/p","permission_mode":"default","hook_event_name":"UserPromptSubmit","prompt":"hello"}`, asked, "s", "hello"},
		{"Claude Code runs a command", "claude-code", `{"session_id":"s","hook_event_name":"PostToolUse","tool_name":"Bash","tool_input":{"command":"ls"},"tool_response":{"stdout":"a\nb","stderr":"warning","interrupted":false,"isImage":false},"tool_use_id":"t"}`, used, "s", "a\nb\nwarning"},
		{"Claude Code reads a file", "claude-code", `{"session_id":"s","hook_event_name":"PostToolUse","tool_name":"Read","tool_input":{"file_path":"/a.go"},"tool_response":{"type":"text","file":{"filePath":"/a.go","content":"package a","numLines":1}}}`, used, "s", "package a"},
		{"Claude Code's sub-agent answers", "claude-code", `{"session_id":"s","hook_event_name":"PostToolUse","tool_name":"Task","tool_response":{"content":[{"type":"text","text":"found it"}],"totalTokens":1}}`, used, "s", "found it"},
		{"Claude Code's sub-agent thinks", "claude-code", `{"session_id":"s","hook_event_name":"PostToolUse","tool_name":"Task","tool_response":{"content":[{"type":"thinking","thinking":"hm"},{"type":"redacted_thinking","data":"hm"},{"type":"text","text":"found it"}]}}`, used, "s", "found it"},
		{"Claude Code's sub-agent only thinks", "claude-code", `{"session_id":"s","hook_event_name":"PostToolUse","tool_name":"Task","tool_response":{"content":[{"type":"thinking","thinking":"hm"}]}}`, used, "s", ""},
		{"an MCP tool returns its own fields", "claude-code", `{"session_id":"s","hook_event_name":"PostToolUse","tool_name":"mcp__x__y","tool_response":{"error":null,"content":[],"rows":3}}`, used, "s", `{"error":null,"content":[],"rows":3}`},
		{"Claude Code reads a picture", "claude-code", `{"session_id":"s","hook_event_name":"PostToolUse","tool_name":"Read","tool_response":{"type":"image","file":{"base64":"iVBORw0KGgo=","type":"image/png"}}}`, used, "s", "[image]"},
		{"an MCP tool returns a picture", "claude-code", `{"session_id":"s","hook_event_name":"PostToolUse","tool_name":"mcp__x__y","tool_response":{"content":[{"type":"text","text":"a chart"},{"type":"image","data":"iVBORw0KGgo=","mimeType":"image/png"}]}}`, used, "s", "a chart\n[image]"},
		{"Claude Code's command fails", "claude-code", `{"session_id":"s","hook_event_name":"PostToolUseFailure","tool_name":"Bash","error":"Exit code 1\nno"}`, used, "s", "Exit code 1\nno"},
		{"Claude Code answers", "claude-code", `{"session_id":"s","hook_event_name":"Stop","stop_hook_active":false,"last_assistant_message":"done"}`, answered, "s", "done"},
		{"Claude Code's sub-agent stops", "claude-code", `{"session_id":"s","hook_event_name":"Stop","agent_id":"a","last_assistant_message":"done"}`, "", "s", "done"},
		{"Claude Code starts", "claude-code", `{"session_id":"s","hook_event_name":"SessionStart","source":"startup"}`, "", "s", ""},
		{"Claude Code has compacted", "claude-code", `{"session_id":"s","hook_event_name":"SessionStart","source":"compact"}`, started, "s", ""},
		{"Codex answers nothing", "codex", `{"session_id":"s","turn_id":"t","transcript_path":null,"hook_event_name":"Stop","last_assistant_message":null}`, answered, "s", ""},
		{"Codex runs a command", "codex", `{"session_id":"s","hook_event_name":"PostToolUse","tool_name":"Bash","tool_input":{"command":"ls"},"tool_response":"{\"output\":\"a\",\"metadata\":{\"exit_code\":0}}","tool_use_id":"c"}`, used, "s", "a"},
		{"Gemini asks", "gemini", `{"session_id":"s","hook_event_name":"BeforeAgent","timestamp":"2026-01-01T00:00:00Z","prompt":"hello"}`, asked, "s", "hello"},
		{"Gemini runs a tool", "gemini", `{"session_id":"s","hook_event_name":"AfterTool","tool_name":"read_file","tool_input":{},"tool_response":{"llmContent":"text","returnDisplay":"shown"}}`, used, "s", "text"},
		{"Gemini answers", "gemini", `{"session_id":"s","hook_event_name":"AfterAgent","prompt":"hello","prompt_response":"done"}`, answered, "s", "done"},
		{"Cursor asks", "cursor", `{"conversation_id":"s","generation_id":"g","hook_event_name":"beforeSubmitPrompt","workspace_roots":["/p"],"prompt":"hello"}`, asked, "s", "hello"},
		{"Cursor starts", "cursor", `{"conversation_id":"s","hook_event_name":"sessionStart","workspace_roots":["/p"]}`, started, "s", ""},
		{"Cursor runs a tool", "cursor", `{"conversation_id":"s","hook_event_name":"postToolUse","tool_name":"Shell","tool_input":{"command":"ls"},"tool_output":"{\"exitCode\":0,\"stdout\":\"a\"}"}`, used, "s", "a"},
		{"Cursor answers", "cursor", `{"conversation_id":"s","hook_event_name":"afterAgentResponse","text":"done"}`, answered, "s", "done"},
		{"nobody's session", "claude-code", `{"hook_event_name":"Stop"}`, "", "", ""},
		{"another event", "claude-code", `{"session_id":"s","hook_event_name":"Notification"}`, "", "s", ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			e, err := Parse(c.agent, []byte(c.event))
			if err != nil {
				t.Fatal(err)
			}
			text := e.Prompt
			if e.Last != "" {
				text = e.Last
			}
			if msgs := e.messages(t.Context()); len(msgs) == 2 {
				text = msgs[1].Text
			}
			if e.moment() != c.moment || e.Session != c.session || text != c.text {
				t.Errorf("%q, session %q, %q; want %q, %q, %q", e.moment(), e.Session, text, c.moment, c.session, c.text)
			}
		})
	}
}

// A tool's result is read to a depth, and from there on kept as it is: its cost would grow with
// its depth times its size.
func TestDeepResult(t *testing.T) {
	for _, c := range []struct{ name, response, want string }{
		{"as deep as agents send", `{"content":[{"text":"{\"output\":{\"content\":[\"found\"]}}"}]}`, "found"},
		{"deeper", strings.Repeat("[", 1000) + `"x"` + strings.Repeat("]", 1000), strings.Repeat("[", 1000-maxDepth) + `"x"` + strings.Repeat("]", 1000-maxDepth)},
	} {
		if got := resultText(t.Context(), json.RawMessage(c.response), maxDepth); got != c.want {
			t.Errorf("%s: %.60q; want %.60q", c.name, got, c.want)
		}
	}
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	if got := resultText(ended, json.RawMessage(`["x"]`), maxDepth); got != `["x"]` {
		t.Errorf("nobody waits any more: %q", got)
	}
}

// What Ken's own tools answer is not what a tool found out.
func TestOwnToolsAreLeftOut(t *testing.T) {
	e, err := Parse("claude-code", []byte(`{"session_id":"s","hook_event_name":"PostToolUse","tool_name":"mcp__ken__memory_recall","tool_response":"known"}`))
	if err != nil || e.messages(t.Context()) != nil {
		t.Errorf("%v, %v", e.messages(t.Context()), err)
	}
}

// The answer in a transcript is the last text, without what the model thought.
func TestLastAnswer(t *testing.T) {
	for _, c := range []struct{ name, lines, want string }{
		{"Claude Code", `{"type":"user","message":{"role":"user","content":"hello"}}
{"type":"assistant","message":{"role":"assistant","content":[{"type":"thinking","thinking":"hm"},{"type":"text","text":"first"}]}}
{"type":"assistant","message":{"role":"assistant","content":[{"type":"thinking","thinking":"hm"}]}}
{"type":"assistant","isSidechain":true,"message":{"role":"assistant","content":[{"type":"text","text":"sub-agent"}]}}
{"type":"summary"}
{"broken`, "first"},
		{"plain", `{"role":"assistant","content":"hello"}`, "hello"},
		{"nothing", `{"role":"user","content":"hello"}`, ""},
	} {
		path := filepath.Join(t.TempDir(), "t.jsonl")
		if err := os.WriteFile(path, []byte(c.lines), 0o600); err != nil {
			t.Fatal(err)
		}
		if got, err := lastAnswer(path); err != nil || got != c.want {
			t.Errorf("%s: %q, %v; want %q", c.name, got, err, c.want)
		}
	}
}

// Only regular files are opened: reading a pipe would wait for its writer.
func TestTranscriptIsAFile(t *testing.T) {
	if _, err := lastAnswer(os.DevNull); err == nil {
		t.Error("a device was read")
	}
	path := filepath.Join(t.TempDir(), "t.jsonl")
	text := `{"role":"assistant","content":"too far back"}` + "\n" + strings.Repeat("\n", maxTail)
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	if got, err := lastAnswer(path); err != nil || got != "" {
		t.Errorf("%q, %v", got, err)
	}
}

// A body from another process is unpacked, and a broken one is refused.
func TestUnpack(t *testing.T) {
	l, err := middleware.Open(t.Context(), middleware.Options{Root: t.TempDir(), Foreground: true})
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	body := Pack("claude-code", []byte(`{"session_id":"s","hook_event_name":"Stop","last_assistant_message":"done"}`))
	if _, err := Unpack(t.Context(), l, "", body); err != nil {
		t.Fatal(err)
	}
	tr, err := l.Operator().Transcript(context.Background(), "", "s")
	if err != nil || len(tr.Entries) != 1 || tr.Entries[0].Message.Text != "done" || tr.Info.Agent != "claude-code" {
		t.Errorf("%+v, %v", tr, err)
	}
	if _, err := Unpack(t.Context(), l, "", []byte("claude-code")); err == nil {
		t.Error("a body without an event was taken")
	}
}

func FuzzParse(f *testing.F) {
	f.Add(`{"session_id":"s","hook_event_name":"PostToolUse","tool_name":"Bash","tool_response":{"stdout":["a",{"text":"b"}]}}`)
	f.Add(`{"session_id":"s","hook_event_name":"PostToolUse","tool_name":"Bash","tool_response":"{\"output\":\"{\\\"output\\\":1}\"}"}`)
	f.Fuzz(func(t *testing.T, text string) {
		e, err := Parse("claude-code", []byte(text))
		if err != nil {
			return
		}
		e.moment()
		e.messages(t.Context())
		answerIn([]byte(text))
	})
}
