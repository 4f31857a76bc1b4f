package config_test

import (
	"errors"
	"strings"
	"testing"

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

// What is wrong with a key is said by its place and name, and a key that stands where
// its hash belongs is not repeated.
func TestGatewayKeysThatAreRefused(t *testing.T) {
	const secret = "ken_0123456789"
	for _, tt := range []struct{ name, keys, want string }{
		{"the key itself", "[{name: a, hash: " + secret + "}]", "gateway.keys[0].hash: the value is not sha256:"},
		{"no hash", "[{name: a}]", "gateway.keys[0].hash: missing"},
		{"no name", "[{hash: '" + hash + "'}]", "gateway.keys[0].name: missing"},
		{"unknown right", "[{name: a, hash: '" + hash + "', rights: [all]}]", `gateway.keys[0].rights[0]: "all" is not chat, read, write or operate`},
		{"an owner that is a path", "[{name: a, hash: '" + hash + "', owner: ../a}]", "gateway.keys[0].owner: "},
		{"unknown field", "[{name: a, hash: '" + hash + "', admin: true}]", "gateway.keys[0].admin: unknown key"},
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
