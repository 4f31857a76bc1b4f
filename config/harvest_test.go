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

// A key goes only to the service that it belongs to.
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
