package ken_test

import (
	"encoding/json"
	"testing"

	"github.com/kenlayer/ken"
)

func TestTrustAtLeast(t *testing.T) {
	unknown, external, agent, operator := ken.TrustUnknown, ken.TrustExternal, ken.TrustAgent, ken.TrustOperator
	for _, tt := range []struct {
		t, min ken.Trust
		want   bool
	}{
		{unknown, unknown, true}, {unknown, external, true}, {unknown, agent, false}, {unknown, operator, false},
		{external, unknown, true}, {external, external, true}, {external, agent, false}, {external, operator, false},
		{agent, unknown, true}, {agent, external, true}, {agent, agent, true}, {agent, operator, false},
		{operator, unknown, true}, {operator, external, true}, {operator, agent, true}, {operator, operator, true},
	} {
		if got := tt.t.AtLeast(tt.min); got != tt.want {
			t.Errorf("%v at least %v: %v", tt.t, tt.min, got)
		}
	}
}

func TestTrustText(t *testing.T) {
	for i, name := range []string{"unknown", "external", "agent", "operator"} {
		trust := ken.Trust(i)
		if trust.String() != name {
			t.Errorf("%d is %q, want %q", i, trust, name)
		}
		b, err := json.Marshal(trust)
		if err != nil {
			t.Fatal(err)
		}
		var back ken.Trust
		if err := json.Unmarshal(b, &back); err != nil || back != trust {
			t.Errorf("%s came back as %v, %v", b, back, err)
		}
	}
	var back ken.Trust
	wantField(t, back.UnmarshalText([]byte("Operator")), "trust")
	if got := ken.Trust(200).String(); got != "invalid(200)" {
		t.Errorf("got %q", got)
	}
}

// JSON leaves unknown trust out, and what it leaves out is read as unknown.
func TestTrustUnknownIsLeftOut(t *testing.T) {
	b, err := json.Marshal(ken.FromDecision("d"))
	if err != nil {
		t.Fatal(err)
	}
	if want := `{"kind":"decision","id":"d"}`; string(b) != want {
		t.Errorf("got %s, want %s", b, want)
	}
}
