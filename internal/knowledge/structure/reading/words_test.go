package reading_test

import (
	"slices"
	"testing"

	"github.com/kenlayer/ken/internal/knowledge/structure/reading"
)

func TestCommon(t *testing.T) {
	for _, s := range []string{"go", "set", "main", "test", "data", "file", "system", "service", "user", "api", "x", "", "12", "3.5", "v2", "the", "monday", "new", "deploy", "uses", "note", "thing", "error", "take", "value", "must"} {
		if !reading.Common(s) {
			t.Errorf("%q can be a name", s)
		}
	}
	for _, s := range []string{"payments", "ledger", "ada", "postgresql", "main branch", "go runtime", "ken.claim", "k8s", "read.go", "search", "scheduler", "identity", "gateway", "documents", "reports", "cache", "orders"} {
		if reading.Common(s) {
			t.Errorf("%q is common", s)
		}
	}
}

func TestVariants(t *testing.T) {
	for _, tt := range []struct {
		in   string
		want []string
	}{
		{"payments service", []string{"payments service", "payments", "payments services", "payment"}},
		{"The Payments-Service", []string{"payments service", "payments", "payments services", "payment"}},
		{"PaymentsService", []string{"paymentsservice", "payments service", "payments", "paymentsservices", "payments services", "payment"}},
		{"HTTPServer", []string{"httpserver", "http server", "httpservers", "http servers"}},
		{"`payments_service()`", []string{"payments service", "payments", "payments services", "payment"}},
		{"payments/api.go", []string{"payments/api.go", "api.go", "payments", "payment"}},
		{"store/keyword/index.go", []string{"store/keyword/index.go", "index.go", "keyword", "keywords"}},
		{"main service", []string{"main service", "main services"}}, // what is left is common
		{"main", nil},
		{"ledger", []string{"ledger", "ledgers"}},
		{"", nil},
	} {
		if got := reading.Variants(tt.in); !slices.Equal(got, tt.want) {
			t.Errorf("Variants(%q) = %q, want %q", tt.in, got, tt.want)
		}
	}
}

func TestOtherNumber(t *testing.T) {
	for in, want := range map[string]string{
		"invoice": "invoices", "invoices": "invoice", "registry": "registries", "ledger entries": "ledger entry", "prefix": "prefixes", "batches": "batch", "addresses": "address",
		"access": "", "status": "", "analysis": "", "news": "", "users": "", "api.go": "", "a/b": "", "go": "", "": "", "s3": "", "day": "",
	} {
		if got := reading.OtherNumber(in); got != want {
			t.Errorf("OtherNumber(%q) = %q, want %q", in, got, want)
		}
	}
}

func TestSuggestedAspects(t *testing.T) {
	for _, typ := range append(reading.Types(), "martian") {
		list := reading.SuggestedAspects(typ)
		if len(list) < 5 || list[len(list)-1] != reading.General {
			t.Errorf("%s: %q", typ, list)
		}
		for i, a := range list {
			if slices.Contains(list[:i], a) {
				t.Errorf("%s: %q twice", typ, a)
			}
		}
		list[0] = "changed"
		if reading.SuggestedAspects(typ)[0] == "changed" {
			t.Error("the slice is shared")
		}
	}
}

func TestAspect(t *testing.T) {
	for _, tt := range []struct{ text, want string }{
		{"never deploy the payments service on Fridays", "deployment"},
		{"The mailer service stores its rows in a PostgreSQL table.", "storage"},
		{"The mailer service is covered by pytest fixtures.", "testing"},
		{"Tokens of the mailer service are encrypted with a secret.", "security"},
		{"The mailer service has a p99 latency of 20 ms.", "performance"},
		{"The mailer service is owned by Ada's team.", "ownership"},
		{"The mailer service has a deadline in March.", "schedule"},
		{"The mailer service exposes a REST endpoint.", "api"},
		{"Ana: I love tea and prefer it without milk.", "preferences"},
		{"Ana: My sister and her husband have two kids.", "relationships"},
		{"Ana: I take a pottery class and study art at college.", "education"},
		{"Ana: My doctor says that yoga is good for my anxiety.", "health"},
		{"Ana: I flew to Rome for a vacation.", "travel"},
		{"User: Always answer in German.", "preferences"},
		{"Ana: I see.", reading.General},
		// a word that stands in texts of every kind says less than one that does not
		{"The ledger must stay on PostgreSQL 15 until the audit is over.", "storage"},
		{"Never use FLUSHALL on the production Redis.", "storage"},
		// a rule for a thing is about nobody's life
		{"The warehouse app must work offline for a whole shift.", reading.General},
		{"The playground must always play nice with the mailer.", reading.General},
	} {
		c := claim(tt.text)
		if got := reading.Read(&c, nil).Aspect; got != tt.want {
			t.Errorf("%q: %s, want %s", tt.text, got, tt.want)
		}
	}
}
