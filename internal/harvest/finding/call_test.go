package finding

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/kenlayer/ken"
	"github.com/kenlayer/ken/internal/harvest/finding/patch"
)

// The arguments of every agent lead to the same subject.
func TestSubjectOfEveryAgent(t *testing.T) {
	const p = "store/log.go"
	for _, tt := range []struct {
		tool, arguments string
		role            Role
		about           string // paths, pattern, command or address
	}{
		{"Read", `{"file_path":"store/log.go","offset":10}`, Read, p},
		{"read_file", `{"target_file":"store/log.go","should_read_entire_file":true}`, Read, p},
		{"read_file", `{"absolute_path":"/r/store/log.go"}`, Read, "/r/store/log.go"},
		{"read_file", `{"path":"` + "`store/log.go`" + `"}`, Read, p},
		{"read_file", `{"files":[{"path":"store/log.go"},{"path":"go.mod"}]}`, Read, "store/log.go go.mod"},
		{"read_multiple_files", `{"paths":["store/log.go","go.mod"]}`, Read, "store/log.go go.mod"},
		{"view", `{"filePath":"store/log.go"}`, Read, p},
		{"read_file", `{"file_path":"store/log.go","limit":`, Read, p}, // cut short
		{"read_resource", `{"uri":"file:///r/a%20b.go"}`, Read, "/r/a b.go"},
		{"cat", `store/log.go`, Read, p},
		{"str_replace_editor", `{"command":"view","path":"store/log.go"}`, Read, p},
		{"str_replace_editor", `{"command":"create","path":"store/log.go","file_text":"x"}`, Write, p},
		{"Grep", `{"pattern":"func Open","path":"store"}`, Search, "func Open"},
		{"search_files", `{"path":".","regex":"func Open","file_pattern":"*.go"}`, Search, "func Open"},
		{"codebase_search", `{"query":"where is the log opened","target_directories":[]}`, Search, "where is the log opened"},
		{"list_dir", `{"relative_workspace_path":"store"}`, List, "store"},
		{"Bash", `{"command":"go test ./...","description":"test"}`, Run, "go test ./..."},
		{"shell", `{"command":["bash","-lc","go test ./..."]}`, Run, "go test ./..."},
		{"exec_command", `{"cmd":"go test ./...","yield_time_ms":1000}`, Run, "go test ./..."},
		{"local_shell", `{"action":{"type":"exec","command":["go","test","./..."]}}`, Run, "go test ./..."},
		{"run_terminal_cmd", `{"command":"go test ./...","is_background":false}`, Run, "go test ./..."},
		{"shell", `{"command":["bash","-lc","sed -n '1,80p' store/log.go"],"workdir":"/r"}`, Read, "/r/store/log.go"},
		{"shell", `{"command":["bash","-lc","rg -n 'func Open'"]}`, Search, "func Open"},
		{"Bash", `{"command":"cat > a.txt <<'EOF'\nx\nEOF"}`, Write, "a.txt"},
		{"Bash", `{"command":"rm -f old.go"}`, Delete, "old.go"},
		{"move_file", `{"source":"a.go","destination":"b.go"}`, Move, "a.go b.go"},
		{"move_file", `{"source":"a.go"}`, "", ""},
		{"delete_file", `{"target_file":"a.go"}`, Delete, "a.go"},
		{"WebFetch", `{"url":"https://u:p@docs.example.com/a?token=x#y"}`, Fetch, "https://docs.example.com/a"},
		{"WebFetch", `{"url":"javascript:alert(1)"}`, Fetch, ""},
		{"apply_patch", "*** Begin Patch\n*** Add File: a.go\n+x\n*** Delete File: b.go\n*** End Patch", Write, "a.go b.go"},
		{"apply_patch", `{"input":"*** Begin Patch\n*** Update File: a.go\n*** Move to: c.go\n@@\n-x\n+y\n*** End Patch"}`, Write, "a.go c.go"},
	} {
		tool, ok := (Tools{}).Lookup(tt.tool)
		if !ok {
			t.Fatalf("%s is unknown", tt.tool)
		}
		s := subjectOf(tool, tt.arguments)
		got := strings.Join(s.paths, " ")
		if s.role == Search {
			got = s.pattern
		}
		if s.role == Run {
			got = s.command
		}
		if s.role == Fetch {
			got = s.address
		}
		if s.role != tt.role || got != tt.about {
			t.Errorf("%s %s: %s %q, want %s %q", tt.tool, tt.arguments, s.role, got, tt.role, tt.about)
		}
	}
}

