package configfile_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/kenlayer/ken"
	"github.com/kenlayer/ken/internal/configfile"
)

// hook is a setting as ken connect writes it for an agent's hooks.
var hook = configfile.Setting{Path: []string{"hooks", "Stop"}, Item: true, Mark: " hook claude-code",
	Value: json.RawMessage(`{"hooks":[{"type":"command","command":"/bin/ken hook claude-code"}]}`)}

var server = configfile.Setting{Path: []string{"mcpServers", "ken"}, Value: json.RawMessage(`{"command":"/bin/ken","args":["mcp"]}`)}

var files = []struct {
	name, file, before, after string
	set                       configfile.Setting
	loose                     bool // Unset leaves the layout of an empty container behind
}{
	{name: "no file", file: "a.json", set: server, loose: true, after: `{
  "mcpServers": {
    "ken": {
      "command": "/bin/ken",
      "args": [
        "mcp"
      ]
    }
  }
}
`},
	{name: "comments, unknown keys, tabs", file: "a.json", set: server, before: `// mine
{
	"theme": "dark", // as it should be
	/* more */ "mcpServers": {
		"other": {"command": "x"} // the other
	}
}
`, after: `// mine
{
	"theme": "dark", // as it should be
	/* more */ "mcpServers": {
		"other": {"command": "x"}, // the other
		"ken": {
			"command": "/bin/ken",
			"args": [
				"mcp"
			]
		}
	}
}
`},
	{name: "trailing commas", file: "a.jsonc", set: server, before: "{\n  \"a\": 1,\n  \"mcpServers\": {\n    \"b\": {},\n  },\n}\n",
		after: "{\n  \"a\": 1,\n  \"mcpServers\": {\n    \"b\": {},\n    \"ken\": {\n      \"command\": \"/bin/ken\",\n      \"args\": [\n        \"mcp\"\n      ]\n    },\n  },\n}\n"},
	{name: "one line", file: "a.json", set: server, before: `{"a":1}`, after: `{"a":1, "mcpServers": {"ken":{"command":"/bin/ken","args":["mcp"]}}}`},
	{name: "carriage returns", file: "a.json", set: hook, before: "{\r\n  \"a\": 1\r\n}\r\n",
		after: "{\r\n  \"a\": 1,\r\n  \"hooks\": {\r\n    \"Stop\": [\r\n      {\r\n        \"hooks\": [\r\n          {\r\n            \"type\": \"command\",\r\n            \"command\": \"/bin/ken hook claude-code\"\r\n          }\r\n        ]\r\n      }\r\n    ]\r\n  }\r\n}\r\n"},
	{name: "a list with another's item", file: "a.json", set: hook, before: "{\n  \"hooks\": {\n    \"Stop\": [\n      {\"hooks\": [{\"type\": \"command\", \"command\": \"say done\"}]}\n    ]\n  }\n}",
		after: "{\n  \"hooks\": {\n    \"Stop\": [\n      {\"hooks\": [{\"type\": \"command\", \"command\": \"say done\"}]},\n      {\n        \"hooks\": [\n          {\n            \"type\": \"command\",\n            \"command\": \"/bin/ken hook claude-code\"\n          }\n        ]\n      }\n    ]\n  }\n}"},
	{name: "a value in place of another", file: "a.json", set: configfile.Setting{Path: []string{"env", "URL"}, Value: json.RawMessage(`"http://ken"`)},
		before: "{\n  \"env\": {\n    \"URL\": \"http://other\" // mine\n  }\n}\n", after: "{\n  \"env\": {\n    \"URL\": \"http://ken\" // mine\n  }\n}\n"},

	{name: "a value at the top of TOML", file: "a.toml", set: configfile.Setting{Path: []string{"openai_base_url"}, Value: json.RawMessage(`"http://ken/v1"`)},
		before: "# mine\nmodel = \"gpt\" # good\n\n[features]\nhooks = true\n", after: "# mine\nmodel = \"gpt\" # good\nopenai_base_url = \"http://ken/v1\"\n\n[features]\nhooks = true\n"},
	{name: "a value in place of another in TOML", file: "a.toml", set: configfile.Setting{Path: []string{"openai_base_url"}, Value: json.RawMessage(`"http://ken/v1"`)},
		before: "openai_base_url = \"http://other/v1\"\nmodel = \"gpt\"\n", after: "openai_base_url = \"http://ken/v1\"\nmodel = \"gpt\"\n"},
	{name: "no TOML file", file: "a.toml", set: configfile.Setting{Path: []string{"mcp_servers", "ken"}, Value: json.RawMessage(`{"command":"C:\\bin\\ken.exe","args":["mcp"]}`)},
		after: "[mcp_servers.ken]\ncommand = 'C:\\bin\\ken.exe'\nargs = [\"mcp\"]\n"},
	{name: "a table of TOML", file: "a.toml", set: configfile.Setting{Path: []string{"mcp_servers", "ken"}, Value: json.RawMessage(`{"command":"/bin/ken","args":["mcp"]}`)},
		before: "[mcp_servers.other] # theirs\ncommand = \"x\"\n", after: "[mcp_servers.other] # theirs\ncommand = \"x\"\n\n[mcp_servers.ken]\ncommand = \"/bin/ken\"\nargs = [\"mcp\"]\n"},

	{name: "a table of TOML beside an inline one of another name", file: "a.toml", set: configfile.Setting{Path: []string{"mcp_servers", "ken"}, Value: json.RawMessage(`{"command":"/bin/ken"}`)},
		before: "mcp_servers.other = { command = \"x\" }\n\n[profiles.a]\nmcp_servers = { b = {} }\n",
		after:  "mcp_servers.other = { command = \"x\" }\n\n[profiles.a]\nmcp_servers = { b = {} }\n\n[mcp_servers.ken]\ncommand = \"/bin/ken\"\n"},

	{name: "a list of YAML", file: "a.yaml", set: configfile.Setting{Path: []string{"mcpServers"}, Item: true, Value: json.RawMessage(`{"name":"ken","command":"/bin/ken","args":["mcp"]}`)},
		before: "name: mine # ok\nmcpServers:\n  # those of mine\n  - name: other\n    command: x\n\nmodels: []\n",
		after:  "name: mine # ok\nmcpServers:\n  # those of mine\n  - name: other\n    command: x\n  - name: \"ken\"\n    command: \"/bin/ken\"\n    args: [\"mcp\"]\n\nmodels: []\n"},
	{name: "a list of YAML without indentation", file: "a.yaml", set: configfile.Setting{Path: []string{"mcpServers"}, Item: true, Value: json.RawMessage(`{"name":"ken"}`)},
		before: "mcpServers:\n- name: other\n", after: "mcpServers:\n- name: other\n- name: \"ken\"\n"},
	{name: "no list of YAML", file: "a.yaml", set: configfile.Setting{Path: []string{"mcpServers"}, Item: true, Value: json.RawMessage(`{"name":"ken"}`)},
		before: "name: mine\n", after: "name: mine\nmcpServers:\n  - name: \"ken\"\n"},
}

