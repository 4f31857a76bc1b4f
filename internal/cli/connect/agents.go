package connect

import (
	"cmp"
	_ "embed"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"

	"github.com/kenlayer/ken/internal/configfile"
)

// The ways to connect an agent.
const (
	byHooks = "hooks" // the agent runs ken hook for its events
	byURL   = "url"   // the agent's base URL is ken serve
	byMCP   = "mcp"   // the agent starts ken mcp and calls its tools
)

// agent is a program to which Ken can be connected.
type agent struct {
	name    string
	title   string
	program string              // its name in a shell; "" if it has none
	folder  func(*place) string // a folder that exists once the agent has run
	ways    []way               // in order of preference
}

// way describes one way to connect an agent.
type way struct {
	by     string
	files  func(*place) []target
	server func(*place) []string // the command of the MCP server; nil without one
	note   string                // what the user still has to do
}

// target describes the settings that Ken adds to one file of an agent.
type target struct {
	path     string
	empty    string               // the text of a new file
	settings []configfile.Setting // settings in one of the agent's files
	whole    string               // the text of a file that belongs to Ken
}

// place holds the user's folders and how the agents can start and reach Ken.
type place struct {
	home, config, data string // the user's folders for files, configuration and application data
	ken                string // path of this program
	url                string // of the gateway, without /v1
}

var agents = []agent{
	{"claude-code", "Claude Code", "claude", claudeFolder, []way{
		hooks("claude-code", in(claudeFolder, "settings.json"), classic...),
		baseURL(in(claudeFolder, "settings.json"), func(url string) []configfile.Setting { return one(url, "env", "ANTHROPIC_BASE_URL") }),
		mcpServer(claudeServers, func(ken string) any { return stdio{"stdio", ken, []string{"mcp"}} }, "mcpServers", "ken"),
	}},
	{"codex", "Codex", "codex", codexFolder, []way{
		noted(hooks("codex", in(codexFolder, "hooks.json"), "SessionStart", "UserPromptSubmit", "PostToolUse", "PreCompact", "Stop"),
			"Codex runs hooks that you have reviewed: start codex, enter /hooks, and trust those of ken."),
		baseURL(in(codexFolder, "config.toml"), func(url string) []configfile.Setting { return one(url+"/v1", "openai_base_url") }),
		mcpServer(in(codexFolder, "config.toml"), plainServer, "mcp_servers", "ken"),
	}},
	{"cursor", "Cursor", "cursor", in(home, ".cursor"), []way{
		// A hook can't add to a message here, so the MCP server is added too.
		{by: byHooks, server: server, files: func(p *place) []target {
			t := target{path: filepath.Join(p.home, ".cursor", "hooks.json"), empty: "{\n  \"version\": 1\n}\n"}
			for _, event := range []string{"sessionStart", "beforeSubmitPrompt", "postToolUse", "postToolUseFailure", "afterAgentResponse", "preCompact", "sessionEnd"} {
				t.settings = append(t.settings, item(mark("cursor"), command{Command: p.hook("cursor")}, "hooks", event))
			}
			return append([]target{t}, cursorServer.files(p)...)
		}},
		cursorServer,
	}},
	{"vscode", "VS Code", "code", codeFolder, []way{
		mcpServer(in(codeFolder, "mcp.json"), func(ken string) any { return stdio{"stdio", ken, inWorkspace} }, "servers", "ken"),
	}},
	{"opencode", "opencode", "opencode", opencodeFolder, []way{
		{by: byHooks, files: func(p *place) []target {
			return []target{{path: filepath.Join(opencodeFolder(p), "plugins", "ken.js"), whole: plugin(p.ken)}}
		}},
		baseURL(opencodeFile, func(url string) []configfile.Setting {
			return append(one(url+"/v1", "provider", "openai", "options", "baseURL"), one(url+"/v1", "provider", "anthropic", "options", "baseURL")...)
		}),
		mcpServer(opencodeFile, func(ken string) any {
			return struct {
				Type    string   `json:"type"`
				Command []string `json:"command"`
				Enabled bool     `json:"enabled"`
			}{"local", []string{ken, "mcp"}, true}
		}, "mcp", "ken"),
	}},
	{"gemini", "Gemini CLI", "gemini", in(home, ".gemini"), []way{
		hooks("gemini", in(home, ".gemini", "settings.json"), "SessionStart", "BeforeAgent", "AfterTool", "AfterAgent", "PreCompress", "SessionEnd"),
		mcpServer(in(home, ".gemini", "settings.json"), plainServer, "mcpServers", "ken"),
	}},
	{"qwen", "Qwen Code", "qwen", in(home, ".qwen"), []way{
		hooks("qwen", in(home, ".qwen", "settings.json"), classic...),
		mcpServer(in(home, ".qwen", "settings.json"), plainServer, "mcpServers", "ken"),
	}},
	{"zed", "Zed", "zed", zedFolder, []way{
		mcpServer(in(zedFolder, "settings.json"), plainServer, "context_servers", "ken"),
		baseURL(in(zedFolder, "settings.json"), func(url string) []configfile.Setting {
			return append(one(url+"/v1", "language_models", "openai", "api_url"), one(url, "language_models", "anthropic", "api_url")...)
		}),
	}},
	{"continue", "Continue", "cn", continueFolder, []way{
		{by: byMCP, server: server, files: func(p *place) []target {
			s := struct {
				Name    string   `json:"name"`
				Command string   `json:"command"`
				Args    []string `json:"args"`
			}{"ken", p.ken, []string{"mcp"}}
			return []target{{path: filepath.Join(continueFolder(p), "config.yaml"), empty: "name: Local Assistant\nversion: 1.0.0\nschema: v1\n",
				settings: []configfile.Setting{item("", s, "mcpServers")}}}
		}},
	}},
}

