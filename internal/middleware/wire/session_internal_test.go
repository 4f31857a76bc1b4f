package wire

import (
	"net/http"
	"testing"
)

// The headers are those that the agents were seen to send.
func TestNamesIn(t *testing.T) {
	const id, other = "3f6c1a52-8a7e-4a53-9a54-0a4f8d2f8a11", "9b1d6f7e-0c55-4f0e-8f3e-1f6f0f0b7c22"
	for _, tt := range []struct {
		name string
		h    map[string]string
		want Names
	}{
		{"nothing", nil, Names{}},
		{"Claude Code", map[string]string{"User-Agent": "claude-cli/2.1.197 (external, cli)", "X-Claude-Code-Session-Id": id}, Names{id, "", "claude-code"}},
		{"its sub-agent", map[string]string{"X-Claude-Code-Session-Id": id, "X-Claude-Code-Agent-Id": "a1"}, Names{id + "~a1", id, ""}},
		{"a sub-agent's sub-agent", map[string]string{"X-Claude-Code-Session-Id": id, "X-Claude-Code-Agent-Id": "a2", "X-Claude-Code-Parent-Agent-Id": "a1"},
			Names{id + "~a2", id + "~a1", ""}},
		{"Codex", map[string]string{"User-Agent": "codex_cli_rs/0.169.0 (Ubuntu)", "Session-Id": id, "Thread-Id": id}, Names{id, "", "codex"}},
		{"its thread", map[string]string{"Session-Id": id, "Thread-Id": other}, Names{other, id, ""}},
		{"a thread's thread", map[string]string{"Session-Id": id, "Thread-Id": other, "X-Codex-Parent-Thread-Id": "t1"}, Names{other, "t1", ""}},
		{"an older Codex", map[string]string{"Session-Id": id}, Names{id, "", ""}},
		{"opencode", map[string]string{"User-Agent": "opencode/1.18.33 ai-sdk/5", "X-Session-Id": "ses_1"}, Names{"ses_1", "", "opencode"}},
		{"its child", map[string]string{"X-Session-Id": "ses_2", "X-Parent-Session-Id": "ses_1"}, Names{"ses_2", "ses_1", ""}},
		{"a parent without a child", map[string]string{"X-Parent-Session-Id": "ses_1"}, Names{}},
		{"its own parent", map[string]string{"X-Session-Id": "ses_1", "X-Parent-Session-Id": "ses_1"}, Names{"ses_1", "", ""}},
	} {
		h := http.Header{}
		for name, value := range tt.h {
			h.Set(name, value)
		}
		if got := NamesIn(h); got != tt.want {
			t.Errorf("%s: %+v, want %+v", tt.name, got, tt.want)
		}
	}
}
