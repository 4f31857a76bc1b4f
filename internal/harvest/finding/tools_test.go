package finding

import (
	"errors"
	"strings"
	"testing"

	"github.com/kenlayer/ken"
)

// The names that agents really send: with servers and namespaces in front, in any
// case.
func TestLookupByAnySpelling(t *testing.T) {
	for name, want := range map[string]Role{
		"Read": Read, "read": Read, "READ": Read, "read_file": Read, "readFile": Read, "ReadFile": Read, "read-file": Read,
		"mcp__filesystem__read_file": Read, "mcp__filesystem__read_text_file": Read, "functions.read_file": Read, "default_api:read_file": Read,
		"filesystem/read_file": Read, "filesystem_read_file": Read, "filesystem-read_multiple_files": Read, "fuseraft.grep_file": Search,
		"Grep": Search, "Glob": Search, "search_file_content": Search, "codebase_search": Search, "grep_search": Search,
		"LS": List, "list_dir": List, "directory_tree": List,
		"Edit": Write, "MultiEdit": Write, "multiedit": Write, "NotebookEdit": Write, "apply_patch": Write, "write_to_file": Write, "replace": Write,
		"str_replace_editor": Write, "str_replace_based_edit_tool": Write, "edit_file": Write, "mcp__fs__write_file": Write,
		"delete_file": Delete, "move_file": Move,
		"Bash": Run, "shell": Run, "exec_command": Run, "container.exec": Run, "execute_command": Run, "run_shell_command": Run, "run_terminal_cmd": Run,
		"execute_bash": Run, "developer__shell": Run,
		"WebFetch": Fetch, "mcp__fetch__fetch": Fetch,
	} {
		if got, ok := (Tools{}).Lookup(name); !ok || got.Role != want {
			t.Errorf("%s: %q, %v; want %s", name, got.Role, ok, want)
		}
	}
}

// A tool that only ends like a known one may be anything: memory tools, chats.
func TestUnknownToolsAreLeftAlone(t *testing.T) {
	for _, name := range []string{"", "TodoWrite", "Task", "memory_recall", "ken_search", "slack_list", "github_run", "calendar.create_event", "think", "weather", "__", ".", "read_image_from_camera"} {
		if got, ok := (Tools{}).Lookup(name); ok {
			t.Errorf("%q is %+v", name, got)
		}
	}
}

func TestEveryDefaultHasARole(t *testing.T) {
	d := Defaults()
	for name, tool := range d.byName {
		if canonical(name) != name || tool.Name != name {
			t.Errorf("%q is not in canonical spelling", name)
		}
		if got, ok := d.Lookup(name); !ok || got != tool {
			t.Errorf("%q is not found by its own name", name)
		}
	}
	if len(d.byName) < 100 {
		t.Errorf("%d tools", len(d.byName))
	}
	delete(d.byName, "bash")
	if _, ok := Defaults().Lookup("bash"); !ok {
		t.Error("a caller changed the defaults")
	}
}

func TestParse(t *testing.T) {
	tools, err := Parse([]string{"read:open_doc:doc_path", "run:remoteExec", "-web_fetch", "-Bash", "run:bash:line", " search:lookup "})
	if err != nil {
		t.Fatal(err)
	}
	for name, want := range map[string]Tool{
		"open_doc":    {"open_doc", Read, "doc_path"},
		"remote_exec": {"remote_exec", Run, ""},
		"bash":        {"bash", Run, "line"},
		"lookup":      {"lookup", Search, ""},
		"grep":        {"grep", Search, ""},
	} {
		if got, ok := tools.Lookup(name); !ok || got != want {
			t.Errorf("%s: %+v, %v", name, got, ok)
		}
	}
	if _, ok := tools.Lookup("WebFetch"); ok {
		t.Error("web_fetch was taken off")
	}
	if got, err := Parse(nil); err != nil || len(got.byName) != len(defaults) {
		t.Errorf("an empty list: %d tools, %v", len(got.byName), err)
	}
}

func TestParseNamesTheEntry(t *testing.T) {
	for entry, says := range map[string]string{
		"":            "no role and name",
		"read":        "no role and name",
		"read:":       "no role and name",
		"look:x":      `unknown role "look"`,
		"Read:x":      `unknown role "Read"`,
		"read:x:":     "no name of an argument",
		"read:x:a:b":  "no name of an argument",
		"read:x:a b":  "no name of an argument",
		"-nosuchtool": "no such tool",
		"-":           "no such tool",
	} {
		_, err := Parse([]string{"read:fine", entry})
		var e *ken.Error
		if !errors.As(err, &e) || e.Code != ken.CodeInvalid || e.Field != "tools[1]" || !strings.Contains(e.Msg, says) || e.Try == "" {
			t.Errorf("%q: %v", entry, err)
		}
	}
}

func FuzzLookup(f *testing.F) {
	for _, s := range []string{"mcp__a__read_file", "a.b:c/d_e", "____", "Ünï_read_file", "read:open:path", "-bash"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		if got, ok := (Tools{}).Lookup(s); ok && got.Role == "" {
			t.Errorf("%+v", got)
		}
		if tools, err := Parse([]string{s}); err == nil && !strings.HasPrefix(strings.TrimSpace(s), "-") {
			_, rest, _ := strings.Cut(s, ":")
			name, _, _ := strings.Cut(rest, ":")
			if _, ok := tools.Lookup(name); !ok && strings.TrimSpace(name) == name && !strings.ContainsAny(name, " \t") {
				t.Errorf("%q was accepted and is not found", s)
			}
		}
	})
}