// A setting is added, is there once, and taken back leaves the file as it was.
func TestSetAndUnset(t *testing.T) {
	for _, f := range files {
		t.Run(f.name, func(t *testing.T) {
			out, undo, err := configfile.Set(f.file, []byte(f.before), []configfile.Setting{f.set})
			must(t, err)
			if d := cmp.Diff(f.after, string(out)); d != "" {
				t.Fatalf("set (-want +got):\n%s", d)
			}
			again, none, err := configfile.Set(f.file, out, []configfile.Setting{f.set})
			must(t, err)
			if string(again) != string(out) || len(none) != 0 {
				t.Errorf("the second time: %s, %v", again, none)
			}
			back, err := configfile.Unset(f.file, out, undo)
			must(t, err)
			if f.loose {
				f.before = "{}\n"
			}
			if d := cmp.Diff(f.before, string(back)); d != "" {
				t.Errorf("unset (-want +got):\n%s", d)
			}
		})
	}
}

// What a user has changed in the file meanwhile stays.
func TestEditedMeanwhile(t *testing.T) {
	out, undo, err := configfile.Set("a.json", []byte("{\n  \"a\": 1\n}\n"), []configfile.Setting{server, hook})
	must(t, err)
	edited := strings.Replace(string(out), `"a": 1,`, "\"a\": 2, // two\n  \"b\": [3],", 1)
	edited = strings.Replace(edited, `"mcpServers": {`, `"mcpServers": { "mine": {},`, 1)
	back, err := configfile.Unset("a.json", []byte(edited), undo)
	must(t, err)
	want := "{\n  \"a\": 2, // two\n  \"b\": [3],\n  \"mcpServers\": { \"mine\": {}\n  }\n}\n"
	if d := cmp.Diff(want, string(back)); d != "" {
		t.Errorf("(-want +got):\n%s", d)
	}
	gone, err := configfile.Unset("a.json", []byte(`{"a": 1}`), undo)
	must(t, err)
	if string(gone) != `{"a": 1}` {
		t.Errorf("removed by hand: %s", gone)
	}
}

