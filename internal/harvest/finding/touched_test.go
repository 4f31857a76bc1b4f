package finding

import (
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/kenlayer/ken"
)

// What a conversation's calls were to change is told, and nothing outside of the project.
func TestTouched(t *testing.T) {
	root := filepath.Join(t.TempDir(), "project")
	if err := os.Mkdir(root, 0o755); err != nil {
		t.Fatal(err)
	}
	link := filepath.Join(t.TempDir(), "link")
	if err := os.Symlink(root, link); err != nil {
		t.Skip(err)
	}
	var msgs []ken.Message
	call := func(id, tool, arguments, result string) {
		msgs = append(msgs, ken.Message{Role: "assistant", ToolCalls: []ken.ToolCall{{ID: id, Name: tool, Arguments: arguments}}})
		if result != "" {
			msgs = append(msgs, ken.Message{Role: "tool", ToolCallID: id, Text: result})
		}
	}
	call("1", "Edit", `{"file_path":"`+filepath.Join(root, "a.go")+`","old_string":"x","new_string":"y"}`, "ok")
	call("2", "Read", `{"file_path":"b.go"}`, "package b")
	call("3", "Bash", `{"command":"go test ./..."}`, "ok")
	call("4", "Bash", `{"command":"rm -f c.go"}`, "ok")
	call("5", "move_file", `{"source":"d.go","destination":"sub/e.go"}`, "Error: it is there")
	call("6", "Write", `{"file_path":"../out.go","content":"x"}`, "ok")
	call("7", "Write", `{"file_path":"/etc/passwd","content":"x"}`, "ok")
	call("8", "Write", `{"file_path":".env","content":"x"}`, "ok")
	call("9", "Write", `{"file_path":"`+filepath.Join(root, "..", "project", "a.go")+`","content":"x"}`, "ok")
	call("10", "Write", `{"file_path":"under/way.go","content":"x"}`, "")
	msgs = append(msgs, ken.Message{Role: "tool", ToolCallID: "none", Text: "ok"})
	if got, want := Touched(root, msgs, Tools{}, nil), []string{"a.go", "c.go", "d.go", "sub/e.go"}; !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
	if got := Touched(link, msgs[:2], Tools{}, nil); !slices.Equal(got, []string{"a.go"}) {
		t.Errorf("by the folder's other name: %q", got)
	}
	only := func(c *ken.ToolCall, result *ken.Message) bool { return c.ID == "4" && result.Text == "ok" }
	if got := Touched(root, msgs, Tools{}, only); !slices.Equal(got, []string{"c.go"}) {
		t.Errorf("the new one: %q", got)
	}
}