// cursorServer connects Cursor by the MCP server.
var cursorServer = mcpServer(in(home, ".cursor", "mcp.json"), func(ken string) any { return stdio{Command: ken, Args: inWorkspace} }, "mcpServers", "ken")

// in returns a function for the path of a file or a folder in a folder.
func in(folder func(*place) string, names ...string) func(*place) string {
	return func(p *place) string { return filepath.Join(append([]string{folder(p)}, names...)...) }
}

func home(p *place) string { return p.home }

// hooks connects an agent that reads its hooks from a file, in the format of Claude Code.
func hooks(agent string, file func(*place) string, events ...string) way {
	return way{by: byHooks, files: func(p *place) []target { return []target{{path: file(p), settings: groups(p, agent, events...)}} }}
}

// baseURL connects an agent by settings with the gateway's URL in a file.
func baseURL(file func(*place) string, settings func(url string) []configfile.Setting) way {
	return way{by: byURL, files: func(p *place) []target { return []target{{path: file(p), settings: settings(p.url)}} }}
}

// mcpServer connects an agent by a setting in a file that describes the MCP server. ken is this
// program.
func mcpServer(file func(*place) string, describe func(ken string) any, path ...string) way {
	return way{by: byMCP, server: server, files: func(p *place) []target { return []target{{path: file(p), settings: one(describe(p.ken), path...)}} }}
}

func plainServer(ken string) any { return stdio{Command: ken, Args: []string{"mcp"}} }

// inWorkspace holds the arguments of the MCP server for editors that replace the variable.
var inWorkspace = []string{"mcp", "--dir", "${workspaceFolder}"}

func noted(w way, note string) way {
	w.note = note
	return w
}

// classic lists the events of Claude Code that other agents have adopted. Continue's cn
// 1.5.47 reads such hooks from its settings, but runs none at a user's message.
var classic = []string{"SessionStart", "UserPromptSubmit", "PostToolUse", "PostToolUseFailure", "PreCompact", "Stop", "SessionEnd"}

// stdio configures an MCP server that the agent starts as a program.
type stdio struct {
	Type    string   `json:"type,omitempty"`
	Command string   `json:"command"`
	Args    []string `json:"args"`
}

// command configures one hook. group is a list of them with a condition on the tool.
type command struct {
	Type    string `json:"type,omitempty"`
	Command string `json:"command"`
}

type group struct {
	Matcher string    `json:"matcher,omitempty"`
	Hooks   []command `json:"hooks"`
}

// groups returns the settings with which an agent runs ken hook for events, in the format of
// Claude Code.
func groups(p *place, agent string, events ...string) (out []configfile.Setting) {
	for _, event := range events {
		g := group{Hooks: []command{{"command", p.hook(agent)}}}
		if strings.Contains(event, "Tool") {
			g.Matcher = "*"
		}
		out = append(out, item(mark(agent), g, "hooks", event))
	}
	return out
}