// An item of an earlier version of the program is replaced.
func TestMarkedItemIsReplaced(t *testing.T) {
	old := hook
	old.Value = json.RawMessage(`{"hooks":[{"type":"command","command":"/old/ken hook claude-code"}]}`)
	out, _, err := configfile.Set("a.json", []byte("{}"), []configfile.Setting{old})
	must(t, err)
	out, _, err = configfile.Set("a.json", out, []configfile.Setting{hook})
	must(t, err)
	if n := strings.Count(string(out), "hook claude-code"); n != 1 || strings.Contains(string(out), "/old") {
		t.Errorf("%d hooks in %s", n, out)
	}
}

// A hook of somebody else is never removed, whether it is beside Ken's or looks like it.
func TestOtherHooksStay(t *testing.T) {
	const audit = `{"type":"command","command":"audit.sh"}`
	own := `{"type":"command","command":"/bin/ken hook claude-code"}`
	group := func(rest string, hooks ...string) string {
		return `{` + rest + `"hooks":[` + strings.Join(hooks, ",") + `]}`
	}
	call := func(command string) string { return strings.Replace(audit, "audit.sh", command, 1) }
	for _, c := range []struct{ name, before, set, unset string }{
		{"beside it", group("", own, audit), group("", own, audit), group("", audit)},
		{"before it", group("", audit, own), group("", audit, own), group("", audit)},
		{"beside it, on other tools", group(`"matcher":"Bash",`, own, audit), group(`"matcher":"Bash",`, audit) + "," + group("", own), group(`"matcher":"Bash",`, audit)},
		{"beside one of an older version", group("", call("/old/ken hook claude-code"), audit), group("", audit) + "," + group("", own), group("", audit)},
		{"beside a quoted one", group("", call(`\"C:/Program Files/ken.exe\" hook claude-code`), audit), group("", audit) + "," + group("", own), group("", audit)},
		{"of another program", group("", call("/opt/other/tool hook claude-code"), audit), group("", call("/opt/other/tool hook claude-code"), audit) + "," + group("", own),
			group("", call("/opt/other/tool hook claude-code"), audit)},
		{"of several commands", group("", call("audit.sh; /bin/ken hook claude-code")), group("", call("audit.sh; /bin/ken hook claude-code")) + "," + group("", own),
			group("", call("audit.sh; /bin/ken hook claude-code"))},
		{"none", group(`"matcher":"Bash",`, own), group("", own), ""},
		{"none in a group", call("/old/ken hook claude-code"), group("", own), ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			file := func(items string) string { return `{"hooks":{"Stop":[` + items + `]}}` }
			out, _, err := configfile.Set("a.json", []byte(file(c.before)), []configfile.Setting{hook})
			must(t, err)
			if d := cmp.Diff(squeeze(file(c.set)), squeeze(string(out))); d != "" {
				t.Errorf("set (-want +got):\n%s", d)
			}
			back, err := configfile.Unset("a.json", out, []configfile.Undo{{Path: hook.Path, Value: hook.Value, Item: true, Mark: hook.Mark}})
			must(t, err)
			if d := cmp.Diff(squeeze(file(c.unset)), squeeze(string(back))); d != "" {
				t.Errorf("unset (-want +got):\n%s", d)
			}
		})
	}
}

