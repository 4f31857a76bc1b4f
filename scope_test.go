package ken_test

import (
	"testing"

	"github.com/kenlayer/ken"
)

func TestScopeValidate(t *testing.T) {
	for _, tt := range []struct {
		scope ken.Scope
		field string
	}{
		{ken.Scope{}, ""},
		{ken.Scope{Type: ken.ScopeProject, ID: "payments"}, ""},
		{ken.Scope{Type: ken.ScopeRepo, ID: "github.com/acme/payments"}, ""},
		{ken.Scope{Type: ken.ScopeAgent, ID: "reviewer"}, ""},
		{ken.Scope{Type: ken.ScopeRun, ID: "run_1"}, ""},
		{ken.Scope{Type: ken.ScopeRepo}, "scope.id"},
		{ken.Scope{ID: "payments"}, "scope.type"},
		{ken.Scope{Type: "team", ID: "core"}, "scope.type"},
		{ken.Scope{Type: "Repo", ID: "core"}, "scope.type"},
	} {
		t.Run(tt.scope.String(), func(t *testing.T) { wantField(t, tt.scope.Validate(), tt.field) })
	}
}

func TestParseScope(t *testing.T) {
	for _, tt := range []struct {
		in    string
		want  ken.Scope
		field string
	}{
		{"repo:github.com/acme/payments", ken.Scope{Type: ken.ScopeRepo, ID: "github.com/acme/payments"}, ""},
		{"run:a:b", ken.Scope{Type: ken.ScopeRun, ID: "a:b"}, ""},
		{"", ken.Scope{}, "scope"},
		{"repo", ken.Scope{}, "scope"},
		{"repo:", ken.Scope{}, "scope.id"},
		{":x", ken.Scope{}, "scope.type"},
		{"team:core", ken.Scope{}, "scope.type"},
	} {
		got, err := ken.ParseScope(tt.in)
		wantField(t, err, tt.field)
		if err != nil {
			continue
		}
		if got != tt.want {
			t.Errorf("%q: %v, want %v", tt.in, got, tt.want)
		}
		if got.String() != tt.in {
			t.Errorf("%q is written back as %q", tt.in, got)
		}
	}
	if s := (ken.Scope{}).String(); s != "" {
		t.Errorf("the unscoped value is written as %q", s)
	}
}