// mark identifies Ken's own hook: the words after the program in its command.
func mark(agent string) string { return " hook " + agent }

func one(v any, path ...string) []configfile.Setting {
	return []configfile.Setting{{Path: path, Value: raw(v)}}
}

func item(mark string, v any, path ...string) configfile.Setting {
	return configfile.Setting{Path: path, Value: raw(v), Item: true, Mark: mark}
}

func raw(v any) json.RawMessage {
	b, err := json.Marshal(v)
	if err != nil {
		panic(err) // can't fail for strings and lists of them
	}
	return b
}

// hook returns the shell command that an agent runs for its events.
func (p *place) hook(agent string) string {
	ken := filepath.ToSlash(p.ken)
	if strings.ContainsAny(ken, " ()&;'") {
		ken = `"` + ken + `"`
	}
	return ken + mark(agent)
}

func server(p *place) []string { return []string{p.ken, "mcp"} }

// claudeServers returns the file in which Claude Code lists MCP servers.
func claudeServers(p *place) string {
	return filepath.Join(cmp.Or(os.Getenv("CLAUDE_CONFIG_DIR"), p.home), ".claude.json")
}

func claudeFolder(p *place) string   { return variable("CLAUDE_CONFIG_DIR", p.home, ".claude") }
func codexFolder(p *place) string    { return variable("CODEX_HOME", p.home, ".codex") }
func continueFolder(p *place) string { return variable("CONTINUE_GLOBAL_DIR", p.home, ".continue") }
func opencodeFolder(p *place) string { return variable("OPENCODE_CONFIG_DIR", p.config, "opencode") }
func codeFolder(p *place) string     { return filepath.Join(p.data, "Code", "User") }

func zedFolder(p *place) string {
	if runtime.GOOS == "windows" {
		return filepath.Join(p.data, "Zed")
	}
	return filepath.Join(p.config, "zed")
}

// opencodeFile returns the one that exists of the two files that opencode reads.
func opencodeFile(p *place) string {
	path := filepath.Join(opencodeFolder(p), "opencode.jsonc")
	if _, err := os.Stat(path); err != nil {
		path = strings.TrimSuffix(path, "c")
	}
	return path
}

// variable returns the folder in an environment variable, or else a folder below base.
func variable(name, base, folder string) string {
	return cmp.Or(os.Getenv(name), filepath.Join(base, folder))
}

func newPlace() (*place, error) {
	home, err := os.UserHomeDir()
	if err != nil {
		return nil, err
	}
	p := &place{home: home, config: os.Getenv("XDG_CONFIG_HOME")}
	if !filepath.IsAbs(p.config) {
		p.config = filepath.Join(home, ".config")
	}
	if p.data = p.config; runtime.GOOS == "darwin" || runtime.GOOS == "windows" {
		if p.data, err = os.UserConfigDir(); err != nil {
			return nil, err
		}
	}
	p.ken, err = self()
	return p, err
}

// self returns the path of this program. It prefers the one on PATH if both are the same
// program, because an update keeps that path.
func self() (string, error) {
	own, err := os.Executable()
	if err != nil {
		return "", err
	}
	if path, err := exec.LookPath("ken"); err == nil && filepath.IsAbs(path) {
		a, errA := filepath.EvalSymlinks(path)
		b, errB := filepath.EvalSymlinks(own)
		if errA == nil && errB == nil && a == b {
			return path, nil
		}
	}
	return own, nil
}

func (a *agent) installed(p *place) bool {
	if _, err := exec.LookPath(a.program); err == nil {
		return true
	}
	_, err := os.Stat(a.folder(p))
	return err == nil
}

// pluginText is the plugin for opencode, whose hooks are functions of a module.
//
//go:embed plugin.js
var pluginText string

// ownFile is the beginning of a file that belongs to Ken.
const ownFile = "// Written by ken connect"

// plugin returns the plugin that runs the program ken.
func plugin(ken string) string {
	quoted, _ := json.Marshal(ken) // can't fail for a string
	return strings.Replace(pluginText, `"KEN"`, string(quoted), 1)
}
