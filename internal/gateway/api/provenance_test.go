package api_test

import (
	"net/http"
	"testing"
	"time"

	"github.com/kenlayer/ken"
	"github.com/kenlayer/ken/internal/gateway/api"
	"github.com/kenlayer/ken/internal/knowledge/provenance"
)

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
			if c.Tier != ken.Verified || len(c.Evidence) != 2 || c.Why == "" {
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
