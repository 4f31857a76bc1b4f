package extract

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/kenlayer/ken"
	"github.com/kenlayer/ken/internal/run/session"
)

func TestFailed(t *testing.T) {
	for _, tt := range []struct {
		name, result string
		failed       bool
		error        string
	}{
		{"nothing", "", false, ""},
		{"passes", "ok  \tbilling\t0.2s", false, ""},
		{"status 0 beats words", "error: retried\nexit code: 0", false, "error: retried"},
		{"status 1 without words", "done\n[exit code: 1]", true, ""},
		{"last status counts", "exit code 0\nexit code 2", true, ""},
		{"json", `{"output":"x","exit_code":137}`, true, ""},
		{"negative", "Process exited with code -9", true, ""},
		{"go test", "--- FAIL: TestA (0.00s)\nFAIL\nexit status 1", true, "--- FAIL: TestA (0.00s)"},
		{"compiler", "main.go:3:1: error: x\nmake: *** [all] Error 1", true, "main.go:3:1: error: x"},
		{"python", "Traceback (most recent call last):\n  File x\nValueError: bad", true, "ValueError: bad"},
		{"shell", "bash: foo: command not found", true, "bash: foo: command not found"},
		{"speaks of errors", "0 errors, 3 warnings", false, ""},
		{"no number", "exit code unknown", false, ""},
		{"long", strings.Repeat("x", 5000) + "\n" + strings.Repeat("y\n", 5000) + "error: late", true, "error: late"},
		{"long line", "error: " + strings.Repeat("word ", 100), true, "error: " + strings.TrimSpace(strings.Repeat("word ", 30)) + "…"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			failed, why := failed(tt.result)
			if failed != tt.failed || why != tt.error {
				t.Errorf("got %v %q, want %v %q", failed, why, tt.failed, tt.error)
			}
		})
	}
}

func TestCommandLine(t *testing.T) {
	for in, want := range map[string]string{
		"go test ./...":                   "go test ./...",
		"cd /srv && go  test ./... 2>&1":  "go test ./...",
		"cd a && cd b && make":            "make",
		"go test ./... 2>&1 | tail -5":    "go test ./...",
		"make lint || true":               "make lint",
		"make\nmake install":              "make",
		"cat > x <<EOF\nsecret\nEOF":      "",
		"cd /srv":                         "",
		strings.Repeat("x", maxCommand+1): "",
		"":                                "",
	} {
		if got := commandLine(in); got != want {
			t.Errorf("%q: got %q, want %q", in, got, want)
		}
	}
}

func TestLooks(t *testing.T) {
	for line, want := range map[string]bool{
		"ls -la": true, "git status": true, "git log -3": true, "FOO=1 grep x y": true, "sudo cat x": true,
		"go test ./...": false, "git commit -m x": false, "make": false, "git": false,
	} {
		if got := looks(line); got != want {
			t.Errorf("%q: %v", line, got)
		}
	}
}

func TestDone(t *testing.T) {
	call := func(id, name, args string) ken.ToolCall { return ken.ToolCall{ID: id, Name: name, Arguments: args} }
	ask := func(calls ...ken.ToolCall) session.Entry {
		return session.Entry{Message: ken.Message{Role: "assistant", ToolCalls: calls}, Files: map[string]string{"billing/a.go": ""}}
	}
	answer := func(id, text string) session.Entry {
		return session.Entry{Message: ken.Message{Role: "tool", ToolCallID: id, Text: text}}
	}
	w := done(&session.Transcript{Entries: []session.Entry{
		ask(call("1", "Bash", `{"command":"go test ./..."}`), call("2", "Edit", `{"file_path":"/srv/billing/a.go","old_string":"x"}`)),
		answer("1", "FAIL\nexit status 1"), answer("2", "ok"),
		ask(call("3", "str_replace_based_edit_tool", `{"command":"view","path":"b.go"}`), call("4", "str_replace_based_edit_tool", `{"command":"create","path":"c.go"}`)),
		ask(call("5", "shell", `{"command":["bash","-lc","go test ./..."]}`), call("6", "bash", `{"command":"make lint"}`), call("7", "bash", `{"command":"ls"}`)),
		answer("5", "ok"), answer("6", "error: unused\nexit code 2"), answer("unknown", "exit code 1"),
		ask(call("8", "bash", `{"command":"make release"}`), call("9", "read", `{"path":"d.go"}`), call("10", "write", `not json`)),
	}})
	if diff := cmp.Diff([]string{"billing/a.go", "c.go"}, w.files); diff != "" {
		t.Errorf("files (-want +got):\n%s", diff)
	}
	want := []command{{line: "go test ./...", seen: true}, {line: "make lint", seen: true, failed: true, error: "error: unused"}, {line: "make release"}}
	if diff := cmp.Diff(want, w.commands, cmp.AllowUnexported(command{})); diff != "" {
		t.Errorf("commands (-want +got):\n%s", diff)
	}
}

func TestClip(t *testing.T) {
	for _, tt := range []struct {
		s    string
		n    int
		want string
	}{
		{"short", 10, "short"}, {"one two three", 9, "one two…"}, {"ééééééé", 4, "ééé…"}, {"", 3, ""},
	} {
		if got := clip(tt.s, tt.n); got != tt.want || characters(got) > tt.n {
			t.Errorf("%q to %d: %q", tt.s, tt.n, got)
		}
	}
}
