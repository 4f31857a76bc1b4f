package config_test

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/kenlayer/ken"
	"github.com/kenlayer/ken/config"
)

var hash = "sha256:" + strings.Repeat("0a", 32)

// A key can be written as lines or in braces, and is written again as it was.
func TestGatewayKeys(t *testing.T) {
	for _, text := range []string{
		"gateway:\n  keys:\n    - name: ana's laptop\n      hash: " + hash + "\n      owner: ana\n      rights: [read, operate]\n    - {name: b, hash: \"" + strings.Replace(hash, "0a", "0b", 1) + "\"}\n",
		"gateway: {keys: [{name: \"ana's laptop\", rights: [read, operate], hash: '" + hash + "', owner: ana}, {hash: '" + strings.Replace(hash, "0a", "0b", 1) + "', name: b}]}\n",
	} {
		c, err := config.Parse([]byte(text))
		if err != nil {
			t.Fatal(err)
		}
		want := []config.GatewayKey{
			{Name: "ana's laptop", Hash: hash, Owner: "ana", Rights: []string{"read", "operate"}},
			{Name: "b", Hash: strings.Replace(hash, "0a", "0b", 1)},
		}
		if d := cmp.Diff(want, c.Gateway.Keys); d != "" {
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

// An error about a key names its position and name, and does not repeat a key that was written
// in place of its hash.
func TestGatewayKeysThatAreRefused(t *testing.T) {
	const secret = "ken_0123456789"
	for _, tt := range []struct{ name, keys, want string }{
		{"the key itself", "[{name: a, hash: " + secret + "}]", "gateway.keys[0].hash: the value is not sha256:"},
		{"no hash", "[{name: a}]", "gateway.keys[0].hash: missing"},
		{"no name", "[{hash: '" + hash + "'}]", "gateway.keys[0].name: missing"},
		{"unknown right", "[{name: a, hash: '" + hash + "', rights: [all]}]", `gateway.keys[0].rights[0]: "all" is not chat, read, write, operate or upstream`},
		{"an owner that is a path", "[{name: a, hash: '" + hash + "', owner: ../a}]", "gateway.keys[0].owner: "},
		{"unknown field", "[{name: a, hash: '" + hash + "', admin: true}]", "gateway.keys[0].admin: unknown key"},
		{"no model", "[{name: a, hash: '" + hash + "', models: []}]", "gateway.keys[0].models: the list is empty"},
		{"no right", "[{name: a, hash: '" + hash + "', rights: []}]", "gateway.keys[0].rights: the list is empty"},
		{"a field twice", "[{name: a, name: b, hash: '" + hash + "'}]", "gateway.keys[0].name: set twice"},
		{"a field without a value", "[{name: , hash: '" + hash + "'}]", "gateway.keys[0].name: has no value"},
		{"two of a name", "[{name: a, hash: '" + hash + "'}, {name: a, hash: '" + strings.Replace(hash, "0a", "0b", 1) + "'}]", "gateway.keys[1].name: a second key called"},
		{"two of a hash", "[{name: a, hash: '" + hash + "'}, {name: b, hash: '" + hash + "'}]", "gateway.keys[1].hash: the same hash"},
		{"a text", "[" + secret + "]", "is not a mapping"},
		{"a list", "[[a]]", "is not a mapping"},
		{"no list", "{name: a}", "is not a list"},
		{"an anchor", "[{<<: &x {name: a}, hash: '" + hash + "'}]", "gateway.keys[0]: a key that is not a plain name"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			_, err := config.Parse([]byte("gateway:\n  listen: 127.0.0.1:1\n  keys: " + tt.keys + "\n"))
			var e *ken.Error
			if !errors.As(err, &e) || !strings.HasPrefix(e.Field, "gateway.keys") || e.Try == "" || !strings.Contains(err.Error(), tt.want) {
				t.Fatalf("%v", err)
			}
			if !strings.Contains(err.Error(), "line 3") && !strings.Contains(err.Error(), ":3:") {
				t.Errorf("no line in %v", err)
			}
			if strings.Contains(err.Error(), secret) {
				t.Errorf("the key is in %v", err)
			}
		})
	}
}

func TestGatewaySettings(t *testing.T) {
	for _, tt := range []struct{ setting, field string }{ // no field: allowed
		{"listen: '[::1]:0'", ""}, {"listen: unix:/run/ken.sock", ""}, {"listen: :8484", ""},
		{"listen: 8484", "gateway.listen"}, {"listen: 'unix:'", "gateway.listen"}, {"listen: localhost", "gateway.listen"}, {"listen: a:70000", "gateway.listen"},
		{"hosts: [ken.internal, 10.0.0.1]", ""}, {"hosts: ['a:80']", "gateway.hosts[0]"}, {"hosts: ['*']", "gateway.hosts[0]"},
		{"tls_cert: a.pem", "gateway.tls_cert"}, {"tls_cert: a.pem, tls_key: b.pem", ""},
		{"anthropic: https://user:pass@host", "gateway.anthropic"}, {"upstream_key_env: sk-abc", "gateway.upstream_key_env"},
		{"rate: 0.5, burst: 1", ""}, {"rate: -1", "gateway.rate"}, {"in_flight: 0", "gateway.in_flight"},
		{"drain: 0s", ""}, {"stall: 0s", "gateway.stall"}, {"taint: block", ""}, {"taint: maybe", "gateway.taint"},
	} {
		_, err := config.Parse([]byte("gateway: {" + tt.setting + "}"))
		var e *ken.Error
		if tt.field == "" && err != nil || tt.field != "" && (!errors.As(err, &e) || e.Field != tt.field) {
			t.Errorf("%s: %v", tt.setting, err)
		}
	}
}

func TestGatewayLendsWhatTheVariableHolds(t *testing.T) {
	t.Setenv("LENT", "sk-1")
	g := config.Gateway{UpstreamKeyEnv: "LENT"}
	if g.UpstreamKey() != "sk-1" || g.AnthropicKey() != "" {
		t.Errorf("%q, %q", g.UpstreamKey(), g.AnthropicKey())
	}
}

// What limits a key, and what models cost, is read as it is written, and written as it is read.
func TestLimitsAndPrices(t *testing.T) {
	c, err := config.Parse([]byte(`gateway:
  keys:
    - {name: ci, hash: "` + hash + `", rights: [chat, upstream], models: ["gpt-5*", openai/o3], expires: 2031-05-01, requests_per_day: 100, tokens_per_day: 2000000}
  prices:
    - {model: gpt-5-mini, input: 0.25, output: 2}
    - {model: "gpt-5*", input: 1.25, cached_input: 0.125, output: 10}
`))
	if err != nil {
		t.Fatal(err)
	}
	k := c.Gateway.Keys[0]
	if len(k.Models) != 2 || k.Expires.Format(time.RFC3339) != "2031-05-01T00:00:00Z" || k.RequestsPerDay != 100 || k.TokensPerDay != 2000000 {
		t.Errorf("%+v", k)
	}
	again, err := config.Parse([]byte(c.YAML()))
	if d := cmp.Diff(c, again); err != nil || d != "" {
		t.Errorf("%v %s", err, d)
	}
	for _, tt := range []struct {
		model                 string
		input, cached, output int
		want                  float64
		ok                    bool
	}{
		{"gpt-5-mini", 1_000_000, 500_000, 1_000_000, 2.25, true},
		{"gpt-5-2025-08-07", 2_000_000, 1_000_000, 100_000, 1.25 + .125 + 1, true},
		{"claude-opus", 1, 0, 1, 0, false},
		{"", 1, 0, 1, 0, false},
	} {
		if got, ok := c.Gateway.Cost(tt.model, tt.input, tt.cached, tt.output); ok != tt.ok || got < tt.want-1e-9 || got > tt.want+1e-9 {
			t.Errorf("%s: %v %v", tt.model, got, ok)
		}
	}
	for setting, field := range map[string]string{
		"keys: [{name: a, hash: '" + hash + "', expires: soon}]":      "gateway.keys[0].expires",
		"keys: [{name: a, hash: '" + hash + "', tokens_per_day: -1}]": "gateway.keys[0].tokens_per_day",
		"prices: [{model: a, input: 1}]":                              "gateway.prices[0].output",
		"prices: [{model: a, input: -1, output: 1}]":                  "gateway.prices[0].input",
	} {
		_, err := config.Parse([]byte("gateway: {" + setting + "}"))
		var e *ken.Error
		if !errors.As(err, &e) || e.Field != field || e.Try == "" {
			t.Errorf("%s: %v", setting, err)
		}
	}
}