func TestChangesOfEveryAgent(t *testing.T) {
	for _, tt := range []struct {
		name, tool, arguments string
		want                  []change
	}{
		{"claude code", "Edit", `{"file_path":"a.go","old_string":"x","new_string":"y"}`, []change{{path: "a.go", old: "x", new: "y"}}},
		{"several", "MultiEdit", `{"file_path":"a.go","edits":[{"old_string":"x","new_string":"y"},{"old_string":"p","new_string":"q"}]}`, []change{{path: "a.go", old: "x\np", new: "y\nq"}}},
		{"whole file", "Write", `{"file_path":"a.go","content":"package a\n"}`, []change{{path: "a.go", new: "package a\n", full: true}}},
		{"cut short", "Write", `{"file_path":"a.go","content":"package a`, nil},
		{"cline", "replace_in_file", `{"path":"a.go","diff":"------- SEARCH\nx\n=======\ny\n+++++++ REPLACE"}`, []change{{path: "a.go", old: "x\n", new: "y\n"}}},
		{"roo", "apply_diff", `{"path":"a.go","diff":"<<<<<<< SEARCH\n:start_line:3\n-------\nx\n=======\ny\n>>>>>>> REPLACE"}`, []change{{path: "a.go", old: "x\n", new: "y\n"}}},
		{"cursor", "edit_file", `{"target_file":"a.go","code_edit":"// ... existing code ...\ny"}`, []change{{path: "a.go", new: "// ... existing code ...\ny"}}},
		{"gemini", "replace", `{"file_path":"a.go","old_string":"x","new_string":""}`, []change{{path: "a.go", old: "x"}}},
		{"mcp", "edit_file", `{"path":"a.go","edits":[{"oldText":"x","newText":"y"}],"dryRun":false}`, []change{{path: "a.go", old: "x", new: "y"}}},
		{"windsurf", "replace_file_content", `{"TargetFile":"a.go","ReplacementChunks":[{"TargetContent":"x","ReplacementContent":"y"}]}`, []change{{path: "a.go", old: "x", new: "y"}}},
		{"copilot", "multi_replace_string_in_file", `{"replacements":[{"filePath":"a.go","oldString":"x","newString":"y"},{"filePath":"b.go","oldString":"p","newString":"q"}]}`,
			[]change{{path: "a.go", old: "x", new: "y"}, {path: "b.go", old: "p", new: "q"}}},
		{"openhands", "str_replace_editor", `{"command":"str_replace","path":"a.go","old_str":"x","new_str":"y"}`, []change{{path: "a.go", old: "x", new: "y"}}},
		{"patch", "apply_patch", `{"input":"*** Begin Patch\n*** Update File: a.go\n@@ func A() {\n-x\n+y\n*** End Patch"}`, []change{{path: "a.go", old: "x\n", new: "y\n", context: []string{"func A() {"}}}},
		{"no file", "Edit", `{"old_string":"x","new_string":"y"}`, nil},
		{"no text", "Edit", `{"file_path":"a.go"}`, nil},
		{"nothing", "Edit", ``, nil},
	} {
		t.Run(tt.name, func(t *testing.T) {
			tool, _ := (Tools{}).Lookup(tt.tool)
			got := subjectOf(tool, tt.arguments).changes
			for i := range tt.want {
				tt.want[i].op = patch.Update
			}
			if diff := cmp.Diff(tt.want, got, cmp.AllowUnexported(change{})); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

func TestCallsMeetTheirResults(t *testing.T) {
	s := newScript()
	s.add(ken.Message{Role: "assistant", ToolCalls: []ken.ToolCall{{ID: "a", Name: "Read", Arguments: `{"file_path":"a.go"}`}, {ID: "b", Name: "Read", Arguments: `{"file_path":"b.go"}`}, {ID: "c", Name: "think"}}}, nil)
	s.add(ken.Message{Role: "tool", ToolCallID: "b", Text: "package b"}, nil)
	s.add(ken.Message{Role: "tool", ToolCallID: "c", Text: "hm"}, nil)
	s.add(ken.Message{Role: "tool", ToolCallID: "a", Text: "package a"}, nil)
	s.add(ken.Message{Role: "tool", ToolCallID: "a", Text: "again"}, nil)
	s.add(ken.Message{Role: "tool", ToolCallID: "never asked", Text: "?"}, nil)
	s.add(ken.Message{Role: "assistant", ToolCalls: []ken.ToolCall{{ID: "a", Name: "Bash", Arguments: `{"command":"make"}`}}}, nil) // ids are used again
	s.add(ken.Message{Role: "tool", ToolCallID: "a", Text: "done"}, nil)
	s.add(ken.Message{Role: "assistant", ToolCalls: []ken.ToolCall{{Name: "grep", Arguments: `{"pattern":"x"}`}}}, nil) // the older form has none
	s.add(ken.Message{Role: "function", Name: "grep", Text: "a.go:1:x"}, nil)
	var got []string
	for _, c := range s.calls() {
		got = append(got, c.Name+" "+strings.Join(c.Paths, "")+c.Command+c.Pattern)
	}
	if want := "Read b.go|Read a.go|Bash make|grep x"; strings.Join(got, "|") != want {
		t.Errorf("%s, want %s", strings.Join(got, "|"), want)
	}
}

func TestPathsAreSpeltFromTheProject(t *testing.T) {
	s := newScript()
	s.call("Read", `{"file_path":"/home/ada/pay/store/log.go"}`, "package store", "store/log.go", "sha256:1")
	s.call("Read", `{"file_path":"/home/ada/pay/big.bin"}`, "x")
	s.call("Read", `{"file_path":"/home/ada/other/a.go"}`, "package other")
	s.call("Read", `{"file_path":"./cmd/../go.mod"}`, "module pay")
	s.bash("cd /home/ada/pay/web && npm test", "ok")
	var got []string
	for _, c := range s.calls() {
		got = append(got, strings.Join(c.Paths, "")+c.Shell().Text)
	}
	if want := "store/log.go|big.bin|/home/ada/other/a.go|go.mod|cd web && npm test"; strings.Join(got, "|") != want {
		t.Errorf("%s, want %s", strings.Join(got, "|"), want)
	}
}

// An exit code that nobody named stays unknown, but for tools that are silent when
// all is well.
func TestSilence(t *testing.T) {
	exits := func(s *script) string {
		var out []string
		for _, c := range s.calls() {
			switch {
			case c.Exit == nil:
				out = append(out, "?")
			case c.Implied:
				out = append(out, "implied")
			default:
				out = append(out, string(rune('0'+*c.Exit)))
			}
		}
		return strings.Join(out, " ")
	}
	run := func(s *script, tool, output string) { s.call(tool, `{"command":"make check"}`, output) }
	for _, tt := range []struct {
		name, tool string
		outputs    []string
		want       string
	}{
		{"claude code is silent", "Bash", []string{"fine", "Exit code 2\nboom"}, "implied 2"},
		{"claude code, not at its end", "Bash", []string{"Command timed out after 2m 0.0s", "Command running in background with ID: b1", "[Request interrupted by user]"}, "? ? ?"},
		{"a tool that said nothing yet", "run_command", []string{"fine", "fine"}, "? ?"},
		{"a tool that names failures only", "run_command", []string{"fine", "Exit code 1\nboom"}, "implied 1"},
		{"a tool that names both", "run_command", []string{"fine", "Exit code: 1\nboom", "Exit code: 0\nok"}, "? 1 0"},
	} {
		s := newScript()
		for _, o := range tt.outputs {
			run(s, tt.tool, o)
		}
		if got := exits(s); got != tt.want {
			t.Errorf("%s: %s, want %s", tt.name, got, tt.want)
		}
	}
}

func FuzzSubject(f *testing.F) {
	for _, s := range []string{`{"file_path":"a"}`, `{"paths":["a",{"path":"b"},1,null]}`, `{"command":["bash","-lc"`, `{"edits":[{"oldText":1}]}`, `{"action":{"action":{"command":"x"}}}`, "*** Begin Patch\n*** Add File: a", `{"url":"http://[::1"}`, "\x00", `{"input":{}}`} {
		for _, tool := range []string{"Read", "Edit", "Bash", "move_file", "WebFetch", "Grep"} {
			f.Add(tool, s)
		}
	}
	f.Fuzz(func(t *testing.T, name, raw string) {
		tool, ok := (Tools{}).Lookup(name)
		if !ok {
			return
		}
		s := subjectOf(tool, raw)
		if len(s.paths) > 2*maxPaths+2 {
			t.Errorf("%d paths", len(s.paths))
		}
		for _, p := range s.paths {
			if strings.ContainsAny(p, "\n\x00") && !strings.Contains(s.command, "\n") {
				t.Errorf("path %q", p)
			}
		}
		quoted, _ := json.Marshal(raw)
		sc := newScript()
		sc.call(name, raw, string(quoted))
		for _, fd := range sc.findings() {
			if fd.Text == "" || fd.Entity == "" || len([]rune(fd.Text)) > MaxText || strings.Contains(fd.Text, "\n") {
				t.Errorf("%+v", fd)
			}
		}
	})
}
