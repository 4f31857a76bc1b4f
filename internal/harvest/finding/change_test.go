package finding

import (
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/kenlayer/ken"
)

func TestDifference(t *testing.T) {
	for _, tt := range []struct{ name, old, next, want string }{
		{"changed", "a := 10\nb := 20\n", "a := 10\nb := 30\n", "`b := 20` became `b := 30`"},
		{"added", "a := 10\n", "a := 10\nb := 30\n", "added `b := 30`"},
		{"removed", "a := 10\nb := 30\n", "a := 10\n", "removed `b := 30`"},
		{"added above", "b := 30\n", "a := 10\nb := 30\n", "added `a := 10`"},
		{"braces say nothing", "}\n", "\t}\n}\nreturn err\n", "added `return err`"},
		{"backquotes", "x", "use `this` now", "added `use 'this' now`"},
	} {
		if got := difference(tt.old, tt.next).text(); got != tt.want {
			t.Errorf("%s: %q, want %q", tt.name, got, tt.want)
		}
	}
	for _, same := range [][2]string{{"", ""}, {"a := 10", "a := 10"}, {"a :=  10", "a := 10\n"}, {"}", "{"}} {
		if got := difference(same[0], same[1]); got != (line{}) {
			t.Errorf("%q: %+v", same, got)
		}
	}
}

func TestEnclosing(t *testing.T) {
	const text = "package a\n\nfunc First() {\n\tx := 1\n}\n\ntype T struct {\n\ty int\n}\n\nfunc (t *T) Second() {\n\tz := 2\n}\n"
	for passage, want := range map[string]string{"\tx := 1\n": "First", "\ty int": "T", "z := 2": "Second", "package a": "", "nowhere": "", "": ""} {
		if got := enclosing(text, passage); got != want {
			t.Errorf("%q is part of %q, want %q", passage, got, want)
		}
	}
}

// What is put back is not to be told as a change, nor the way there.
func TestTakenBackIsForgotten(t *testing.T) {
	e := &edited{}
	for _, c := range [][2]string{{"a := 1", "a := 2"}, {"b := 1", "b := 2"}, {"b := 2", "b := 1"}, {"a := 2", "a := 1"}} {
		e.add(change{old: c[0], new: c[1]}, "")
	}
	if got := e.text("x.go"); got != "" {
		t.Errorf("%q", got)
	}
	e.add(change{old: "c := 1", new: "c := 2"}, "")
	if got := e.text("x.go"); got != "x.go (5 edits): `c := 1` became `c := 2`" {
		t.Errorf("%q", got)
	}
}

func TestWrittenWithoutAnythingToTell(t *testing.T) {
	e := &edited{}
	e.add(change{new: "1,2\n3,4\n", full: true}, "")
	if got := e.text("data.csv"); got != "data.csv was written: 2 lines" {
		t.Errorf("%q", got)
	}
}

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
