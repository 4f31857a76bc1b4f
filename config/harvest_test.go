package config_test

import (
	"errors"
	"testing"

	"github.com/kenlayer/ken"
	"github.com/kenlayer/ken/config"
)

func TestAModelForHarvestingNeedsAnAddress(t *testing.T) {
	c := config.Default()
	c.Harvest.Model = "small"
	var e *ken.Error
	if err := c.Validate(); !errors.As(err, &e) || e.Field != "harvest.model" || e.Try == "" {
		t.Errorf("error %v", err)
	}
	c.Harvest.BaseURL = "http://localhost:11434/v1"
	if err := c.Validate(); err != nil {
		t.Error(err)
	}
}

// An API key is only sent to the service that it belongs to.
func TestTheUpstreamsKeyStaysWithTheUpstream(t *testing.T) {
	t.Setenv("UPSTREAM_KEY", "for the upstream")
	t.Setenv("OTHER_KEY", "for the other")
	c := config.Default()
	c.Upstream.BaseURL, c.Upstream.APIKeyEnv = "https://upstream.example/v1", "UPSTREAM_KEY"
	for _, tc := range []struct{ base, env, want string }{
		{"", "", "for the upstream"},
		{"https://upstream.example/v1", "", "for the upstream"},
		{"https://other.example/v1", "", ""},
		{"https://other.example/v1", "OTHER_KEY", "for the other"},
	} {
		c.Harvest.BaseURL, c.Harvest.APIKeyEnv = tc.base, tc.env
		if got := c.HarvestAPIKey(); got != tc.want {
			t.Errorf("%+v: sends %q", tc, got)
		}
	}
}

// One model that is named once is used everywhere, and off is off.
func TestTheUpstreamsModelHarvests(t *testing.T) {
	for _, tc := range []struct {
		in, want string
		command  bool
		files    bool
	}{
		{"", "", false, false},
		{"upstream: {base_url: http://h/v1}", "", false, false}, // no model is guessed
		{"upstream: {base_url: http://h/v1, model: m}", "m", false, true},
		{"upstream: {base_url: http://h/v1, model: m}\nharvest: {model: small}", "small", false, true},
		{"upstream: {base_url: http://h/v1, model: m}\nharvest: {model: 'off'}", "", false, false},
		{"upstream: {base_url: http://h/v1, model: m}\nharvest: {base_url: http://other/v1}", "", false, false},
		{"upstream: {base_url: http://h/v1, model: m}\nharvest: {command: [llm]}", "", true, true},
		{"harvest: {command: [llm], model: 'off'}", "", false, false},
		{"harvest: {model: 'off'}", "", false, false},
		{"upstream: {base_url: http://h/v1, model: m}\nstructure: {classify: rules}", "m", false, false},
	} {
		c, err := config.Parse([]byte(tc.in))
		if err != nil {
			t.Fatalf("%q: %v", tc.in, err)
		}
		if got := c.HarvestModel(); got != tc.want || len(c.HarvestCommand()) > 0 != tc.command || c.ClassifyModel() != tc.files {
			t.Errorf("%q: model %q, command %q, files %v", tc.in, got, c.HarvestCommand(), c.ClassifyModel())
		}
	}
	for in, field := range map[string]string{
		"harvest: {command: [llm], model: small}": "harvest.command",
		"harvest: {command: ['']}":                "harvest.command[0]",
		"harvest: {tokens_per_day: -1}":           "harvest.tokens_per_day",
	} {
		var e *ken.Error
		if _, err := config.Parse([]byte(in)); !errors.As(err, &e) || e.Field != field {
			t.Errorf("%q: %v", in, err)
		}
	}
}

// A key that decides nothing any more is read over, so that older files still load.
func TestRetiredKeysAreReadOver(t *testing.T) {
	if _, err := config.Parse([]byte("structure: {dependency_facts: 5, classify_facts: 8}")); err != nil {
		t.Error(err)
	}
}
