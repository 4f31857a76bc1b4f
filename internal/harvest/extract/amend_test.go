package extract

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/kenlayer/ken"
)

// A short reply that gives another value changes what was said right before.
func TestShortCorrections(t *testing.T) {
	for _, tt := range []struct {
		told []string // by the user and the assistant in turn
		want []string
		was  string
	}{
		{told: []string{"The nightly backup runs at 2 am.", "Noted.", "sorry, 3 am"}, want: []string{"The nightly backup runs at 3 am."}, was: "The nightly backup runs at 2 am."},
		{told: []string{"The nightly backup runs at 02:00.\nno, 03:00"}, want: []string{"The nightly backup runs at 03:00."}, was: "The nightly backup runs at 02:00."},
		{told: []string{"Invoices are kept for 30 days.", "OK, retention of invoices: 30 days.", "wait, 90 days"}, want: []string{"Invoices are kept for 90 days."}, was: "Invoices are kept for 30 days."},
		{told: []string{"How do I start the gateway?", "Run `make serve`. The gateway listens on port 8080 by default.", "no, it's 8081"}, want: []string{"The gateway listens on port 8081 by default."}},
		{told: []string{"who should review this?", "Ben owns the billing service, so I'd ask him.", "not Ben, Carla. thanks"}, want: []string{"Carla owns the billing service"}},
		{told: []string{"what do we run in production?", "Your ledger runs on MySQL 8.", "that's outdated, it's postgres 16 now"}, want: []string{"The ledger runs on postgres 16."}},

		{told: []string{"fix the test", "I changed the timeout of the test to 5 s.", "no, 10 s"}}, // a request
		{told: []string{"The nightly backup runs at 2 am.", "Is that still so?", "no, 3 am"}, want: []string{"The nightly backup runs at 3 am."}, was: "The nightly backup runs at 2 am."},
		{told: []string{"what is the price?", "You pay $5 for the parser plan.", "no, $7"}}, // about the reader
		{told: []string{"which line?", "The bug is in parser.go line 80.", "no, look at line 90"}},
	} {
		var said []ken.Message
		for i, text := range tt.told {
			said = append(said, ken.Message{Role: []string{"user", "assistant"}[i%2], Text: text})
		}
		var got []string
		was := ""
		for _, k := range collect(speeches(entries(said...)), true, 300, dropped{}) {
			got, was = append(got, k.attributed(300)), k.corrected
			if agents := k.statement(300).Agent; agents != (k.corrected == "" && strings.HasPrefix(strings.ToLower(k.quote), "no") || k.quote == "that's outdated, it's postgres 16 now") {
				t.Errorf("%q has words of the assistant: %v", k.text, agents)
			}
		}
		if diff := cmp.Diff(tt.want, got); diff != "" || was != tt.was {
			t.Errorf("%q (-want +got), was %q:\n%s", tt.told, was, diff)
		}
	}
}

// A correction of one of several values leaves the others as they are.
func TestCorrectionOfOneValue(t *testing.T) {
	const dev = "Redis runs on localhost:6379, Postgres on 5432 with database shop_dev."
	for _, tt := range []struct {
		said, correction string
		want             []string
	}{
		{dev, "I was wrong about the database name, it's shop_development.", []string{"Redis runs on localhost:6379, Postgres on 5432 with database shop_development."}},
		{dev, "I was wrong about the Redis port, it's 6380.", []string{"Redis runs on localhost:6380, Postgres on 5432 with database shop_dev."}},
		{"The API listens on 3000, the storefront on 3200 and Redis on 6379.", "I was wrong about the storefront port, it's 3300.", []string{"The API listens on 3000, the storefront on 3300 and Redis on 6379."}},
		{"Emil is 6 and Jonas is 9.", "I was wrong about Jonas, he's 10.", []string{"Emil is 6 and Jonas is 10."}},
		{"The admin port is 8080.", "I was wrong about the admin port, it's 9090.", []string{"The admin port is 9090."}},
		{"Staging is on host kronos, production on host atlas.", "I was wrong about production, it's on hyperion.",
			[]string{"Staging is on host kronos, production on host atlas (no longer, now hyperion).", "User: I was wrong about production, it's on hyperion."}},
		{"The choir meets on Mondays and the band on Fridays, Dr. Lenz sings.", "I was wrong about the choir, it meets in the church.",
			[]string{"The choir meets on Mondays (no longer, now it meets in the church) and the band on Fridays, Dr. Lenz sings.", "User: I was wrong about the choir, it meets in the church."}},
		{"The mail quota's 500 a day, and mails come from noreply@acme.io.", "I was wrong, it's 300 a day on the Mailgun plan we have.",
			[]string{"The mail quota's 500 (no longer, now 300) a day, and mails come from noreply@acme.io.", "User: I was wrong, it's 300 a day on the Mailgun plan we have."}},
		{"The API port is 3000, the storefront port 3200.", "I was wrong about the port, it's 3300.", // which one?
			[]string{"The API port is 3000, the storefront port 3200.", "User: I was wrong about the port, it's 3300."}},
		{"Lunch is at 12 and dinner at 7.", "I was wrong about breakfast, it's at 8.", []string{"Lunch is at 12 and dinner at 7.", "User: I was wrong about breakfast, it's at 8."}},
		{"The mail quota's 500 a day.", "I was wrong about the mail quota, it's 300 a day on the Mailgun plan we have.", []string{"User: I was wrong about the mail quota, it's 300 a day on the Mailgun plan we have."}},
	} {
		said := []ken.Message{{Role: "user", Text: tt.said}, {Role: "assistant", Text: "OK."}, {Role: "user", Text: tt.correction}}
		var got []string
		for _, k := range collect(speeches(entries(said...)), true, 300, dropped{}) {
			got = append(got, k.attributed(300))
		}
		if diff := cmp.Diff(tt.want, got); diff != "" {
			t.Errorf("%q, %q (-want +got):\n%s", tt.said, tt.correction, diff)
		}
	}
}
