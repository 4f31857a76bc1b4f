package console

import (
	"strings"

	"github.com/kenlayer/ken/internal/lazyregexp"
)

// welcome is what a store without a turn shows: how clients are pointed at it.
type welcome struct {
	Clients  []clientLines
	Upstream string
	Keyed    bool // requests need a key
}

// clientLines are the lines that connect one client, to be copied.
type clientLines struct{ ID, Title, Lines, Note string }

// hostForm is a host that may stand in a line for a shell: a name or an address, with or without
// a port.
var hostForm = lazyregexp.New(`^([A-Za-z0-9.-]+|\[[0-9a-fA-F:]+\])(:[0-9]{1,5})?$`)

// ownAddress is the gateway's address as the visitor's browser has it.
func (v *visit) ownAddress() string {
	host := v.r.Host
	if !hostForm.MatchString(host) {
		host = "127.0.0.1:8484"
	}
	if v.con.opts.Secure || v.r.TLS != nil {
		return "https://" + host
	}
	return "http://" + host
}

// welcome makes the lines for the visitor's address.
func (v *visit) welcome() *welcome {
	w := &welcome{Upstream: v.con.opts.Upstream, Keyed: v.con.ring.Load() != nil}
	cfg := v.con.layer.Config()
	url, model := v.ownAddress(), cfg.Upstream.ChatModel()
	python, script, shell, mcp := "", "", "", ""
	if w.Keyed {
		python = ", default_headers={\"X-Ken-Key\": \"ken_…\"}"
		script = ", defaultHeaders: { \"X-Ken-Key\": \"ken_…\" }"
		shell = "  -H 'X-Ken-Key: ken_…' \\\n"
		mcp = ", \"headers\": {\"X-Ken-Key\": \"ken_…\"}"
	}
	const ask = "What do you know about this project?"
	w.Clients = []clientLines{
		{"agent", "Claude Code and other agents", "ken connect claude-code", "On the machine of the project. ken connect alone lists the agents that are installed there."},
		{"python", "Python", strings.Join([]string{
			"from openai import OpenAI",
			"",
			"client = OpenAI(base_url=\"" + url + "/v1\"" + python + ")",
			"answer = client.chat.completions.create(",
			"    model=\"" + model + "\",",
			"    messages=[{\"role\": \"user\", \"content\": \"" + ask + "\"}],",
			")",
			"print(answer.choices[0].message.content)",
		}, "\n"), "pip install openai. Your key of the API stays where it is, in OPENAI_API_KEY."},
		{"typescript", "TypeScript", strings.Join([]string{
			"import OpenAI from \"openai\";",
			"",
			"const client = new OpenAI({ baseURL: \"" + url + "/v1\"" + script + " });",
			"const answer = await client.chat.completions.create({",
			"  model: \"" + model + "\",",
			"  messages: [{ role: \"user\", content: \"" + ask + "\" }],",
			"});",
			"console.log(answer.choices[0].message.content);",
		}, "\n"), "npm install openai"},
		{"curl", "curl", "curl " + url + "/v1/chat/completions \\\n  -H \"Authorization: Bearer $OPENAI_API_KEY\" \\\n" + shell +
			"  -H 'Content-Type: application/json' \\\n  -d '{\"model\": \"" + model + "\", \"messages\": [{\"role\": \"user\", \"content\": \"" + ask + "\"}]}'", ""},
		{"mcp", "MCP", "{\"mcpServers\": {\"ken\": {\"type\": \"http\", \"url\": \"" + url + "/mcp\"" + mcp + "}}}",
			"The agent then asks Ken when it decides to. What it asks is no turn and does not end this wait."},
	}
	return w
}
