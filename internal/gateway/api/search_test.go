package api_test

import (
	"fmt"
	"net/http"
	"slices"
	"testing"
	"time"

	"github.com/kenlayer/ken"
	"github.com/kenlayer/ken/internal/gateway/api"
	"github.com/kenlayer/ken/internal/knowledge/provenance"
)

func TestSearch(t *testing.T) {
	k := newKit(t)
	c := k.learn("Payments are retried three times with backoff.", func(r *api.LearnRequest) {
		half := 0.5
		r.Confidence, r.Scope = &half, ken.Scope{Type: ken.ScopeRepo, ID: "acme/payments"}
	})
	k.learn("The harbour is shallow at low tide.")
	a := get[api.SearchAnswer](k, "/api/search?type=knowledge&q=how+are+payments+retried")
	if len(a.Results) == 0 || a.Mode != ken.ModeHybrid || a.Query != "how are payments retried" || a.Type != "knowledge" || a.Explain != nil {
		t.Fatalf("got %+v", a)
	}
	r := a.Results[0]
	if r.ID != c.ID || r.Type != "knowledge" || r.ClaimStatus != ken.StatusObserved || r.Confidence != 0.5 || r.EvidenceCount != 1 ||
		r.Scope != c.Scope || r.Tier != ken.Inferred || r.Score <= 0 || r.Legs["keyword"].Rank != 1 || r.Explain != nil {
		t.Errorf("got %+v", r)
	}
	// The names of the contract are those of the JSON.
	var raw struct{ Results []map[string]any }
	k.ask(http.MethodGet, "/api/search?q=payments", nil).into(&raw)
	for _, name := range []string{"claim_status", "confidence", "evidence_count", "scope"} {
		if _, ok := raw.Results[0][name]; !ok {
			t.Errorf("no %s in %v", name, raw.Results[0])
		}
	}
	if e := get[api.SearchAnswer](k, "/api/search?explain=1&q=payments"); e.Explain == nil || len(e.Explain.Signals.Keywords) == 0 || e.Results[0].Explain == nil {
		t.Errorf("explained: %+v", e)
	}
}

func TestSearchIsNarrowed(t *testing.T) {
	k := newKit(t)
	fact := k.learn("Payments are retried.")
	hot := k.learn("Payments are frozen.", func(r *api.LearnRequest) { r.Kind = ken.KindHot })
	scoped := k.learn("Payments are scoped.", func(r *api.LearnRequest) { r.Scope = ken.Scope{Type: ken.ScopeRepo, ID: "a"} })
	guess := k.learn("Payments are doubled.", func(r *api.LearnRequest) { r.Status = ken.StatusHypothesis })
	weak := k.as(agent("anna")).learn("Payments are an agent's.")
	for q, want := range map[string][]string{
		"":                             {fact.ID, hot.ID, scoped.ID, weak.ID},
		"kind=hot":                     {hot.ID},
		"scope=repo:a":                 {scoped.ID},
		"status=hypothesis":            {guess.ID},
		"min_trust=operator":           {fact.ID, hot.ID, scoped.ID},
		"type=document":                {},
		"mode=keyword":                 {fact.ID, hot.ID, scoped.ID, weak.ID},
		"mode=vector&limit=1&kind=hot": {hot.ID},
	} {
		a := get[api.SearchAnswer](k, "/api/search?q=payments&"+q)
		got := []string{}
		for _, r := range a.Results {
			got = append(got, r.ID)
		}
		slices.Sort(got)
		slices.Sort(want)
		if !slices.Equal(got, want) {
			t.Errorf("%s: got %v, want %v", q, got, want)
		}
	}
	if a := get[api.SearchAnswer](k, "/api/search?q=payments&mode=keyword"); a.Mode != ken.ModeKeyword || a.Cause != "" {
		t.Errorf("mode %s: %s", a.Mode, a.Cause)
	}
	k.ask(http.MethodGet, "/api/search?q=payments&type=document&kind=fact", nil).problem(http.StatusBadRequest, "invalid", "kind")
}

// Pages of a search repeat nothing and leave out nothing, although every write changes
// the scores.
func TestPagesOfASearch(t *testing.T) {
	k := newKit(t)
	for i := range 25 {
		k.learn(fmt.Sprintf("Payments of number %d are retried.", i))
	}
	read := func(between func()) (ids []string) {
		for next := ""; ; {
			a := get[api.SearchAnswer](k, "/api/search?mode=keyword&limit=10&q=payments+retried&cursor="+next)
			for _, r := range a.Results {
				ids = append(ids, r.ID)
			}
			if next = a.Next; next == "" {
				return ids
			}
			if between != nil {
				between()
			}
		}
	}
	whole := read(nil)
	if len(whole) != 25 || len(slices.Compact(slices.Sorted(slices.Values(whole)))) != 25 {
		t.Fatalf("%d results", len(whole))
	}
	n := 0
	under := read(func() {
		n++
		k.learn(fmt.Sprint("Payments are retried, payments retried: better than all ", n))
		if n == 1 { // the one that the first page ended with
			k.ask(http.MethodDelete, "/api/claims/"+whole[9], nil).want(http.StatusOK)
		}
	})
	seen := map[string]int{}
	for _, id := range under {
		if seen[id]++; seen[id] > 1 {
			t.Errorf("%s twice", id)
		}
	}
	for i, id := range whole {
		if i != 9 && seen[id] == 0 {
			t.Errorf("result %d is missing", i)
		}
	}
	k.ask(http.MethodGet, "/api/search?limit=10&q=other&cursor="+get[api.SearchAnswer](k, "/api/search?limit=10&q=payments").Next, nil).
		problem(http.StatusBadRequest, "invalid", "another query")
}

func TestProvenance(t *testing.T) {
	k := newKit(t)
	s, release, err := k.layer.Store(t.Context(), "")
	if err != nil {
		t.Fatal(err)
	}
	defer release()
	for _, test := range []string{"TestRetry", "TestSplit", "TestRound"} {
		if _, err := provenance.Record(t.Context(), s, provenance.Check{Validator: "go test", Target: test, Statement: test + " passes", Passed: true, About: []string{"pay/retry.go"},
			Evidence: []ken.Evidence{ken.FromTestResult(test, ""), ken.FromExitCode("go test ./pay", 0)}}, time.Now()); err != nil {
			t.Fatal(err)
		}
	}
	seen := map[string]bool{}
	for path, pages := "/api/provenance"+query("of", "pay/retry.go", "limit", "2"), 0; path != ""; pages++ {
		v := get[api.ProvenanceView](k, path)
		if v.Total != 3 || pages > 2 {
			t.Fatalf("%+v", v)
		}
		for _, c := range v.Claims {
			seen[c.Text] = true
			if c.Tier != ken.Inferred || len(c.Evidence) != 2 || c.Why == "" {
				t.Errorf("%+v", c)
			}
		}
		if path = ""; v.Next != "" {
			path = "/api/provenance" + query("of", "pay/retry.go", "limit", "2", "cursor", v.Next)
		}
	}
	if len(seen) != 3 {
		t.Errorf("%v", seen)
	}
	if v := get[api.ProvenanceView](k, "/api/provenance"+query("of", "nobody")); v.Total != 0 || v.Claims == nil {
		t.Errorf("%+v", v)
	}
	k.ask(http.MethodGet, "/api/provenance", nil).problem(http.StatusBadRequest, "invalid", "of")
}
