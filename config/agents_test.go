package config_test

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/kenlayer/ken"
	"github.com/kenlayer/ken/config"
	"github.com/kenlayer/ken/internal/code/plan"
)

const someAgents = `agents:
  - name: researcher
    produces: [artifact:repository-graph, file:docs/graph.md]
    requires: [symbol:ISessionStore]
    command: ["ken", "graph", "build"]
    timeout: 10m
  - name: writer
    requires:
      - artifact:repository-graph
      - file: ./docs/graph.md
    command:
      - sh
      - -c
      - |
        echo "a: b" # c
        exit 3
  # a comment
  - {name: idle}
`

func TestAgents(t *testing.T) {
	c, err := config.Parse([]byte(someAgents))
	if err != nil {
		t.Fatal(err)
	}
	graph, file := plan.Token{Kind: plan.Artifact, Name: "repository-graph"}, plan.Token{Kind: plan.File, Name: "docs/graph.md"}
	want := []plan.Agent{
		{Name: "researcher", Produces: []plan.Token{graph, file}, Requires: []plan.Token{{Kind: plan.Symbol, Name: "ISessionStore"}},
			Command: []string{"ken", "graph", "build"}, Timeout: 10 * time.Minute},
		{Name: "writer", Requires: []plan.Token{graph, file}, Command: []string{"sh", "-c", "echo \"a: b\" # c\nexit 3"}},
		{Name: "idle"},
	}
	if d := cmp.Diff(want, c.Agents); d != "" {
		t.Errorf("-want +got\n%s", d)
	}
	again, err := config.Parse([]byte(c.YAML()))
	if err != nil {
		t.Fatalf("%v in\n%s", err, c.YAML())
	}
	if d := cmp.Diff(c, again); d != "" {
		t.Errorf("changed when written again:\n%s", d)
	}
	if !strings.Contains(c.YAML(), "\nagents:\n  - {name: researcher, ") || !strings.Contains(c.YAML(), "\n  - {name: idle}\n") {
		t.Errorf("agents are not lines of their own:\n%s", c.YAML())
	}
}

// The example in the documentation is valid.
func TestAgentsExample(t *testing.T) {
	_, text, _ := strings.Cut(config.Default().YAML(), "\nagents: []\n")
	text, _, _ = strings.Cut(text, "\n\n")
	c, err := config.Parse([]byte("agents:\n" + strings.ReplaceAll("\n"+text, "\n#", "\n") + "\n"))
	if err != nil || len(c.Agents) != 2 || c.Agents[0].Timeout == 0 || !strings.Contains(config.Reference(), "\n```yaml\nagents:\n  - name: researcher\n") {
		t.Errorf("%v in\n%s", err, text)
	}
}

func TestNoAgents(t *testing.T) {
	for _, text := range []string{"agents: []\n", "agents:\n", "agents:\n  # - name: a\n"} {
		if c, err := config.Parse([]byte(text)); err != nil || c.Agents != nil {
			t.Errorf("%q: %v, %v", text, c.Agents, err)
		}
	}
}

// What is wrong is said by its place in the list and its line.
func TestAgentsThatAreRefused(t *testing.T) {
	const one, two = "agents:\n  - name: a\n    produces: [artifact:x]\n", "  - name: b\n    requires:\n      - artifact:x\n"
	for _, tt := range []struct{ name, text, want string }{
		{"no name", "agents:\n  - produces: [artifact:x]\n", "agents[0].name: missing (line 2)"},
		{"a path for a name", "agents: [{name: ../a}]\n", `agents[0].name: "../a" is not a name of at most 64`},
		{"unknown key", one + two + "    reqiures: []\n", "agents[1].reqiures: unknown key (line 7)"},
		{"no token", one + two + "      - graph\n", `agents[1].requires[1]: "graph" is not artifact:NAME, file:PATH below the project's root, or symbol:NAME (line 7)`},
		{"a mapping for a token", one + two + "      - {artifact: y, file: z}\n", "agents[1].requires[1]: a section is not artifact:NAME"},
		{"out of the project", one + two + "      - file:../x\n", `agents[1].requires[1]: "file:../x" is not artifact:NAME, file:PATH below`},
		{"a shell's line for a command", "agents:\n  - name: a\n    command: make docs\n", "agents[0].command: the value is not a list (line 3)"},
		{"a number in a command", "agents:\n  - name: a\n    command: [sleep, 5]\n", "agents[0].command[1]: the value is not a text (line 3)"},
		{"a timeout without a unit", "agents: [{name: a, timeout: 5}]\n", "agents[0].timeout: 5 is not a length of time"},
		{"a mapping", "agents: {name: a}\n", "agents: a section is not a list (line 1)"},
		{"a text", "agents: [a]\n", "agents[0]: the value is not a mapping"},
		{"set twice", "agents: []\nagents: []\n", "agents: set again after line 1 (line 2)"},
		{"misspelled", "agent: []\n", "agent: unknown key (line 1)"},
		{"unmet", one + two + "      - artifact:y\n", "agents[1].requires[1]: artifact:y: no agent produces it (line 7)"},
		{"a cycle", one + two + "  - name: c\n    requires: [artifact:d]\n    produces: [artifact:c]\n  - name: d\n    requires: [artifact:c]\n    produces: [artifact:d]\n",
			"agents[2].requires[0]: a cycle: c → d → c (c makes artifact:c for d, d makes artifact:d for c) (line 8)"},
		{"itself", "agents:\n  - name: a\n    requires: [artifact:x]\n    produces: [artifact:x]\n", "agents[0].requires[0]: a cycle: a → a (it requires artifact:x, which it produces itself) (line 3)"},
		{"two of a name", one + "  - name: a\n", "agents[1].name: a second agent called a, after agents[0] (line 4)"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			_, err := config.Parse([]byte(tt.text))
			e, ok := errors.AsType[*ken.Error](err)
			if !ok || e.Code != ken.CodeInvalid || e.Try == "" || !strings.HasPrefix(err.Error(), tt.want) || !strings.Contains(err.Error(), "line ") {
				t.Errorf("got  %v\nwant %s", err, tt.want)
			}
		})
	}
}

// All errors of a plan are reported, each with its line.
func TestAllFaultsOfAgents(t *testing.T) {
	const text = "agents:\n  - {name: a, requires: [artifact:x]}\n  - name: b\n    requires: [artifact:y]\n    produces: [artifact:y]\n"
	_, err := config.Parse([]byte(text))
	want := "agents[0].requires[0]: artifact:x: no agent produces it (line 2)\n" +
		"agents[1].requires[0]: a cycle: b → b (it requires artifact:y, which it produces itself) (line 4)"
	if err == nil || err.Error() != want {
		t.Errorf("got  %v\nwant %s", err, want)
	}
}

// Validate reports the same errors for a configuration that a program filled.
func TestValidateAgents(t *testing.T) {
	c := config.Default()
	c.Agents = []plan.Agent{{Name: "a", Requires: []plan.Token{{Kind: "thing", Name: "x"}}}}
	if err := c.Validate(); !errors.Is(err, ken.ErrInvalid) || !strings.HasPrefix(err.Error(), "agents[0].requires[0]: ") {
		t.Error(err)
	}
}
