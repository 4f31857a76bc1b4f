package config_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/kenlayer/ken/config"
)

// Rules can be written as lines or in braces, and are written back equal: what is not set
// stays unset.
func TestPolicy(t *testing.T) {
	yes, no := true, false
	want := []config.PolicyRule{
		{Model: "*-embed*", Tools: &no, Knowledge: &no, Learn: &no},
		{Agent: "nightly", Learn: &no},
		{Path: "/v1/messages", Tools: &yes},
		{},
	}
	for _, text := range []string{
		"policy:\n  - model: '*-embed*'\n    tools: false\n    knowledge: false\n    learn: false\n  - agent: nightly\n    learn: false\n  - {path: /v1/messages, tools: true}\n  - {}\n",
		"policy: [{model: '*-embed*', tools: false, knowledge: false, learn: false}, {agent: nightly, learn: false}, {path: /v1/messages, tools: true}, {}]\n",
	} {
		c, err := config.Parse([]byte(text))
		if err != nil {
			t.Fatal(err)
		}
		if d := cmp.Diff(want, c.Gateway.Policy); d != "" {
			t.Errorf("-want +got\n%s", d)
		}
		again, err := config.Parse([]byte(c.YAML()))
		if err != nil {
			t.Fatalf("%v in\n%s", err, c.YAML())
		}
		if d := cmp.Diff(c, again); d != "" {
			t.Errorf("changed when written again:\n%s", d)
		}
	}
}

// What is wrong with a rule is said by its place and name.
func TestPolicyThatIsRefused(t *testing.T) {
	for _, tt := range []struct{ name, text, want string }{
		{"an empty pattern", "policy: [{agent: a}, {learn: false}, {model: ''}]\n", `policy[2].model: "" is not a pattern`},
		{"no truth", "policy: [{learn: maybe}]\n", `policy[0].learn: "maybe" is not true or false`},
		{"an unknown condition", "policy:\n  - modell: m\n", "policy[0].modell: unknown key"},
		{"an unknown key", "policy: [{key: ben, learn: false}]\n", `policy[0].key: no key is called "ben"`},
		{"a path without a slash", "policy: [{path: v1/messages, learn: false}]\n", `policy[0].path: "v1/messages" matches no path`},
		{"no list", "policy: {learn: false}\n", "policy"},
	} {
		_, err := config.Parse([]byte(tt.text))
		if err == nil || !strings.Contains(err.Error(), tt.want) {
			t.Errorf("%s: %v, want %s", tt.name, err, tt.want)
		}
	}
}
