package ken_test

import (
	"slices"
	"testing"
	"time"

	"github.com/kenlayer/ken"
)

func TestFilterReject(t *testing.T) {
	repo, run := ken.Scope{Type: ken.ScopeRepo, ID: "a"}, ken.Scope{Type: ken.ScopeRun, ID: "a"}
	good := ken.Facts{Status: ken.StatusObserved, Kind: ken.KindFact, Trust: ken.TrustAgent}
	with := func(change func(*ken.Facts)) ken.Facts {
		f := good
		change(&f)
		return f
	}
	scoped := with(func(f *ken.Facts) { f.Scope = repo })
	link := with(func(f *ken.Facts) { f.Kind = ken.KindDependency })
	document := with(func(f *ken.Facts) { f.Kind = ken.KindDocument })
	expires := with(func(f *ken.Facts) { f.ExpiresAt = someDay })
	disputed := with(func(f *ken.Facts) { f.Status = ken.StatusDisputed })

	for _, tt := range []struct {
		name   string
		filter ken.Filter
		facts  ken.Facts
		want   ken.CutReason
	}{
		{"zero filter, plain claim", ken.Filter{}, good, ""},
		{"zero filter sees every scope", ken.Filter{}, scoped, ""},
		{"its scope", ken.Filter{Scopes: []ken.Scope{run, repo}}, scoped, ""},
		{"another type with the same id", ken.Filter{Scopes: []ken.Scope{run}}, scoped, ken.CutScope},
		{"unscoped is out when scopes are named", ken.Filter{Scopes: []ken.Scope{repo}}, good, ken.CutScope},
		{"unless asked for", ken.Filter{Scopes: []ken.Scope{repo}, Unscoped: true}, good, ""},
		{"Unscoped admits no foreign scope", ken.Filter{Scopes: []ken.Scope{run}, Unscoped: true}, scoped, ken.CutScope},
		{"Unscoped alone restricts nothing", ken.Filter{Unscoped: true}, scoped, ""},

		{"a kind asked for", ken.Filter{Kinds: []ken.Kind{ken.KindFact}}, good, ""},
		{"a kind not asked for", ken.Filter{Kinds: []ken.Kind{ken.KindHot}}, good, ken.CutScope},
		{"no kinds at all", ken.Filter{Kinds: []ken.Kind{}}, good, ken.CutScope},
		{"a link by default", ken.Filter{}, link, ken.CutScope},
		{"a link asked for by kind", ken.Filter{Kinds: []ken.Kind{ken.KindDependency}}, link, ""},
		{"a link, where everything is meant", ken.Filter{Structural: true}, link, ""},
		{"everything has the other kinds, too", ken.Filter{Structural: true}, good, ""},
		{"a link, where everything of some kinds is meant", ken.Filter{Structural: true, Kinds: []ken.Kind{ken.KindFact}}, link, ken.CutScope},
		{"everything has no claims of other statuses", ken.Filter{Structural: true}, with(func(f *ken.Facts) { f.Kind, f.Status = ken.KindAlias, ken.StatusDisputed }), ken.CutStatus},
		{"documents", ken.Filter{}, document, ""},
		{"no documents", ken.Filter{ClaimsOnly: true}, document, ken.CutScope},
		{"no documents even when asked for", ken.Filter{ClaimsOnly: true, Kinds: []ken.Kind{ken.KindDocument}}, document, ken.CutScope},

		{"disputed by default", ken.Filter{}, disputed, ken.CutStatus},
		{"disputed on request", ken.Filter{Statuses: []ken.Status{ken.StatusDisputed}}, disputed, ""},
		{"a request replaces the default", ken.Filter{Statuses: []ken.Status{ken.StatusDisputed}}, good, ken.CutStatus},
		{"no statuses at all", ken.Filter{Statuses: []ken.Status{}}, good, ken.CutStatus},

		{"enough trust", ken.Filter{MinTrust: ken.TrustAgent}, good, ""},
		{"too little trust", ken.Filter{MinTrust: ken.TrustOperator}, good, ken.CutTrust},
		{"unknown trust counts as external", ken.Filter{MinTrust: ken.TrustAgent}, ken.Facts{Status: ken.StatusObserved}, ken.CutTrust},

		{"before its end", ken.Filter{Now: someDay.Add(-1)}, expires, ""},
		{"at its end", ken.Filter{Now: someDay}, expires, ken.CutExpired},
		{"after its end", ken.Filter{Now: someDay.Add(time.Hour)}, expires, ken.CutExpired},
		{"without a clock", ken.Filter{}, expires, ""},
		{"never expires", ken.Filter{Now: someDay}, good, ""},
	} {
		t.Run(tt.name, func(t *testing.T) {
			if got := tt.filter.Reject(tt.facts); got != tt.want {
				t.Errorf("got %q, want %q", got, tt.want)
			}
		})
	}
}

// The fast path for nil Statuses must mean exactly RecallStatuses.
func TestFilterDefaultIsRecallStatuses(t *testing.T) {
	for _, s := range append(ken.Statuses(), "", "confirmed") {
		byDefault := (&ken.Filter{}).Reject(ken.Facts{Status: s})
		named := (&ken.Filter{Statuses: ken.RecallStatuses()}).Reject(ken.Facts{Status: s})
		if byDefault != named {
			t.Errorf("%q: default %q, named %q", s, byDefault, named)
		}
	}
}

func TestFilterRejectChangesNothing(t *testing.T) {
	scopes := []ken.Scope{{Type: ken.ScopeRun, ID: "b"}, {Type: ken.ScopeRepo, ID: "a"}}
	f := ken.Filter{Scopes: slices.Clone(scopes)}
	f.Reject(ken.Facts{Status: ken.StatusObserved})
	if f.Statuses != nil || f.Kinds != nil || !slices.Equal(f.Scopes, scopes) {
		t.Errorf("the caller's filter became %+v", f)
	}
}

func TestClaimFacts(t *testing.T) {
	c := claimWith(ken.FromFile("a.go", "", ""), ken.FromToolResult("tc", ""))
	c.Scope, c.ExpiresAt = ken.Scope{Type: ken.ScopeRepo, ID: "a"}, someDay
	want := ken.Facts{Scope: c.Scope, Status: ken.StatusObserved, Kind: ken.KindFact, Trust: ken.TrustExternal, ExpiresAt: someDay}
	if got := c.Facts(); got != want {
		t.Errorf("got %+v, want %+v", got, want)
	}
}
