package reading_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/kenlayer/ken/internal/knowledge/structure/reading"
)

func TestDependencies(t *testing.T) {
	for _, tt := range []struct{ text, want string }{
		{"The payments service depends on the ledger.", "payments requires ledger 0.9"},
		{"The payments service depends on the ledger and the mailer.", "payments requires ledger 0.9; payments requires mailer 0.9"},
		{"The payments service requires Redis, Kafka and PostgreSQL.", "payments requires redis 0.9; payments requires kafka 0.9; payments requires postgresql 0.9"},
		{"The ledger service relies on PostgreSQL 15.", "ledger requires postgresql 0.8"},
		{"The billing system is built on top of the ledger.", "billing requires ledger 0.8"},
		{"The ledger is required by the payments service.", "payments requires ledger 0.9"},
		{"The payments service uses Redis.", "payments uses redis 0.6"},
		{"Redis is used by the payments service.", "payments uses redis 0.6"},
		{"The mailer service runs on Kubernetes and talks to Kafka.", "mailer uses kubernetes 0.6; mailer uses kafka 0.6"},
		{"The mailer service stores its templates in PostgreSQL.", "mailer uses postgresql 0.6"},
		{"`PaymentsService` calls `LedgerClient`.", "paymentsservice uses ledgerclient 0.6"},
		{"structure/reading/read.go imports analysis/entity.go.", "structure/reading/read.go uses analysis/entity.go 0.6"},
		{"The payments service is owned by Ada.", "payments owned_by ada 0.9"},
		{"The payments service is maintained by the platform team.", "payments owned_by platform team 0.9"},
		{"Ada owns the payments service.", "payments owned_by ada 0.9"},
		{"The mailer service belongs to Ada.", "mailer owned_by ada 0.8"},
		{"The ledger migration blocks the payments service.", "ledger migration blocks payments 0.8"},
		{"The payments service is blocked by the ledger migration.", "ledger migration blocks payments 0.8"},
		{"The payments service waits for the ledger migration.", "ledger migration blocks payments 0.7"},
		{"The payments service publishes to Kafka.", "payments informs kafka 0.6"},
		{"The ledger service is notified by the payments service.", "payments informs ledger 0.6"},
		{"The mailer service subscribes to the payments service.", "payments informs mailer 0.6"},
		{"The payments service may use Redis.", "payments uses redis 0.3"},
		{"The payments service sometimes depends on the ledger.", "payments requires ledger 0.45"},
		{"User: I'm using Redis in the payments service.", "payments uses redis 0.6"},
		{"User: My contact form using Formspree.io is broken.", "contact form uses formspree.io 0.6"},
		{"User: I'm Craig, eager to build a personal budget tracker using Python and Flask.", "budget tracker uses python 0.6; budget tracker uses flask 0.6"},
		{"User: I found a memory leak in my application using Flask.", ""},
		{"User: I'm trying to debug a layout issue using Firefox.", ""},
		{"User: I'm trying to solve a probability problem using the ratio method.", ""},
		{"The payments service is slow. It depends on the ledger.", "payments requires ledger 0.9"},
		{"never deploy the payments service on Fridays; it depends on the ledger, which must stay on PostgreSQL 15",
			"payments requires ledger 0.9; ledger uses postgresql 0.6"},
		// none
		{"The payments service does not depend on the ledger.", ""},
		{"The payments service no longer uses Redis.", ""},
		{"The payments service never calls Kafka.", ""},
		{"Does the payments service depend on the ledger?", ""},
		{"If the payments service uses Redis, restart it.", ""},
		{"The payments service used to use Redis.", ""},
		{`The note said "payments depends on ledger" once.`, ""},
		{"It depends on the weather.", ""},
		{"It depends.", ""},
		{"Caroline: I use watercolors, and my art depends on my mood.", ""},
		{"People use phones.", ""},
		{"Users need help.", ""},
		{"The team needs coffee.", ""},
		{"The payments service uses caching.", ""},
		{"The payments service requires approval.", ""},
		{"The payments service uses the size of the queue.", ""},
		{"The payments service depends on the payments service.", ""},
	} {
		c := claim(tt.text)
		var got []string
		for _, d := range reading.Read(&c, nil).Dependencies {
			got = append(got, fmt.Sprintf("%s %s %s %.2g", d.Source, d.Type, d.Target, d.Strength))
		}
		if s := strings.Join(got, "; "); s != tt.want {
			t.Errorf("%q\n got %q\nwant %q", tt.text, s, tt.want)
		}
	}
}

// What something depends on is worth naming.
func TestTargetsAreMentioned(t *testing.T) {
	c := claim("The payments service depends on the ledger.")
	got := reading.Read(&c, nil).Entities
	if len(got) != 2 || got[0].Name != "payments" || got[1].Name != "ledger" {
		t.Errorf("%+v", got)
	}
}

// "We" is the project that it was said in.
func TestWeIsTheProject(t *testing.T) {
	c := claim("We use Redis.")
	c.Project = "/home/ada/src/shop.git"
	got := reading.Read(&c, nil).Dependencies
	if len(got) != 1 || got[0].Source != "shop" || got[0].Target != "redis" {
		t.Errorf("%+v", got)
	}
}