// A file that can't be read is refused, with the line.
func TestBrokenFiles(t *testing.T) {
	item := configfile.Setting{Path: []string{"mcpServers"}, Item: true, Value: json.RawMessage(`{"name":"ken"}`)}
	for _, c := range []struct {
		file, text, want string
		set              configfile.Setting
	}{
		{"a.json", "{\n  \"a\": 1\n  \"b\": 2\n}\n", "a.json:3", server},
		{"a.json", "{\n\n  \"mcpServers\": []\n}\n", "a.json:3", server},
		{"a.json", "{\n  \"hooks\": {\n    \"Stop\": {}\n  }\n}\n", "a.json:3", hook},
		{"a.json", "[]", "a.json:1", server},
		{"a.toml", "a = 1\nb = = 2\n", "a.toml:2", configfile.Setting{Path: []string{"c"}, Value: json.RawMessage(`"x"`)}},
		{"a.toml", "[mcp_servers.ken]\ncommand = \"mine\"\n", "a.toml", configfile.Setting{Path: []string{"mcp_servers", "ken"}, Value: json.RawMessage(`{"command":"k"}`)}},
		{"a.toml", "model = \"m\"\nmcp_servers = { other = { command = \"x\" } }\n\n[features]\nweb = true\n", "a.toml:2", configfile.Setting{Path: []string{"mcp_servers", "ken"}, Value: json.RawMessage(`{"command":"k"}`)}},
		{"a.toml", "args = [\n  [1],\n]\n\"mcp_servers\"={}\n", "a.toml:4", configfile.Setting{Path: []string{"mcp_servers", "ken"}, Value: json.RawMessage(`{"command":"k"}`)}},
		{"a.yaml", "name: a\nmcpServers: [\n", "a.yaml:2", item},
		{"a.yaml", "mcpServers: [{name: other}]\n", "a.yaml", item},
	} {
		out, _, err := configfile.Set(c.file, []byte(c.text), []configfile.Setting{c.set})
		if err == nil || !strings.Contains(err.Error(), c.want) || ken.Hint(err) == "" {
			t.Errorf("%q: %q, %v; want %s", c.text, out, err, c.want)
		}
	}
}

// Whatever the file, a setting taken back leaves it as it was.
func FuzzJSON(f *testing.F) {
	for _, c := range files {
		if strings.Contains(c.file, "json") {
			f.Add(c.before)
		}
	}
	f.Add("{/* a */}")
	f.Add("{\"mcpServers\": {\"b\" /* c */ : /* d */ 1 /* e */ , // f\n}}")
	f.Add("{\"hooks\":{\"Stop\":[1,\n2]}}")
	f.Add(`{"hooks":{"Stop":[{"hooks":[{"command":"a.sh"}, /* c */ {"command":1}, {"command":"\"b\" hook claude-code"}]}]}}`)
	f.Fuzz(func(t *testing.T, text string) {
		for _, s := range []configfile.Setting{server, hook} {
			out, undo, err := configfile.Set("a.json", []byte(text), []configfile.Setting{s})
			if err != nil || len(undo) == 0 || undo[0].Was != "" {
				continue
			}
			if _, again, err := configfile.Set("a.json", out, []configfile.Setting{s}); err != nil || len(again) > 0 {
				t.Fatalf("%q became %q, to which it was added again: %v", text, out, err)
			}
			back, err := configfile.Unset("a.json", out, undo)
			if err != nil {
				t.Fatalf("%q became %q: %v", text, out, err)
			}
			if squeeze(string(back)) != squeeze(text) && squeeze(text) != "" {
				t.Fatalf("%q became %q and then %q", text, out, back)
			}
		}
	})
}

// squeeze leaves out white space: that of an empty container is not kept.
func squeeze(s string) string { return strings.Join(strings.Fields(s), "") }

// A change of TOML changes nothing else.
func FuzzTOML(f *testing.F) {
	for _, c := range files {
		if strings.HasSuffix(c.file, "toml") {
			f.Add(c.before)
		}
	}
	f.Add("a = '''\nopenai_base_url = 1\n[x]\n'''\n")
	f.Fuzz(func(t *testing.T, text string) {
		s := []configfile.Setting{{Path: []string{"openai_base_url"}, Value: json.RawMessage(`"http://ken/v1"`)},
			{Path: []string{"mcp_servers", "ken"}, Value: json.RawMessage(`{"command":"/bin/ken"}`)}}
		out, undo, err := configfile.Set("a.toml", []byte(text), s)
		if err != nil {
			return
		}
		if _, err := configfile.Unset("a.toml", out, undo); err != nil {
			t.Fatalf("%q became %q: %v", text, out, err)
		}
	})
}

// A change of YAML changes nothing else.
func FuzzYAML(f *testing.F) {
	for _, c := range files {
		if strings.HasSuffix(c.file, "yaml") {
			f.Add(c.before)
		}
	}
	f.Fuzz(func(t *testing.T, text string) {
		s := []configfile.Setting{{Path: []string{"mcpServers"}, Item: true, Value: json.RawMessage(`{"name":"ken"}`)}}
		out, undo, err := configfile.Set("a.yaml", []byte(text), s)
		if err != nil {
			return
		}
		if _, err := configfile.Unset("a.yaml", out, undo); err != nil {
			t.Fatalf("%q became %q: %v", text, out, err)
		}
	})
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}
