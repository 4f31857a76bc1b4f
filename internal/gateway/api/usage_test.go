package api_test

import (
	"encoding/json"
	"net/http"
	"testing"

	"github.com/kenlayer/ken/internal/gateway/api"
	"github.com/kenlayer/ken/internal/run/telemetry/usage"
)

// A key sees its own usage, an owner's operator that of the owner's keys, and the
// configured owner's operator all.
func TestUsageIsTenants(t *testing.T) {
	k := newKit(t)
	for key, owner := range map[string]string{"op-anna": "anna", "agent-anna": "anna", "agent-bert": "bert", "ci": "bert"} {
		k.usage.Add(usage.Row{Key: key, Owner: owner, Model: "gpt-5", Requests: 1, Input: 10, Cost: .5})
	}
	for _, tt := range []struct {
		kit  *kit
		want []string
	}{
		{k, []string{"agent-anna", "agent-bert", "ci", "op-anna"}},
		{k.as(agent("anna")), []string{"agent-anna"}},
		{k.as(operator("bert")), []string{"agent-bert", "ci"}},
		{k.as(agent("bert")), []string{"agent-bert"}},
		{k.as(agent("carl")), nil},
	} {
		var out api.UsageList
		a := tt.kit.ask(http.MethodGet, "/api/usage?days=2", nil).want(http.StatusOK)
		if err := json.Unmarshal(a.body, &out); err != nil {
			t.Fatal(err)
		}
		var got []string
		for _, r := range out.Usage {
			got = append(got, r.Key)
			if r.Requests != 1 || r.Input != 10 || r.Cost != .5 || r.Day == "" {
				t.Errorf("%+v", r)
			}
		}
		if len(got) != len(tt.want) {
			t.Errorf("%s: %v, want %v", tt.kit.who.Name, got, tt.want)
			continue
		}
		for i := range got {
			if got[i] != tt.want[i] {
				t.Errorf("%s: %v, want %v", tt.kit.who.Name, got, tt.want)
			}
		}
	}
}
